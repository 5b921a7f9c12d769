// The kernels of cuda::Grouper, for who takes its groups.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/try.h"
#include "kernels/group/cuda/few_windows.cuh"
#include "kernels/group/cuda/grouper.h"
#include "kernels/group/cuda/many_windows.cuh"

namespace cuface::cuda {

constexpr int kGroupBlocks = 64;
constexpr int kListBlocks = 256, kListThreads = 256;

/// The windows to group.
struct Windows {
  const Rect* boxes;
  const std::uint32_t* number;
  std::uint64_t limit;  // no padding: Launcher::begin_if()

  __device__ std::uint32_t count() const { return *number > limit ? 0 : *number; }
};
static_assert(std::has_unique_object_representations_v<Windows>);

/// kGroupBlocks of few::kThreads.
template <typename Take>
__global__ void __launch_bounds__(few::kThreads, 1)
    group_kernel(Windows windows, Grouping rule, int min_neighbors, GroupMemory memory, Take take) {
  __shared__ Raw<few::Memory> shared;
  const std::uint32_t n = windows.count(), mark = memory.progress->mark;
  if (n > few::kMost) {
    many::group(windows.boxes, n, rule, min_neighbors, memory, take);
    return;
  }
  constexpr std::uint32_t kWarps = few::kThreads / kWarp;
  if (blockIdx.x + 1 < gridDim.x) {
    const std::uint32_t warp = blockIdx.x + (gridDim.x - 1) * (threadIdx.x / kWarp);
    const std::uint32_t warps = (gridDim.x - 1) * kWarps;
    int4* const columns = shared.get().columns;
    if (rule == Grouping::kOpenCv)
      few::relate<Grouping::kOpenCv>(windows.boxes, n, warp, warps, mark, columns, memory.said);
    else
      few::relate<Grouping::kOverlap>(windows.boxes, n, warp, warps, mark, columns, memory.said);
    return;
  }
  if (threadIdx.x == 0) take.begin();
  const few::Groups groups =
      few::group(windows.boxes, n, rule, min_neighbors, memory.said, mark, shared.get());
  if (threadIdx.x == 0) memory.progress->mark = max(mark + 1, 1u);
  take(groups.list, groups.number, threadIdx.x / kWarp, kWarps);
}

/// Without grouping every window is kept.
template <typename Take>
__global__ void list_kernel(Windows windows, Detection* list, Take take) {
  const std::uint32_t n = windows.count(), first = blockIdx.x * blockDim.x + threadIdx.x;
  if (first == 0) take.begin();
  for (std::uint32_t i = first; i < n; i += gridDim.x * blockDim.x) list[i] = {windows.boxes[i], 1};
}

template <typename Take>
__global__ void take_kernel(Windows windows, const Detection* list, Take take) {
  take(list, windows.count(), (blockIdx.x * blockDim.x + threadIdx.x) / kWarp,
       gridDim.x * blockDim.x / kWarp);
}

template <typename Take>
Status Grouper::enqueue(const Rect* boxes, const std::uint32_t* count, const Take& take,
                        Launcher launch) {
  static_assert(std::has_unique_object_representations_v<Take>);
  const Windows windows = {boxes, count, limit_};
  if (min_neighbors_ > 0)
    return launch("grouping", group_kernel<Take>, {kGroupBlocks, few::kThreads}, windows, rule_,
                  min_neighbors_, memory(), take);
  CUFACE_TRY(launch("listing the windows", list_kernel<Take>, {kListBlocks, kListThreads}, windows,
                    sums_.data(), take));
  return launch("taking the windows", take_kernel<Take>, {kListBlocks, kListThreads}, windows,
                sums_.data(), take);
}

}  // namespace cuface::cuda
