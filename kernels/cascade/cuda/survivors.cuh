// Windows that got far, of all tiles: a warp a window, by blocks that have no tile left.
#pragma once

#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "kernels/cascade/cuda/stages.cuh"
#include "kernels/cascade/cuda/survivors.h"
#include "kernels/common/cuda/reduce.cuh"

namespace cuface::cuda {

/// What has been written before it was set to what it is now is seen behind this.
__device__ inline SurvivorState acquire(const SurvivorState* state) {
  std::uint32_t value;
  asm volatile("ld.acquire.gpu.global.u8 %0, [%1];"
               : "=r"(value)
               : "l"(__cvta_generic_to_global(state))
               : "memory");
  return static_cast<SurvivorState>(value);
}

static_assert(static_cast<int>(SurvivorState::kAwaited) == 0,
              "as CascadeSearch::zeros() leaves them");

struct SearchOutput {
  Rect* raw;
  std::uint64_t limit;  // no padding: Launcher::begin_if()
  Survivor* queue;
  std::uint64_t queue_capacity;
  SearchCounts* counts;
  SurvivorState* queue_states;

  /// A window of the level that passed all stages, by its first pixel.
  __device__ void add(const TileTable& table, const WindowLevel& level, int x, int y) const {
    const std::uint32_t at = atomicAdd(&counts->raw, 1u);
    if (at < limit) raw[at] = window_box(x, y, table.width, table.height, level.scale);
  }

  /// The first of `count` places in the queue of survivors, or -1 where it has no room for them.
  __device__ int reserve(std::uint32_t count) const {
    const std::uint32_t first = atomicAdd(&counts->queued, count);
    if (first <= queue_capacity && count <= queue_capacity - first) return static_cast<int>(first);
    for (std::uint32_t i = first; i < queue_capacity; ++i)
      push(i, {0, 0.0f, 0, Survivor::kNone, 0, 0});
    return -1;
  }

  /// Puts a window into its place, for whoever takes it.
  __device__ void push(std::uint32_t place, const Survivor& window) const {
    queue[place] = window;
    __threadfence();
    *reinterpret_cast<volatile SurvivorState*>(queue_states + place) = SurvivorState::kQueued;
  }
};

/// For a whole warp: the sums of a window's pixels, exclusive as in integral.h. They lie in rows of
/// width + 1 words from the word `patch` of tile_sums on. A row fits kSurvivorRowWords: its pixels
/// go to shared memory first, and each lane adds up those left of its column. Bytes in front of the
/// window count in all columns, so in no rectangle.
__device__ inline void make_patch(const std::uint8_t* pixels, std::ptrdiff_t stride, int width,
                                  int height, int patch) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(pixels) % kWordBytes);
  const int bytes = shift + width, whole = bytes / kWordBytes;
  const std::uint8_t* in = pixels - shift;
  std::uint32_t* rows = tile_sums + patch + survivor_sum_words(width, height);
  __syncwarp();  // the last window's are read no more
  for (int i = lane; i < height * kSurvivorRowWords; i += kWarp)
    if (i % kSurvivorRowWords < whole)
      __pipeline_memcpy_async(
          rows + i, in + i / kSurvivorRowWords * stride + i % kSurvivorRowWords * kWordBytes,
          kWordBytes);
  __pipeline_commit();
  // Behind the last pixel there may be bytes that nobody has written.
  for (int y = lane; y < height; y += kWarp)
    for (int x = whole * kWordBytes; x < bytes; ++x)
      reinterpret_cast<std::uint8_t*>(rows + y * kSurvivorRowWords)[x] = __ldg(in + y * stride + x);
  // Bytes of 1 for the pixels left of column `lane`.
  const auto first = [](int count) {
    return __funnelshift_rc(0x01010101u, 0u,
                            static_cast<unsigned>(8 * (4 - min(max(count, 0), 4))));
  };
  std::uint32_t mask[kSurvivorRowWords];
#pragma unroll
  for (int j = 0; j < kSurvivorRowWords; ++j) mask[j] = first(shift + lane - j * kWordBytes);
  std::uint32_t* at = tile_sums + patch + lane;
  std::uint32_t sum = 0;
  if (lane <= width) *at = 0;
  __pipeline_wait_prior(0);
  __syncwarp();
  const auto* words = reinterpret_cast<const uint4*>(rows);
