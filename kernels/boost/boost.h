// boost: trains one stage of a Haar cascade by AdaBoost [S1.15, S4.01, S4.04, S4.07 - S4.09,
// S4.12], as opencv_traincascade 3.4 does. The same samples and options give the same bytes with
// any number of threads, any memory and on any processor (docs/design/boost.md).
//
// feature_bank.h: all features of a window. steps.h: what a round computes, as pure functions.
// search.h: the best split of a node; reference.cc is the plain one, cpu/ and cuda/ the fast ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/boost/feature_bank.h"
#include "kernels/cascade/cascade.h"
#include "kernels/common/backend.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"

namespace cuface {

/// Grey windows that somebody else owns: window after window, row after row. Their order is part of
/// the input.
struct TrainingSamples {
  std::span<const std::uint8_t> pixels;  ///< width * height for each
  std::span<const std::uint8_t> labels;  ///< for each 1 = positive, 0 = negative
  int width = 0, height = 0;

  std::size_t count() const { return labels.size(); }
  const std::uint8_t* window(std::size_t i) const {
    return pixels.data() + i * static_cast<std::size_t>(width * height);
  }
};

/// Of more, the weights would be too coarse.
inline constexpr std::size_t kMostTrainingSamples = std::size_t{1} << 20;

/// opencv_traincascade's -bt: DAB, RAB, LB, GAB.
enum class Boosting { kDiscrete, kReal, kLogit, kGentle };

/// Named, and with defaults, as opencv_traincascade's options.
struct BoostOptions {
  Boosting boosting = Boosting::kGentle;
  float min_hit_rate = 0.995f;     ///< -minHitRate: above 0, below 1
  float max_false_alarm = 0.5f;    ///< -maxFalseAlarmRate: above 0, below 1
  double weight_trim_rate = 0.95;  ///< -weightTrimRate: above 0 to 1; 1 = no trimming
  int max_depth = 1;               ///< -maxDepth: 1 = stumps, to kMostTreeDepth
  int max_weak_count = 100;        ///< -maxWeakCount: 1 or more

  friend bool operator==(const BoostOptions&, const BoostOptions&) = default;
};
inline constexpr int kMostTreeDepth = 4;

/// kInvalidArgument, with the option's name, where one is out of the range that BoostOptions gives.
Status validate(const BoostOptions& options);

/// A weak classifier. Nodes and leaves as HaarTree has them, but a node's `feature` is an index
/// into the FeatureBank.
struct WeakTree {
  std::vector<HaarNode> nodes;
  std::vector<float> leaves;
};

enum class StageEnd {
  kNotYet,         ///< false alarms are still above the goal
  kGoalReached,    ///< the hit rate is held, and false alarms are at the goal or below
  kMostTrees,      ///< max_weak_count was reached first
  kNoBetterSplit,  ///< no split improves on none: samples that no feature tells apart
};

struct BoostedStage {
  std::vector<WeakTree> trees;
  float threshold = 0;    ///< as HaarStage
  float hit_rate = 0;     ///< of the positives it was trained on
  float false_alarm = 0;  ///< of the negatives
  StageEnd end = StageEnd::kNotYet;
};

/// Memory that a stage leaves to the next one.
class StageMemory {
 public:
  virtual ~StageMemory() = default;
};

/// How a stage is trained; nothing in it changes the bytes of the result.
struct StageRun {
  TrainingBackend backend = TrainingBackend::kCpu;  ///< of the search for splits
  int threads = 0;                                  ///< 0 = as many as there are processors
  /// Bytes for what is kept from round to round. What does not fit is computed again each round.
  std::size_t memory = std::size_t{2} << 30;
  /// The same of a GPU's memory; 0 = most of what is free.
  std::size_t device_memory = 0;
  /// Where the GPU's memory stays, for the next stage of the same bank; null: it goes.
  std::unique_ptr<StageMemory>* kept = nullptr;
  /// Called after each weak classifier with the stage so far, from the calling thread.
  std::function<void(const BoostedStage&)> watch;
  const StopFlag* stop = nullptr;
};

/// Seconds and bytes that a stage took.
struct StageCost {
  double prepare_seconds = 0;  ///< sums, values and sorted orders
  double search_seconds = 0;   ///< the best splits
  double total_seconds = 0;
  std::size_t bytes = 0;  ///< allocated at most, on a GPU too
  bool on_gpu = false;    ///< the search
};

/// Trains a stage until a StageEnd. `begun` has its first trees, say from a checkpoint: their
/// rounds are not searched again, and the result has the bytes of an undisturbed run.
///
/// A window whose inverse_norm() (kernels/cascade/evaluate.h) is 0 is flat to every detector: leave
/// such samples out. All their values are 0 here.
///
/// kInvalidArgument where the sizes do not fit each other or the bank, a label is neither 0 nor 1,
/// there is no positive or no negative, or no split of the first tree is better than none.
/// kCancelled once `stop` is raised; what `watch` saw last can be begun from. kOutOfMemory,
/// kOutOfDeviceMemory, and kUnsupported with what CUDA says. A GPU is the current one.
Result<BoostedStage> train_stage(const FeatureBank& bank, const TrainingSamples& samples,
                                 const BoostOptions& options, const StageRun& run = {},
                                 BoostedStage begun = {}, StageCost* cost = nullptr);

/// The cascade of these stages, as opencv_traincascade writes it: each feature once, in the order
/// of the bank. kCorrupt as validate() says where it would be larger than a cascade may be.
Result<CascadeModel> make_cascade(const FeatureBank& bank, std::span<const BoostedStage> stages);

/// For each sample the first stage that it fails, the number of stages where it passes all: the
/// decisions of a detector at these very windows. Flat ones fail stage 0. kInvalidArgument where
/// the windows are not the model's, kCorrupt as validate() says.
Result<std::vector<std::uint16_t>> failed_stages(const CascadeModel& model,
                                                 const TrainingSamples& samples);

/// The same for windows that come one by one. Serves one thread at a time.
class FailedStages {
 public:
  /// `model` is valid, and outlives it. May throw std::bad_alloc.
  explicit FailedStages(const CascadeModel& model);
  FailedStages(FailedStages&&) noexcept;
  ~FailedStages();

  /// Of a window of the model's size, row after row.
  std::uint16_t of(const std::uint8_t* window);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cuface
