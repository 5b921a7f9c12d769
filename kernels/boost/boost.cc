#include "kernels/boost/boost.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <string>
#include <utility>

#include "kernels/boost/search.h"
#include "kernels/boost/state.h"
#include "kernels/boost/tree.h"
#include "kernels/boost/values.h"
#include "kernels/boost/window_sums.h"
#include "kernels/common/simd.h"
#include "kernels/common/stopwatch.h"
#include "kernels/common/training_backend.h"
#include "kernels/common/try.h"
#include "kernels/common/workers.h"
#ifdef CUFACE_HAVE_CUDA
#include "kernels/boost/cuda/search.h"
#endif

namespace cuface {
namespace {

using boost::BoostState;
using boost::GrownTree;

Status invalid(const std::string& why) { return {StatusCode::kInvalidArgument, why}; }

Status check(const TrainingSamples& samples, const FeatureBank& bank) {
  CUFACE_TRY(boost::check_windows(samples, bank.width(), bank.height()));
  const auto count = [&](std::uint8_t label) {
    return static_cast<std::size_t>(
        std::count(samples.labels.begin(), samples.labels.end(), label));
  };
  const std::size_t positives = count(1), negatives = count(0);
  if (positives + negatives < samples.count()) return invalid("a label is neither 0 nor 1");
  if (positives == 0) return invalid("there is no positive sample");
  if (negatives == 0) return invalid("there is no negative sample");
  return {};
}

/// Of a tree that a checkpoint brings.
bool is_sound(const WeakTree& tree, const FeatureBank& bank, int max_depth) {
  const std::size_t nodes = tree.nodes.size();
  if (nodes == 0 || nodes >= std::size_t{1} << max_depth) return false;
  if (tree.leaves.size() != nodes + 1) return false;
  for (std::size_t n = 0; n < nodes; ++n) {
    const HaarNode& node = tree.nodes[n];
    if (node.feature < 0 || static_cast<std::size_t>(node.feature) >= bank.count()) return false;
    if (!std::isfinite(node.threshold)) return false;
    for (const int child : {node.left, node.right}) {
      const bool is_node = child > static_cast<int>(n) && child < static_cast<int>(nodes);
      const bool is_leaf = child <= 0 && child >= -static_cast<int>(nodes);
      if (!is_node && !is_leaf) return false;
    }
  }
  return std::all_of(tree.leaves.begin(), tree.leaves.end(),
                     [](float leaf) { return std::isfinite(leaf); });
}

using MadeSearch = Result<std::unique_ptr<boost::SplitSearch>>;

MadeSearch make_cpu_search(const FeatureBank& bank, const boost::SampleValues& values,
                           const StageRun& run) {
  if (!simd::vectors()) return boost::make_plain_search(bank, values);
  const int threads = run.threads > 0 ? run.threads : Workers::processors();
  auto search = boost::make_fast_search(bank, values, threads, run.memory, run.stop);
  if (!search) return cancelled();
  return search;
}

MadeSearch make_cuda_search([[maybe_unused]] const FeatureBank& bank,
                            [[maybe_unused]] const TrainingSamples& samples,
                            [[maybe_unused]] const boost::SampleValues& values,
                            [[maybe_unused]] const BoostOptions& options,
                            [[maybe_unused]] const StageRun& run) {
#ifdef CUFACE_HAVE_CUDA
  return cuda::boost::make_search(bank, samples, values, options.boosting, run.device_memory,
                                  run.kept);
#else
  return Status(StatusCode::kUnsupported, "this build has no CUDA");
#endif
}

/// Fills the values. A GPU sorts meanwhile, where it needs upright sums only: it makes them itself.
Status make_search(const FeatureBank& bank, const TrainingSamples& samples,
                   const BoostOptions& options, const StageRun& run, boost::SampleValues& values,
                   std::unique_ptr<boost::SplitSearch>& search, bool& on_gpu) {
  const int threads = run.threads > 0 ? run.threads : Workers::processors();
  on_gpu = run.backend != TrainingBackend::kCpu;
  if (!on_gpu || bank.mode() == FeatureMode::kAll) values.fill(samples, threads);
  if (on_gpu) {
    CUFACE_TRY(take(take_or_fall_back(
                        run.backend, make_cuda_search(bank, samples, values, options, run), search),
                    on_gpu));
  }
  if (!values.is_filled()) values.fill(samples, threads);
  if (!on_gpu) return take(make_cpu_search(bank, values, run), search);
  return search->ready(run.stop);
}

Result<BoostedStage> trained(const FeatureBank& bank, const TrainingSamples& samples,
                             const BoostOptions& options, const StageRun& run, BoostedStage begun,
                             StageCost& cost) {
  const Stopwatch total(cost.total_seconds);
  boost::SampleValues values(bank, samples.count());
  std::unique_ptr<boost::SplitSearch> search;
  {
    const Stopwatch prepare(cost.prepare_seconds);
    CUFACE_TRY(make_search(bank, samples, options, run, values, search, cost.on_gpu));
    cost.bytes = values.bytes() + search->bytes();
  }
  BoostState state(samples, options);
  BoostedStage stage;
  for (WeakTree& tree : begun.trees) {
    if (!is_sound(tree, bank, options.max_depth))
      return invalid("a tree to begin with is not of this window and these options");
    std::vector<std::uint8_t> leaves = boost::leaves_of(tree, bank, values);
    state.add({std::move(tree), std::move(leaves)}, stage);
  }
  while (stage.end == StageEnd::kNotYet) {
    GrownTree grown;
    {
      const Stopwatch searching(cost.search_seconds);
      CUFACE_TRY(boost::grow_tree(bank, values, *search, state.round(), options, run.stop, grown));
    }
    if (grown.tree.nodes.empty()) {
      if (stage.trees.empty())
        return invalid("no feature tells the positive samples from the negative ones");
      stage.end = StageEnd::kNoBetterSplit;
      break;
    }
    state.add(std::move(grown), stage);
    if (run.watch) run.watch(stage);
  }
  return stage;
}

}  // namespace

Status validate(const BoostOptions& options) {
  const auto is_inside = [](double rate) { return rate > 0 && rate < 1; };
  if (!is_inside(options.min_hit_rate)) return invalid("minHitRate must be above 0 and below 1");
  if (!is_inside(options.max_false_alarm))
    return invalid("maxFalseAlarmRate must be above 0 and below 1");
  if (!(options.weight_trim_rate > 0 && options.weight_trim_rate <= 1))
    return invalid("weightTrimRate must be above 0 and not above 1");
  if (options.max_depth < 1 || options.max_depth > kMostTreeDepth)
    return invalid("maxDepth must be 1 to " + std::to_string(kMostTreeDepth));
  if (options.max_weak_count < 1) return invalid("maxWeakCount must be 1 or more");
  return {};
}

Result<BoostedStage> train_stage(const FeatureBank& bank, const TrainingSamples& samples,
                                 const BoostOptions& options, const StageRun& run,
                                 BoostedStage begun, StageCost* cost) {
  CUFACE_TRY(validate(options));
  CUFACE_TRY(check(samples, bank));
  CUFACE_TRY(simd::status());
  StageCost unwanted;
  try {
    return trained(bank, samples, options, run, std::move(begun), cost ? *cost : unwanted);
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory,
                  "the memory is too small for " + std::to_string(samples.count()) +
                      " samples; allow less for sorted orders, or take fewer samples");
  }
}

}  // namespace cuface