#pragma unroll 4
  for (int y = 0; y < height; ++y) {
    std::uint32_t part[kSurvivorRowWords / 4] = {};  // no longer a chain than needs be
#pragma unroll
    for (int j = 0; j < kSurvivorRowWords / 4; ++j) {
      const uint4 four = words[y * (kSurvivorRowWords / 4) + j];
      part[j] = __dp4a(four.x, mask[4 * j], part[j]);
      part[j] = __dp4a(four.y, mask[4 * j + 1], part[j]);
      part[j] = __dp4a(four.z, mask[4 * j + 2], part[j]);
      part[j] = __dp4a(four.w, mask[4 * j + 3], part[j]);
    }
#pragma unroll
    for (const std::uint32_t p : part) sum += p;
    at += width + 1;
    if (lane <= width) *at = sum;
  }
  __syncwarp();
}

/// The same for any width.
__device__ inline void make_wide_patch(const std::uint8_t* pixels, std::ptrdiff_t stride, int width,
                                       int height, std::uint32_t* sums) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  __syncwarp();  // the last window's are read no more
  constexpr int kAhead = 24;
  for (int x = lane; x <= width; x += kWarp) {
    const std::uint8_t* in = pixels + max(x - 1, 0);
    std::uint32_t* at = sums + x;
    std::uint32_t sum = 0;
    *at = 0;
    for (int first = 0; first < height; first += kAhead) {
      std::uint8_t row[kAhead];
#pragma unroll
      for (int k = 0; k < kAhead; ++k) row[k] = __ldg(in + min(first + k, height - 1) * stride);
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        if (first + k == height) break;
        *(at += width + 1) = sum += x > 0 ? row[k] : 0;
      }
    }
  }
  __syncwarp();
  for (int y = 1 + lane; y <= height; y += kWarp) {
    std::uint32_t* row = sums + y * (width + 1);
    std::uint32_t sum = 0;
    constexpr int kColumns = 8;
    for (int first = 1; first <= width; first += kColumns) {
      std::uint32_t v[kColumns];
#pragma unroll
      for (int k = 0; k < kColumns; ++k) v[k] = row[min(first + k, width)];
#pragma unroll
      for (int k = 0; k < kColumns; ++k)
        if (first + k <= width) row[first + k] = sum += v[k];
    }
  }
  __syncwarp();
}

/// For a whole warp: adds the leaf of a node where the window's value is below the threshold. The
/// window's sums lie at `patch` in the shared memory.
__device__ inline void add_survivor_leaf(const uint4& first, const uint4& second,
                                         std::uint32_t patch, float norm, std::int32_t& sum) {
  // Two corners in each of six words, rectangle after rectangle.
  const auto lower = [&](std::uint32_t corners) {
    constexpr std::uint32_t kOffset = (1u << SurvivorNode::kWeightShift) - 1;
    return shared_word(patch + (corners & kOffset));
  };
  const auto upper = [&](std::uint32_t corners) { return shared_word(patch + (corners >> 16)); };
  const auto rectangle = [&](std::uint32_t a, std::uint32_t b) {
    return lower(a) - upper(a) - lower(b) + upper(b);
  };
  const auto weight = [](std::uint32_t a) { return (a & 0xffff) >> SurvivorNode::kWeightShift; };
  std::uint32_t value =
      weight(second.x) * rectangle(second.x, second.y) - rectangle(first.z, first.w);
  if (__any_sync(kAllLanes, weight(second.z) != 0))
    value += weight(second.z) * rectangle(second.z, second.w);
  if (static_cast<float>(static_cast<std::int32_t>(value)) * norm < __uint_as_float(first.x))
    sum += static_cast<std::int32_t>(first.y);
}

/// What survivors need of a SearchStage.
struct SurvivorStage {
  std::int32_t first_tree, tree_count, base, fails, passes;
};
__device__ inline SurvivorStage survivor_stage(const SearchStage& stage) {
  return {stage.first_tree, stage.tree_count, stage.base, stage.fails, stage.passes};
}

/// Survivors' stages in shared memory, from `first_stage` on, and the nodes of the trees from
/// `first` on. The first halves of all nodes come first, then the second ones, so a warp reads
/// without conflicts.
struct AtHand {
  const SurvivorStage* stages;
  const uint4* nodes;
  int first_stage, stage_count, first, count;
};

__device__ inline uint4 shared_quad(const uint4* at) {
  return *static_cast<const uint4*>(
      __cvta_shared_to_generic(static_cast<std::uint32_t>(__cvta_generic_to_shared(at))));
}

