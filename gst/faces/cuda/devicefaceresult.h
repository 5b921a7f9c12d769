// The faces of a frame on the GPU, until the last who may read them is gone.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "gst/base/cuda/deviceresult.h"
#include "gst/meta/facemeta.h"
#include "kernels/faces/faces_cuda.h"

namespace cuface::gst {

/// Of a cascade, as in FaceList::detector; passed on from frame to frame. Never null.
using DetectorName = std::shared_ptr<const std::string>;

/// Faces in a slot: cuda::DeviceFaces.
class DeviceFaceResult final : public DeviceResult {
 public:
  using DeviceResult::DeviceResult;

  cuda::DeviceFaces* written() const {
    return reinterpret_cast<cuda::DeviceFaces*>(DeviceResult::written());
  }
  cuda::DeviceFaces* slot() const {
    return reinterpret_cast<cuda::DeviceFaces*>(DeviceResult::slot());
  }
  /// The points per face that there is room for.
  int landmarks_capacity() const;
  const DetectorName& detector() const { return detector_; }
  /// Before it is added to the frame.
  void set_detector(DetectorName detector) { detector_ = std::move(detector); }
  const LandmarkSchemeRef& scheme() const { return scheme_; }
  /// As FaceList::scheme; before it is added to the frame.
  void set_scheme(LandmarkSchemeRef scheme) { scheme_ = std::move(scheme); }

 protected:
  DeviceSlots::Decoder decoder() const override;

 private:
  DetectorName detector_;
  LandmarkSchemeRef scheme_;
};

using DeviceFaceRef = std::shared_ptr<const DeviceFaceResult>;

/// The faces on the GPU, null when they are elsewhere.
inline DeviceFaceRef faces_on_device(const FaceResult& faces) {
  return on_device<DeviceFaceResult>(faces.pending);
}
/// Their landmark capacity on the GPU; of faces elsewhere, the points that they have.
int landmarks_capacity(const FaceResult& faces);
/// FaceList::scheme, without waiting.
LandmarkSchemeRef scheme_of(const FaceResult& faces);
/// The name in FaceList::detector, without waiting.
DetectorName detector_of(const FaceResult& faces);

}  // namespace cuface::gst
