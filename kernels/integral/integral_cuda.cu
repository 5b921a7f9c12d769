#include <algorithm>
#include <limits>

#include "kernels/common/cuda_table.h"
#include "kernels/common/warp.cuh"
#include "kernels/integral/integral_cuda.h"

namespace cuface::cuda {
namespace {

constexpr int kBlock = 256;

// A level is cut into bands of rows, and these into chunks of columns. First the sums of each
// band's columns are made, then what lies above each band by the last block of its columns; a
// block sums a band from there on. A lane has four columns.
constexpr int kBandRows = 32, kChunk = 4 * kWarp;
constexpr int kWarps = kBlock / kWarp, kRows = kBandRows / kWarps;  // rows of a warp
static_assert(kBlock == 2 * kChunk, "a thread a column of both sums");

/// Four columns of pixels from `x` on; what is right of the level counts as 0.
__device__ std::uint32_t four_pixels(const std::uint8_t* row, int x, int width) {
  if (x + 4 <= width) return *reinterpret_cast<const std::uint32_t*>(row + x);
  std::uint32_t word = 0;
  for (int k = 0; x + k < width; ++k) word |= static_cast<std::uint32_t>(row[x + k]) << (8 * k);
  return word;
}

__device__ std::uint32_t pixel(std::uint32_t word, int k) { return word >> (8 * k) & 255; }

struct Sums {
  uint4 plain, squared;

  __device__ void add(const Sums& other) {
    plain.x += other.plain.x, plain.y += other.plain.y;
    plain.z += other.plain.z, plain.w += other.plain.w;
    squared.x += other.squared.x, squared.y += other.squared.y;
    squared.z += other.squared.z, squared.w += other.squared.w;
  }
};

__device__ Sums sums_of_four(std::uint32_t word) {
  const std::uint32_t a = pixel(word, 0), b = pixel(word, 1), c = pixel(word, 2),
                      d = pixel(word, 3);
  return {{a, b, c, d}, {a * a, b * b, c * c, d * d}};
}

/// The sums of the columns of a band; and in their place, by the last block of all bands, those of
/// all bands above.
__global__ void __launch_bounds__(kBlock)
    band_kernel(ImageView<const std::uint8_t> pixels, const IntegralLevel* levels,
                const BandChunk* chunks, std::uint32_t* above, std::uint32_t* arrived,
                const std::int32_t* run) {
  if (idle(run)) return;
  __shared__ Sums partial[kWarps][kWarp];
  __shared__ bool last;
  const BandChunk chunk = chunks[blockIdx.x];
  const IntegralLevel level = levels[chunk.level];
  const AtlasSlot slot = level.slot;
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            warp = static_cast<int>(threadIdx.x) / kWarp;
  const int x = chunk.chunk * kChunk + 4 * lane;
  Sums sums = {};
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int y = chunk.band * kBandRows + warp * kRows + r;
    if (y < slot.height && x < slot.width)
      sums.add(sums_of_four(four_pixels(pixels.row(slot.y + y) + slot.x, x, slot.width)));
  }
  partial[warp][lane] = sums;
  __syncthreads();
  // Now a thread has a column, and one of the sums.
  const int plane = static_cast<int>(threadIdx.x) / kChunk,
            column = static_cast<int>(threadIdx.x) % kChunk;
  std::uint32_t sum = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const Sums& four = partial[w][column / 4];
    const uint4& of_plane = plane == 0 ? four.plain : four.squared;
    sum += reinterpret_cast<const std::uint32_t*>(&of_plane)[column % 4];
  }
  const int bands = level.bands;
  std::uint32_t* at = above + level.first_above + (2 * chunk.chunk + plane) * kChunk + column;
  const std::ptrdiff_t next_band = level.chunks * 2 * kChunk;
  at[chunk.band * next_band] = sum;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    std::uint32_t& here = arrived[level.first_arrived + chunk.chunk];
    last = atomicAdd(&here, 1u) == static_cast<std::uint32_t>(bands) - 1;
    if (last) here = 0;  // for the next launch
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  constexpr int kBatch = 8;
  std::uint32_t total = 0;
  for (int band = 0; band < bands; band += kBatch) {
    std::uint32_t of[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k)
      if (band + k < bands) of[k] = at[(band + k) * next_band];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (band + k >= bands) break;
      at[(band + k) * next_band] = total;
      total += of[k];
    }
  }
}

