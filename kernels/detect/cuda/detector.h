// detect on CUDA: the faces that the CPU's Detector finds, left in device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cascade/cascade.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/cuda/stop.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/detect/cuda/upright.h"
#include "kernels/detect/cuda/verifier.h"
#include "kernels/detect/detect.h"
#include "kernels/detect/search_angles.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/turn/turn.h"

namespace cuface::cuda {

/// Plan: create() validates and allocates everything for one picture size, on the current context.
/// enqueue() only launches. One object serves one stream at a time. Objects may share a scratch:
/// they enqueue in turns of it (Scratch::take_turn).
class Detector {
 public:
  /// As cuface::Detector::create. Besides, kUnsupported for more than kMaxFaces faces, and of
  /// ScaleMode::kPyramid for levels of more than 4 GiB, and where a cascade's windows are too large
  /// for the GPU's shared memory (plan_tiles()). `scratch` is asked once for the memory of what a
  /// search leaves behind: all but the tables. kCancelled: `stop` was raised before it was done.
  static Result<std::unique_ptr<Detector>> create(std::shared_ptr<const CascadeModel> model,
                                                  const DetectConfig& config, int width, int height,
                                                  const ScratchSource& scratch = Scratch::create,
                                                  const StopFlag* stop = nullptr);

  /// How many windows a search of the whole picture looks at, at all angles, without verifying.
  long long windows() const { return windows_; }
  /// Whether a search may take longer than 20 ms, so that it looks at a stop between its launches.
  bool is_long() const { return windows_ > kLongSearch; }
  /// From now on a long search looks at `stop.stop`, and where that is not 0 the rest of it finds
  /// *run 0, as if it had not been asked for: `stop.run` is the `run` of each enqueue().
  void stop_by(const StopLook& stop) { stop_ = is_long() ? stop : StopLook{}; }

  /// `luma` has the planned size (else kInvalidArgument) and lies in device memory, as do `run` and
  /// `out`. Writes count, landmarks_per_face (0), searched, overflow and faces[0..count) of `out`,
  /// in the order of DetectResult. `run` null = always search; where *run is 0 nothing is searched:
  /// on a stream count, searched and overflow are 0, in a graph nothing is written at all. In a
  /// graph kChangedParts and kNewParts write nothing either where nothing has changed, and with
  /// `run` all pointers stay the same from one submission to the next. `band`, in device memory
  /// too, as in cuface::Detector::enqueue; null = the whole picture. Of a part of the picture
  /// `searched` is 0 and `part` says which. `followed`, there too, is verified with
  /// DetectConfig::verify, and told to kernels/activity; null = nobody. Without
  /// DetectConfig::active_parts kActiveParts and the like are the whole picture.
  Status enqueue(ImageView<const std::uint8_t> luma, const std::int32_t* run, DeviceFaces* out,
                 Launcher launch, const SearchRegion* band = nullptr,
                 const FollowedFaces* followed = nullptr);

  /// What the last search left in device memory, at the upright angle with DetectConfig::roll 0:
  /// for tests and statistics. What it found before grouping; of scaled pictures the levels, and
  /// where each level lies in them.
  const Rect* raw_windows() const { return searches_[0].raw_windows(); }
  const SearchCounts* counts() const { return searches_[0].counts(); }
  ImageView<const std::uint8_t> pixels() const { return searches_[0].pixels(); }
  const std::vector<AtlasSlot>& slots() const { return searches_[0].slots(); }
  /// With DetectConfig::active_parts.
  const Activity& activity() const { return searches_[0].activity(); }
  /// Bytes that the plan needs of it, of which it may have more.
  std::size_t scratch_bytes() const { return scratch_bytes_; }
  Scratch& scratch() { return *scratch_; }

 private:
  Detector() = default;
  Status plan(const CascadeModel& model, const DetectConfig& config, int width, int height,
              const ScratchSource& scratch, const StopFlag* stop);
  Status enqueue_angles(ImageView<const std::uint8_t> luma, const std::int32_t* run,
                        DeviceFaces* out, Launcher launch);

  /// Windows: on an H200 about 12 ms, on small GPUs ten times as much.
  static constexpr long long kLongSearch = 100'000'000;

  int max_faces_ = 0;
  long long windows_ = 0;
  StopLook stop_;
  std::vector<Turn> turns_;              ///< upright first
  std::vector<UprightSearch> searches_;  ///< by search_of(); one after the other in one scratch
  ScratchPart<std::uint8_t> canvas_;     ///< of each turn in its turn
  ScratchPart<DeviceFaces> found_;       ///< at each angle
  std::unique_ptr<Verifier> verifier_;   ///< with DetectConfig::verify
  std::size_t scratch_bytes_ = 0;
  std::shared_ptr<Scratch> scratch_;
};

}  // namespace cuface::cuda
