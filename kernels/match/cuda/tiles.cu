// A block has 64 descriptors of either set in shared memory, a thread 4 by 4 pairs of them: what is
// read serves four pairs. The parts of a distance are added in the order of their tree, so that
// three sums wait at most, and not sixteen (cuface::match::squared_distance()).
#include <algorithm>

#include "kernels/match/cuda/nearest.cuh"
#include "kernels/match/cuda/tiles.h"
#include "kernels/match/reference.h"

namespace cuface::cuda::match {
namespace {

using cuface::match::kParts;

constexpr int kTile = 64, kSide = 16, kThreads = kSide * kSide, kOwn = kTile / kSide;
constexpr int kTerms = 4, kLevels = 4;
static_assert(kParts == 1 << kLevels);
/// Rows of 64 words and 4 more: eight lanes that read 16 bytes each of their rows meet in no bank.
constexpr int kRow = kParts * kTerms + 4;

struct alignas(16) Tile {
  float values[kTile][kRow];  ///< value p + 16 j of a descriptor stands at 4 p + j
};

/// The descriptors from `begin` on. Behind the last one it stands again.
template <int kValues>
__device__ void load(const DeviceFloatSet& set, int begin, int all, Tile& tile) {
  constexpr int kQuads = kValues / 4;
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < kTile * kQuads; i += kThreads) {
    const int row = i / kQuads, quad = i % kQuads;
    const auto* from =
        reinterpret_cast<const std::uint8_t*>(set.data) + min(begin + row, all - 1) * set.stride;
    const float4 four = reinterpret_cast<const float4*>(from)[quad];
    const float values[] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int k = 0; k < 4; ++k)
      tile.values[row][(quad * 4 + k) % kParts * kTerms + quad * 4 / kParts] = values[k];
  }
}

__device__ inline const float4& terms(const Tile& tile, int row, int part) {
  return *reinterpret_cast<const float4*>(&tile.values[row][part * kTerms]);
}

/// A part of the squared distance, of the terms that there are.
template <int kValues>
__device__ inline float squared(const float4& a, const float4& b, int part) {
  const float x = a.x - b.x, y = a.y - b.y, z = a.z - b.z, w = a.w - b.w;
  float sum = x * x + y * y;
  if (part + 2 * kParts < kValues) sum += z * z;
  if (part + 3 * kParts < kValues) sum += w * w;
  return sum;
}

/// Squared distances of the thread's pairs.
template <int kValues>
__device__ inline void distances(const Tile& ours, const Tile& theirs, int row, int column,
                                 float (&out)[kOwn][kOwn]) {
  float waiting[kLevels][kOwn][kOwn];
#pragma unroll
  for (int n = 0; n < kParts; ++n) {
    // Parts 8 apart come one after the other, then pairs 4 apart, and so on.
    const int part = (n & 1) << 3 | (n & 2) << 1 | (n & 4) >> 1 | (n & 8) >> 3;
    float4 b[kOwn];
#pragma unroll
    for (int j = 0; j < kOwn; ++j) b[j] = terms(theirs, column + kSide * j, part);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const float4 a = terms(ours, row * kOwn + i, part);
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        float sum = squared<kValues>(a, b[j], part);
        int level = 0;
#pragma unroll
        for (; level < kLevels && (n >> level & 1) != 0; ++level) sum = waiting[level][i][j] + sum;
        if (level < kLevels)
          waiting[level][i][j] = sum;
        else
          out[i][j] = sum;
      }
    }
  }
}

/// A block 64 queries against every gridDim.y-th tile of the other set.
template <int kValues>
__global__ void __launch_bounds__(kThreads, 2)
    tiles_kernel(DeviceFloatSet query, DeviceFloatSet train, bool by_sign, Nearest* of_queries,
                 Owner* owners) {
  __shared__ Tile ours, theirs;
  __shared__ int signs[kTile], their_signs[kTile];
  __shared__ Owner best[kTile];
  const int thread = static_cast<int>(threadIdx.x), row = thread / kSide, column = thread % kSide;
  const int all = query.there(), others = train.there();
  const int begin = static_cast<int>(blockIdx.x) * kTile;
  if (begin >= all) return;
  load<kValues>(query, begin, all, ours);
  if (by_sign && thread < kTile)
    signs[thread] = query.signs[min(begin + thread, all - 1) * query.sign_stride];
  Nearest nearest[kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) nearest[i] = {kFar, kFar, kNobody};
  for (int first = static_cast<int>(blockIdx.y) * kTile; first < others;
       first += static_cast<int>(gridDim.y) * kTile) {
    __syncthreads();  // all are through with the tile before
    load<kValues>(train, first, others, theirs);
    if (thread < kTile) {
      best[thread] = 0;
      if (by_sign)
        their_signs[thread] = train.signs[min(first + thread, others - 1) * train.sign_stride];
    }
    __syncthreads();
    float apart[kOwn][kOwn];
    distances<kValues>(ours, theirs, row, column, apart);
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      const int of_tile = column + kSide * j, index = first + of_tile;
      if (index >= others) break;
      Owner mine = 0;
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        const int which = row * kOwn + i;
        if (by_sign && their_signs[of_tile] != signs[which]) continue;
        const std::uint32_t d = __float_as_uint(apart[i][j]);
        take(nearest[i], d, index);
        if (d < kFar && begin + which < all) mine = max(mine, owner_of(d, begin + which));
      }
      if (owners && mine != 0) atomicMax(best + of_tile, mine);
    }
    if (!owners) continue;
    __syncthreads();
    if (thread < kTile && best[thread] != 0) atomicMax(owners + first + thread, best[thread]);
  }
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    for (int by = 1; by < kSide; by *= 2)
      merge(nearest[i], {__shfl_xor_sync(kAllLanes, nearest[i].first, by),
                         __shfl_xor_sync(kAllLanes, nearest[i].second, by),
                         __shfl_xor_sync(kAllLanes, nearest[i].index, by)});
    const int which = begin + row * kOwn + i;
    if (column == 0 && which < all)
      of_queries[static_cast<std::ptrdiff_t>(blockIdx.y) * query.most + which] = nearest[i];
  }
}

}  // namespace

Status find_nearest_in_tiles(const DeviceFloatSet& query, const DeviceFloatSet& train,
                             const MatchConfig& config, Nearest* of_queries, int parts,
                             Owner* owners, Launcher launch) {
  const auto blocks = static_cast<unsigned>(std::max((query.most + kTile - 1) / kTile, 1));
  const dim3 grid(blocks, static_cast<unsigned>(parts));
  const auto kernel = query.size == kParts * kTerms ? tiles_kernel<64> : tiles_kernel<36>;
  return launch("finding the nearest descriptors", kernel, {grid, kThreads}, query, train,
                config.sign_check, of_queries, owners);
}

}  // namespace cuface::cuda::match
