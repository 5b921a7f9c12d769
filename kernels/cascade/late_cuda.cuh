// Windows that got far, of all tiles: a warp a window, by blocks that have no tile left.
#pragma once

#include <cstdint>

#include "kernels/cascade/stages_cuda.cuh"

namespace cuface::cuda {

struct Output {
  Rect* raw;
  std::uint64_t limit;  // no padding: Launcher::begin_if()
  LateWindow* late;
  std::uint64_t late_limit;
  SearchCounts* counts;
  LateState* late_states;

  /// A window of the level that passed all stages, by its first pixel.
  __device__ void add(const TileTable& table, const WindowLevel& level, int x, int y) const {
    const std::uint32_t at = atomicAdd(&counts->raw, 1u);
    if (at < limit) raw[at] = window_box(x, y, table.width, table.height, level.scale);
  }

  /// The first of `count` places in the list of late windows, or -1 where it has no room for them.
  __device__ int late_places(std::uint32_t count) const {
    const std::uint32_t first = atomicAdd(&counts->late, count);
    if (first <= late_limit && count <= late_limit - first) return static_cast<int>(first);
    for (std::uint32_t i = first; i < late_limit; ++i) put(i, {0, LateWindow::kNone, 0, 0, 0.0f});
    return -1;
  }

  /// Puts a window into its place, for whoever takes it.
  __device__ void put(std::uint32_t place, const LateWindow& window) const {
    late[place] = window;
    __threadfence();
    *reinterpret_cast<volatile LateState*>(late_states + place) = LateState::kListed;
  }
};

/// For a whole warp: the sums of a window's pixels, exclusive as in integral.h, in rows of
/// width + 1 words.
__device__ inline void make_patch(const std::uint8_t* pixels, std::ptrdiff_t stride, int width,
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
__device__ inline void add_late(const uint4& first, const uint4& second, std::uint32_t patch,
                                float norm, std::int32_t& sum) {
  // Two corners in each of six words, rectangle after rectangle.
  const auto lower = [&](std::uint32_t corners) {
    constexpr std::uint32_t kOffset = (1u << LateNode::kWeightShift) - 1;
    return shared_word(patch + (corners & kOffset));
  };
  const auto upper = [&](std::uint32_t corners) { return shared_word(patch + (corners >> 16)); };
  const auto rectangle = [&](std::uint32_t a, std::uint32_t b) {
    return lower(a) - upper(a) - lower(b) + upper(b);
  };
  const auto weight = [](std::uint32_t a) { return (a & 0xffff) >> LateNode::kWeightShift; };
  std::uint32_t value =
      weight(second.x) * rectangle(second.x, second.y) - rectangle(first.z, first.w);
  if (__any_sync(kAllLanes, weight(second.z) != 0))
    value += weight(second.z) * rectangle(second.z, second.w);
  if (static_cast<float>(static_cast<std::int32_t>(value)) * norm < __uint_as_float(first.x))
    sum += static_cast<std::int32_t>(first.y);
}

__device__ inline std::int32_t sum_of_warp(std::int32_t sum) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kAllLanes, sum);
#else
  for (int apart = kWarp / 2; apart > 0; apart /= 2) sum += __shfl_xor_sync(kAllLanes, sum, apart);
  return sum;
#endif
}

/// Nodes of late stages, in shared memory: `count` trees from `first` on.
struct LateNodes {
  const uint4* nodes;
  int first, count;
};

/// Takes a window through the stages that are left, the threads of a warp sharing their trees. Its
/// sums are made at the word `patch` of the shared memory.
__device__ __forceinline__ void search_late(const TileTable& table, const CascadeView& cascade,
                                            const ImageView<const std::uint8_t>& pixels,
                                            const LateWindow& window, int patch,
                                            const LateNodes& at_hand, const Output& out) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const WindowLevel& level = table.levels[window.level];
  make_patch(pixels.row(level.y + window.y) + level.x + window.x, pixels.stride, table.width,
             table.height, tile_sums + patch);
  const int at[1] = {patch * kWordBytes};
  const float norm[1] = {window.norm};
  for (int s = window.stage; s < table.stage_count; ++s) {
    const SearchStage& stage = cascade.stages[s];
    std::int32_t sum[1] = {};
    if (table.late_nodes) {
      const int end = stage.tree_count, ahead = stage.first_tree - at_hand.first;
      const uint4* nodes =
          ahead >= 0 && ahead + end <= at_hand.count
              ? at_hand.nodes + 2 * ahead
              : reinterpret_cast<const uint4*>(table.late_nodes) + 2 * stage.first_tree;
      if (lane == 0) sum[0] = stage.base;
      constexpr int kAhead = 2;
      for (int first = 0; first < end; first += kAhead * kWarp) {
        uint4 node[kAhead][2];
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
          const int t = first + k * kWarp + lane < end ? first + k * kWarp + lane : 0;
          node[k][0] = nodes[2 * t];
          node[k][1] = nodes[2 * t + 1];
        }
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
          if (first + k * kWarp + lane >= end) node[k][0].y = 0;  // no leaf
          add_late(node[k][0], node[k][1], shared_address(at[0]), norm[0], sum[0]);
        }
      }
    } else {
      add_leaves<false>(cascade, cascade.nodes, stage, lane, kWarp, at, norm, sum);
    }
    if (passing(cascade, stage, at[0], norm[0], sum_of_warp(sum[0]), lane == 0,
                &out.counts->exact) == 0)
      return;
  }
  if (lane == 0) out.add(table, level, window.x, window.y);
}

