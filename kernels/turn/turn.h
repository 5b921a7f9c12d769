// turn: rotates a picture about its centre, so that a search for upright faces finds turned ones,
// and maps its finds back.
//
// Lengths are 32-bit and 64-bit integers throughout, in steps of 2^-17 pixel, so that the CPU and
// CUDA give the same bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"

namespace cuface {

/// A picture of width x height in a canvas that holds all of it. Objects turned by this much in the
/// picture (clockwise, as y points down) are upright in the canvas.
struct Turn {
  int width = 0, height = 0;
  int canvas_width = 0, canvas_height = 0;
  std::int32_t cos = 1 << 16, sin = 0;  ///< in steps of 2^-16

  CUFACE_HD Roll roll() const {
    return {static_cast<float>(cos) / 65536, static_cast<float>(sin) / 65536};
  }
};

/// The canvas outside the picture: flat, so that no window there is a face.
inline constexpr std::uint8_t kOutside = 128;

/// `degrees` from -90 to 90; sides up to 2^15.
Turn make_turn(double degrees, int width, int height);

/// Whether these are the picture and the canvas of a turn.
inline bool fits(const Turn& t, const ImageView<const std::uint8_t>& picture,
                 const ImageView<std::uint8_t>& canvas) {
  return picture.data && picture.width == t.width && picture.height == t.height && canvas.data &&
         canvas.width == t.canvas_width && canvas.height == t.canvas_height;
}

/// The canvas of a picture; both have the sizes of `turn` (else kInvalidArgument) and do not
/// overlap. kCancelled, with some of the rows, once `stop` is raised. Thread-safe.
Status turn_picture(ImageView<const std::uint8_t> picture, const Turn& turn,
                    ImageView<std::uint8_t> canvas, const StopFlag* stop = nullptr);

namespace turning {

/// Fraction bits of a place in the picture; places count from the first pixel's centre, in steps of
/// 2^-17 pixel.
inline constexpr int kFraction = 17;

/// The place of the first pixel of the canvas' row v; each pixel to the right adds 2 * cos to x and
/// 2 * sin to y.
CUFACE_HD inline void first_place(const Turn& t, int v, std::int64_t& x, std::int64_t& y) {
  const std::int64_t a = 1 - t.canvas_width, b = 2 * v + 1 - t.canvas_height;
  x = a * t.cos - b * t.sin + (static_cast<std::int64_t>(t.width - 1) << 16);
  y = a * t.sin + b * t.cos + (static_cast<std::int64_t>(t.height - 1) << 16);
}

/// The picture's value at a place: bilinear with weights of 8 bits, rounded half up; kOutside where
/// the place is beyond the outermost pixels' centres.
CUFACE_HD inline std::uint8_t sample(const ImageView<const std::uint8_t>& picture, std::int64_t x,
                                     std::int64_t y) {
  const std::int64_t right = static_cast<std::int64_t>(picture.width - 1) << kFraction;
  const std::int64_t bottom = static_cast<std::int64_t>(picture.height - 1) << kFraction;
  if (x < 0 || y < 0 || x > right || y > bottom) return kOutside;
  const int left = static_cast<int>(x >> kFraction), top = static_cast<int>(y >> kFraction);
  const int fx = static_cast<int>(x >> (kFraction - 8)) & 255;
  const int fy = static_cast<int>(y >> (kFraction - 8)) & 255;
  // Of the last column and row the neighbours weigh nothing.
  const int next = left + 1 < picture.width ? 1 : 0;
  const std::uint8_t* above = picture.row(top) + left;
  const std::uint8_t* below = picture.row(top + 1 < picture.height ? top + 1 : top) + left;
  const int a = above[0] * (256 - fx) + above[next] * fx;
  const int b = below[0] * (256 - fx) + below[next] * fx;
  return static_cast<std::uint8_t>((a * (256 - fy) + b * fy + (1 << 15)) >> 16);
}

/// A box of the canvas in the picture: its centre goes where it belongs, rounded half up to whole
/// pixels, its sides stay. False where the centre is outside the picture.
CUFACE_HD inline bool to_picture(const Turn& t, Rect& box) {
  const std::int64_t a = 2 * box.x + box.w - t.canvas_width;
  const std::int64_t b = 2 * box.y + box.h - t.canvas_height;
  const std::int64_t w = t.width, h = t.height;
  const std::int64_t x = a * t.cos - b * t.sin + (w << 16);  // twice the centre's, times 2^16
  const std::int64_t y = a * t.sin + b * t.cos + (h << 16);
  if (x < 0 || y < 0 || x >= w << kFraction || y >= h << kFraction) return false;
  const std::int64_t half = 1 << 16;
  box.x = static_cast<int>((x - (static_cast<std::int64_t>(box.w) << 16) + half) >> kFraction);
  box.y = static_cast<int>((y - (static_cast<std::int64_t>(box.h) << 16) + half) >> kFraction);
  return true;
}

}  // namespace turning
}  // namespace cuface