/// What the lane's part of a stage's trees adds up to. `fetch` gives a node's halves.
template <typename Fetch>
__device__ __forceinline__ std::int32_t add_survivor_trees(int count, int patch, float norm,
                                                           const Fetch& fetch) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  std::int32_t sum = 0;
  constexpr int kAhead = 2;
  for (int first = 0; first < count; first += kAhead * kWarp) {
    uint4 node[kAhead][2];
#pragma unroll
    for (int k = 0; k < kAhead; ++k)
      fetch(first + k * kWarp + lane < count ? first + k * kWarp + lane : 0, node[k][0],
            node[k][1]);
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      if (first + k * kWarp + lane >= count) node[k][0].y = 0;  // no leaf
      add_survivor_leaf(node[k][0], node[k][1], shared_address(patch * kWordBytes), norm, sum);
    }
  }
  return sum;
}

/// Takes a window through the stages that are left, the threads of a warp sharing their trees. Its
/// sums are made at the word `patch` of the shared memory.
__device__ __forceinline__ void search_survivor(const TileTable& table, const CascadeView& cascade,
                                                const ImageView<const std::uint8_t>& pixels,
                                                const Survivor& window, int patch,
                                                const AtHand& at_hand, const SearchOutput& out) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (survivor_row_fits(table.width)) {
    make_patch(pixels.data + window.place, pixels.stride, table.width, table.height, patch);
  } else {
    make_wide_patch(pixels.data + window.place, pixels.stride, table.width, table.height,
                    tile_sums + patch);
  }
  const int at = patch * kWordBytes;
  for (int s = window.stage; s < table.stage_count; ++s) {
    const int ahead = s - at_hand.first_stage;
    const SurvivorStage stage = ahead >= 0 && ahead < at_hand.stage_count
                                    ? at_hand.stages[ahead]
                                    : survivor_stage(cascade.stages[s]);
    std::int32_t sum = 0;
    if (table.survivor_nodes) {
      const int tree = stage.first_tree - at_hand.first;
      if (tree >= 0 && tree + stage.tree_count <= at_hand.count) {
        const uint4* nodes = at_hand.nodes + tree;
        sum = add_survivor_trees(stage.tree_count, patch, window.norm,
                                 [&](int t, uint4& first, uint4& second) {
                                   first = shared_quad(nodes + t);
                                   second = shared_quad(nodes + at_hand.count + t);
                                 });
      } else {
        const auto* nodes = reinterpret_cast<const uint4*>(table.survivor_nodes + stage.first_tree);
        sum = add_survivor_trees(stage.tree_count, patch, window.norm,
                                 [&](int t, uint4& first, uint4& second) {
                                   first = __ldg(nodes + 2 * t);
                                   second = __ldg(nodes + 2 * t + 1);
                                 });
      }
    } else {
      const int corner[1] = {at};
      const float norm[1] = {window.norm};
      std::int32_t sums[1] = {};
      add_leaves(cascade, cascade.stages[s], lane, kWarp, corner, norm, sums);
      sum = sums[0] - (lane == 0 ? stage.base : 0);
    }
    sum = sum_of_warp(sum) + stage.base;
    if (sum < stage.fails) return;
    if (sum >= stage.passes) continue;
    if (lane == 0) atomicAdd(&out.counts->exact, 1u);
    if (!passes_by_definition(cascade, cascade.stages[s], pointer(at), window.norm)) return;
  }
  if (lane == 0) out.add(table, table.levels[window.level], window.x, window.y);
}

/// The same, where it is seldom done: called. All by value, as wherever a function is called. A
/// reference to an argument of the kernel is a generic address. In a conditional node
/// compute-sanitizer takes reads through it for wild ones.
__device__ __noinline__ void search_survivor_now(TileTable table, CascadeView cascade,
                                                 ImageView<const std::uint8_t> pixels,
                                                 Survivor window, int patch, SearchOutput out) {
  search_survivor(table, cascade, pixels, window, patch, {}, out);
}

/// For a whole block: what of the survivors' stages has room behind its warps' patches.
__device__ __forceinline__ AtHand take_stages(const TileTable& table, const CascadeView& cascade) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  AtHand at_hand = {};
  if (!table.survivor_nodes) return at_hand;
  constexpr int kMostStages = 32;
  const SearchStage& last = cascade.stages[table.stage_count - 1];
  at_hand.first_stage = min(table.survivor_stage, table.stage_count - 1);
  at_hand.stage_count = min(table.stage_count - at_hand.first_stage, kMostStages);
  at_hand.first = __ldg(&cascade.stages[at_hand.first_stage].first_tree);
  int words = threads / kWarp * table.patch_words;
  auto* stages = reinterpret_cast<SurvivorStage*>(tile_sums + words);
  if (thread < at_hand.stage_count)
    stages[thread] = survivor_stage(cascade.stages[at_hand.first_stage + thread]);
  words += kMostStages * static_cast<int>(sizeof(SurvivorStage)) / kWordBytes;
  auto* nodes = reinterpret_cast<uint4*>(tile_sums + words);
  at_hand.count =
      min((table.survivor_bytes - words * kWordBytes) / static_cast<int>(sizeof(SurvivorNode)),
          last.first_tree + last.tree_count - at_hand.first);
  at_hand.count = max(at_hand.count, 0);
  const auto* from = reinterpret_cast<const uint4*>(table.survivor_nodes + at_hand.first);
  for (int i = thread; i < 2 * at_hand.count; i += threads)
    __pipeline_memcpy_async(nodes + i % 2 * at_hand.count + i / 2, from + i, sizeof(uint4));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  at_hand.stages = stages;
  at_hand.nodes = nodes;
  return at_hand;
}

