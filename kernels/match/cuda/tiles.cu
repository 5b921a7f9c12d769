// A block has 32 descriptors of one set and 128 of the other in shared memory. The tensor cores
// tell all their distances to within a proven bound. What may be among the nearest by that is
// computed exactly, in the order of cuface::match::squared_distance().
//
// The bound. A distance |a|^2 + |b|^2 - 2 ab is told from values that are rounded to 11 bits, so a
// product is off by 2^-10 + 2^-22 of itself at most, and the sum of them by that part of |a||b|.
// Products of rounded values are exact. Sums of 64 of them, each cut at 2^-23 of the greatest term
// in any order, are off by less than 2^-16 of |a||b|; squares of lengths, and the distances that
// are compared, by less than 2^-17 of the greatest square. |a||b| is no more than that. Twice the
// first two and the others are less than 2.1e-3 of it. What is too small for a normal float adds
// nothing, as the greatest square is no less than kShortest.
#include <algorithm>
#include <cmath>

#include "kernels/match/cuda/nearest.cuh"
#include "kernels/match/cuda/tiles.h"

namespace cuface::cuda::match {
namespace {

constexpr int kRows = 32, kColumns = kTrainTile, kThreads = 256, kWarps = kThreads / kWarp;
constexpr float kError = 2.5e-3f;
/// Of the greatest square of a length. Sums of greater ones may be no numbers.
constexpr float kShortest = 1e-30f, kLongest = 1e30f;

/// A warp's products: 16 rows by 8 columns a time, eight terms deep.
constexpr int kDeep = 8, kFragmentRows = 16, kFragmentColumns = 8;
constexpr int kRowWarps = kRows / kFragmentRows, kColumnWarps = kWarps / kRowWarps;
constexpr int kOwn = kColumns / kColumnWarps / kFragmentColumns;
/// Four lanes that read neighbours of eight rows meet in no bank, nor do eight that read 16 bytes.
constexpr int kStride = 64 + 4;
/// Pairs that are listed. Where more may be the nearest, all are computed.
constexpr int kMostPairs = 512;
static_assert(kRows + kColumns <= kThreads && kRows * kColumns <= 65536);

struct Two {
  float first, second;
};

struct alignas(16) Tile {
  float values[kRows + kColumns][kStride];  ///< of the queries, then of the others
  float squares[kRows + kColumns];          ///< of their lengths
  Two of_rows[kColumnWarps][kRows];
  float of_columns[kRowWarps][kColumns];
  Owner nearest[kRows];  ///< distance, then index
  Owner best[kColumns];
  std::uint32_t second[kRows];
  std::uint16_t pairs[kMostPairs];
  std::int8_t signs[kRows + kColumns];
  std::uint32_t greatest, count;
};

/// The nearest 11-bit value.
__device__ inline std::uint32_t rounded(float value) {
  return (__float_as_uint(value) + 0x1000u) & ~0x1fffu;
}

/// For a whole warp: adds the products of 16 rows with 8 columns over 8 terms. Lane 4 g + t has
/// terms t of rows g and g + 8, then terms t + 4, and of column g; and the sums of row g (two) and
/// g + 8, of columns 2 t and 2 t + 1.
__device__ inline void multiply(float (&sums)[4], const std::uint32_t (&a)[4],
                                const std::uint32_t (&b)[2]) {
#if defined(__NVCC__) && __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else  // tests/gpu/emulator, and GPUs of before 2020
  const int lane = static_cast<int>(threadIdx.x) % kWarp, g = lane / 4, t = lane % 4;
  for (int k = 0; k < kDeep; ++k) {
    float rows[2], columns[2];
    for (int i = 0; i < 2; ++i) {
      rows[i] = __uint_as_float(__shfl_sync(kAllLanes, a[i + k / 4 * 2], 4 * g + k % 4));
      columns[i] = __uint_as_float(__shfl_sync(kAllLanes, b[k / 4], 4 * (2 * t + i) + k % 4));
    }
    for (int i = 0; i < 4; ++i) sums[i] += rows[i / 2] * columns[i % 2];
  }
#endif
}

/// The `count` descriptors from `begin` on. Behind the last one it stands again.
template <int kValues>
__device__ void load(const DeviceFloatSet& set, int begin, int all, int count,
                     float (*to)[kStride]) {
  constexpr int kQuads = (kValues + kDeep - 1) / kDeep * kDeep / 4;
  for (int i = static_cast<int>(threadIdx.x); i < count * kQuads; i += kThreads) {
    const int row = i / kQuads, quad = i % kQuads;
    const auto* from =
        reinterpret_cast<const std::uint8_t*>(set.data) + min(begin + row, all - 1) * set.stride;
    *reinterpret_cast<float4*>(&to[row][quad * 4]) =
        quad < kValues / 4 ? reinterpret_cast<const float4*>(from)[quad] : float4{};
  }
}

__device__ inline float4 quad_of(const float* values, int quad) {
  return *reinterpret_cast<const float4*>(values + 4 * quad);
}

template <int kValues>
__device__ inline float square_of(const float* values) {
  float sums[4] = {};
#pragma unroll
  for (int i = 0; i < kValues / 4; ++i) {
    const float4 v = quad_of(values, i);
    sums[i % 4] += v.x * v.x + v.y * v.y + (v.z * v.z + v.w * v.w);
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <int kValues>
__device__ inline float squared_distance(const float* a, const float* b) {
  float parts[kParts] = {};
#pragma unroll
  for (int i = 0; i < kValues / 4; ++i) {
    const float4 u = quad_of(a, i), v = quad_of(b, i);
    const float differences[] = {u.x - v.x, u.y - v.y, u.z - v.z, u.w - v.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) parts[(4 * i + k) % kParts] += differences[k] * differences[k];
  }
  return folded(parts);
}

__device__ inline void add(Two& to, float value) {
  to.second = fminf(to.second, fmaxf(to.first, value));
  to.first = fminf(to.first, value);
}
__device__ inline void merge(Two& to, const Two& other) {
  to.second = fminf(fminf(to.second, other.second), fmaxf(to.first, other.first));
  to.first = fminf(to.first, other.first);
}

/// What a launch is asked for.
struct Wanted {
  bool by_sign, second;
};

/// A thread's share of a tile: rows g and g + 8 of its warp's 16, and its columns.
struct Place {
  int warp, lane, row, column;
  __device__ Place() {
    const int thread = static_cast<int>(threadIdx.x);
    warp = thread / kWarp;
    lane = thread % kWarp;
    row = warp % kRowWarps * kFragmentRows + lane / 4;
    column = warp / kRowWarps * (kOwn * kFragmentColumns) + lane % 4 * 2;
  }
  __device__ int row_of(int i) const { return row + i / 2 * 8; }
  __device__ int column_of(int j, int i) const { return column + j * kFragmentColumns + i % 2; }
};

/// Products of the thread's rows and columns.
template <int kValues>
__device__ inline void products(const Tile& tile, const Place& place, float (&out)[kOwn][4]) {
  const int g = place.lane / 4, t = place.lane % 4;
  const float* ours = &tile.values[place.row][t];
  const float* theirs = &tile.values[kRows + place.column - 2 * t + g][t];
#pragma unroll
  for (int k = 0; k < kValues; k += kDeep) {
    const std::uint32_t a[] = {rounded(ours[k]), rounded(ours[8 * kStride + k]),
                               rounded(ours[k + 4]), rounded(ours[8 * kStride + k + 4])};
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      const float* column = theirs + j * kFragmentColumns * kStride;
      const std::uint32_t b[] = {rounded(column[k]), rounded(column[k + 4])};
      multiply(out[j], a, b);
    }
  }
}

/// Lists the pairs that may be among the nearest of their row, or of their column. `apart` is what
/// the tensor cores tell, infinite of pairs that do not count.
__device__ inline void propose(Tile& tile, const Place& place, const float (&apart)[kOwn][4],
                               float twice_error, bool second, bool columns) {
  float row_limits[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    Two two = tile.of_rows[0][place.row_of(2 * r)];
#pragma unroll
    for (int w = 1; w < kColumnWarps; ++w) merge(two, tile.of_rows[w][place.row_of(2 * r)]);
    row_limits[r] = (second ? two.second : two.first) + twice_error;
  }
  std::uint32_t those = 0;
#pragma unroll
  for (int j = 0; j < kOwn; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float limit = row_limits[i / 2];
      if (columns) {
        float least = tile.of_columns[0][place.column_of(j, i)];
#pragma unroll
        for (int w = 1; w < kRowWarps; ++w)
          least = fminf(least, tile.of_columns[w][place.column_of(j, i)]);
        limit = fmaxf(limit, least + twice_error);
      }
      if (apart[j][i] < INFINITY && apart[j][i] <= limit) those |= 1u << (4 * j + i);
    }
  }
  const auto mine = static_cast<unsigned>(__popc(those));
  const unsigned upto = prefix_sum(mine);
  unsigned at = 0;
  if (place.lane == kWarp - 1 && upto > 0) at = atomicAdd(&tile.count, upto);
  at = __shfl_sync(kAllLanes, at, kWarp - 1) + upto - mine;
  for (; those != 0 && at < kMostPairs; those &= those - 1, ++at) {
    const int which = __ffs(static_cast<int>(those)) - 1;
    tile.pairs[at] = static_cast<std::uint16_t>(place.row_of(which % 4) * kColumns +
                                                place.column_of(which / 4, which % 4));
  }
}

/// A block 32 queries against every gridDim.y-th tile of the other set.
template <int kValues>
__global__ void __launch_bounds__(kThreads, 2)
    tiles_kernel(DeviceFloatSet query, DeviceFloatSet train, Wanted wanted, Nearest* of_queries,
                 Owner* owners) {
  __shared__ Tile tile;
  const int thread = static_cast<int>(threadIdx.x);
  const Place place;
  const int all = query.there(), others = train.there();
  const int begin = static_cast<int>(blockIdx.x) * kRows;
  if (begin >= all) return;
  load<kValues>(query, begin, all, kRows, tile.values);
  if (thread < kRows) {
    tile.nearest[thread] = static_cast<Owner>(kFar) << 32 | static_cast<std::uint32_t>(kNobody);
    tile.second[thread] = kFar;
    if (wanted.by_sign)
      tile.signs[thread] = query.signs[min(begin + thread, all - 1) * query.sign_stride];
  }
  for (int first = static_cast<int>(blockIdx.y) * kColumns; first < others;
       first += static_cast<int>(gridDim.y) * kColumns) {
    __syncthreads();  // all are through with the tile before
    load<kValues>(train, first, others, kColumns, tile.values + kRows);
    if (thread < kColumns) {
      tile.best[thread] = 0;
      if (wanted.by_sign)
        tile.signs[kRows + thread] =
            train.signs[min(first + thread, others - 1) * train.sign_stride];
    }
    if (thread == 0) tile.greatest = tile.count = 0;
    __syncthreads();
    if (thread < kRows + kColumns) {
      const float square = square_of<kValues>(tile.values[thread]);
      tile.squares[thread] = square;
      // Of what is no number the bits are greater than those of all numbers.
      std::uint32_t greatest = __float_as_uint(square);
#pragma unroll
      for (int by = kWarp / 2; by > 0; by /= 2)
        greatest = max(greatest, __shfl_xor_sync(kAllLanes, greatest, by));
      if (place.lane == 0) atomicMax(&tile.greatest, greatest);
    }
    float apart[kOwn][4] = {};
    products<kValues>(tile, place, apart);
    __syncthreads();
    const float longest = __uint_as_float(tile.greatest);
    const bool known = longest > kShortest && longest < kLongest;
    const auto counts = [&](int row, int column) {
      return begin + row < all && first + column < others &&
             (!wanted.by_sign || tile.signs[row] == tile.signs[kRows + column]);
    };
    if (known) {
      Two rows[2] = {{INFINITY, INFINITY}, {INFINITY, INFINITY}};
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        float least[2] = {INFINITY, INFINITY};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = place.row_of(i), column = place.column_of(j, i);
          apart[j][i] = counts(row, column)
                            ? tile.squares[row] + tile.squares[kRows + column] - 2 * apart[j][i]
                            : INFINITY;
          add(rows[i / 2], apart[j][i]);
          least[i % 2] = fminf(least[i % 2], apart[j][i]);
        }
        if (!owners) continue;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
#pragma unroll
          for (int by = 4; by < kWarp; by *= 2)
            least[i] = fminf(least[i], __shfl_xor_sync(kAllLanes, least[i], by));
          if (place.lane < 4)
            tile.of_columns[place.warp % kRowWarps][place.column_of(j, i)] = least[i];
        }
      }
#pragma unroll
      for (int r = 0; r < 2; ++r) {
#pragma unroll
        for (int by = 1; by < 4; by *= 2)
          merge(rows[r], {__shfl_xor_sync(kAllLanes, rows[r].first, by),
                          __shfl_xor_sync(kAllLanes, rows[r].second, by)});
        if (place.lane % 4 == 0)
          tile.of_rows[place.warp / kRowWarps][place.row_of(2 * r)] = rows[r];
      }
      __syncthreads();
      propose(tile, place, apart, 2 * kError * longest, wanted.second, owners != nullptr);
      __syncthreads();
    }
    const bool listed = known && tile.count <= kMostPairs;
    const int pairs = listed ? static_cast<int>(tile.count) : kRows * kColumns;
    for (int i = thread; i < pairs; i += kThreads) {
      const int pair = listed ? tile.pairs[i] : i;
      const int row = pair / kColumns, column = pair % kColumns;
      if (!counts(row, column)) continue;
      const std::uint32_t d =
          __float_as_uint(squared_distance<kValues>(tile.values[row], tile.values[kRows + column]));
      if (d >= kFar) continue;
      // Each but the nearest has been the farther one of two once.
      const Owner mine = static_cast<Owner>(d) << 32 | static_cast<std::uint32_t>(first + column);
      const Owner farther = max(atomicMin(&tile.nearest[row], mine), mine);
      atomicMin(&tile.second[row], static_cast<std::uint32_t>(farther >> 32));
      if (owners) atomicMax(&tile.best[column], owner_of(d, begin + row));
    }
    if (!owners) continue;
    __syncthreads();
    if (thread < kColumns && tile.best[thread] != 0)
      atomicMax(owners + first + thread, tile.best[thread]);
  }
  __syncthreads();
  if (thread < kRows && begin + thread < all) {
    const Owner nearest = tile.nearest[thread];
    of_queries[static_cast<std::ptrdiff_t>(blockIdx.y) * query.most + begin + thread] = {
        static_cast<std::uint32_t>(nearest >> 32), tile.second[thread],
        static_cast<std::int32_t>(nearest & 0xffffffffu)};
  }
}

}  // namespace

Status find_nearest_in_tiles(const DeviceFloatSet& query, const DeviceFloatSet& train,
                             const MatchConfig& config, Nearest* of_queries, int parts,
                             Owner* owners, Launcher launch) {
  const auto blocks = static_cast<unsigned>(std::max((query.most + kRows - 1) / kRows, 1));
  const dim3 grid(blocks, static_cast<unsigned>(parts));
  const auto kernel = query.size == 64 ? tiles_kernel<64> : tiles_kernel<36>;
  return launch("finding the nearest descriptors", kernel, {grid, kThreads}, query, train,
                Wanted{config.sign_check, config.ratio < 1}, of_queries, owners);
}

}  // namespace cuface::cuda::match
