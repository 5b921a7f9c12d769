// Samples of faces in device memory: the bits of SampledLandmarker (landmark_samples.h).
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/landmark_samples/landmark_samples.h"
#include "kernels/landmark_samples/starts.h"
#include "kernels/landmarks/cuda/landmarker.h"
#include "kernels/landmarks/head_box.h"

namespace cuface::cuda {

/// The state of a face while its boxes are evaluated.
struct FaceOfSamples {
  unsigned done = 0;   ///< boxes so far of this launch
  bool found = false;  ///< the first look has found `head`
  forest::HeadBox head;
};

/// Each sample of a face goes through the forest beside the others. Create and enqueue in the
/// context of the forest. With more than one sample it has memory of its own, so that it serves one
/// stream (or streams ordered by the caller).
class SampledLandmarker {
 public:
  /// Allocates. As Landmarker::create(); kInvalidArgument for a wrong number of samples. `refine`:
  /// faces that `rolls` does not know are looked at twice.
  static Result<std::unique_ptr<SampledLandmarker>> create(
      std::shared_ptr<const DeviceForest> forest, int iterations, int samples, bool refine = false);

  /// As Landmarker::enqueue(). A face of which a sample box is empty or not finite, which the CPU
  /// refuses, gets all its points at (0, 0). One launch; two to refine, which needs `rolls`.
  Status enqueue(ImageView<const std::uint8_t> luma, const DeviceFaces* in, const BoxMap& map,
                 DeviceFaces* out, Launcher launch, const RollState* rolls = nullptr);

 private:
  SampledLandmarker(std::unique_ptr<Landmarker> alone, std::shared_ptr<const DeviceForest> forest,
                    int samples, bool refine)
      : alone_(std::move(alone)), forest_(std::move(forest)), samples_(samples), refine_(refine) {}

  std::unique_ptr<Landmarker> alone_;  // for one sample, not refined: the rest is then not there
  std::shared_ptr<const DeviceForest> forest_;
  int samples_, stages_ = 0;
  bool refine_, staged_ = false;
  BoxMap map_;                               // of the last call
  SampleMaps maps_, look_maps_, head_maps_;  // about it, and about the box itself
  DeviceBuffer<Point> points_;               // of all boxes, face after face
  DeviceBuffer<FaceOfSamples> faces_;
  DeviceBuffer<forest::StartScratch> scratch_;
};

}  // namespace cuface::cuda
