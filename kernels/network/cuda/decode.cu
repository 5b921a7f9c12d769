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

/// Takes faces as they are.
struct ToNetworkFaces {
  DeviceNetworkFaces* out;
  __device__ bool takes(const NetworkFace&) const { return true; }
  __device__ void put(int at, const NetworkFace& face) const { out->faces[at] = face; }
  __device__ void finish(int count) const { out->count = count; }
};

/// Takes the wanted ones as faces of a frame.
struct ToFaces {
  DeviceFaces* out;
  NetworkTarget target;
  __device__ Face face_of(const NetworkFace& found) const {
    return face_from_network(found, target.scale_x, target.scale_y);
  }
  __device__ bool takes(const NetworkFace& found) const {
    return is_wanted(face_of(found).box, target.limits, target.width, target.height);
  }
  __device__ void put(int at, const NetworkFace& found) const { out->faces[at] = face_of(found); }
  __device__ void finish(int count) const {
    out->count = count;
    out->landmarks_per_face = 0;
    out->followed_per_face = 0;
    out->searched = 1;
    out->part = {};
    out->overflow = 0;
  }
};

/// What all threads know.
struct Shared {
  std::uint32_t found, count;                 ///< cells above the threshold; those looked at
  std::uint64_t keys[kMaxNetworkCandidates];  ///< of these; kNone once one is done with
  bool wanted[kMaxNetworkCandidates];
  std::uint64_t least[2][kThreads / kWarp];
  std::uint32_t best[2];  ///< the place of the best one, in turns
  std::uint64_t kept[kMaxFaces];
};

/// Keys of the cells above the threshold, in no order.
__device__ void find_candidates(const NetworkCell* cells, std::uint32_t count, float threshold,
                                std::uint64_t* keys, Shared& shared) {
  constexpr int kAtOnce = 4;
  for (std::uint32_t first = threadIdx.x; first < count; first += kAtOnce * kThreads) {
    float classes[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      classes[k] = first + k * kThreads < count ? cells[first + k * kThreads].classes : 0;
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::uint32_t i = first + k * kThreads;
      // The other factor is at most 1: most cells are told by this one.
      if (i >= count || sqrtf(sigmoid(classes[k])) < threshold) continue;
      const float score = score_of(cells[i]);
      if (score >= threshold) keys[atomicAdd(&shared.found, 1u)] = order_key(score, i);
    }
  }
}

template <typename To>
__global__ void __launch_bounds__(kThreads)
    decode_kernel(const NetworkCell* cells, DeviceGrids grids, float score_threshold,
                  float nms_threshold, int max_faces, std::uint64_t* keys, Rect* boxes,
                  const std::int32_t* run, To to) {
  __shared__ Shared shared;
  if (idle(run)) return;
  if (threadIdx.x == 0) shared.found = shared.count = 0;
  __syncthreads();
  find_candidates(cells, grids.cells, score_threshold, keys, shared);
  __syncthreads();
  const std::uint64_t last = last_candidate(keys, shared.found);
  for (std::uint32_t i = threadIdx.x; i < shared.found; i += kThreads) {
    if (keys[i] > last) continue;
    const std::uint32_t at = atomicAdd(&shared.count, 1u);
    const NetworkFace face = face_at(cells, grids, keys[i]);
    shared.keys[at] = keys[i];
    shared.wanted[at] = to.takes(face);
    boxes[at] = truncated(face.box);
  }
  __syncthreads();
  int kept = 0;
  for (int round = 0; kept < max_faces; ++round) {
    std::uint64_t best = kNone;
    for (std::uint32_t i = threadIdx.x; i < shared.count; i += kThreads)
      best = min(best, shared.keys[i]);
    const std::uint64_t mine = best;
    best = least_of_block(best, shared.least[round % 2]);
    if (best == kNone) break;
    if (mine == best) {
      std::uint32_t at = threadIdx.x;
      while (shared.keys[at] != best) at += kThreads;
      shared.best[round % 2] = at;
    }
    __syncthreads();
    const std::uint32_t at = shared.best[round % 2];
    if (shared.wanted[at]) {
      if (threadIdx.x == 0) shared.kept[kept] = best;
      ++kept;
    }
    const Rect box = boxes[at];
    for (std::uint32_t i = threadIdx.x; i < shared.count; i += kThreads) {
      if (i == at || (shared.keys[i] != kNone && suppresses(box, boxes[i], nms_threshold)))
        shared.keys[i] = kNone;
    }
  }
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < kept)
    to.put(static_cast<int>(threadIdx.x), face_at(cells, grids, shared.kept[threadIdx.x]));
  if (threadIdx.x == 0) to.finish(kept);
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
  boxes_ = parts.add<Rect>(kMaxNetworkCandidates);
}

void NetworkDecode::bind(std::byte* scratch) {
  keys_.bind(scratch);
  boxes_.bind(scratch);
}

template <typename To>
Status NetworkDecode::launch_kernel(const NetworkCell* cells, const std::int32_t* run,
                                    int max_faces, const To& to, Launcher launch) const {
  return launch("decoding a network's faces", decode_kernel<To>, {1, kThreads}, cells, grids_,
                config_.score_threshold, config_.nms_threshold, max_faces, keys_.data(),
                boxes_.data(), run, to);
}

Status NetworkDecode::enqueue(const NetworkCell* cells, const std::int32_t* run,
                              DeviceNetworkFaces* out, Launcher launch) const {
  return launch_kernel(cells, run, config_.max_faces, ToNetworkFaces{out}, launch);
}

Status NetworkDecode::enqueue(const NetworkCell* cells, const std::int32_t* run,
                              const NetworkTarget& target, DeviceFaces* out,
                              Launcher launch) const {
  return launch_kernel(cells, run, std::min(target.limits.max_faces, kMaxFaces),
                       ToFaces{out, target}, launch);
}

}  // namespace cuface::cuda
