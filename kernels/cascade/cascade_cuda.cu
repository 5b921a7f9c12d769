#include <cooperative_groups.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cascade/cascade_cuda.h"
#include "kernels/cascade/evaluate.h"
#include "kernels/common/cuda_table.h"

namespace cuface::cuda {
namespace {

constexpr int kBlock = 128;
constexpr int kBlocksPerProcessor = 16;
// Lists are made anew behind the first stage and these.
constexpr int kSecondGroup = 4, kThirdGroup = 11;
// Threads a window behind these. One thread would walk 2,000 trees one after the other, and wait
// for memory at each: the few windows that get far took longer than all others.
constexpr int kThirdLanes = 8, kLastLanes = 32;

enum FirstResult : std::uint8_t { kFails, kPasses, kFlat };

/// A window by its number.
struct Window {
  int level, x, y;
  int in_row;  ///< its place among the windows of its row
  const std::uint32_t* corner;
};

__device__ Window window_at(const WindowTable& table, const std::uint32_t* sums,
                            std::uint32_t number) {
  Window w;
  w.level = part_of<&WindowLevel::first_window>(table.levels, table.count, number);
  const WindowLevel& level = table.levels[w.level];
  const int inside = static_cast<int>(number - level.first_window);
  w.in_row = inside % level.per_row;
  w.x = w.in_row * level.step;
  w.y = inside / level.per_row * level.step;
  w.corner = sums + level.origin + static_cast<std::ptrdiff_t>(w.y) * table.stride + w.x;
  return w;
}

/// Over the window less a border of one pixel; 0 where it is flat.
__device__ float norm_of(const WindowTable& table, const std::uint32_t* corner) {
  const std::uint32_t* top = corner + table.stride;
  const std::uint32_t* bottom =
      corner + static_cast<std::ptrdiff_t>(table.height - 1) * table.stride;
  const int left = 1, right = table.width - 1;
  const std::uint32_t sum = top[left] - top[right] - bottom[left] + bottom[right];
  top += table.squared;
  bottom += table.squared;
  const std::uint32_t squares = top[left] - top[right] - bottom[left] + bottom[right];
  return inverse_norm((table.width - 2) * (table.height - 2), static_cast<std::int32_t>(sum),
                      squares);
}

template <int kLanes>
using Lanes = cooperative_groups::thread_block_tile<kLanes>;

template <int kLanes>
__device__ Lanes<kLanes> lanes() {
  return cooperative_groups::tiled_partition<kLanes>(cooperative_groups::this_thread_block());
}

/// The same in all lanes.
template <int kLanes>
__device__ double stage_sum(const CascadeView& cascade, const CascadeView::Stage& stage,
                            const std::uint32_t* corner, float norm, const Lanes<kLanes>& lanes) {
  const auto leaf = [&](int t) {
    const CascadeView::Tree tree = cascade.trees[stage.first_tree + t];
    return tree_value(cascade.nodes + tree.first_node, cascade.leaves + tree.first_leaf, corner,
                      norm);
  };
  const int lane = static_cast<int>(lanes.thread_rank());
  double sum = 0;
  if (stage.any_order) {
    for (int t = lane; t < stage.tree_count; t += kLanes) sum += static_cast<double>(leaf(t));
    for (int apart = kLanes / 2; apart > 0; apart /= 2) sum += lanes.shfl_xor(sum, apart);
    return sum;
  }
  for (int first = 0; first < stage.tree_count; first += kLanes) {
    const int count = min(kLanes, stage.tree_count - first);
    const float value = lane < count ? leaf(first + lane) : 0.0f;
    for (int k = 0; k < count; ++k) sum += static_cast<double>(lanes.shfl(value, k));
  }
  return sum;
}

template <int kLanes>
__device__ bool passes(const CascadeView& cascade, int first_stage, int end_stage,
                       const std::uint32_t* corner, float norm, const Lanes<kLanes>& lanes) {
  for (int s = first_stage; s < end_stage; ++s) {
    const CascadeView::Stage stage = cascade.stages[s];
    const double sum = stage_sum<kLanes>(cascade, stage, corner, norm, lanes);
    if (sum < stage.threshold) return false;
  }
  return true;
}

__global__ void reset_kernel(SearchCounts* counts) { *counts = {}; }

/// A thread a window: the first stage, whether or not the window will turn out to be skipped.
__global__ void first_stage_kernel(CascadeView cascade, WindowTable table,
                                   const std::uint32_t* sums, std::uint32_t windows,
                                   std::uint8_t* results, const std::int32_t* run) {
  if (idle(run)) return;
  const std::uint32_t number = blockIdx.x * blockDim.x + threadIdx.x;
  if (number >= windows) return;
  const std::uint32_t* corner = window_at(table, sums, number).corner;
  const float norm = norm_of(table, corner);
  results[number] = norm == 0.0f                                         ? kFlat
                    : passes<1>(cascade, 0, 1, corner, norm, lanes<1>()) ? kPasses
                                                                         : kFails;
}

/// Lists the windows that pass the first stage and are not skipped. A visited window that fails
/// makes the search skip the next one. So in a run of failing windows, whose first is always
/// visited, every second one is, and the window behind the run is visited where the run's length is
/// even: each passing window counts the failing ones right before it, in all at most every window
/// once.
__global__ void visit_kernel(WindowTable table, std::uint32_t windows, const std::uint8_t* results,
                             std::uint32_t* list, std::uint32_t* listed, const std::int32_t* run) {
  if (idle(run)) return;
  const std::uint32_t number = blockIdx.x * blockDim.x + threadIdx.x;
  if (number >= windows || results[number] != kPasses) return;
  const int in_row = window_at(table, nullptr, number).in_row;
  int failing = 0;
  while (failing < in_row && results[number - 1 - static_cast<std::uint32_t>(failing)] == kFails)
    ++failing;
  if (failing % 2 == 0) list[atomicAdd(listed, 1u)] = number;
}

/// `kLanes` threads a listed window at a time: those that pass [first_stage, end_stage) are listed
/// anew.
template <int kLanes>
__global__ void stages_kernel(CascadeView cascade, WindowTable table, const std::uint32_t* sums,
                              int first_stage, int end_stage, const std::uint32_t* list,
                              const std::uint32_t* listed, std::uint32_t* next_list,
                              std::uint32_t* next_listed, const std::int32_t* run) {
  if (idle(run)) return;
  const auto group = lanes<kLanes>();
  const std::uint32_t count = *listed, step = gridDim.x * blockDim.x / kLanes;
  for (std::uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / kLanes; i < count; i += step) {
    const std::uint32_t* corner = window_at(table, sums, list[i]).corner;
    if (passes<kLanes>(cascade, first_stage, end_stage, corner, norm_of(table, corner), group) &&
        group.thread_rank() == 0)
      next_list[atomicAdd(next_listed, 1u)] = list[i];
  }
}

/// The last stages, with kLastLanes threads a window: those that pass become boxes.
__global__ void last_stages_kernel(CascadeView cascade, WindowTable table,
                                   const std::uint32_t* sums, int first_stage, int end_stage,
                                   const std::uint32_t* list, const std::uint32_t* listed,
                                   Rect* raw, std::uint32_t limit, std::uint32_t* raw_count,
                                   const std::int32_t* run) {
  if (idle(run)) return;
  const auto group = lanes<kLastLanes>();
  const std::uint32_t count = *listed, step = gridDim.x * blockDim.x / kLastLanes;
  for (std::uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / kLastLanes; i < count;
       i += step) {
    const Window w = window_at(table, sums, list[i]);
    const float norm = norm_of(table, w.corner);
    if (!passes<kLastLanes>(cascade, first_stage, end_stage, w.corner, norm, group) ||
        group.thread_rank() != 0)
      continue;
    const std::uint32_t at = atomicAdd(raw_count, 1u);
    if (at < limit)
      raw[at] = window_box(w.x, w.y, table.width, table.height, table.levels[w.level].scale);
  }
}

/// Whether every sum of leaves, one of each tree, is exact in double at every step in any order:
/// all are multiples of one power of two, and none exceeds 2^53 of it.
bool exact_in_any_order(const BoundCascade::Stage& stage) {
  double most = 0;                               // rounded, so one bit is left spare
  int lowest = std::numeric_limits<int>::max();  // exponent of the lowest bit of all leaves
  for (int t = 0; t < stage.tree_count; ++t) {
    const BoundCascade::Tree& tree = stage.trees[t];
    float largest = 0;
    for (int l = 0; l <= tree.node_count; ++l) {
      int exponent = 0;
      const float leaf = std::abs(tree.leaves[l]);
      if (leaf == 0.0f) continue;
      largest = std::max(largest, leaf);
      auto bits = static_cast<std::uint32_t>(std::ldexp(std::frexp(leaf, &exponent), 24));
      for (exponent -= 24; bits % 2 == 0; bits /= 2) ++exponent;
      lowest = std::min(lowest, exponent);
    }
    most += static_cast<double>(largest);
  }
  return most == 0 || most <= std::ldexp(1.0, lowest + 52);
}

/// The bound cascade as tables without pointers.
struct FlatCascade {
  std::vector<CascadeView::Stage> stages;
  std::vector<CascadeView::Tree> trees;
  std::vector<BoundCascade::Node> nodes;
  std::vector<float> leaves;
};

FlatCascade flatten(const BoundCascade& cascade) {
  FlatCascade flat;
  for (const BoundCascade::Stage& stage : cascade.stages()) {
    flat.stages.push_back({static_cast<std::int32_t>(flat.trees.size()), stage.tree_count,
                           stage.threshold, exact_in_any_order(stage)});
    for (int t = 0; t < stage.tree_count; ++t) {
      const BoundCascade::Tree& tree = stage.trees[t];
      flat.trees.push_back({static_cast<std::int32_t>(flat.nodes.size()),
                            static_cast<std::int32_t>(flat.leaves.size())});
      flat.nodes.insert(flat.nodes.end(), tree.nodes, tree.nodes + tree.node_count);
      flat.leaves.insert(flat.leaves.end(), tree.leaves, tree.leaves + tree.node_count + 1);
    }
  }
  return flat;
}

}  // namespace

Result<CascadeSearch> CascadeSearch::create(const CascadeModel& model,
                                            const std::vector<Level>& levels,
                                            const std::vector<AtlasSlot>& slots,
                                            const SumLayout& layout, std::ptrdiff_t squared,
                                            std::uint32_t limit, ScratchLayout& scratch) {
  CascadeSearch search;
  BoundCascade bound(model);
  bound.bind(layout);
  const FlatCascade flat = flatten(bound);
  std::vector<WindowLevel> table;
  std::uint64_t windows = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const SearchGrid& grid = levels[i].grid;
    const int per_row = (grid.columns + grid.step - 1) / grid.step;
    const int rows = (grid.rows + grid.step - 1) / grid.step;
    if (per_row == 0 || rows == 0) continue;
    table.push_back({static_cast<std::uint32_t>(windows), per_row, grid.step, levels[i].scale,
                     static_cast<std::ptrdiff_t>(slots[i].y) * layout.stride + slots[i].x});
    windows += static_cast<std::uint64_t>(per_row) * static_cast<std::uint64_t>(rows);
    if (windows > std::numeric_limits<std::int32_t>::max())
      return Status(StatusCode::kUnsupported, "the windows of this picture are too many");
  }
  search.window_count_ = static_cast<std::uint32_t>(windows);
  search.table_ = {nullptr,
                   static_cast<std::int32_t>(table.size()),
                   layout.stride,
                   squared,
                   model.window_width,
                   model.window_height};
  if (Status s = take(upload(flat.stages), search.stages_); !s.ok()) return s;
  if (Status s = take(upload(flat.trees), search.trees_); !s.ok()) return s;
  if (Status s = take(upload(flat.nodes), search.nodes_); !s.ok()) return s;
  if (Status s = take(upload(flat.leaves), search.leaves_); !s.ok()) return s;
  if (Status s = take(upload(table), search.levels_); !s.ok()) return s;
  for (ScratchPart<std::uint32_t>& list : search.list_) list = scratch.add<std::uint32_t>(windows);
  search.results_ = search.list_[1].as<std::uint8_t>();  // read before the second list is written
  search.raw_ = scratch.add<Rect>(limit);
  search.counts_ = scratch.add<SearchCounts>(1);
  int device = 0, processors = 0;
  if (Status s = check(cudaGetDevice(&device), "asking for the GPU"); !s.ok()) return s;
  if (Status s = check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
                       "asking for the GPU's size");
      !s.ok())
    return s;
  search.blocks_ = processors * kBlocksPerProcessor;
  return Result<CascadeSearch>(std::move(search));  // nvcc does not move by itself
}

