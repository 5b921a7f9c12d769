// Negative samples: windows of the backgrounds that the cascade so far takes for what it is to
// find.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "kernels/boost/boost.h"
#include "kernels/common/stop_flag.h"
#include "models/train/backgrounds.h"
#include "models/train/gpu_mining.h"
#include "models/train/windows.h"

namespace cuface::train {

/// Where mining stands. What is kept of it in a checkpoint is enough to go on.
struct MiningPosition {
  std::uint64_t next_picture = 0;             ///< over all stages: the backgrounds, again and again
  std::uint64_t next_generated = 0;           ///< the same of generated ones
  std::uint64_t pictures = 0, generated = 0;  ///< looked at for this stage
  std::int64_t windows = 0;                   ///< the same
  std::int64_t passed = 0;                    ///< of these

  /// Of the next stage nothing has been looked at.
  void next_stage() { pictures = generated = 0, windows = passed = 0; }
};

/// Each background is looked at so often for a stage, each time with other places and sizes.
inline constexpr std::uint64_t kMiningPasses = 4;

/// Whether the windows that pass these stages are drawn: of all windows a search would be longer.
bool draws_windows(std::span<const BoostedStage> stages);

struct MiningOptions {
  std::uint64_t seed = 0;
  std::size_t wanted = 1000;    ///< samples of a stage
  std::uint64_t generated = 0;  ///< most generated backgrounds for a stage, after the others
  int threads = 0;
  TrainingBackend backend = TrainingBackend::kCpu;  ///< of searches; not of what is drawn
  /// Decoded for the GPU at once, about, and as many for each of the next two searches: large
  /// photographs would take gigabytes.
  double pixels_at_once = 128e6;
};

/// How many samples a stage will find in `pictures` backgrounds and options.generated ones, by what
/// `looked` tells of the stage that it was of, where this one lets the share `passing` of the
/// windows of that one through. Rough: a picture may give more windows than others.
double expected_samples(const MiningPosition& looked, std::size_t pictures,
                        const MiningOptions& options, double passing);

/// Serves one thread at a time. The same options, backgrounds and stages give the same samples with
/// any number of threads, on either processor, and wherever it was interrupted.
class Miner {
 public:
  /// All must outlive it. `positives` are windows that no background may hold.
  /// `make_gpu` makes what searches on a GPU: tests have one that needs none.
  Miner(const FeatureBank& bank, Backgrounds& backgrounds, const WindowList& positives,
        const MiningOptions& options, const GpuMiningMaker& make_gpu = make_gpu_mining);
  ~Miner();

  /// Appends to `found` until it holds as many as are wanted: windows that pass `stages`, are not
  /// flat, and differ from each other. With fewer, and ok, once there is nothing more to look at.
  /// `progress` is called now and then, when `position` and `found` belong together. kCancelled
  /// once `stop` is raised: they belong together then, too. With TrainingBackend::kCuda also what
  /// make_gpu_mining() says.
  Status gather(std::span<const BoostedStage> stages, MiningPosition& position, WindowList& found,
                const std::function<void()>& progress, const StopFlag* stop);

  /// Whether a GPU searched for the last stage.
  bool was_on_gpu() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cuface::train
