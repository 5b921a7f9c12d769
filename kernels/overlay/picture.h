// A picture with transparency that is drawn on every face [S1.14].
//
// picture_rules.h: where it lies on a face, and what one pixel gets of it, for the CPU and CUDA;
// picture.cc: its samples, and the drawing; picture_cuda.h: the drawing on CUDA.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces.h"
#include "kernels/luma/color_matrix.h"
#include "kernels/luma/luma.h"
#include "kernels/overlay/overlay.h"
#include "kernels/overlay/picture_rules.h"

namespace cuface {

/// Of a picture: pixels along a side, and in all.
inline constexpr int kMostPictureSide = 4096;
inline constexpr std::int64_t kMostPicturePixels = std::int64_t{1} << 22;

/// A picture, and its samples for the kind of frame that was drawn on last. One thread at a time.
class FacePicture {
 public:
  /// Takes pixels as PNG files have them: 0xAARRGGBB, not premultiplied. kInvalidArgument where the
  /// picture is empty or too large.
  static Result<FacePicture> create(Image<Argb> pixels);

  /// The samples for frames like this one. Allocates where the frame before was of another kind.
  /// Valid until the next call.
  const raster::PictureLevels& in(const FrameView& frame, ColorMatrix matrix);
  /// How many times in() has made samples anew.
  int changes() const { return changes_; }

 private:
  /// What decides a sample.
  struct Kind {
    bool rgb = false, full_range = false;
    ColorMatrix matrix = ColorMatrix::kBt601;
    int depth[3] = {};
    friend bool operator==(const Kind&, const Kind&) = default;
  };

  explicit FacePicture(Image<Argb> pixels) : pixels_(std::move(pixels)) {}

  Image<Argb> pixels_;
  Kind kind_;
  std::vector<raster::PicturePixel> samples_;
  raster::PictureLevels levels_;
  int changes_ = 0;
};

namespace raster {

/// Draws the picture as it lies; clipped to the frame.
void draw_picture(const FrameView& frame, const PictureLevels& levels, const PicturePlace& place);
void draw_picture(const FrameView& frame, const PictureLevels& levels, const PlanePlace& place);

}  // namespace raster
}  // namespace cuface
