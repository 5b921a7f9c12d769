#include <algorithm>
#include <cstddef>

#include "kernels/common/try.h"
#include "tests/gpu/bench/boost_variants.h"

namespace cuface::test {
namespace {

constexpr int kSamplePixels = kSampleSide * kSampleSide;
constexpr int kFlatThreads = 1024;
/// So many weights, and what else a kernel is told, are below an argument's 4,096 bytes.
constexpr int kChunk = 960;

struct PitchedRows {
  std::uint32_t* sums;
  __device__ std::uint32_t* row(int sample, int y) const {
    return sums + (static_cast<std::size_t>(sample) * kSampleSide + y) * kSumPitch;
  }
};
struct PointedRows {
  std::uint32_t* const* const* rows;
  __device__ std::uint32_t* row(int sample, int y) const { return rows[sample][y]; }
};

/// Kogge and Stone's inclusive scan of rows, in place: all threads of a block take it together.
template <typename Rows>
__device__ void scan_in_place(Rows row, int x) {
  for (int by = 1; by < kSampleSide; by *= 2) {
    const std::uint32_t other = x >= by ? row[x - by] : 0;
    __syncthreads();
    row[x] += other;
    __syncthreads();
  }
}

/// The same from one buffer to the other and back. Which one it ends in.
__device__ int scan_in_two(std::uint32_t (*buffers)[kSampleSide][kSampleSide], int y, int x) {
  int from = 0;
  for (int by = 1; by < kSampleSide; by *= 2, from = 1 - from) {
    buffers[1 - from][y][x] = buffers[from][y][x] + (x >= by ? buffers[from][y][x - by] : 0);
    __syncthreads();
  }
  return from;
}

/// `pixels` or, where they are null, the rows themselves.
template <typename Rows, IntegralWay kWay>
__global__ void scan_kernel(const std::uint8_t* pixels, const __grid_constant__ Rows rows) {
  const int sample = static_cast<int>(blockIdx.x);
  const int y = static_cast<int>(threadIdx.y), x = static_cast<int>(threadIdx.x);
  std::uint32_t* const row = rows.row(sample, y);
  const std::uint32_t own =
      pixels ? pixels[static_cast<std::size_t>(sample) * kSamplePixels + y * kSampleSide + x]
             : row[x];
  if constexpr (kWay == IntegralWay::kShared) {
    __shared__ std::uint32_t tile[kSampleSide][kSampleSide];
    tile[y][x] = own;
    __syncthreads();
    scan_in_place(tile[y], x);
    row[x] = tile[y][x];
  } else if constexpr (kWay == IntegralWay::kDoubleBuffer) {
    __shared__ std::uint32_t tiles[2][kSampleSide][kSampleSide];
    tiles[0][y][x] = own;
    __syncthreads();
    row[x] = tiles[scan_in_two(tiles, y, x)][y][x];
  } else {
    row[x] = own;
    __syncthreads();
    scan_in_place(row, x);
  }
}

template <typename Rows>
__global__ void transpose_kernel(const __grid_constant__ Rows rows) {
  const int sample = static_cast<int>(blockIdx.x);
  const int y = static_cast<int>(threadIdx.y), x = static_cast<int>(threadIdx.x);
  const std::uint32_t value = rows.row(sample, x)[y];
  __syncthreads();
  rows.row(sample, y)[x] = value;
}

__global__ void integral_kernel(const std::uint8_t* pixels,
                                const __grid_constant__ PitchedRows rows) {
  __shared__ std::uint32_t tiles[2][kSampleSide][kSampleSide];
  const int sample = static_cast<int>(blockIdx.x);
  const int y = static_cast<int>(threadIdx.y), x = static_cast<int>(threadIdx.x);
  tiles[0][y][x] = pixels[static_cast<std::size_t>(sample) * kSamplePixels + y * kSampleSide + x];
  __syncthreads();
  int from = scan_in_two(tiles, y, x);
  for (int by = 1; by < kSampleSide; by *= 2, from = 1 - from) {
    tiles[1 - from][y][x] = tiles[from][y][x] + (y >= by ? tiles[from][y - by][x] : 0);
    __syncthreads();
  }
  rows.row(sample, y)[x] = tiles[from][y][x];
}

template <typename Rows, IntegralWay kWay>
Status scan_twice(const std::uint8_t* pixels, const Rows& rows, int count, cuda::Launcher launch) {
  const cuda::LaunchShape shape{static_cast<unsigned>(count), {kSampleSide, kSampleSide}};
  CUFACE_TRY(launch("scanning rows", scan_kernel<Rows, kWay>, shape, pixels, rows));
  CUFACE_TRY(launch("transposing", transpose_kernel<Rows>, shape, rows));
  const std::uint8_t* const none = nullptr;
  CUFACE_TRY(launch("scanning columns", scan_kernel<Rows, kWay>, shape, none, rows));
  return launch("transposing back", transpose_kernel<Rows>, shape, rows);
}

template <typename At>
__device__ float value_of(const BoundFeature& feature, At at) {
  float value = 0;
#pragma unroll
  for (int r = 0; r < 3; ++r) {
    const std::int32_t* c = feature.corner[r];
    if (r == 2 && feature.weight[r] == 0) break;
    value += feature.weight[r] * static_cast<float>(at(c[0]) - at(c[1]) - at(c[2]) + at(c[3]));
  }
  return value;
}

struct Respond {
  using Out = Response;
  __device__ Out operator()(float value, float weight, const WeakFeatures&, const ResponseSamples&,
                            int, int) const {
    return {value, weight};
  }
};
struct Judge {
  using Out = Verdict;
  __device__ Out operator()(float value, float weight, const WeakFeatures& features,
                            const ResponseSamples& samples, int feature, int sample) const {
    const WeakRule rule = features.rules[feature];
    const int label = rule.parity * value < rule.parity * rule.threshold;
    return {label, label == samples.labels[sample] ? 0 : weight};
  }
};

template <typename Make>
__global__ void flat_kernel(const __grid_constant__ ResponseSamples samples,
                            const __grid_constant__ WeakFeatures features,
                            typename Make::Out* out) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kFlatThreads + threadIdx.x;
  if (i >= static_cast<std::size_t>(samples.count) * static_cast<std::size_t>(features.count))
    return;
  const int sample = static_cast<int>(i % static_cast<std::size_t>(samples.count));
  const int feature = static_cast<int>(i / static_cast<std::size_t>(samples.count));
  const std::uint32_t* const sums = samples.sums + static_cast<std::size_t>(sample) * kSampleSums;
  const float value = value_of(features.bound[feature], [&](int corner) { return sums[corner]; });
  out[i] = Make()(value, samples.weights[sample], features, samples, feature, sample);
}

struct GlobalWeights {
  const float* weights;
  __device__ float of(int sample, int) const { return weights[sample]; }
};
struct ConstantWeights {
  float weights[kChunk];
  __device__ float of(int, int in_chunk) const { return weights[in_chunk]; }
};

template <typename Make, typename Weights>
__global__ void shared_kernel(const __grid_constant__ ResponseSamples samples,
                              const __grid_constant__ WeakFeatures features, int first,
                              const __grid_constant__ Weights weights, typename Make::Out* out) {
  __shared__ BoundFeature bound;
  const int feature = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  if (thread == 0) bound = features.bound[feature];
  __syncthreads();
  const int sample = first + thread;
  if (sample >= samples.count) return;
  const std::uint32_t* const sums = samples.sums + static_cast<std::size_t>(sample) * kSampleSums;
  const float value = value_of(bound, [&](int corner) { return sums[corner]; });
  out[static_cast<std::size_t>(feature) * static_cast<std::size_t>(samples.count) +
      static_cast<std::size_t>(sample)] =
      Make()(value, weights.of(sample, thread), features, samples, feature, sample);
}

template <typename Make>
__global__ void corners_kernel(const __grid_constant__ ResponseSamples samples,
                               const __grid_constant__ WeakFeatures features,
                               typename Make::Out* out) {
  const int feature = static_cast<int>(blockIdx.x);
  const BoundFeature bound = features.bound[feature];
  const auto count = static_cast<std::size_t>(samples.count);
  for (int sample = static_cast<int>(threadIdx.x); sample < samples.count;
       sample += static_cast<int>(blockDim.x)) {
    const float value = value_of(bound, [&](int corner) {
      return samples
          .corners[static_cast<std::size_t>(corner) * count + static_cast<std::size_t>(sample)];
    });
    out[static_cast<std::size_t>(feature) * count + static_cast<std::size_t>(sample)] =
        Make()(value, samples.weights[sample], features, samples, feature, sample);
  }
}

template <typename Make>
Status made(ResponseWay way, const ResponseSamples& samples, const WeakFeatures& features,
            typename Make::Out* out, cuda::Launcher launch) {
  const auto blocks = static_cast<unsigned>(features.count);
  if (way == ResponseWay::kFlat) {
    const std::size_t all =
        static_cast<std::size_t>(samples.count) * static_cast<std::size_t>(features.count);
    return launch("a thread a feature and sample", flat_kernel<Make>,
                  {static_cast<unsigned>((all + kFlatThreads - 1) / kFlatThreads), kFlatThreads},
                  samples, features, out);
  }
  if (way == ResponseWay::kByCorners) {
    return launch("a block a feature", corners_kernel<Make>, {blocks, 256}, samples, features, out);
  }
  for (int first = 0; first < samples.count; first += kChunk) {
    if (way == ResponseWay::kShared) {
      CUFACE_TRY(launch("some samples", shared_kernel<Make, GlobalWeights>, {blocks, kChunk},
                        samples, features, first, GlobalWeights{samples.weights}, out));
      continue;
    }
    ConstantWeights weights{};
    std::copy_n(samples.host_weights + first, std::min(kChunk, samples.count - first),
                weights.weights);
    CUFACE_TRY(launch("some samples", shared_kernel<Make, ConstantWeights>, {blocks, kChunk},
                      samples, features, first, weights, out));
  }
  return {};
}

}  // namespace

