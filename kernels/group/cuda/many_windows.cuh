// Grouping of more windows than few_windows.cuh takes, by all blocks of a launch in parts that wait
// for one another.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/group/box_rules.h"
#include "kernels/group/cuda/grouper.h"

namespace cuface::cuda::many {

// Union-find by all threads at once. A parent never has the greater number, and only a root is ever
// given another set's root, by compare-and-swap; so whatever a thread reads, even late, is an
// ancestor. Shortening a path writes an ancestor over another.
__device__ inline int find_root(volatile std::int32_t* parent, int i) {
  for (int above = parent[i]; above != i; above = parent[i]) {
    const int next = parent[above];
    if (next != above) parent[i] = next;
    i = next;
  }
  return i;
}

__device__ inline void unite(std::int32_t* parent, int a, int b) {
  for (;;) {
    a = find_root(parent, a);
    b = find_root(parent, b);
    if (a == b) return;
    const int root = a < b ? b : a, other = a < b ? a : b;
    if (atomicCAS(&parent[root], root, other) == root) return;
  }
}

/// Some threads, beginning with `first`, of `step`.
struct Share {
  std::uint32_t first, step;
};

__device__ inline void start(std::uint32_t n, const GroupMemory& memory, Share share) {
  if (share.first == 0) memory.progress->means = memory.progress->groups = 0;
  for (std::uint32_t i = share.first; i < n; i += share.step) {
    memory.parent[i] = static_cast<std::int32_t>(i);
    memory.sums[i] = {};
  }
}

/// Some threads a window at a time, each the windows behind it.
__device__ inline void unite_related(const Rect* windows, std::uint32_t n, Grouping rule,
                                     std::int32_t* parent, Share share) {
  constexpr std::uint32_t kTogether = 256;
  for (std::uint32_t i = share.first / kTogether; i < n; i += share.step / kTogether) {
    const Rect box = windows[i];
    for (std::uint32_t j = i + 1 + share.first % kTogether; j < n; j += kTogether)
      if (related(box, windows[j], rule)) unite(parent, static_cast<int>(i), static_cast<int>(j));
  }
}

__device__ inline void sum(const Rect* windows, std::uint32_t n, const GroupMemory& memory,
                           Share share) {
  for (std::uint32_t i = share.first; i < n; i += share.step) {
    const Rect box = windows[i];
    Detection& sum = memory.sums[find_root(memory.parent, static_cast<int>(i))];
    atomicAdd(&sum.box.x, box.x);
    atomicAdd(&sum.box.y, box.y);
    atomicAdd(&sum.box.w, box.w);
    atomicAdd(&sum.box.h, box.h);
    atomicAdd(&sum.neighbors, 1);
  }
}

__device__ inline void list_means(std::uint32_t n, Grouping rule, int min_neighbors,
                                  const GroupMemory& memory, Share share) {
  for (std::uint32_t i = share.first; i < n; i += share.step) {
    const Detection sum = memory.sums[i];
    if (sum.neighbors > 0 && enough(sum.neighbors, rule, min_neighbors))
      memory.means[atomicAdd(&memory.progress->means, 1u)] = mean_of(sum);
  }
}

/// Keeps what is no inner box (kOpenCv), in the place of the sums.
__device__ inline void keep(Grouping rule, const GroupMemory& memory, Share share) {
  const std::uint32_t n = memory.progress->means;
  for (std::uint32_t i = share.first; i < n; i += share.step) {
    const Detection mean = memory.means[i];
    bool inner = false;
    for (std::uint32_t j = 0; rule == Grouping::kOpenCv && j < n && !inner; ++j)
      inner = j != i && is_inner_box(mean, memory.means[j]);
    if (!inner) memory.sums[atomicAdd(&memory.progress->groups, 1u)] = mean;
  }
}

/// By all blocks. A task is a block's share of a part; blocks take tasks in the order of the parts
/// and wait for the part before, so only for tasks that a running block has taken: it does not
/// matter how many blocks run at a time.
template <typename Take>
__device__ void group(const Rect* windows, std::uint32_t n, Grouping rule, int min_neighbors,
                      const GroupMemory& memory, const Take& take) {
  constexpr std::uint32_t kParts = GroupProgress::kParts;
  __shared__ std::uint32_t taken;
  GroupProgress& progress = *memory.progress;
  const std::uint32_t shares = gridDim.x, tasks = kParts * shares;
  for (;;) {
    if (threadIdx.x == 0) taken = atomicAdd(&progress.ticket, 1u);
    __syncthreads();
    const std::uint32_t task = taken, part = task / shares;
    if (task >= tasks) {
      // Every block comes here once, when it has done its tasks.
      if (threadIdx.x == 0 && task == tasks + shares - 1) progress = {.mark = progress.mark};
      return;
    }
    if (threadIdx.x == 0 && part > 0) {
      while (atomicAdd(&progress.done[part - 1], 0u) < shares) __nanosleep(100);
      __threadfence();
    }
    __syncthreads();
    const Share share = {task % shares * blockDim.x + threadIdx.x, shares * blockDim.x};
    switch (part) {
      case 0:
        start(n, memory, share);
        break;
      case 1:
        unite_related(windows, n, rule, memory.parent, share);
        break;
      case 2:
        sum(windows, n, memory, share);
        break;
      case 3:
        list_means(n, rule, min_neighbors, memory, share);
        break;
      case 4:
        if (share.first == 0) take.begin();
        keep(rule, memory, share);
        break;
      case 5:
        take(memory.sums, progress.groups, share.first / kWarp, share.step / kWarp);
        break;
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&progress.done[part], 1u);
  }
}

}  // namespace cuface::cuda::many
