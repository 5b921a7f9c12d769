// Grouping of up to Grouper::kFewWindows windows, in the middle of a kernel: all blocks but the
// last find out which windows are related, and say so in global memory; the last finds the sets and
// the groups in its shared memory. It waits for blocks with lower numbers only, which have begun
// earlier.
//
// The threads of a warp leave a loop together: where each went its own way, the sets took twice as
// long.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/raw.cuh"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/group/box_rules.h"
#include "kernels/group/cuda/grouper.h"

namespace cuface::cuda::few {

constexpr std::uint32_t kMost = Grouper::kFewWindows;
constexpr int kThreads = 1024;
constexpr int kEach = (static_cast<int>(kMost) + kThreads - 1) / kThreads;  // windows of a thread
constexpr std::uint32_t kWarps = kThreads / kWarp;
constexpr std::uint32_t kParts = 4;     // of a task, for as many warps
constexpr std::uint32_t kTogether = 8;  // words that a thread reads at once
constexpr int kSteps = 4;               // up a path: more than most have

/// A word of bits tells which of 32 windows, `column` times 32 and the next ones, are related to
/// one other, and come before it. A task is the words of 32 windows, from `row` times 32 on.
struct WordTask {
  std::uint32_t row, column;

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
};

/// A word of bits and the mark of the launch that says it, in one word, so that who reads it has
/// both or none. Those of a task lie together.
using SaidWord = std::uint64_t;

__device__ inline SaidWord now(const SaidWord* at) {
  return *static_cast<const volatile SaidWord*>(at);
}

/// Whether this launch has said it.
__device__ inline bool says(SaidWord said, std::uint32_t mark) {
  return static_cast<std::uint32_t>(said >> 32) == mark;
}

__device__ inline Rect as_rect(const int4& v) { return {v.x, v.y, v.z, v.w}; }

/// By `warps` warps, of which the calling one is `warp`. `columns` is 32 boxes of shared memory for
/// each warp of the block. A warp has kWarp / kParts of a task's windows at a time; kParts lanes
/// share one's word.
template <Grouping kRule>
__device__ void relate(const Rect* windows, std::uint32_t n, std::uint32_t warp,
                       std::uint32_t warps, std::uint32_t mark, int4* columns, SaidWord* words) {
  const auto* boxes = reinterpret_cast<const int4*>(windows);
  const std::uint32_t lane = threadIdx.x % kWarp, share = lane % kParts;
  columns += threadIdx.x - lane;
  for (std::uint32_t t = warp; t < kParts * WordTask::count(n); t += warps) {
    const WordTask task(t / kParts);
    const std::uint32_t place = (t % kParts * kWarp + lane) / kParts;
    const std::uint32_t i = task.row * kWarp + place, first = task.column * kWarp;
    const Rect own = as_rect(boxes[min(i, n - 1)]);
    columns[lane] = boxes[min(first + lane, n - 1)];
    __syncwarp();
    std::uint32_t word = 0;
#pragma unroll
    for (std::uint32_t k = 0; k < kWarp / kParts; ++k)
      if (related(own, as_rect(columns[k * kParts + share]), kRule))
        word |= 1u << (k * kParts + share);
#pragma unroll
    for (std::uint32_t other = 1; other < kParts; other *= 2)
      word |= __shfl_xor_sync(kAllLanes, word, other);
    __syncwarp();
    const std::uint32_t before = i < n && i > first ? i - first : 0;  // windows before this one
    if (before < kWarp) word &= (1u << before) - 1;
    if (share == 0) words[t / kParts * kWarp + place] = static_cast<SaidWord>(mark) << 32 | word;
  }
}

/// Of a window: another that is known to be of its set, and which of its 32 windows have the same.
struct Near {
  std::int32_t window;
  std::uint32_t same;
};

struct Memory {
  union {  // one after the other
    int4 columns[kThreads];
    struct {
      std::int32_t lowest[kMost];
      Near near[kMost];
    } sets;
    Detection list[kMost];
  };
  std::int32_t parent[kMost];
  std::uint32_t means, groups;
};

/// The words of some tasks of a warp, for the calling lane.
struct Words {
  std::uint32_t word[kTogether];
  std::uint32_t where;  ///< row and column of the task that has the lane's number

