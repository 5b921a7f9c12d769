// cufaceoverlay on frames in CUDA memory.
#pragma once

#include <memory>

#include "gst/base/device.h"
#include "gst/base/frame.h"
#include "gst/meta/facemeta.h"
#include "gst/meta/planar.h"
#include "kernels/overlay/overlay.h"
#include "kernels/overlay/picture.h"

namespace cuface::gst {

/// Draws in place, ordered before whatever the next element does with the frame: from GStreamer
/// 1.24 on by streams, before that by waiting.
class DeviceDrawer {
 public:
  virtual ~DeviceDrawer() = default;
  /// `picture`: for kDrawImage, the same one on every frame, which flat objects get too; may be
  /// null without. Faces and objects may be none. An error where objects are not on the frame's
  /// GPU.
  virtual Status draw(Frame& frame, const FaceResult& faces, const PlanarFound& planar,
                      ColorMatrix matrix, const OverlayStyle& style, FacePicture* picture) = 0;
};

#ifdef CUFACE_CUDA_ELEMENTS
std::unique_ptr<DeviceDrawer> make_device_drawer();
#else
inline std::unique_ptr<DeviceDrawer> make_device_drawer() { return nullptr; }
#endif

}  // namespace cuface::gst
