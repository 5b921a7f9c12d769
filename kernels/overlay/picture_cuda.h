// A picture on faces in device memory: the bytes of raster::draw_picture().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/luma/luma.h"
#include "kernels/overlay/overlay.h"
#include "kernels/overlay/picture_rules.h"

namespace cuface::cuda {

/// A copy of a picture's levels, made by FacePicture::in(), for OverlayStyle::picture.
class DevicePicture {
 public:
  DevicePicture() = default;
  /// Complete for every stream when this returns. Plan time only.
  static Result<DevicePicture> create(const raster::PictureLevels& levels);
  /// Their pixels lie in device memory.
  const raster::PictureLevels& levels() const { return levels_; }

 private:
  DeviceBuffer<raster::PicturePixel> pixels_;
  raster::PictureLevels levels_;
};

namespace overlay {

/// What draw_pictures() draws, and on what.
struct PictureJob {
  FrameView frame;
  raster::PictureLevels levels;  ///< in device memory
  PictureFace face;
  const DeviceFaces* faces;      ///< in device memory
  LandmarkScheme scheme;         ///< of their landmarks; points 0: that of their number
  int capacity;                  ///< faces that have more landmarks are taken for such without
  raster::PicturePlace* places;  ///< kMaxFaces, in device memory
};

/// Two launches.
Status draw_pictures(const PictureJob& pictures, Launcher launch);

/// The same on planes: bytes of raster::draw_picture() on each in turn.
struct PlaneJob {
  FrameView frame;
  raster::PictureLevels levels;  ///< in device memory
  /// How many there are, and the four corners of the first; those of the next lie `stride` bytes
  /// behind. In device memory.
  const std::int32_t* count;
  const Point* corners;
  std::ptrdiff_t stride;
  int most, unused;            ///< planes at most
  raster::PlanePlace* places;  ///< as many, in device memory
};

/// Two launches.
Status draw_pictures(const PlaneJob& planes, Launcher launch);

}  // namespace overlay
}  // namespace cuface::cuda