  __device__ std::uint32_t first_window(std::uint32_t k) const {
    return __shfl_sync(kAllLanes, where, k) >> 16;
  }
  __device__ std::uint32_t first_other(std::uint32_t k) const {
    return __shfl_sync(kAllLanes, where, k) & 0xffff;
  }
  /// Hears all `count` tasks' words but for other turns' and other warps'.
  __device__ void hear(const SaidWord* words, std::uint32_t turn, std::uint32_t count,
                       std::uint32_t mark) {
    const std::uint32_t lane = threadIdx.x % kWarp;
    const auto task = [&](std::uint32_t k) {
      return (turn * kTogether + k) * kWarps + threadIdx.x / kWarp;
    };
    const WordTask own(min(task(lane % kTogether), count - 1));
    where = own.row * kWarp << 16 | own.column * kWarp;
    // Whoever waits looks at all of them at once.
    SaidWord said[kTogether];
    for (bool first = true, all = false; !all; first = false) {
#pragma unroll
      for (std::uint32_t k = 0; k < kTogether; ++k)
        if (task(k) < count && (first || !says(said[k], mark)))
          said[k] = now(words + task(k) * kWarp + lane);
      all = true;
#pragma unroll
      for (std::uint32_t k = 0; k < kTogether; ++k) {
        all = all && (task(k) >= count || says(said[k], mark));
        word[k] = task(k) < count ? static_cast<std::uint32_t>(said[k]) : 0;
      }
      all = __all_sync(kAllLanes, all);
    }
  }
};

/// The first window of a word that is not 0, and whose bits begin with window `first`.
__device__ inline std::int32_t first_of(std::uint32_t word, std::uint32_t first) {
  return static_cast<std::int32_t>(first) + __ffs(static_cast<int>(word)) - 1;
}

/// Unites the sets of two windows, for all threads of a warp. A parent never has the greater
/// number, and every thread takes over what it drives away, so that it does not matter in which
/// order threads do this.
__device__ inline void unite(std::int32_t* parent, std::int32_t a, std::int32_t b) {
  while (__any_sync(kAllLanes, a != b)) {
    if (a == b) continue;
    const std::int32_t high = max(a, b), low = min(a, b);
    const std::int32_t old = atomicMin(&parent[high], low);
    a = low;
    b = old == high ? low : old;
  }
}

/// Finds the sets: parent, by which every window comes to the first one of its set. For all threads
/// of a block: kThreads. `words` say something for n > 0 windows.
__device__ inline void find_sets(const SaidWord* words, std::uint32_t n, std::uint32_t mark,
                                 Memory& memory) {
  auto& [lowest, near] = memory.sets;
  std::int32_t* const parent = memory.parent;
  const std::uint32_t lane = threadIdx.x % kWarp, count = WordTask::count(n);
  const std::uint32_t turns = (count + kTogether * kWarps - 1) / (kTogether * kWarps);
  const std::uint32_t all = (n + kWarp - 1) / kWarp * kWarp;  // so for whole warps
  Words of;
  for (std::uint32_t i = threadIdx.x; i < all; i += kThreads)
    lowest[i] = static_cast<std::int32_t>(i);
  __syncthreads();
  // To each window the first one that is related to it; and up that way to one of few.
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    of.hear(words, turn, count, mark);
#pragma unroll
    for (std::uint32_t k = 0; k < kTogether; ++k) {
      const std::uint32_t window = of.first_window(k) + lane, other = of.first_other(k);
      if (of.word[k] != 0) atomicMin(&lowest[window], first_of(of.word[k], other));
    }
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < all; i += kThreads) {
    auto at = static_cast<std::int32_t>(i);
#pragma unroll
    for (int k = 0; k < kSteps; ++k) at = lowest[at];
    near[i] = {at, __match_any_sync(kAllLanes, at)};
    parent[i] = at;
  }
  __syncthreads();
  // From the last on, which have just been read.
  for (std::uint32_t turn = turns; turn-- > 0;) {
    if (turn + 1 < turns) of.hear(words, turn, count, mark);
#pragma unroll
    for (std::uint32_t k = 0; k < kTogether; ++k) {
      const std::uint32_t window = of.first_window(k) + lane, first = of.first_other(k);
      std::uint32_t word = of.word[k];
      if (!__any_sync(kAllLanes, word != 0)) continue;
      const std::int32_t mine = near[window].window;
      // Faces have many windows, all related, so that this goes by set and not by window.
      do {
        Near other = {mine, 0};
        if (word != 0) other = near[first_of(word, first)];
        word &= ~other.same;
        unite(parent, mine, other.window);
      } while (__any_sync(kAllLanes, word != 0));
    }
  }
  __syncthreads();
}