/// For a whole block whose tile is done: whether it stays for survivors, as no tile is left that
/// has not begun.
__device__ __forceinline__ bool end_tile(SearchCounts* counts, SurvivorState* states,
                                         std::uint64_t queue_capacity) {
  __shared__ bool all_done, stays;
  const int thread = static_cast<int>(threadIdx.x), warps = static_cast<int>(blockDim.x) / kWarp;
  const auto limit = static_cast<std::uint32_t>(queue_capacity);
  const auto now = [](const std::uint32_t& count) {
    return *static_cast<const volatile std::uint32_t*>(&count);
  };
  __syncthreads();
  if (thread == 0) {
    __threadfence();
    all_done = atomicAdd(&counts->done, 1u) == gridDim.x - 1;
    __threadfence();
    stays = now(counts->begun) == gridDim.x &&
            !(all_done && now(counts->taken) >= min(now(counts->queued), limit));
  }
  __syncthreads();
  if (all_done) {
    // A warp that waits has a place that is at most so far behind the last window.
    const std::uint32_t count = min(now(counts->queued), limit);
    const std::uint32_t end = min(limit, count + gridDim.x * static_cast<unsigned>(warps));
    for (std::uint32_t i = count + threadIdx.x; i < end; i += blockDim.x)
      *reinterpret_cast<volatile SurvivorState*>(states + i) = SurvivorState::kNone;
  }
  return stays;
}

/// For a whole block that stays: its warps take survivors, a warp a window, until all tiles are
/// done and the list is empty. They wait only for blocks that have begun. The windows' sums and
/// their nodes lie in place of the tile's sums.
__device__ __forceinline__ void take_survivors(const TileTable& table, const CascadeView& cascade,
                                               const ImageView<const std::uint8_t>& pixels,
                                               const SearchOutput& out) {
  const int thread = static_cast<int>(threadIdx.x);
  const auto limit = static_cast<std::uint32_t>(out.queue_capacity);
  const AtHand at_hand = take_stages(table, cascade);
  __syncthreads();
  for (;;) {
    std::uint32_t place = 0;
    if (thread % kWarp == 0) place = atomicAdd(&out.counts->taken, 1u);
    place = __shfl_sync(kAllLanes, place, 0);
    if (place >= limit) return;
    SurvivorState state;
    while ((state = acquire(out.queue_states + place)) == SurvivorState::kAwaited) __nanosleep(200);
    if (__any_sync(kAllLanes, state == SurvivorState::kNone)) return;
    const Survivor window = out.queue[place];
    if (window.stage != Survivor::kNone)
      search_survivor(table, cascade, pixels, window, thread / kWarp * table.patch_words, at_hand,
                      out);
  }
}

/// For a block, before anything else: its tile has begun.
__device__ inline void begin_tile(const SearchOutput& out) {
  // As an addition under a predicate. Behind a branch the compiler does not know that all threads
  // of a warp are there. It keeps what is the same for them in registers of each.
  asm volatile("{ .reg .pred p; setp.eq.u32 p, %1, 0; @p red.global.add.u32 [%0], 1; }" ::"l"(
                   __cvta_generic_to_global(&out.counts->begun)),
               "r"(threadIdx.x)
               : "memory");
}

/// end_tile() and take_survivors() for a block whose tile is not to be searched. Called, and by
/// value, for the same reason: of two such ends of a kernel the compiler makes one. Values go
/// through memory where they are more than a few; so what all such blocks call takes few.
__device__ __noinline__ bool end_tile_left_out(SearchCounts* counts, SurvivorState* states,
                                               std::uint64_t queue_capacity) {
  return end_tile(counts, states, queue_capacity);
}
__device__ __noinline__ void take_survivors_too(TileTable table, CascadeView cascade,
                                                ImageView<const std::uint8_t> pixels,
                                                SearchOutput out) {
  take_survivors(table, cascade, pixels, out);
}

}  // namespace cuface::cuda
