// Grouping of up to Grouper::kFewWindows windows, in the middle of a kernel: all blocks find out
// which windows are related, one of them does the rest in its shared memory.
//
// The sets are found in rounds, each with its reads and its writes apart, because threads that
// unite windows as they come wait for one another: the windows of a face are all related.
#pragma once

#include <cstdint>

#include "kernels/common/raw.cuh"
#include "kernels/common/warp.cuh"
#include "kernels/group/group_cuda.h"
#include "kernels/group/rules.h"

namespace cuface::cuda::few {

constexpr std::uint32_t kMost = Grouper::kFewWindows;
constexpr int kThreads = 1024;
constexpr int kEach = static_cast<int>(kMost) / kThreads;  // windows of a thread
constexpr std::uint32_t kWarps = kThreads / kWarp;
constexpr int kReadAhead = 4;  // words
constexpr int kMostSteps = 8;  // up a path before all are asked whether they are at its end

/// A word of bits tells which of 32 windows, `column` times 32 and the next ones, are related to
/// one other, and come before it. A task is the words of 32 windows, from `row` times 32 on.
struct WordTask {
  std::uint32_t row, column;

  WordTask() = default;
  __device__ explicit WordTask(std::uint32_t task) {
    row = static_cast<std::uint32_t>((sqrtf(8.0f * static_cast<float>(task) + 1.0f) - 1.0f) / 2.0f);
    while (row * (row + 1) / 2 > task) --row;
    while ((row + 1) * (row + 2) / 2 <= task) ++row;
    column = task - row * (row + 1) / 2;
  }
  __device__ static std::uint32_t count(std::uint32_t windows) {
    const std::uint32_t rows = (windows + kWarp - 1) / kWarp;
    return rows * (rows + 1) / 2;
  }
  __device__ std::uint32_t window(std::uint32_t lane) const { return row * kWarp + lane; }
  /// Where the word of window(lane) lies.
  __device__ std::uint32_t place(std::uint32_t lane) const { return column * kMost + window(lane); }
};

__device__ inline Rect as_rect(const int4& v) { return {v.x, v.y, v.z, v.w}; }

/// A warp a task at a time. `columns` is 32 boxes of shared memory for each warp of the block.
__device__ inline void relate(const Rect* windows, std::uint32_t n, Grouping rule,
                              std::uint32_t first_task, std::uint32_t step, int4* columns,
                              std::uint32_t* related_to) {
  const std::uint32_t lane = threadIdx.x % kWarp;
  columns += threadIdx.x - lane;
  for (std::uint32_t t = first_task; t < WordTask::count(n); t += step) {
    const WordTask task(t);
    const std::uint32_t i = task.window(lane), first = task.column * kWarp;
    const auto* boxes = reinterpret_cast<const int4*>(windows);
    const int4 own = boxes[min(i, n - 1)];
    columns[lane] = boxes[min(first + lane, n - 1)];
    __syncwarp();
    const Rect box = as_rect(own);
    std::uint32_t word = 0;
#pragma unroll 8
    for (std::uint32_t k = 0; k < kWarp; ++k)
      if (related(box, as_rect(columns[k]), rule)) word |= 1u << k;
    __syncwarp();
    const std::uint32_t before = i < n && i > first ? i - first : 0;  // windows before this one
    related_to[task.place(lane)] = before < kWarp ? word & ((1u << before) - 1) : word;
  }
}

/// Whether the calling block is the last of `blocks` that come here, all threads of each. It sees
/// what the others wrote before.
__device__ inline bool is_last(std::uint32_t blocks, std::uint32_t* arrived) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(arrived, 1u) == blocks - 1;
    if (last) *arrived = 0;  // for the next launch
    __threadfence();
  }
  __syncthreads();
  return last;
}

/// In shared memory, one after the other.
union Memory {
  int4 columns[kThreads];
  std::int32_t parent[2][kMost];
  Detection list[kMost];
};

