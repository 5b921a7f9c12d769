// A block has windows of one scale, which lie behind each other. It binds a stage's features to
// that scale in shared memory, so that there is no table for each scale. After each stage it lists
// the windows that are left: a thread takes one; where they are few, a warp does, a tree a lane.
#include <limits>

#include "kernels/cascade/cuda/scaled_search.h"
#include "kernels/cascade/evaluate.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/try.h"

namespace cuface::cuda {
namespace {

constexpr int kThreads = 256;    // and windows of a block
constexpr int kFewWindows = 64;  // whose trees warps share, at most

static_assert(kMaxTreeNodes <= ScaledTables::kMostNodes, "a part has at least one tree");

/// What a kernel is told. No padding: Launcher::begin_if().
struct ScaledTask {
  const ScaledLevel* levels;
  const ScaledPart* parts;
  const ScaledNode* nodes;
  const CascadeView::Tree* trees;
  const float* leaves;
  ImageView<const std::uint32_t> sums;
  ImageView<const std::uint64_t> squared;
  std::int64_t tilted;  ///< words from sums to tilted sums
  std::int32_t level_count, part_count;
};

/// What the threads of a block share.
struct ScaledBlock {
  BoundCascade::Node nodes[ScaledTables::kMostNodes];  ///< of a part, bound to the block's scale
  double sum[kThreads];                                ///< of the stage's leaves, by the list
  std::int32_t window[kThreads];                       ///< the list
  float norm[kThreads];
  std::int32_t listed;
};

/// Makes the list of those threads' windows that are `kept`; how many these are. All threads have
/// read what was listed before.
__device__ int list_windows(ScaledBlock& block, bool kept, int window, float norm) {
  const unsigned lane = threadIdx.x % kWarp;
  if (threadIdx.x == 0) block.listed = 0;
  __syncthreads();
  const unsigned all = __ballot_sync(kAllLanes, kept);
  int first = 0;
  if (lane == 0 && all != 0) first = atomicAdd(&block.listed, __popc(all));
  first = __shfl_sync(kAllLanes, first, 0);
  if (kept) {
    const int at = first + __popc(all & ((1u << lane) - 1));
    block.window[at] = window;
    block.norm[at] = norm;
  }
  __syncthreads();
  return block.listed;
}

/// Adds the leaves of a part's trees to the sums of all windows listed.
__device__ void add_part(const ScaledTask& task, const ScaledPart& part,
                         const ScaledWindows& windows, int count, ScaledBlock& block) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const auto before = [&](int i) { return part.begins ? 0.0 : block.sum[i]; };
  const auto corner_of = [&](int i) {
    const int window = block.window[i];
    return &task.sums.at(window % windows.across * windows.step,
                         window / windows.across * windows.step);
  };
  const auto leaf = [&](int tree, const std::uint32_t* corner, float norm) {
    const CascadeView::Tree t = task.trees[part.first_tree + tree];
    return tree_value(block.nodes + (t.first_node - part.first_node), task.leaves + t.first_leaf,
                      corner, norm);
  };
  if (count > kFewWindows) {
    if (thread >= count) return;
    const std::uint32_t* corner = corner_of(thread);
    const float norm = block.norm[thread];
    double sum = before(thread);
    for (int t = 0; t < part.tree_count; ++t) sum += static_cast<double>(leaf(t, corner, norm));
    block.sum[thread] = sum;
    return;
  }
  for (int i = warp; i < count; i += kThreads / kWarp) {
    const std::uint32_t* corner = corner_of(i);
    double sum = before(i);
    for (int first = 0; first < part.tree_count; first += kWarp) {
      const int trees = min(kWarp, part.tree_count - first);
      const float value = lane < trees ? leaf(first + lane, corner, block.norm[i]) : 0.0f;
      sum = add_in_order(sum, value, trees);
    }
    __syncwarp();  // all have read what the sum was before
    if (lane == 0) block.sum[i] = sum;
  }
}

__global__ void __launch_bounds__(kThreads)
    scaled_search_kernel(ScaledTask task, const std::int32_t* run, Rect* raw, std::uint64_t limit,
                         SearchCounts* counts) {
  __shared__ ScaledBlock block;
  if (idle(run)) return;
  const int thread = static_cast<int>(threadIdx.x);
  const ScaledLevel& level =
      task.levels[part_of<&ScaledLevel::first_block>(task.levels, task.level_count, blockIdx.x)];
  const ScaledWindows windows = level.windows;
  const SumLayout layout = {
      static_cast<int>(task.sums.stride / std::ptrdiff_t{sizeof(std::uint32_t)}),
      static_cast<std::ptrdiff_t>(task.tilted)};
  int window = static_cast<int>(blockIdx.x - level.first_block) * kThreads + thread;
  float norm = 0;
  if (window < windows.count())
    norm = scaled_inverse_norm(windows, window % windows.across * windows.step,
                               window / windows.across * windows.step, task.sums, task.squared);
  int count = list_windows(block, norm != 0.0f, window, norm);
  bool is_first_stage = true;
  for (int p = 0; p < task.part_count && count > 0; ++p) {
    const ScaledPart part = task.parts[p];
    for (int n = thread; n < part.node_count; n += kThreads) {
      const ScaledNode& node = task.nodes[part.first_node + n];
      block.nodes[n] = {
          bind_scaled_feature(node.feature, windows.scale, windows.width, windows.height, layout),
          node.threshold, node.left, node.right};
    }
    __syncthreads();
    add_part(task, part, windows, count, block);
    __syncthreads();
    if (!part.is_last) continue;
    const bool passes = thread < count && !(block.sum[thread] < part.threshold);
    if (thread < count) {
      window = block.window[thread];
      norm = block.norm[thread];
    }
    count = list_windows(block, passes, window, norm);
    if (is_first_stage && thread == 0)
      atomicAdd(&counts->listed, static_cast<std::uint32_t>(count));
    is_first_stage = false;
  }
  if (thread >= count) return;
  const std::uint32_t at = atomicAdd(&counts->raw, 1u);
  if (at >= limit) return;
  window = block.window[thread];
  raw[at] = {window % windows.across * windows.step, window / windows.across * windows.step,
             windows.width, windows.height};
}

}  // namespace

