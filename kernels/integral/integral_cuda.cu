// Down the columns first, then along the rows. So that there are enough threads for a GPU, columns
// are cut into bands of rows: what lies above a band is the sum of totals made before.
#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/try.h"
#include "kernels/integral/integral_cuda.h"
#include "kernels/integral/tilted_lanes.h"

namespace cuface::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBandRows = 32;
/// Bands whose totals are read before they are added.
constexpr int kBandsAtOnce = 24;

int bands_of(int height) { return (height + kBandRows - 1) / kBandRows; }

/// A thread's column of a band. All blocks of a band lie side by side.
struct Strip {
  int x, band, first, last;  ///< rows first .. last - 1

  __device__ explicit Strip(const ImageView<const std::uint8_t>& picture) {
    const int blocks = (picture.width + kThreads - 1) / kThreads;
    x = static_cast<int>(blockIdx.x) % blocks * kThreads + static_cast<int>(threadIdx.x);
    band = static_cast<int>(blockIdx.x) / blocks;
    first = band * kBandRows;
    last = min(first + kBandRows, picture.height);
  }
  /// The strip's i-th pixel, 0 behind the last one.
  __device__ std::uint32_t at(const ImageView<const std::uint8_t>& picture, int i) const {
    return first + i < last ? picture.at(x, first + i) : 0;
  }
};

__global__ void __launch_bounds__(kThreads)
    band_totals_kernel(ImageView<const std::uint8_t> picture, const std::int32_t* run, Zeros zeros,
                       uint2* totals) {
  zeros.write();
  if (idle(run)) return;
  const Strip strip(picture);
  if (strip.x >= picture.width) return;
  uint2 total = {0, 0};
#pragma unroll
  for (int i = 0; i < kBandRows; ++i) {
    const std::uint32_t v = strip.at(picture, i);
    total.x += v;
    total.y += v * v;
  }
  totals[strip.band * picture.width + strip.x] = total;
}

/// Sums down each column: of squares too they fit 32 bits there.
template <bool kSquares>
__global__ void __launch_bounds__(kThreads)
    columns_kernel(ImageView<const std::uint8_t> picture, const std::int32_t* run,
                   const uint2* totals, ImageView<std::uint32_t> sums,
                   ImageView<std::uint64_t> squared) {
  if (idle(run)) return;
  const Strip strip(picture);
  if (strip.x >= picture.width) return;
  // All are read before one is written: they may be the same memory to the compiler.
  std::uint32_t values[kBandRows];
#pragma unroll
  for (int i = 0; i < kBandRows; ++i) values[i] = strip.at(picture, i);
  uint2 sum = {0, 0};
  for (int from = 0; from < strip.band; from += kBandsAtOnce) {
#pragma unroll
    for (int i = 0; i < kBandsAtOnce; ++i) {
      const int band = from + i;
      if (band >= strip.band) continue;
      const uint2 total = totals[band * picture.width + strip.x];
      sum.x += total.x;
      sum.y += total.y;
    }
  }
#pragma unroll
  for (int i = 0; i < kBandRows; ++i) {
    const int y = strip.first + i;
    if (y >= strip.last) break;
    const std::uint32_t v = values[i];
    sums.at(strip.x + 1, y + 1) = sum.x += v;
    if constexpr (kSquares) squared.at(strip.x + 1, y + 1) = sum.y += v * v;
  }
}

/// A warp a row, in place: kAtOnce parts of it are read before they are added up.
template <bool kSquares>
__global__ void __launch_bounds__(kThreads)
    rows_kernel(const std::int32_t* run, ImageView<std::uint32_t> sums,
                ImageView<std::uint64_t> squared) {
  constexpr int kAtOnce = kSquares ? 1 : 16;
  if (idle(run)) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int y = static_cast<int>(blockIdx.x * (kThreads / kWarp) + threadIdx.x / kWarp);
  if (y >= sums.height) return;
  std::uint32_t sum = 0;
  std::uint64_t squares = 0;
  for (int first = 0; first < sums.width; first += kAtOnce * kWarp) {
    // Both are read before either is written: they may be the same memory to the compiler.
    std::uint32_t s[kAtOnce];
    std::uint64_t q[kAtOnce] = {};
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int x = first + i * kWarp + lane;
      const bool is_inner = x < sums.width && x > 0 && y > 0;
      s[i] = is_inner ? sums.at(x, y) : 0;
      if constexpr (kSquares) q[i] = is_inner ? squared.at(x, y) : 0;
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int x = first + i * kWarp + lane;
      const bool is_there = x < sums.width;
      s[i] = sum + prefix_sum(s[i]);
      if (is_there) sums.at(x, y) = s[i];
      sum = __shfl_sync(kAllLanes, s[i], kWarp - 1);
      if constexpr (kSquares) {
        q[i] = squares + prefix_sum(q[i]);
        if (is_there) squared.at(x, y) = q[i];
        squares = __shfl_sync(kAllLanes, q[i], kWarp - 1);
      }
    }
  }
}

