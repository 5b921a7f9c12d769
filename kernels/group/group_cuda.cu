#include "kernels/common/cuda_table.h"
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
  std::uint32_t limit;

  __device__ std::uint32_t count() const { return *number > limit ? 0 : *number; }
};

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

Result<Grouper> Grouper::create(Grouping rule, int min_neighbors, std::uint32_t limit) {
  Grouper grouper;
  grouper.rule_ = rule;
  grouper.min_neighbors_ = min_neighbors;
  grouper.limit_ = limit;
  if (Status s = take(DeviceBuffer<std::int32_t>::create(limit), grouper.parent_); !s.ok())
    return s;
  for (DeviceBuffer<Detection>* list : {&grouper.sums_, &grouper.means_, &grouper.groups_})
    if (Status s = take(DeviceBuffer<Detection>::create(limit), *list); !s.ok()) return s;
  if (Status s = take(DeviceBuffer<std::uint32_t>::create(2), grouper.counts_); !s.ok()) return s;
  return Result<Grouper>(std::move(grouper));  // nvcc does not move by itself
}

Status Grouper::enqueue(const Rect* boxes, const std::uint32_t* count, cudaStream_t stream) {
  const Windows windows = {boxes, count, limit_};
  std::uint32_t* mean_count = counts_.data();
  std::uint32_t* group_count = counts_.data() + 1;
  if (min_neighbors_ == 0) {
    keep_windows_kernel<<<kListBlocks, kBlock, 0, stream>>>(windows, groups_.data(), group_count);
    return check_launch("listing the windows");
  }
  start_kernel<<<kListBlocks, kBlock, 0, stream>>>(windows, parent_.data(), sums_.data(),
                                                   counts_.data());
  if (Status s = check_launch("starting the groups"); !s.ok()) return s;
  unite_kernel<<<kPairBlocks, kBlock, 0, stream>>>(windows, rule_, parent_.data());
  if (Status s = check_launch("uniting windows"); !s.ok()) return s;
  sum_kernel<<<kListBlocks, kBlock, 0, stream>>>(windows, parent_.data(), sums_.data());
  if (Status s = check_launch("summing the groups"); !s.ok()) return s;
  mean_kernel<<<kListBlocks, kBlock, 0, stream>>>(windows, rule_, min_neighbors_, sums_.data(),
                                                  means_.data(), mean_count);
  if (Status s = check_launch("the means of the groups"); !s.ok()) return s;
  keep_kernel<<<kListBlocks, kBlock, 0, stream>>>(rule_, means_.data(), mean_count, groups_.data(),
                                                  group_count);
  return check_launch("dropping inner boxes");
}

}  // namespace cuface::cuda
