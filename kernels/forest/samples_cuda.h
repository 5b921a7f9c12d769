// Samples of faces in device memory: the bits of SampledLandmarker (samples.h).
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/common/cuda.h"
#include "kernels/common/image.h"
#include "kernels/common/launch_cuda.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/forest/forest_cuda.h"
#include "kernels/forest/samples.h"

namespace cuface::cuda {

/// Each sample of a face is a face to the forest: they go through it side by side. Create and
/// enqueue in the context of the forest. With more than one sample it has memory of its own, so
/// that it serves one stream (or streams ordered by the caller).
class SampledLandmarker {
 public:
  /// Allocates. As Landmarker::create(); kInvalidArgument for a wrong number of samples. `refine`:
  /// faces that `rolls` does not know are looked at twice.
  static Result<std::unique_ptr<SampledLandmarker>> create(
      std::shared_ptr<const DeviceForest> forest, int iterations, int samples, bool refine = false);

  /// As Landmarker::enqueue(). A face of which a sample box is empty or not finite, which the CPU
  /// refuses, gets all its points at (0, 0). One launch for one sample, else three; six to
  /// refine, which needs `rolls`.
  Status enqueue(ImageView<const std::uint8_t> luma, const DeviceFaces* in, const BoxMap& map,
                 DeviceFaces* out, Launcher launch, const RollState* rolls = nullptr);

 private:
  SampledLandmarker(std::unique_ptr<Landmarker> landmarker,
                    std::shared_ptr<const DeviceForest> forest, int samples, bool refine)
      : landmarker_(std::move(landmarker)),
        forest_(std::move(forest)),
        samples_(samples),
        refine_(refine) {}

  std::unique_ptr<Landmarker> landmarker_;
  std::shared_ptr<const DeviceForest> forest_;
  int samples_;
  bool refine_;
  BoxMap map_;                   // of the last call
  SampleMaps maps_, head_maps_;  // about it, and about the box itself
  // Blocks of kMaxFaces faces: `samples`, and behind them those of the first look and what it has
  // found. None for one sample that is not refined.
  DeviceBuffer<std::uint8_t> rows_;
};

}  // namespace cuface::cuda
