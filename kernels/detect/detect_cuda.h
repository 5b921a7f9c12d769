// detect on CUDA: the faces that the CPU's Detector finds, left in device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cascade/cascade.h"
#include "kernels/cascade/cascade_cuda.h"
#include "kernels/common/cuda.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/detect/detect.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/group/group_cuda.h"
#include "kernels/integral/integral_cuda.h"
#include "kernels/pyramid/resize_cuda.h"

namespace cuface::cuda {

/// Plan: create() validates and allocates everything for one picture size, on the current context.
/// enqueue() only launches; it may be captured into a graph, which stays valid as long as the
/// object. One object serves one stream at a time.
class Detector {
 public:
  /// As cuface::Detector::create. Besides, kUnsupported for ScaleMode::kWindow and for more than
  /// kMaxFaces faces.
  static Result<std::unique_ptr<Detector>> create(std::shared_ptr<const CascadeModel> model,
                                                  const DetectConfig& config, int width,
                                                  int height);

  /// `luma` has the planned size (else kInvalidArgument) and lies in device memory, as do `run` and
  /// `out`. Writes count, landmarks_per_face (0), searched, overflow and faces[0..count) of `out`,
  /// in the order of DetectResult. `run` null = always search; where *run is 0 nothing is searched:
  /// count, searched and overflow are 0.
  Status enqueue(ImageView<const std::uint8_t> luma, const std::int32_t* run, DeviceFaces* out,
                 cudaStream_t stream);

  /// What the last search found before grouping, in device memory: for tests and statistics.
  const CascadeSearch& search() const { return search_; }
  /// The levels' pictures and sums of the last search, and where each level lies in both: for
  /// tests.
  ImageView<const std::uint8_t> pixels() const { return pixels_.view(); }
  const SumPlanes& planes() const { return planes_; }
  const std::vector<AtlasSlot>& slots() const { return slots_; }

 private:
  Detector() = default;
  Status plan(const CascadeModel& model, const DetectConfig& config, int width, int height);

  int width_ = 0, height_ = 0;                    ///< of the picture
  int searched_width_ = 0, searched_height_ = 0;  ///< of the picture that is searched
  int max_faces_ = 0;
  LevelResize shrink_, resize_;
  DeviceImage<std::uint8_t> small_;   ///< with detect_scale
  DeviceImage<std::uint8_t> pixels_;  ///< atlas of the levels
  std::vector<AtlasSlot> slots_;      ///< of each level's pixels, and of its sums, in their atlases
  DeviceBuffer<std::uint32_t> words_;
  SumPlanes planes_;
  LevelIntegrals integrals_;
  CascadeSearch search_;
  Grouper grouper_;
};

}  // namespace cuface::cuda