void CascadeSearch::bind(std::byte* scratch) {
  results_.bind(scratch);
  for (ScratchPart<std::uint32_t>& list : list_) list.bind(scratch);
  raw_.bind(scratch);
  counts_.bind(scratch);
}

CascadeView CascadeSearch::cascade() const {
  return {stages_.data(), trees_.data(), nodes_.data(), leaves_.data()};
}

WindowTable CascadeSearch::windows() const {
  WindowTable table = table_;
  table.levels = levels_.data();
  return table;
}

Status CascadeSearch::enqueue(const std::uint32_t* sums, const std::int32_t* run, Launcher launch) {
  SearchCounts* counts = counts_.data();
  if (Status s = launch("starting the search", reset_kernel, {1, 1}, counts); !s.ok()) return s;
  if (window_count_ == 0) return {};
  const unsigned all = (window_count_ - 1) / kBlock + 1;
  if (Status s = launch("the first stage", first_stage_kernel, {all, kBlock}, cascade(), windows(),
                        sums, window_count_, results_.data(), run);
      !s.ok())
    return s;
  if (Status s = launch("skipping windows", visit_kernel, {all, kBlock}, windows(), window_count_,
                        results_.data(), list_[0].data(), &counts->listed[0], run);
      !s.ok())
    return s;
  const int stages = static_cast<int>(stages_.size());
  const int second = std::min(kSecondGroup, stages), third = std::min(kThirdGroup, stages);
  const auto narrow = [&](auto* kernel, int group, int first, int end) {
    return launch("the next stages", kernel, {blocks_, kBlock}, cascade(), windows(), sums, first,
                  end, list_[group % 2].data(), &counts->listed[group],
                  list_[(group + 1) % 2].data(), &counts->listed[group + 1], run);
  };
  if (Status s = narrow(stages_kernel<1>, 0, 1, second); !s.ok()) return s;
  if (Status s = narrow(stages_kernel<kThirdLanes>, 1, second, third); !s.ok()) return s;
  return launch("the last stages", last_stages_kernel, {blocks_, kBlock}, cascade(), windows(),
                sums, third, stages, list_[0].data(), &counts->listed[2], raw_.data(),
                static_cast<std::uint32_t>(raw_.size()), &counts->raw, run);
}

}  // namespace cuface::cuda
