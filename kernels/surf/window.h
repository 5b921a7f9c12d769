// What a direction and a descriptor are made of, plainly and by vectors: gradients around a
// keypoint, and a window of pixels that is resized.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/features/features.h"

namespace cuface::surf {

/// Pixels along a side of a resized window, at most.
inline constexpr int kMostPatch = 21;
/// Directions that are tried, and degrees from one to the next.
inline constexpr int kTurns = 72, kTurnDegrees = 5;

inline float scale_of(const Keypoint& k) { return k.size * 1.2f / 9.0f; }

/// Gradients around a keypoint.
struct Gradients {
  std::vector<float> x, y;
  std::vector<std::int32_t> degrees;
};

/// For each turn the sum of the gradients within 30 degrees of it, in their order.
struct TurnSums {
  float x[kTurns], y[kTurns];
};
void sum_turns(const Gradients& gradients, TurnSums& out);
void sum_turns_vector(const Gradients& gradients, TurnSums& out);

/// Where the size x size pixels of a window are.
struct WindowPlace {
  int size = 0;
  bool upright = false;
  int left = 0, bottom = 0;    ///< upright, pixel j of line i is (left + i, bottom - j)
  float sine = 0, cosine = 0;  ///< else it is (x[i], y[i]) + j * (cosine, -sine), added in double
  std::vector<float> x, y;     ///< room for a vector more

  /// That of a keypoint, which is resized to so many pixels.
  void set(const Keypoint& k, bool is_upright, int patch);

  /// Calls work(j, x, y) for each pixel of line i, where it is not upright.
  template <typename Work>
  void for_each_of_line(int i, Work work) const {
    double at_x = static_cast<double>(x[static_cast<std::size_t>(i)]),
           at_y = static_cast<double>(y[static_cast<std::size_t>(i)]);
    for (int j = 0; j < size; ++j) {
      work(j, at_x, at_y);
      at_x += static_cast<double>(cosine);
      at_y -= static_cast<double>(sine);
    }
  }
};

/// The pixels of a side that make one of a smaller one, and their shares of it.
struct Shares {
  struct One {
    int first = 0, count = 0;
    const float* weights = nullptr;
  };
  std::vector<One> of;
  std::vector<float> weights;
};
Shares shares_of(int from_size, int to_size);

/// A mean of side x side whole pixels, and one of shares of pixels, as OpenCV rounds them.
std::uint8_t mean_of(int sum, int side);
std::uint8_t byte_of(float value);

/// A pixel of a window: between four of the picture, or the nearest one at its sides.
std::uint8_t pixel_at(const ImageView<const std::uint8_t>& grey, double x, double y);

/// Resizes windows to patch x patch bytes, as OpenCV's INTER_AREA does. Each is so wide at least.
class WindowResize {
 public:
  explicit WindowResize(int patch) : patch_(patch) {}

  void run(ImageView<const std::uint8_t> grey, const WindowPlace& place, std::uint8_t* patch);
  void run_vector(ImageView<const std::uint8_t> grey, const WindowPlace& place,
                  std::uint8_t* patch);

 private:
  /// Of arrays that vectors read.
  static constexpr int kVector = 64;
  /// Sums of a square of pixels are below 2^24 up to this side.
  static constexpr int kMostExactSide = 256;
  /// The pixels of a window: pixel j of line i is first[j * pitch + i].
  struct Lines {
    const std::uint8_t* first;
    std::ptrdiff_t pitch;
  };

  /// Those of windows of this size.
  const Shares& shares(int size);
  Lines lines_of(const ImageView<const std::uint8_t>& grey, const WindowPlace& place);

  int patch_;
  std::vector<std::uint8_t> pixels_;
  std::vector<float> sums_;
  std::vector<Shares> shares_;  ///< by size
};

}  // namespace cuface::surf