/// Sums over the columns left of each lane's four, and over each of these but the last: what words
/// 0..3 of the sums hold for one row. `before` is the sum of the chunks to the left, and becomes
/// that with this one.
__device__ uint4 along_row(const uint4& v, int lane, std::uint32_t& before) {
  const std::uint32_t two = v.x + v.y, three = two + v.z, own = three + v.w;
  std::uint32_t here = own;
#pragma unroll
  for (int apart = 1; apart < kWarp; apart *= 2) {
    const std::uint32_t left = __shfl_up_sync(kAllLanes, here, static_cast<unsigned>(apart));
    if (lane >= apart) here += left;
  }
  const std::uint32_t base = before + here - own;
  before += __shfl_sync(kAllLanes, here, kWarp - 1);
  return {base, base + v.x, base + two, base + three};
}

/// Words x .. x + 3 of a row of sums that ends with the word `last`.
__device__ void store(std::uint32_t* row, int x, int last, const uint4& v) {
  if (x + 3 <= last) {
    *reinterpret_cast<uint4*>(row + x) = v;
    return;
  }
  if (x <= last) row[x] = v.x;
  if (x + 1 <= last) row[x + 1] = v.y;
  if (x + 2 <= last) row[x + 2] = v.z;
}

/// A block a band, chunk by chunk from the left. A warp has some rows; what the rows of the warps
/// above add to its own, those leave in shared memory.
__global__ void __launch_bounds__(kBlock)
    sum_kernel(ImageView<const std::uint8_t> pixels, SumPlanes planes, const IntegralLevel* levels,
               const BandChunk* bands, const std::uint32_t* above, const std::int32_t* run) {
  if (idle(run)) return;
  __shared__ Sums totals[2][kWarps][kWarp];  // in turns
  const BandChunk band = bands[blockIdx.x];
  const IntegralLevel level = levels[band.level];
  const AtlasSlot slot = level.slot;
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            warp = static_cast<int>(threadIdx.x) / kWarp;
  const int top = band.band * kBandRows + warp * kRows;
  const std::uint32_t* carried = above + level.first_above +
                                 static_cast<std::ptrdiff_t>(band.band) * level.chunks * 2 * kChunk;
  std::uint32_t before[kRows] = {}, before_squared[kRows] = {};
  std::uint32_t words[kRows];
  const auto load = [&](int x) {
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      words[r] = top + r < slot.height && x < slot.width
                     ? four_pixels(pixels.row(slot.y + top + r) + slot.x, x, slot.width)
                     : 0;
  };
  load(4 * lane);
  for (int chunk = 0; chunk * kChunk <= slot.width; ++chunk) {
    const int x = chunk * kChunk + 4 * lane;
    Sums sums[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      Sums row = sums_of_four(words[r]);
      if (r == 0 && warp == 0 && chunk < level.chunks) {
        // As if the band's first row held all that is above.
        const auto* from = reinterpret_cast<const uint4*>(carried + chunk * 2 * kChunk) + lane;
        row.add({from[0], from[kChunk / 4]});
      }
      sums[r] = {along_row(row.plain, lane, before[r]),
                 along_row(row.squared, lane, before_squared[r])};
      if (r > 0) sums[r].add(sums[r - 1]);
    }
    load(x + kChunk);
    totals[chunk % 2][warp][lane] = sums[kRows - 1];
    __syncthreads();
    Sums higher = {};
    for (int w = 0; w < warp; ++w) higher.add(totals[chunk % 2][w][lane]);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (top + r >= slot.height) break;
      sums[r].add(higher);
      std::uint32_t* to = planes.row(slot, top + r + 1);
      store(to, x, slot.width, sums[r].plain);
      store(to + planes.squared, x, slot.width, sums[r].squared);
    }
    if (top == 0) {  // the first row of sums
      store(planes.row(slot, 0), x, slot.width, {});
      store(planes.row(slot, 0) + planes.squared, x, slot.width, {});
    }
  }
}

