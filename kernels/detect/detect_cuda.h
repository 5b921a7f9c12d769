// detect on CUDA: the faces that the CPU's Detector finds, left in device memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cascade/cascade.h"
#include "kernels/cascade/cascade_cuda.h"
#include "kernels/common/cuda.h"
#include "kernels/common/image.h"
#include "kernels/common/launch_cuda.h"
#include "kernels/common/scratch_cuda.h"
#include "kernels/common/status.h"
#include "kernels/detect/detect.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/group/group_cuda.h"
#include "kernels/integral/integral_cuda.h"
#include "kernels/pyramid/resize_cuda.h"

namespace cuface::cuda {

/// Plan: create() validates and allocates everything for one picture size, on the current context.
/// enqueue() only launches. One object serves one stream at a time. Objects may share a scratch:
/// they enqueue in turns of it (Scratch::take_turn).
class Detector {
 public:
  /// As cuface::Detector::create. Besides, kUnsupported for ScaleMode::kWindow and for more than
  /// kMaxFaces faces. `scratch` is asked once for the memory of what a search leaves behind: all
  /// but the tables.
  static Result<std::unique_ptr<Detector>> create(std::shared_ptr<const CascadeModel> model,
                                                  const DetectConfig& config, int width, int height,
                                                  const ScratchSource& scratch = Scratch::create);

  /// `luma` has the planned size (else kInvalidArgument) and lies in device memory, as do `run` and
  /// `out`. Writes count, landmarks_per_face (0), searched, overflow and faces[0..count) of `out`,
  /// in the order of DetectResult. `run` null = always search; where *run is 0 nothing is searched:
  /// on a stream count, searched and overflow are 0, in a graph nothing is written at all. In a
  /// graph with `run` all pointers stay the same from one submission to the next.
  Status enqueue(ImageView<const std::uint8_t> luma, const std::int32_t* run, DeviceFaces* out,
                 Launcher launch);

  /// What the last search found before grouping, in device memory: for tests and statistics.
  const CascadeSearch& search() const { return search_; }
  /// Bytes that the plan needs of it, of which it may have more.
  std::size_t scratch_bytes() const { return scratch_bytes_; }
  Scratch& scratch() { return *scratch_; }
  /// The levels' pictures of the last search, their sums (none where the search makes its own), and
  /// where each level lies in both: for tests.
  ImageView<const std::uint8_t> pixels() const { return pixels_; }
  const SumPlanes& planes() const { return planes_; }
  const std::vector<AtlasSlot>& slots() const { return slots_; }

 private:
  Detector() = default;
  Status plan(const CascadeModel& model, const DetectConfig& config, int width, int height,
              const ScratchSource& scratch);
  Status enqueue_search(ImageView<const std::uint8_t> luma, const std::int32_t* run,
                        DeviceFaces* out, Launcher launch);

  int width_ = 0, height_ = 0;                    ///< of the picture
  int searched_width_ = 0, searched_height_ = 0;  ///< of the picture that is searched
  int max_faces_ = 0;
  LevelResize shrink_, resize_;
  ImageView<std::uint8_t> small_;   ///< with detect_scale
  ImageView<std::uint8_t> pixels_;  ///< atlas of the levels
  std::vector<AtlasSlot> slots_;    ///< of each level's pixels, and of its sums, in their atlases
  SumPlanes planes_;
  LevelIntegrals integrals_;
  CascadeSearch search_;
  Grouper grouper_;
  std::size_t scratch_bytes_ = 0;
  std::shared_ptr<Scratch> scratch_;
};

}  // namespace cuface::cuda
