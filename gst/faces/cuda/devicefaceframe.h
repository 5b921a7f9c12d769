// Faces of a frame on the GPU, for the face elements: those before, and room for their own.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "gst/base/cuda/deviceframe.h"
#include "gst/faces/cuda/devicefaceresult.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/faces/counters_cuda.h"

namespace cuface::gst {

/// Lives for one process_faces() call, as the DeviceFrame does.
class DeviceFaceFrame {
 public:
  explicit DeviceFaceFrame(DeviceFrame& device) : device_(device) {}

  Result<cuda::Launcher> launcher() { return device_.launcher(); }
  Result<ImageView<const std::uint8_t>> luma() { return device_.luma(); }
  Result<DevicePyramid> pyramid() { return device_.pyramid(); }
  Status keep(const DevicePyramid& earlier) { return device_.keep(earlier); }
  Status settle() { return device_.settle(); }

  /// The faces in device memory and pixels of this frame, for kernels of this frame; null for an
  /// empty result. Uploads faces that are in host memory or of another size.
  Result<const cuda::DeviceFaces*> faces(const FaceResult& faces);
  /// Room for this element's faces with up to that many landmarks each; for up to
  /// DeviceSlots::kStaged lists a frame.
  Result<std::shared_ptr<DeviceFaceResult>> new_faces(int landmarks);
  /// Submits the work on `faces`, which are then the result. `detector`: as in FaceList. `scratch`:
  /// what the work uses in turn with others, or null.
  Result<FaceResult> submit_faces(std::shared_ptr<DeviceFaceResult> faces, DetectorName detector,
                                  cuda::CountedWork work, cuda::Scratch* scratch = nullptr);
  /// After submit_faces(): another list that the same work writes.
  FaceResult pending_faces(std::shared_ptr<DeviceFaceResult> faces, DetectorName detector);
  /// The same in pixels of whatever frame they are of, for kernels that scale them or read their
  /// flags alone; null where they are not in this context.
  Result<const cuda::DeviceFaces*> faces_of_any_size(const FaceResult& faces);

 private:
  Result<const cuda::DeviceFaces*> upload(const FaceList& faces);

  DeviceFrame& device_;
  std::array<std::shared_ptr<DeviceFaceResult>, DeviceSlots::kStaged> made_;  // by new_faces()
  std::size_t lists_ = 0;
};

}  // namespace cuface::gst