/// Some groups in shared memory.
struct Groups {
  const Detection* list;
  std::uint32_t number;
};

/// The groups. By all threads of a block: kThreads.
__device__ inline Groups group(const Rect* windows, std::uint32_t n, Grouping rule,
                               int min_neighbors, const SaidWord* words, std::uint32_t mark,
                               Memory& memory) {
  if (n == 0) return {};
  if (threadIdx.x == 0) memory.means = memory.groups = 0;
  Rect box[kEach];
#pragma unroll
  for (std::uint32_t k = 0, i = threadIdx.x; k < kEach; ++k, i += kThreads)
    if (i < n) box[k] = as_rect(reinterpret_cast<const int4*>(windows)[i]);
  find_sets(words, n, mark, memory);

  Detection* const list = memory.list;
  for (std::uint32_t i = threadIdx.x; i < n; i += kThreads) list[i] = {};
  std::int32_t root[kEach];
#pragma unroll
  for (std::uint32_t k = 0, i = threadIdx.x; k < kEach; ++k, i += kThreads) {
    if (i - threadIdx.x % kWarp >= n) continue;
    root[k] = static_cast<std::int32_t>(min(i, n - 1));
    do root[k] = memory.parent[memory.parent[root[k]]];
    while (__any_sync(kAllLanes, memory.parent[root[k]] != root[k]));
  }
  __syncthreads();
#pragma unroll
  for (std::uint32_t k = 0, i = threadIdx.x; k < kEach; ++k, i += kThreads) {
    if (i >= n) continue;
    Detection& sum = list[root[k]];
    atomicAdd(&sum.box.x, box[k].x);
    atomicAdd(&sum.box.y, box[k].y);
    atomicAdd(&sum.box.w, box[k].w);
    atomicAdd(&sum.box.h, box[k].h);
    atomicAdd(&sum.neighbors, 1);
  }
  __syncthreads();
  Detection sum[kEach];
#pragma unroll
  for (std::uint32_t k = 0, i = threadIdx.x; k < kEach; ++k, i += kThreads)
    sum[k] = i < n ? list[i] : Detection{};
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kEach; ++k)
    if (sum[k].neighbors > 0 && enough(sum[k].neighbors, rule, min_neighbors))
      list[atomicAdd(&memory.means, 1u)] = mean_of(sum[k]);
  __syncthreads();
  const std::uint32_t means = memory.means;
  if (rule != Grouping::kOpenCv) return {list, means};

  // A warp a mean, its lanes the others. Each has two windows or more, so they are in the first
  // half.
  Detection* const groups = list + kMost / 2;
  for (std::uint32_t i = threadIdx.x / kWarp; i < means; i += kWarps) {
    bool inner = false;
    for (std::uint32_t first = 0; first < means; first += kWarp) {
      const std::uint32_t j = min(first + threadIdx.x % kWarp, means - 1);
      inner = inner || (j != i && is_inner_box(list[i], list[j]));
    }
    inner = __any_sync(kAllLanes, inner);
    if (threadIdx.x % kWarp == 0 && !inner) groups[atomicAdd(&memory.groups, 1u)] = list[i];
  }
  __syncthreads();
  return {groups, memory.groups};
}

}  // namespace cuface::cuda::few
