#include <type_traits>

#include "kernels/group/group_cuda.h"
#include "kernels/group/rules.h"

namespace cuface::cuda {
namespace {

constexpr int kBlock = 256;
constexpr int kListBlocks = 256;   // a thread a window at a time
constexpr int kPairBlocks = 2048;  // a block a window at a time

__device__ std::uint32_t first_task() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ std::uint32_t task_step() { return gridDim.x * blockDim.x; }

/// The windows to group.
struct Windows {
  const Rect* boxes;
  const std::uint32_t* number;
  std::uint64_t limit;  // no padding: Launcher::begin_if()

  __device__ std::uint32_t count() const { return *number > limit ? 0 : *number; }
};
static_assert(std::has_unique_object_representations_v<Windows>);

/// Every window a set of its own.
__global__ void start_kernel(Windows windows, std::int32_t* parent, Detection* sums,
                             std::uint32_t* counts) {
  if (first_task() < 2) counts[first_task()] = 0;
  const std::uint32_t n = windows.count();
  for (std::uint32_t i = first_task(); i < n; i += task_step()) {
    parent[i] = static_cast<std::int32_t>(i);
    sums[i] = {};
  }
}

// Union-find by all threads at once. A parent never has the greater number, and only a root is ever
// given another set's root, by compare-and-swap; so whatever a thread reads, even late, is an
// ancestor. Shortening a path writes an ancestor over another.
__device__ int find_root(volatile std::int32_t* parent, int i) {
  for (int above = parent[i]; above != i; above = parent[i]) {
    const int next = parent[above];
    if (next != above) parent[i] = next;
    i = next;
  }
  return i;
}

__device__ void unite(std::int32_t* parent, int a, int b) {
  for (;;) {
    a = find_root(parent, a);
    b = find_root(parent, b);
    if (a == b) return;
    const int root = a < b ? b : a, other = a < b ? a : b;
    if (atomicCAS(&parent[root], root, other) == root) return;
  }
}

/// A block a window at a time, its threads the windows behind it.
__global__ void unite_kernel(Windows windows, Grouping rule, std::int32_t* parent) {
  const std::uint32_t n = windows.count();
  for (std::uint32_t i = blockIdx.x; i < n; i += gridDim.x) {
    const Rect box = windows.boxes[i];
    for (std::uint32_t j = i + 1 + threadIdx.x; j < n; j += blockDim.x)
      if (related(box, windows.boxes[j], rule))
        unite(parent, static_cast<int>(i), static_cast<int>(j));
  }
}

__global__ void sum_kernel(Windows windows, std::int32_t* parent, Detection* sums) {
  const std::uint32_t n = windows.count();
  for (std::uint32_t i = first_task(); i < n; i += task_step()) {
    const Rect box = windows.boxes[i];
    Detection& sum = sums[find_root(parent, static_cast<int>(i))];
    atomicAdd(&sum.box.x, box.x);
    atomicAdd(&sum.box.y, box.y);
    atomicAdd(&sum.box.w, box.w);
    atomicAdd(&sum.box.h, box.h);
    atomicAdd(&sum.neighbors, 1);
  }
}

__global__ void mean_kernel(Windows windows, Grouping rule, int min_neighbors,
                            const Detection* sums, Detection* means, std::uint32_t* mean_count) {
  const std::uint32_t n = windows.count();
  for (std::uint32_t i = first_task(); i < n; i += task_step())
    if (sums[i].neighbors > 0 && enough(sums[i].neighbors, rule, min_neighbors))
      means[atomicAdd(mean_count, 1u)] = mean_of(sums[i]);
}

/// Keeps what is no inner box (kOpenCv).
__global__ void keep_kernel(Grouping rule, const Detection* means, const std::uint32_t* mean_count,
                            Detection* groups, std::uint32_t* group_count) {
  const std::uint32_t n = *mean_count;
  for (std::uint32_t i = first_task(); i < n; i += task_step()) {
    const Detection mean = means[i];
    bool inner = false;
    for (std::uint32_t j = 0; rule == Grouping::kOpenCv && j < n && !inner; ++j)
      inner = j != i && is_inner_box(mean, means[j]);
    if (!inner) groups[atomicAdd(group_count, 1u)] = mean;
  }
}

/// Without grouping every window is kept.
__global__ void keep_windows_kernel(Windows windows, Detection* groups,
                                    std::uint32_t* group_count) {
  const std::uint32_t n = windows.count();
  for (std::uint32_t i = first_task(); i < n; i += task_step()) groups[i] = {windows.boxes[i], 1};
  if (first_task() == 0) *group_count = n;
}

}  // namespace

Grouper::Grouper(Grouping rule, int min_neighbors, std::uint32_t limit, ScratchLayout& layout)
    : rule_(rule),
      min_neighbors_(min_neighbors),
      limit_(limit),
      parent_(layout.add<std::int32_t>(limit)),
      sums_(layout.add<Detection>(limit)),
      means_(layout.add<Detection>(limit)),
      groups_(layout.add<Detection>(limit)),
      counts_(layout.add<std::uint32_t>(2)) {}

void Grouper::bind(std::byte* scratch) {
  parent_.bind(scratch);
  for (ScratchPart<Detection>* list : {&sums_, &means_, &groups_}) list->bind(scratch);
  counts_.bind(scratch);
}

Status Grouper::enqueue(const Rect* boxes, const std::uint32_t* count, Launcher launch) {
  const Windows windows = {boxes, count, limit_};
  std::uint32_t* mean_count = counts_.data();
  std::uint32_t* group_count = counts_.data() + 1;
  if (min_neighbors_ == 0) {
    return launch("listing the windows", keep_windows_kernel, {kListBlocks, kBlock}, windows,
                  groups_.data(), group_count);
  }
  if (Status s = launch("starting the groups", start_kernel, {kListBlocks, kBlock}, windows,
                        parent_.data(), sums_.data(), counts_.data());
      !s.ok())
    return s;
  if (Status s = launch("uniting windows", unite_kernel, {kPairBlocks, kBlock}, windows, rule_,
                        parent_.data());
      !s.ok())
    return s;
  if (Status s = launch("summing the groups", sum_kernel, {kListBlocks, kBlock}, windows,
                        parent_.data(), sums_.data());
      !s.ok())
    return s;
  if (Status s = launch("the means of the groups", mean_kernel, {kListBlocks, kBlock}, windows,
                        rule_, min_neighbors_, sums_.data(), means_.data(), mean_count);
      !s.ok())
    return s;
  return launch("dropping inner boxes", keep_kernel, {kListBlocks, kBlock}, rule_, means_.data(),
                mean_count, groups_.data(), group_count);
}

}  // namespace cuface::cuda
