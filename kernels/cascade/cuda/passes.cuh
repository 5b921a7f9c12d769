// How the windows of a tile go through a stage together.
#pragma once

#include <cstdint>

#include "kernels/cascade/cuda/stages.cuh"
#include "kernels/cascade/cuda/tile.cuh"

namespace cuface::cuda {

/// The windows of a list that go through a stage, and where those that pass are listed.
struct Pass {
  const CascadeView& cascade;
  const SearchStage& stage;
  const Lists& lists;
  const std::uint16_t* list;
  int count;
  std::uint16_t* next;
  std::uint32_t* next_count;
  std::uint32_t* exact;

  /// For whole warps: of the windows that are `live`, with their sums.
  __device__ void keep(int at, float norm, std::int32_t sum, bool live, int window) const {
    const unsigned lane = threadIdx.x % kWarp;
    const unsigned pass = passing(cascade, stage, at, norm, sum, live, exact);
    if (pass == 0) return;
    std::uint32_t first = 0;
    if (lane == 0) first = atomicAdd(next_count, static_cast<std::uint32_t>(__popc(pass)));
    first = __shfl_sync(kAllLanes, first, 0);
    if (pass >> lane & 1)
      next[first + static_cast<std::uint32_t>(__popc(pass & ((1u << lane) - 1)))] =
          static_cast<std::uint16_t>(window);
  }
};

/// Takes many windows through a stage: a thread takes kWindows of them through the same trees.
/// Votes keep loops such that the compiler knows all threads of a warp to be at the same node.
template <int kWindows, typename CornerOf>
__device__ void take_many(const Pass& pass, const CornerOf& corner) {
  const int threads = static_cast<int>(blockDim.x);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int first = (static_cast<int>(threadIdx.x) - lane) * kWindows;
       __any_sync(kAllLanes, first < pass.count); first += threads * kWindows) {
    int window[kWindows], index[kWindows];
    int at[kWindows];
    float norm[kWindows];
    std::int32_t sum[kWindows] = {};
#pragma unroll
    for (int u = 0; u < kWindows; ++u) {
      index[u] = first + u * kWarp + lane;
      window[u] = pass.list[min(index[u], pass.count - 1)];
      at[u] = corner(window[u]);
      norm[u] = pass.lists.norm[window[u]];
    }
    add_leaves(pass.cascade, pass.stage, 0, 1, at, norm, sum);
#pragma unroll
    for (int u = 0; u < kWindows; ++u)
      pass.keep(at[u], norm[u], sum[u], index[u] < pass.count, window[u]);
  }
  __syncthreads();
}

/// Takes at most kFewWindows windows through a stage: warps share the trees of the same windows.
template <typename CornerOf>
__device__ void take_few(const Pass& pass, const CornerOf& corner) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  const int groups = (pass.count - 1) / kWarp + 1, slices = warps / groups;
  for (int task = warp; task < groups * slices; task += warps) {
    const int slice = task / groups, i = task % groups * kWarp + lane;
    const int window = pass.list[min(i, pass.count - 1)];
    const int at[1] = {corner(window)};
    const float norm[1] = {pass.lists.norm[window]};
    std::int32_t sum[1] = {};
    add_leaves(pass.cascade, pass.stage, slice, slices, at, norm, sum);
    if (i < pass.count) atomicAdd(&pass.lists.sum[i], sum[0]);
  }
  __syncthreads();
  for (int first = warp * kWarp; first < pass.count; first += warps * kWarp) {
    const int i = min(first + lane, pass.count - 1), window = pass.list[i];
    const std::int32_t sum = pass.lists.sum[i];
    __syncwarp();  // the last one may be read by several
    pass.lists.sum[i] = 0;
    pass.keep(corner(window), pass.lists.norm[window], sum, first + lane < pass.count, window);
  }
  __syncthreads();
}

/// Takes any number of windows through a stage, as fits their number.
template <typename CornerOf>
__device__ void take(const Pass& pass, const CornerOf& corner) {
  if (__any_sync(kAllLanes, pass.count > static_cast<int>(blockDim.x))) {
    take_many<2>(pass, corner);
  } else if (__any_sync(kAllLanes, pass.count > kFewWindows)) {
    take_many<1>(pass, corner);
  } else {
    take_few(pass, corner);
  }
}

}  // namespace cuface::cuda
