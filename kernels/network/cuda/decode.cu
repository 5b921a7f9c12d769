// One block: candidates are few, and each face that is kept is known to all before the next.
#include <algorithm>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/network/cuda/decode.h"
#include "kernels/network/rules.h"

namespace cuface::cuda {
namespace {

using network::face_of;
using network::order_key;
using network::score_of;
using network::sigmoid;
using network::suppresses;
using network::truncated;

constexpr int kThreads = 1024;
constexpr std::uint64_t kNone = ~std::uint64_t{0};

__device__ NetworkFace face_at(const NetworkCell* cells, const DeviceGrids& grids,
                               std::uint64_t key) {
  const auto cell = static_cast<std::uint32_t>(key);
  int g = grids.count - 1;
  while (g > 0 && grids.grids[g].first > cell) --g;
  const auto& grid = grids.grids[g];
  const int at = static_cast<int>(cell - grid.first);
  return face_of(cells[cell], grid.stride, at / grid.columns, at % grid.columns,
                 score_of(cells[cell]));
}

/// The least of all threads' keys, for all of them. `least` is another one from call to call, of
/// two in turns.
__device__ std::uint64_t least_of_block(std::uint64_t key,
                                        std::uint64_t (&least)[kThreads / kWarp]) {
  const auto of_warp = [](std::uint64_t k) {
    for (int step = kWarp / 2; step > 0; step /= 2) k = min(k, __shfl_xor_sync(kAllLanes, k, step));
    return k;
  };
  key = of_warp(key);
  if (threadIdx.x % kWarp == 0) least[threadIdx.x / kWarp] = key;
  __syncthreads();
  return of_warp(least[threadIdx.x % kWarp]);
}

/// The last of the best kMaxNetworkCandidates of `count` keys, which all differ: bit by bit the
/// largest that has fewer below it.
__device__ std::uint64_t last_candidate(const std::uint64_t* keys, std::uint32_t count) {
  if (count <= kMaxNetworkCandidates) return kNone - 1;
  std::uint64_t last = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const std::uint64_t next = last | std::uint64_t{1} << bit;
    int below = 0;
    for (std::uint32_t first = 0; first < count; first += kThreads) {
      const std::uint32_t i = first + threadIdx.x;
      below += __syncthreads_count(i < count && keys[i] < next);
    }
    if (below < kMaxNetworkCandidates) last = next;
  }
  return last;
}

__global__ void __launch_bounds__(kThreads)
    decode_kernel(const NetworkCell* cells, DeviceGrids grids, float score_threshold,
                  float nms_threshold, int max_faces, std::uint64_t* keys, Rect* boxes,
                  const std::int32_t* run, DeviceNetworkFaces* out) {
  __shared__ std::uint32_t count;
  __shared__ std::uint64_t least[2][kThreads / kWarp];
  if (idle(run)) return;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < grids.cells; i += kThreads) {
    // The other factor is at most 1: most cells are told by this one.
    if (sqrtf(sigmoid(cells[i].classes)) < score_threshold) continue;
    const float score = score_of(cells[i]);
    if (score < score_threshold) continue;
    const std::uint64_t key = order_key(score, i);
    const std::uint32_t at = atomicAdd(&count, 1u);
    keys[at] = key;
    boxes[at] = truncated(face_at(cells, grids, key).box);
  }
  __syncthreads();
  const std::uint64_t last = last_candidate(keys, count);
  int kept = 0;
  for (; kept < max_faces; ++kept) {
    std::uint64_t best = kNone;
    for (std::uint32_t i = threadIdx.x; i < count; i += kThreads) best = min(best, keys[i]);
    best = least_of_block(best, least[kept % 2]);
    if (best > last) break;
    const NetworkFace face = face_at(cells, grids, best);
    if (threadIdx.x == 0) out->faces[kept] = face;
    const Rect box = truncated(face.box);
    for (std::uint32_t i = threadIdx.x; i < count; i += kThreads) {
      if (keys[i] == best || (keys[i] != kNone && suppresses(box, boxes[i], nms_threshold)))
        keys[i] = kNone;
    }
  }
  if (threadIdx.x == 0) out->count = kept;
}

}  // namespace

void NetworkDecode::add_parts(const NetworkPlan& plan, const NetworkConfig& config,
                              ScratchLayout& parts) {
  config_ = config;
  grids_.count = static_cast<int>(plan.grids.size());
  grids_.cells = static_cast<std::uint32_t>(plan.cells);
  for (std::size_t g = 0; g < plan.grids.size(); ++g) {
    const NetworkGrid& grid = plan.grids[g];
    grids_.grids[g] = {grid.stride, grid.columns, static_cast<std::uint32_t>(grid.first)};
  }
  keys_ = parts.add<std::uint64_t>(plan.cells);
  boxes_ = parts.add<Rect>(plan.cells);
}

void NetworkDecode::bind(std::byte* scratch) {
  keys_.bind(scratch);
  boxes_.bind(scratch);
}

Status NetworkDecode::enqueue(const NetworkCell* cells, const std::int32_t* run,
                              DeviceNetworkFaces* out, Launcher launch) const {
  return launch("decoding a network's faces", decode_kernel, {1, kThreads}, cells, grids_,
                config_.score_threshold, config_.nms_threshold, config_.max_faces, keys_.data(),
                boxes_.data(), run, out);
}

}  // namespace cuface::cuda
