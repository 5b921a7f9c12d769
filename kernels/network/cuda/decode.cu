// One block: candidates are few, and each face that is kept is known to all before the next.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/network/cuda/decode.h"
#include "kernels/network/rules.h"

namespace cuface::cuda {
namespace {

using network::face_of;
using network::order_key;
using network::score_of;
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

__device__ std::uint64_t least_of_warp(std::uint64_t key) {
#if __CUDA_ARCH__ >= 800
  const auto high = static_cast<std::uint32_t>(key >> 32);
  const std::uint32_t least = __reduce_min_sync(kAllLanes, high);
  const std::uint32_t low =
      __reduce_min_sync(kAllLanes, high == least ? static_cast<std::uint32_t>(key) : ~0u);
  return std::uint64_t{least} << 32 | low;
#else
  for (int step = kWarp / 2; step > 0; step /= 2)
    key = min(key, __shfl_xor_sync(kAllLanes, key, step));
  return key;
#endif
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
    out->has_confidences = 0;
    out->searched = 1;
    out->part = {};
    out->overflow = 0;
  }
};

/// The best candidate of a warp.
struct Best {
  std::uint64_t key;
  Rect box;
  bool wanted;
};

/// What all threads know.
struct Shared {
  std::uint32_t found, count;                 ///< cells above the threshold; those taken of them
  std::uint64_t keys[kMaxNetworkCandidates];  ///< of these; kNone once one is done with
  bool wanted[kMaxNetworkCandidates];
  Best best[2][kThreads / kWarp];  ///< in turns
  std::uint64_t kept[kMaxFaces];
};

/// Keys of the cells above the threshold, in no order: in shared memory while there is room.
__device__ void find_candidates(const NetworkCell* cells, std::uint32_t count,
                                const DeviceThreshold& threshold, std::uint64_t* keys,
                                Shared& shared) {
  constexpr int kAtOnce = 8;
  for (std::uint32_t first = threadIdx.x; first < count; first += kAtOnce * kThreads) {
    float classes[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::uint32_t i = first + k * kThreads;
      classes[k] = i < count ? cells[i].classes : threshold.hopeless;
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::uint32_t i = first + k * kThreads;
      if (i >= count || classes[k] < threshold.hopeless) continue;
      const float score = score_of(cells[i]);
      if (score < threshold.score) continue;
      const std::uint32_t at = atomicAdd(&shared.found, 1u);
      const std::uint64_t key = order_key(score, i);
      keys[at] = key;
      if (at < kMaxNetworkCandidates) shared.keys[at] = key;
    }
  }
}

/// Of more cells than may be looked at, the best ones.
__device__ void choose_candidates(const std::uint64_t* keys, Shared& shared) {
  const std::uint64_t last = last_candidate(keys, shared.found);
  for (std::uint32_t i = threadIdx.x; i < shared.found; i += kThreads)
    if (keys[i] <= last) shared.keys[atomicAdd(&shared.count, 1u)] = keys[i];
  __syncthreads();
}

/// Keeps the best candidate left, and drops it and what it suppresses, again and again. For whole
/// warps that have all `count` candidates among them. How many are kept.
__device__ int keep_best(Shared& shared, const Rect* boxes, std::uint32_t count, int max_faces,
                         float nms_threshold) {
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const unsigned warps = min((count + kWarp - 1) / kWarp, kThreads / kWarp);
  Rect dropper = {};
  std::uint64_t dropped = kNone;
  int kept = 0;
  for (int round = 0; kept < max_faces; ++round) {
    std::uint64_t mine = kNone;
    std::uint32_t place = threadIdx.x;
    for (std::uint32_t i = threadIdx.x; i < count; i += kThreads) {
      const std::uint64_t key = shared.keys[i];
      if (key == kNone) continue;
      if (key == dropped || (round > 0 && suppresses(dropper, boxes[i], nms_threshold))) {
        shared.keys[i] = kNone;
      } else if (key < mine) {
        mine = key;
        place = i;
      }
    }
    Best(&best)[kThreads / kWarp] = shared.best[round % 2];
    const std::uint64_t of_warp = least_of_warp(mine);
    if (of_warp == kNone ? lane == 0 : mine == of_warp)
      best[warp] = {mine, boxes[place], shared.wanted[place]};
    __barrier_sync_count(1, warps * kWarp);
    const std::uint64_t of_lane = lane < warps ? best[lane].key : kNone;
    dropped = least_of_warp(of_lane);
    if (dropped == kNone) break;
    const Best& found = best[__ffs(__ballot_sync(kAllLanes, of_lane == dropped)) - 1];
    dropper = found.box;
    if (!found.wanted) continue;
    if (threadIdx.x == 0) shared.kept[kept] = dropped;
    ++kept;
  }
  return kept;
}

template <typename To>
__global__ void __launch_bounds__(kThreads)
    decode_kernel(const NetworkCell* cells, const __grid_constant__ DeviceGrids grids,
                  DeviceThreshold threshold, float nms_threshold, int max_faces,
                  std::uint64_t* keys, Rect* boxes, const std::int32_t* run, To to) {
  __shared__ Shared shared;
  if (idle(run)) return;
  if (threadIdx.x == 0) shared.found = shared.count = 0;
  __syncthreads();
  find_candidates(cells, grids.cells, threshold, keys, shared);
  __syncthreads();
  if (shared.found > kMaxNetworkCandidates) choose_candidates(keys, shared);
  const std::uint32_t count = min(shared.found, kMaxNetworkCandidates);
  for (std::uint32_t i = threadIdx.x; i < count; i += kThreads) {
    const NetworkFace face = face_at(cells, grids, shared.keys[i]);
    shared.wanted[i] = to.takes(face);
    boxes[i] = truncated(face.box);
  }
  // A thread looks at its own candidates alone.
  if (threadIdx.x / kWarp * kWarp < count) {
    const int kept = keep_best(shared, boxes, count, max_faces, nms_threshold);
    if (threadIdx.x == 0) shared.count = static_cast<std::uint32_t>(kept);
  } else if (threadIdx.x == 0) {
    shared.count = 0;
  }
  __syncthreads();
  const int kept = static_cast<int>(shared.count);
  if (static_cast<int>(threadIdx.x) < kept)
    to.put(static_cast<int>(threadIdx.x), face_at(cells, grids, shared.kept[threadIdx.x]));
  if (threadIdx.x == 0) to.finish(kept);
}

/// No cell below has a score of `score`: its classes' sigmoid alone says so, by more than that is
/// rounded.
float hopeless_below(float score) {
  // The sigmoid's error is less than 1e-6 of it; where it is not nearly 1, nor cut, 0.01 of a logit
  // is more.
  const double least = std::min(double{score} * double{score}, 0.99);
  if (least < 1e-20) return -std::numeric_limits<float>::infinity();
  return static_cast<float>(std::log(least / (1 - least)) - 0.01);
}

}  // namespace

void NetworkDecode::add_parts(const NetworkPlan& plan, const NetworkConfig& config,
                              ScratchLayout& parts) {
  config_ = config;
  threshold_ = {config.score_threshold, hopeless_below(config.score_threshold)};
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
                threshold_, config_.nms_threshold, max_faces, keys_.data(), boxes_.data(), run, to);
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