/// The same, where it is seldom done: called. All by value, as wherever a function is called: a
/// reference to an argument of the kernel is a generic address, and in a conditional node
/// compute-sanitizer takes reads through it for wild ones.
__device__ __noinline__ void search_late_now(TileTable table, CascadeView cascade,
                                             ImageView<const std::uint8_t> pixels,
                                             LateWindow window, int patch, Output out) {
  search_late(table, cascade, pixels, window, patch, {}, out);
}

/// For a whole block whose tile is done: where no tile is left that has not begun, its warps take
/// late windows, a warp a window, until all tiles are done and the list is empty. They wait only
/// for blocks that have begun. The windows' sums and their nodes lie in place of the tile's sums.
__device__ __forceinline__ void take_late_windows(const TileTable& table,
                                                  const CascadeView& cascade,
                                                  const ImageView<const std::uint8_t>& pixels,
                                                  const Output& out) {
  __shared__ bool all_done, stays;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int warps = threads / kWarp;
  const auto limit = static_cast<std::uint32_t>(out.late_limit);
  const auto now = [](const std::uint32_t& count) {
    return *static_cast<const volatile std::uint32_t*>(&count);
  };
  __syncthreads();
  if (thread == 0) {
    __threadfence();
    all_done = atomicAdd(&out.counts->done, 1u) == gridDim.x - 1;
    __threadfence();
    stays = now(out.counts->begun) == gridDim.x &&
            !(all_done && now(out.counts->taken) >= min(now(out.counts->late), limit));
  }
  __syncthreads();
  if (all_done) {
    // A warp that waits has a place that is at most so far behind the last window.
    const std::uint32_t count = min(now(out.counts->late), limit);
    const std::uint32_t end = min(limit, count + gridDim.x * static_cast<unsigned>(warps));
    for (std::uint32_t i = count + threadIdx.x; i < end; i += blockDim.x)
      *reinterpret_cast<volatile LateState*>(out.late_states + i) = LateState::kNone;
  }
  if (!stays) return;
  const SearchStage& last = cascade.stages[table.stage_count - 1];
  const int patches = (warps * table.patch_words + 3) / 4 * 4;
  auto* nodes = reinterpret_cast<uint4*>(tile_sums + patches);
  LateNodes at_hand = {nodes, 0, 0};
  if (table.late_nodes) {
    at_hand.first = cascade.stages[min(table.late_stage, table.stage_count - 1)].first_tree;
    at_hand.count =
        min((table.late_bytes - patches * kWordBytes) / static_cast<int>(sizeof(LateNode)),
            last.first_tree + last.tree_count - at_hand.first);
    const uint4* from = reinterpret_cast<const uint4*>(table.late_nodes + at_hand.first);
    for (int i = thread; i < 2 * at_hand.count; i += threads) nodes[i] = __ldg(from + i);
  }
  __syncthreads();
  for (;;) {
    std::uint32_t place = 0;
    if (thread % kWarp == 0) place = atomicAdd(&out.counts->taken, 1u);
    place = __shfl_sync(kAllLanes, place, 0);
    if (place >= limit) return;
    LateState state;
    while ((state = *reinterpret_cast<volatile LateState*>(out.late_states + place)) ==
           LateState::kAwaited)
      __nanosleep(200);
    if (__any_sync(kAllLanes, state == LateState::kNone)) return;
    __threadfence();
    const LateWindow window = out.late[place];
    if (window.stage != LateWindow::kNone)
      search_late(table, cascade, pixels, window, thread / kWarp * table.patch_words, at_hand, out);
  }
}

/// For a block, before anything else: its tile has begun.
__device__ inline void begin_tile(const Output& out) {
  // As an addition under a predicate: behind a branch the compiler does not know that all threads
  // of a warp are there, and keeps what is the same for them in registers of each.
  asm volatile("{ .reg .pred p; setp.eq.u32 p, %1, 0; @p red.global.add.u32 [%0], 1; }" ::"l"(
                   __cvta_generic_to_global(&out.counts->begun)),
               "r"(threadIdx.x)
               : "memory");
}

/// take_late_windows() for a block whose tile is not to be searched. Called, and by value, for the
/// same reason: of two such ends of a kernel the compiler makes one.
__device__ __noinline__ void leave_tile_out(TileTable table, CascadeView cascade,
                                            ImageView<const std::uint8_t> pixels, Output out) {
  take_late_windows(table, cascade, pixels, out);
}

}  // namespace cuface::cuda