// Tilted sums. By the recurrence of integral.cc, D(x,y) = T(x,y) - T(x-1,y-1) obeys
//   D(x,y) = D(x+1,y-1) + I(x-1,y-1) + I(x-1,y-2),
// with D = 0 above the first row of sums and right of the last column, and I = 0 outside of the
// picture. So D is a prefix sum along the diagonals that come from above and right, and T one of D
// along those that come from above and left. Left of the picture T(-1,y-1) = T(0,y-2), so the first
// column is T(0,y) = D(0,y) + D(0,y-2) + D(0,y-4) + ...; its D lie apart, in `edge`, because they
// are read while T is written.
//
// A thread takes a diagonal. The threads of a warp walk down the rows together, so that they touch
// neighbours; each has w + h diagonals with 1..h rows.

/// Diagonals with x + y = 1 .. w + h.
__global__ void tilted_down_left_kernel(ImageView<const std::uint8_t> pixels, SumPlanes planes,
                                        const IntegralLevel* levels, int count,
                                        std::uint32_t diagonals, std::uint32_t* edge,
                                        const std::int32_t* run) {
  if (idle(run)) return;
  const std::uint32_t task = blockIdx.x * blockDim.x + threadIdx.x;
  if (task >= diagonals) return;
  const IntegralLevel& level = levels[part_of<&IntegralLevel::first_diagonal>(levels, count, task)];
  const AtlasSlot slot = level.slot;
  const int diagonal = static_cast<int>(task - level.first_diagonal) + 1;
  std::uint32_t d = 0;
  for (int y = 1; y <= slot.height; ++y) {
    const int x = diagonal - y;
    if (x < 0) break;
    if (x > slot.width) continue;
    if (x == 0) {
      edge[level.first_row + static_cast<std::uint32_t>(y)] = d;
      break;
    }
    d += pixels.at(slot.x + x - 1, slot.y + y - 1);
    if (y > 1) d += pixels.at(slot.x + x - 1, slot.y + y - 2);
    planes.row(slot, y)[planes.tilted + x] = d;
  }
}

/// Diagonals with x - y = -h .. w - 1. Those that come out of row 0 clear their word of it.
__global__ void tilted_down_right_kernel(SumPlanes planes, const IntegralLevel* levels, int count,
                                         std::uint32_t diagonals, const std::uint32_t* edge,
                                         const std::int32_t* run) {
  if (idle(run)) return;
  const std::uint32_t task = blockIdx.x * blockDim.x + threadIdx.x;
  if (task >= diagonals) return;
  const IntegralLevel& level = levels[part_of<&IntegralLevel::first_diagonal>(levels, count, task)];
  const AtlasSlot slot = level.slot;
  const int diagonal = static_cast<int>(task - level.first_diagonal) - slot.height;
  std::uint32_t t = 0;
  if (diagonal >= 0) {
    planes.row(slot, 0)[planes.tilted + diagonal] = 0;
    if (diagonal == slot.width - 1) planes.row(slot, 0)[planes.tilted + slot.width] = 0;
  }
  for (int y = 1; y <= slot.height; ++y) {
    const int x = diagonal + y;
    if (x > slot.width) break;
    if (x < 0) continue;
    std::uint32_t& at = planes.row(slot, y)[planes.tilted + x];
    if (x == 0) {
      for (int above = y; above > 0; above -= 2)
        t += edge[level.first_row + static_cast<std::uint32_t>(above)];
    } else {
      t += at;
    }
    at = t;
  }
}

std::uint32_t blocks(std::uint32_t tasks) { return (tasks - 1) / kBlock + 1; }

bool words_begin(const void* data, std::ptrdiff_t stride, int bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) == 0 &&
         stride % bytes == 0;
}

}  // namespace

