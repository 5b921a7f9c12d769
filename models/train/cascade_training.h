// The loop that trains a cascade, stage by stage [S4.10]: negatives that the stages so far take for
// what is to be found, then boosting. What it has so far is a CascadeState; from any that its
// watcher sees, it goes on to the bytes of an undisturbed run.
//
// cascade_checkpoint.h keeps a state in a file, command_cascade.cc is the command.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/boost/boost.h"
#include "models/train/mining.h"

namespace cuface::train {

/// All that decides about the bytes, but for the samples. Defaults are opencv_traincascade's.
struct CascadeSettings {
  WindowSize size;
  int stages = 20;  ///< -numStages
  FeatureMode features = FeatureMode::kBasic;
  FeatureWeights weights = FeatureWeights::kZeroMean;
  BoostOptions boost;
  std::size_t negatives = 1000;  ///< -numNeg: of each stage
  std::uint64_t generated = 0;   ///< most generated backgrounds that a stage looks at
  std::uint64_t seed = 0;

  friend bool operator==(const CascadeSettings&, const CascadeSettings&) = default;
};
/// kInvalidArgument, with the option's name.
Status validate(const CascadeSettings& settings);

/// Fewer positives teach nothing.
inline constexpr std::size_t kFewestPositives = 10;

/// Where a stage's samples came from, and what it cost.
struct StageRecord {
  std::uint32_t positives = 0, negatives = 0;
  MiningPosition mining;
  double mining_seconds = 0, boosting_seconds = 0;
  double prepare_seconds = 0, search_seconds = 0;  ///< of boosting
  std::uint64_t bytes = 0;                         ///< that boosting kept at most
  // In this run: no checkpoint keeps it.
  bool on_gpu = false;        ///< boosting
  bool mined_on_gpu = false;  ///< searches of backgrounds
};

struct CascadeState {
  explicit CascadeState(WindowSize size) : negatives(size) {}

  std::vector<BoostedStage> stages;  ///< done
  std::vector<StageRecord> records;  ///< of these, and perhaps of the one that has begun
  MiningPosition position;           ///< of the one that has begun
  WindowList negatives;              ///< the same, as far as they are found
  BoostedStage begun;                ///< the same: its first trees
};

enum class CascadeStep {
  kMining,    ///< some backgrounds were looked at
  kMined,     ///< the stage has its negatives
  kBoosting,  ///< one more tree
  kStage,     ///< a stage is done
};

struct CascadeRun {
  int threads = 0;
  // As StageRun has them; the backend is that of mining, too.
  TrainingBackend backend = TrainingBackend::kCpu;
  std::size_t memory = std::size_t{2} << 30, device_memory = 0;
  const StopFlag* stop = nullptr;
  /// After each step, from the calling thread: what to do with the state until it returns.
  std::function<void(const CascadeState&, CascadeStep)> watch;
};

enum class CascadeEnd {
  kAllStages,
  kTooFewNegatives,  ///< all backgrounds were looked at; the stages before are a cascade
};

/// Goes on from `state`, which begins empty. The stage that has begun is checked, the ones before
/// make_cascade() has to have accepted. kInvalidArgument where settings and samples do not fit, or
/// too few positives are left; kCancelled once `stop` is raised: `state` can be gone on from then.
Result<CascadeEnd> train_cascade(const CascadeSettings& settings, const FeatureBank& bank,
                                 const WindowList& positives, Backgrounds& backgrounds,
                                 const CascadeRun& run, CascadeState& state);

}  // namespace cuface::train