Status integrals(IntegralWay way, const IntegralSamples& samples, cuda::Launcher launch) {
  const PitchedRows pitched{samples.sums};
  switch (way) {
    case IntegralWay::kPointers:
      return scan_twice<PointedRows, IntegralWay::kPitched>(samples.pixels, {samples.rows},
                                                            samples.count, launch);
    case IntegralWay::kPitched:
      return scan_twice<PitchedRows, IntegralWay::kPitched>(samples.pixels, pitched, samples.count,
                                                            launch);
    case IntegralWay::kShared:
      return scan_twice<PitchedRows, IntegralWay::kShared>(samples.pixels, pitched, samples.count,
                                                           launch);
    case IntegralWay::kDoubleBuffer:
      return scan_twice<PitchedRows, IntegralWay::kDoubleBuffer>(samples.pixels, pitched,
                                                                 samples.count, launch);
    case IntegralWay::kOneLaunch:
      break;
  }
  return launch("summing samples up", integral_kernel,
                {static_cast<unsigned>(samples.count), {kSampleSide, kSampleSide}}, samples.pixels,
                pitched);
}

Status responses(ResponseWay way, const ResponseSamples& samples, const WeakFeatures& features,
                 Response* out, cuda::Launcher launch) {
  return made<Respond>(way, samples, features, out, launch);
}

Status verdicts(ResponseWay way, const ResponseSamples& samples, const WeakFeatures& features,
                Verdict* out, cuda::Launcher launch) {
  return made<Judge>(way, samples, features, out, launch);
}

}  // namespace cuface::test