Result<LevelIntegrals> LevelIntegrals::create(const std::vector<AtlasSlot>& slots, bool tilted,
                                              ScratchLayout& layout) {
  LevelIntegrals integrals;
  std::vector<IntegralLevel> levels;
  std::vector<BandChunk> chunks, bands;
  std::uint64_t rows = 0, diagonals = 0, above = 0, arrived = 0;
  for (const AtlasSlot& slot : slots) {
    IntegralLevel level = {};
    level.slot = slot;
    level.first_row = static_cast<std::uint32_t>(rows);
    level.first_diagonal = static_cast<std::uint32_t>(diagonals);
    level.first_above = static_cast<std::uint32_t>(above);
    level.first_arrived = static_cast<std::uint32_t>(arrived);
    level.bands = (slot.height - 1) / kBandRows + 1;
    level.chunks = (slot.width - 1) / kChunk + 1;
    const auto index = static_cast<std::int32_t>(levels.size());
    for (int band = 0; band < level.bands; ++band) {
      bands.push_back({index, band, 0});
      for (int chunk = 0; chunk < level.chunks; ++chunk) chunks.push_back({index, band, chunk});
    }
    levels.push_back(level);
    rows += static_cast<std::uint64_t>(slot.height) + 1;
    diagonals += static_cast<std::uint64_t>(slot.width) + static_cast<std::uint64_t>(slot.height);
    above += static_cast<std::uint64_t>(level.bands) * static_cast<std::uint64_t>(level.chunks) *
             2 * kChunk;
    arrived += static_cast<std::uint64_t>(level.chunks);
    if (std::max({rows, diagonals, above}) > std::numeric_limits<std::int32_t>::max())
      return Status(StatusCode::kUnsupported, "the levels of this picture are too many");
    if (slot.x % 4 != 0) integrals.aligned_ = false;
  }
  integrals.diagonals_ = tilted ? static_cast<std::uint32_t>(diagonals) : 0;
  if (Status s = take(upload(levels), integrals.levels_); !s.ok()) return s;
  if (Status s = take(upload(chunks), integrals.chunks_); !s.ok()) return s;
  if (Status s = take(upload(bands), integrals.bands_); !s.ok()) return s;
  if (Status s = take(upload(std::vector<std::uint32_t>(arrived)), integrals.arrived_); !s.ok())
    return s;
  integrals.above_ = layout.add<std::uint32_t>(above);
  integrals.edge_ = layout.add<std::uint32_t>(tilted ? rows : 0);
  return Result<LevelIntegrals>(std::move(integrals));  // nvcc does not move by itself
}

Status LevelIntegrals::enqueue(ImageView<const std::uint8_t> pixels, const SumPlanes& planes,
                               const std::int32_t* run, Launcher launch) {
  const int count = static_cast<int>(levels_.size());
  if (count == 0) return {};
  if (!aligned_ || !words_begin(pixels.data, pixels.stride, 4) ||
      !words_begin(planes.data, planes.stride * 4, 16) || planes.squared % 4 != 0)
    return {StatusCode::kInvalidArgument, "integral: rows do not begin at whole vectors"};
  if (Status s =
          launch("sums of bands", band_kernel, {static_cast<unsigned>(chunks_.size()), kBlock},
                 pixels, levels_.data(), chunks_.data(), above_.data(), arrived_.data(), run);
      !s.ok())
    return s;
  if (Status s =
          launch("sums of the levels", sum_kernel, {static_cast<unsigned>(bands_.size()), kBlock},
                 pixels, planes, levels_.data(), bands_.data(), above_.data(), run);
      !s.ok())
    return s;
  if (diagonals_ == 0) return {};
  if (Status s =
          launch("tilted sums to the left", tilted_down_left_kernel, {blocks(diagonals_), kBlock},
                 pixels, planes, levels_.data(), count, diagonals_, edge_.data(), run);
      !s.ok())
    return s;
  return launch("tilted sums to the right", tilted_down_right_kernel, {blocks(diagonals_), kBlock},
                planes, levels_.data(), count, diagonals_, edge_.data(), run);
}

}  // namespace cuface::cuda
