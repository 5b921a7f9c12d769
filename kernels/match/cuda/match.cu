#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/match/cuda/nearest.cuh"
#include "kernels/match/cuda/tiles.h"

namespace cuface::cuda::match {
namespace {

constexpr int kThreads = 512, kWarps = kThreads / kWarp;
/// Of a block at once; each thread compares them with descriptors of the other set.
constexpr int kQueries = 8;
constexpr unsigned kMostBlocks = 1056;
constexpr int kCheckThreads = 1024;
/// Lists that are read before one of them is merged.
constexpr int kListsAtOnce = 8;

/// A descriptor as words; kWords of bytes, or as many floats.
template <int kWords>
__device__ inline void load(const void* from, std::uint32_t (&to)[kWords]) {
#pragma unroll
  for (int i = 0; i < kWords / 4; ++i) {
    const uint4 four = static_cast<const uint4*>(from)[i];
    to[4 * i] = four.x;
    to[4 * i + 1] = four.y;
    to[4 * i + 2] = four.z;
    to[4 * i + 3] = four.w;
  }
}

__device__ inline float as_float(std::uint32_t bits) { return __uint_as_float(bits); }

template <int kWords>
__device__ inline float centre_product(const std::uint32_t* a, const std::uint32_t (&b)[kWords]) {
  constexpr int kValues = 4;  // of a cell
  constexpr int kCells = kWords == 64 ? 4 : 3, kCount = kCells - 2;
  float parts[kParts];
#pragma unroll
  for (int i = 0; i < kParts; ++i) parts[i] = 0;
#pragma unroll
  for (int i = 0; i < kCount * kCount * kValues; ++i) {
    const int cell = i / kValues, x = 1 + cell % kCount, y = 1 + cell / kCount;
    const int at = (y * kCells + x) * kValues + i % kValues;
    parts[i] = as_float(a[at]) * as_float(b[at]);
  }
  return folded(parts);
}

/// As a word: see Nearest.
template <typename T, int kWords>
__device__ inline std::uint32_t distance(const std::uint32_t* a, const std::uint32_t (&b)[kWords],
                                         float early_out) {
  if constexpr (std::is_same_v<T, float>) {
    if (early_out > 0 && !(centre_product(a, b) > early_out)) return kFar;
    float parts[kParts];
#pragma unroll
    for (int i = 0; i < kParts; ++i) parts[i] = 0;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const float difference = as_float(a[i]) - as_float(b[i]);
      parts[i % kParts] += difference * difference;
    }
    return __float_as_uint(folded(parts));
  } else {
    std::uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < kWords; ++i) bits += static_cast<std::uint32_t>(__popc(a[i] ^ b[i]));
    return bits;
  }
}

/// For a whole warp: of each query that of all lanes, in some lanes' first element; which query it
/// is. At each step a lane gives away half of its queries, and takes in the other half of another.
__device__ inline int merge_lanes(Nearest (&nearest)[kQueries], int lane) {
  const auto from = [](const Nearest& given, int by) {
    return Nearest{__shfl_xor_sync(kAllLanes, given.first, by),
                   __shfl_xor_sync(kAllLanes, given.second, by),
                   __shfl_xor_sync(kAllLanes, given.index, by)};
  };
  int query = 0;
#pragma unroll
  for (int half = kQueries / 2; half > 0; half /= 2) {
    const int by = half * (kWarp / kQueries);
    const bool upper = (lane & by) != 0;
    if (upper) query += half;
#pragma unroll
    for (int k = 0; k < kQueries / 2; ++k) {
      if (k >= half) break;
      const Nearest given = upper ? nearest[k] : nearest[k + half];
      if (upper) nearest[k] = nearest[k + half];
      merge(nearest[k], from(given, by));
    }
  }
  for (int by = kWarp / kQueries / 2; by > 0; by /= 2) merge(nearest[0], from(nearest[0], by));
  return query;
}