/// Of the windows that `word` says are related to the lane's own, whose root is `mine`, takes those
/// away that have the same root; but for none where the first of them has another. The windows'
/// roots are in the lanes. Faces have many windows, all related, so that this is decided by root
/// and not by window.
__device__ inline std::uint32_t apart(std::uint32_t word, std::int32_t mine, std::int32_t root) {
  const std::uint32_t alike = __match_any_sync(kAllLanes, root);
  const int first = max(__ffs(static_cast<int>(word)) - 1, 0);
  const std::int32_t other = __shfl_sync(kAllLanes, root, first);
  const std::uint32_t same = __shfl_sync(kAllLanes, alike, first);
  return other == mine ? word & ~same : word;
}

/// Hangs roots whose windows are related onto the smaller ones, by a task's word of each lane,
/// which is left with what is not seen to be done: for each word at least one that is to be. Reads
/// `from`, where every window has its root, and writes `to`, where each root has itself at first.
/// True where there were any.
__device__ inline bool hook(const WordTask& task, std::uint32_t& word, std::uint32_t n,
                            bool first_round, const std::int32_t* from, std::int32_t* to) {
  const std::uint32_t lane = threadIdx.x % kWarp, first = task.column * kWarp;
  const std::int32_t mine = from[min(task.window(lane), n - 1)];
  // At first all are roots, and the smallest is the one to hang on.
  if (!first_round) word = apart(word, mine, from[min(first + lane, n - 1)]);
  if (word == 0) return false;
  const std::int32_t other =
      from[first + static_cast<std::uint32_t>(__ffs(static_cast<int>(word)) - 1)];
  atomicMin(&to[max(mine, other)], min(mine, other));
  return true;
}

/// The words of a warp's first tasks, which are read once.
struct KeptWords {
  static constexpr std::uint32_t kCount = 8;
  std::uint32_t word[kCount];
  WordTask task[kCount];
};

/// hook() for all tasks, by all threads of a block.
__device__ inline bool hook_all(const std::uint32_t* related_to, std::uint32_t n, bool first_round,
                                KeptWords& kept, const std::int32_t* from, std::int32_t* to) {
  const std::uint32_t lane = threadIdx.x % kWarp, count = WordTask::count(n);
  bool hooked = false;
#pragma unroll
  for (std::uint32_t k = 0; k < KeptWords::kCount; ++k)
    if (__any_sync(kAllLanes, kept.word[k] != 0))
      hooked |= hook(kept.task[k], kept.word[k], n, first_round, from, to);
  for (std::uint32_t t = threadIdx.x / kWarp + KeptWords::kCount * kWarps; t < count;
       t += kReadAhead * kWarps) {
    std::uint32_t words[kReadAhead];
#pragma unroll
    for (std::uint32_t k = 0; k < kReadAhead; ++k)
      words[k] = t + k * kWarps < count ? related_to[WordTask(t + k * kWarps).place(lane)] : 0;
#pragma unroll
    for (std::uint32_t k = 0; k < kReadAhead; ++k)
      if (__any_sync(kAllLanes, words[k] != 0))
        hooked |= hook(WordTask(t + k * kWarps), words[k], n, first_round, from, to);
  }
  return hooked;
}