/// A thread a walk.
__global__ void __launch_bounds__(kThreads)
    tilted_kernel(ImageView<const std::uint8_t> picture, const std::int32_t* run,
                  std::uint32_t* tilted, int stride, TiltedWalk walk) {
  const TiltedWalks walks = {picture, {}, tilted, stride};
  const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (!idle(run) && i < walks.count(walk)) walks.go(walk, i);
}

unsigned blocks_of(int threads) { return static_cast<unsigned>((threads - 1) / kThreads + 1); }

}  // namespace

void IntegralImages::plan(int width, int height, bool tilted, ScratchLayout& parts, bool squares) {
  width_ = width;
  height_ = height;
  const auto rows = static_cast<std::size_t>(height) + 1;
  const std::size_t sum_stride =
      ScratchLayout::stride_of((width + 1) * static_cast<int>(sizeof(std::uint32_t)));
  const std::size_t squared_stride =
      ScratchLayout::stride_of((width + 1) * static_cast<int>(sizeof(std::uint64_t)));
  const std::size_t words = sum_stride / sizeof(std::uint32_t) * rows;
  sum_stride_ = static_cast<std::ptrdiff_t>(sum_stride);
  squared_stride_ = static_cast<std::ptrdiff_t>(squared_stride);
  tilted_ = tilted ? static_cast<std::ptrdiff_t>(words) : 0;
  sums_ = parts.add<std::uint32_t>(tilted ? 2 * words : words);
  squared_ = parts.add<std::uint64_t>(squares ? squared_stride / sizeof(std::uint64_t) * rows : 0);
  totals_ = parts.add<uint2>(static_cast<std::size_t>(bands_of(height)) *
                             static_cast<std::size_t>(width));
}

void IntegralImages::bind(std::byte* scratch) {
  sums_.bind(scratch);
  squared_.bind(scratch);
  totals_.bind(scratch);
}

ImageView<const std::uint32_t> IntegralImages::sums() const {
  return {sums_.data(), width_ + 1, height_ + 1, sum_stride_};
}

ImageView<const std::uint64_t> IntegralImages::squared() const {
  return {squared_.data(), width_ + 1, height_ + 1, squared_stride_};
}

Status IntegralImages::enqueue(ImageView<const std::uint8_t> picture, const std::int32_t* run,
                               const Zeros& zeros, Launcher launch) const {
  const ImageView<std::uint32_t> sums = {sums_.data(), width_ + 1, height_ + 1, sum_stride_};
  const ImageView<std::uint64_t> squared = {squared_.data(), width_ + 1, height_ + 1,
                                            squared_stride_};
  const LaunchShape strips = {blocks_of(width_) * static_cast<unsigned>(bands_of(height_)),
                              kThreads};
  CUFACE_TRY(launch("adding up bands of rows", band_totals_kernel, strips, picture, run, zeros,
                    totals_.data()));
  const bool squares = squared_.size() > 0;
  CUFACE_TRY(launch("integral, down columns",
                    squares ? columns_kernel<true> : columns_kernel<false>, strips, picture, run,
                    totals_.data(), sums, squared));
  CUFACE_TRY(launch("integral, along rows", squares ? rows_kernel<true> : rows_kernel<false>,
                    {blocks_of((height_ + 1) * kWarp), kThreads}, run, sums, squared));
  if (tilted_ == 0) return {};
  const int stride = words_of_row();
  const TiltedWalks walks = {picture, {}, sums_.data() + tilted_, stride};
  for (const TiltedWalk walk : {TiltedWalk::kDownRight, TiltedWalk::kDownLeft, TiltedWalk::kDown})
    CUFACE_TRY(launch("integral, tilted", tilted_kernel, {blocks_of(walks.count(walk)), kThreads},
                      picture, run, walks.tilted, stride, walk));
  return {};
}

}  // namespace cuface::cuda