/// A block kQueries against all of the other set.
template <typename T, int kWords>
__global__ void __launch_bounds__(kThreads)
    nearest_kernel(DeviceSet<T> query, DeviceSet<T> train, bool by_sign, float early_out,
                   Nearest* of_queries, Owner* owners) {
  struct alignas(16) Ours {
    std::uint32_t words[kQueries][kWords];
  };
  constexpr bool kFloats = std::is_same_v<T, float>;
  __shared__ Ours ours;
  __shared__ int signs[kQueries];
  __shared__ std::uint32_t apart[kFloats ? kQueries : 1][kThreads];
  __shared__ Nearest of_warps[kQueries][kWarps];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int all = query.there(), others = train.there();
  const auto at = [](const DeviceSet<T>& set, int i) {
    return reinterpret_cast<const std::uint8_t*>(set.data) + i * set.stride;
  };
  for (int begin = static_cast<int>(blockIdx.x) * kQueries; begin < all;
       begin += static_cast<int>(gridDim.x) * kQueries) {
    // Behind the last query it stands again: with a greater number nobody takes it.
    for (int i = thread; i < kQueries * kWords; i += kThreads) {
      const int which = min(begin + i / kWords, all - 1);
      ours.words[i / kWords][i % kWords] =
          reinterpret_cast<const std::uint32_t*>(at(query, which))[i % kWords];
    }
    if (by_sign && thread < kQueries)
      signs[thread] = query.signs[min(begin + thread, all - 1) * query.sign_stride];
    __syncthreads();
    Nearest nearest[kQueries];
#pragma unroll
    for (int q = 0; q < kQueries; ++q) nearest[q] = {kFar, kFar, kNobody};
    for (int i = thread; i < others; i += kThreads) {
      std::uint32_t theirs[kWords];
      load(at(train, i), theirs);
      if constexpr (kFloats) {
        // One after the other: the sums of all at once would not fit the registers.
#pragma unroll 1
        for (int q = 0; q < kQueries; ++q)
          apart[q][thread] = distance<T, kWords>(ours.words[q], theirs, early_out);
      }
      const int sign = by_sign ? train.signs[i * train.sign_stride] : 0;
      std::uint32_t least = kFar;
      int owner = 0;
#pragma unroll
      for (int q = 0; q < kQueries; ++q) {
        std::uint32_t d;
        if constexpr (kFloats) {
          d = apart[q][thread];
        } else {
          d = distance<T, kWords>(ours.words[q], theirs, early_out);
        }
        if (by_sign && sign != signs[q]) continue;
        take(nearest[q], d, i);
        if (d < least) {
          least = d;
          owner = q;
        }
      }
      if (owners && least < kFar) atomicMax(owners + i, owner_of(least, begin + owner));
    }
    const int mine = merge_lanes(nearest, lane);
    if (lane % (kWarp / kQueries) == 0) of_warps[mine][warp] = nearest[0];
    __syncthreads();
    if (thread < kQueries && begin + thread < all) {
      Nearest best = of_warps[thread][0];
      for (int w = 1; w < kWarps; ++w) merge(best, of_warps[thread][w]);
      of_queries[begin + thread] = best;
    }
    __syncthreads();
  }
}

struct Checks {
  float ratio, max_distance;
  bool squared;
};