/// The root of each window, for all threads of a block: kThreads.
__device__ inline const std::int32_t* roots(const std::uint32_t* related_to, std::uint32_t n,
                                            Memory& memory) {
  std::int32_t *from = memory.parent[0], *to = memory.parent[1];
  const std::uint32_t count = WordTask::count(n);
  KeptWords kept;
#pragma unroll
  for (std::uint32_t k = 0; k < KeptWords::kCount; ++k) {
    const std::uint32_t t = threadIdx.x / kWarp + k * kWarps;
    kept.task[k] = WordTask(min(t, count - 1));
    kept.word[k] = t < count ? related_to[kept.task[k].place(threadIdx.x % kWarp)] : 0;
  }
  for (std::uint32_t i = threadIdx.x; i < n; i += kThreads)
    from[i] = to[i] = static_cast<std::int32_t>(i);
  __syncthreads();
  for (bool first_round = true;; first_round = false) {
    if (!__syncthreads_or(hook_all(related_to, n, first_round, kept, from, to))) return from;
    // Every path is made shorter until all end at a root.
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t i = threadIdx.x; i < n; i += kThreads) {
        std::int32_t parent = to[i], above = to[parent];
        for (int k = 0; k < kMostSteps && above != parent; ++k) {
          parent = above;
          above = to[parent];
        }
        from[i] = parent;
        moved = moved || above != parent;
      }
      moved = __syncthreads_or(moved);
      if (!moved) break;
      std::int32_t* const older = to;
      to = from;
      from = older;
    }
  }
}

/// Moves what the threads have kept to the front of the list; their number, for all.
__device__ inline std::uint32_t keep(const Detection (&kept)[kEach], const bool (&is_kept)[kEach],
                                     Detection* list, std::uint32_t* number) {
  __syncthreads();  // the list has been read
  if (threadIdx.x == 0) *number = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kEach; ++k)
    if (is_kept[k]) list[atomicAdd(number, 1u)] = kept[k];
  __syncthreads();
  return *number;
}

/// The groups, in memory.list; their number. By all threads of a block: kThreads.
__device__ inline std::uint32_t group(const Rect* windows, std::uint32_t n, Grouping rule,
                                      int min_neighbors, const std::uint32_t* related_to,
                                      Memory& memory) {
  __shared__ std::uint32_t number;
  const std::int32_t* root_of = roots(related_to, n, memory);
  std::int32_t root[kEach];
  Rect box[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const std::uint32_t i = threadIdx.x + static_cast<std::uint32_t>(k) * kThreads;
    if (i >= n) continue;
    root[k] = root_of[i];
    box[k] = as_rect(reinterpret_cast<const int4*>(windows)[i]);
  }
  __syncthreads();
  Detection* const list = memory.list;
  for (std::uint32_t i = threadIdx.x; i < n; i += kThreads) list[i] = {};
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    if (threadIdx.x + static_cast<std::uint32_t>(k) * kThreads >= n) continue;
    Detection& sum = list[root[k]];
    atomicAdd(&sum.box.x, box[k].x);
    atomicAdd(&sum.box.y, box[k].y);
    atomicAdd(&sum.box.w, box[k].w);
    atomicAdd(&sum.box.h, box[k].h);
    atomicAdd(&sum.neighbors, 1);
  }
  __syncthreads();
  Detection mean[kEach];
  bool is_kept[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const std::uint32_t i = threadIdx.x + static_cast<std::uint32_t>(k) * kThreads;
    is_kept[k] = i < n && list[i].neighbors > 0 && enough(list[i].neighbors, rule, min_neighbors);
    if (is_kept[k]) mean[k] = mean_of(list[i]);
  }
  const std::uint32_t means = keep(mean, is_kept, list, &number);
  if (rule != Grouping::kOpenCv) return means;
  // A warp a mean, its lanes the others.
  __shared__ bool inner[kMost];
  for (std::uint32_t i = threadIdx.x / kWarp; i < means; i += kWarps) {
    const std::uint32_t lane = threadIdx.x % kWarp;
    bool is_inner = false;
    for (std::uint32_t j = lane; j < means && !is_inner; j += kWarp)
      is_inner = j != i && is_inner_box(list[i], list[j]);
    is_inner = __any_sync(kAllLanes, is_inner);
    if (lane == 0) inner[i] = is_inner;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const std::uint32_t i = threadIdx.x + static_cast<std::uint32_t>(k) * kThreads;
    is_kept[k] = i < means && !inner[i];
    if (is_kept[k]) mean[k] = list[i];
  }
  return keep(mean, is_kept, list, &number);
}

}  // namespace cuface::cuda::few
