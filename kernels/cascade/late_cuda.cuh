// Windows that got far, of all tiles: a warp a window.
#pragma once

#include <cstdint>

#include "kernels/cascade/stages_cuda.cuh"

namespace cuface::cuda {

constexpr unsigned kLateThreads = 256;

struct Output {
  Rect* raw;
  std::uint64_t limit;  // no padding: Launcher::begin_if()
  LateWindow* late;
  std::uint64_t late_limit;
  SearchCounts* counts;

  /// A window of the level that passed all stages, by its first pixel.
  __device__ void add(const TileTable& table, const WindowLevel& level, int x, int y) const {
    const std::uint32_t at = atomicAdd(&counts->raw, 1u);
    if (at < limit) raw[at] = window_box(x, y, table.width, table.height, level.scale);
  }

  /// The first of `count` places in the list of late windows, or -1 where it has no room for them.
  __device__ int late_places(std::uint32_t count) const {
    const std::uint32_t first = atomicAdd(&counts->late, count);
    if (first <= late_limit && count <= late_limit - first) return static_cast<int>(first);
    for (std::uint32_t i = first; i < late_limit; ++i) late[i].stage = LateWindow::kNone;
    return -1;
  }
};

/// For a whole warp: the sums of a window's pixels, exclusive as in integral.h, in rows of
/// width + 1 words.
__device__ inline void make_patch(const std::uint8_t* pixels, std::ptrdiff_t stride, int width,
                                  int height, std::uint32_t* sums) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  __syncwarp();  // the last window's are read no more
  constexpr int kAhead = 8;
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
#pragma unroll 4
    for (int x = 1; x <= width; ++x) row[x] = sum += row[x];
  }
  __syncwarp();
}

/// Adds the leaf of a node where the window's value is below the threshold.
__device__ inline void add_late(const uint4& first, const uint4& second, int patch, float norm,
                                std::int32_t& sum) {
  const auto word = [&](std::uint32_t offset) { return tile_sums[patch + offset]; };
  // Two corners in each of six words, rectangle after rectangle.
  const auto rectangle = [&](std::uint32_t a, std::uint32_t b) {
    constexpr std::uint32_t kOffset = (1u << LateNode::kWeightShift) - 1;
    return word(a & kOffset) - word(a >> 16) - word(b & 0xffff) + word(b >> 16);
  };
  const auto weight = [](std::uint32_t a) { return (a & 0xffff) >> LateNode::kWeightShift; };
  const std::uint32_t value = weight(second.x) * rectangle(second.x, second.y) +
                              weight(second.z) * rectangle(second.z, second.w) -
                              rectangle(first.z, first.w);
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

/// Takes a window through the stages that are left, the threads of a warp sharing their trees. Its
/// sums are made at the word `patch` of the shared memory. All by value, as wherever a function is
/// called: a reference to an argument of the kernel is a generic address, and in a conditional node
/// compute-sanitizer takes reads through it for wild ones.
__device__ __noinline__ void search_late(TileTable table, CascadeView cascade,
                                         ImageView<const std::uint8_t> pixels, LateWindow window,
                                         int patch, Output out) {
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
      const uint4* nodes = reinterpret_cast<const uint4*>(table.late_nodes + stage.first_tree);
      const int end = stage.tree_count;
      if (lane == 0) sum[0] = stage.base;
      constexpr int kAhead = 4;
      for (int first = 0; first < end; first += kAhead * kWarp) {
        uint4 node[kAhead][2];
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
          const int t = min(first + k * kWarp + lane, end - 1);
          node[k][0] = __ldg(nodes + 2 * t);
          node[k][1] = __ldg(nodes + 2 * t + 1);
        }
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
          if (first + k * kWarp >= end) break;
          if (first + k * kWarp + lane >= end) node[k][0].y = 0;  // no leaf
          add_late(node[k][0], node[k][1], patch, norm[0], sum[0]);
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

__global__ void __launch_bounds__(kLateThreads)
    late_kernel(const __grid_constant__ TileTable table, CascadeView cascade,
                ImageView<const std::uint8_t> pixels, int patch_words, Output out) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::uint32_t warps = gridDim.x * (blockDim.x / kWarp);
  const std::uint32_t count = min(out.counts->late, static_cast<std::uint32_t>(out.late_limit));
  for (std::uint32_t i = blockIdx.x * (blockDim.x / kWarp) + warp; i < count;) {
    std::uint32_t next = 0;
    if (lane == 0) next = warps + atomicAdd(&out.counts->taken, 1u);
    const LateWindow window = out.late[i];
    if (window.stage != LateWindow::kNone)
      search_late(table, cascade, pixels, window, warp * patch_words, out);
    i = __shfl_sync(kAllLanes, next, 0);
  }
}

}  // namespace cuface::cuda