/// One block: matches stay in the order of the queries. Owners become 0 again. `of_queries` has
/// `parts` lists, of a part of the other set each.
__global__ void __launch_bounds__(kCheckThreads)
    check_kernel(const std::int32_t* queries, int most, const std::int32_t* trains, int most_trains,
                 Checks checks, const Nearest* of_queries, int parts, Owner* owners,
                 DeviceMatches* out) {
  __shared__ int counts[2][kCheckThreads / kWarp];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int all = queries ? min(*queries, most) : most;
  int found = 0, round = 0;
  for (int begin = 0; begin < all; begin += kCheckThreads, round ^= 1) {
    const int i = begin + thread;
    Nearest nearest{kFar, kFar, kNobody};
    for (int first = 0; first < parts; first += kListsAtOnce) {
      Nearest lists[kListsAtOnce];
#pragma unroll
      for (int k = 0; k < kListsAtOnce; ++k) {
        const int part = first + k;
        lists[k] = part < parts && i < all
                       ? of_queries[static_cast<std::ptrdiff_t>(part) * most + i]
                       : Nearest{kFar, kFar, kNobody};
      }
#pragma unroll
      for (const Nearest& list : lists) merge(nearest, list);
    }
    bool stays = nearest.index != kNobody;
    const auto length = [&](std::uint32_t distance) {
      if (distance == kFar) return as_float(kFar);
      return checks.squared ? sqrtf(as_float(distance)) : static_cast<float>(distance);
    };
    const float first = length(nearest.first), second = length(nearest.second);
    if (checks.max_distance > 0 && !(first <= checks.max_distance)) stays = false;
    if (checks.ratio < 1 && !(first < checks.ratio * second)) stays = false;
    if (stays && owners) stays = owners[nearest.index] == owner_of(nearest.first, i);
    const unsigned staying = __ballot_sync(kAllLanes, stays);
    if (lane == 0) counts[round][warp] = __popc(staying);
    __syncthreads();
    int before = 0, these = 0;
    for (int w = 0; w < kCheckThreads / kWarp; ++w) {
      if (w == warp) before = these;
      these += counts[round][w];
    }
    before += found + __popc(staying & ((1u << lane) - 1));
    if (stays) out->all()[before] = {i, nearest.index, first};
    found += these;
  }
  if (thread == 0) out->count = found;
  if (!owners) return;
  __syncthreads();
  const int set = trains ? min(*trains, most_trains) : most_trains;
  for (int i = thread; i < set; i += kCheckThreads) owners[i] = 0;
}

}  // namespace

template <typename T>
Status find_nearest(const DeviceSet<T>& query, const DeviceSet<T>& train, const MatchConfig& config,
                    Nearest* of_queries, int parts, Owner* owners, Launcher launch) {
  if constexpr (std::is_same_v<T, float>) {
    if (in_tiles(config))
      return find_nearest_in_tiles(query, train, config, of_queries, parts, owners, launch);
  }
  const auto blocks = static_cast<unsigned>((query.most + kQueries - 1) / kQueries);
  const auto kernel = [&] {
    if constexpr (std::is_same_v<T, float>) {
      return query.size == 64 ? nearest_kernel<T, 64> : nearest_kernel<T, 36>;
    } else {
      return nearest_kernel<T, kBinaryBytes / 4>;
    }
  }();
  return launch("finding the nearest descriptors", kernel,
                {std::clamp(blocks, 1u, kMostBlocks), kThreads}, query, train, config.sign_check,
                config.early_out, of_queries, owners);
}

template <typename T>
Status check_nearest(const DeviceSet<T>& query, const DeviceSet<T>& train,
                     const MatchConfig& config, const Nearest* of_queries, int parts, Owner* owners,
                     DeviceMatches* out, Launcher launch) {
  constexpr bool kFloats = std::is_same_v<T, float>;
  const Checks checks{config.ratio, config.max_distance, kFloats};
  const int lists = kFloats && in_tiles(config) ? parts : 1;
  return launch("checking matches", check_kernel, {1, kCheckThreads}, query.count, query.most,
                train.count, train.most, checks, of_queries, lists, owners, out);
}

template Status find_nearest(const DeviceBinarySet&, const DeviceBinarySet&, const MatchConfig&,
                             Nearest*, int, Owner*, Launcher);
template Status find_nearest(const DeviceFloatSet&, const DeviceFloatSet&, const MatchConfig&,
                             Nearest*, int, Owner*, Launcher);
template Status check_nearest(const DeviceBinarySet&, const DeviceBinarySet&, const MatchConfig&,
                              const Nearest*, int, Owner*, DeviceMatches*, Launcher);
template Status check_nearest(const DeviceFloatSet&, const DeviceFloatSet&, const MatchConfig&,
                              const Nearest*, int, Owner*, DeviceMatches*, Launcher);

}  // namespace cuface::cuda::match