Result<ScaledSearch> ScaledSearch::create(DeviceCascade& cascade,
                                          const std::vector<ScaledWindows>& windows,
                                          std::uint32_t limit, ScratchLayout& scratch) {
  ScaledSearch search;
  std::vector<ScaledLevel> levels;
  long long blocks = 0;
  for (const ScaledWindows& scale : windows) {
    if (scale.count() == 0) continue;
    levels.push_back({scale, static_cast<std::uint32_t>(blocks)});
    blocks += (scale.count() - 1) / kThreads + 1;
    if (blocks > std::numeric_limits<std::int32_t>::max())
      return Status(StatusCode::kUnsupported, "the windows of this picture are too many");
  }
  search.blocks_ = static_cast<std::uint32_t>(blocks);
  CUFACE_TRY(take(cascade.scaled_tables(), search.tables_));
  CUFACE_TRY(take(upload(levels), search.levels_));
  search.raw_ = scratch.add<Rect>(limit);
  search.counts_ = scratch.add<SearchCounts>(1);
  return Result<ScaledSearch>(std::move(search));  // nvcc does not move by itself
}

void ScaledSearch::bind(std::byte* scratch) {
  raw_.bind(scratch);
  counts_.bind(scratch);
}

Zeros ScaledSearch::zeros() const {
  // A part of the scratch has room for whole quads.
  return {reinterpret_cast<uint4*>(counts_.data()), (sizeof(SearchCounts) - 1) / sizeof(uint4) + 1};
}

Status ScaledSearch::enqueue(const IntegralImages& integrals, const std::int32_t* run,
                             Launcher launch) const {
  if (blocks_ == 0) return {};
  const ScaledTask task = {levels_.data(),
                           tables_->parts.data(),
                           tables_->nodes.data(),
                           tables_->trees.data(),
                           tables_->leaves.data(),
                           integrals.sums(),
                           integrals.squared(),
                           integrals.tilted(),
                           static_cast<std::int32_t>(levels_.size()),
                           static_cast<std::int32_t>(tables_->parts.size())};
  return launch("all stages of scaled windows", scaled_search_kernel, {blocks_, kThreads}, task,
                run, raw_.data(), raw_.size(), counts_.data());
}

}  // namespace cuface::cuda
