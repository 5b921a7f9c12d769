#include "kernels/boost/cuda/bounds.h"
#include "kernels/boost/cuda/splits.cuh"
#include "kernels/common/cuda/attributes.h"
#include "kernels/common/cuda/warp.cuh"

namespace cuface::cuda::boost {
namespace {

using cuface::boost::BoostSums;

constexpr int kWarps = 16;
constexpr int kBinsOfWarp = kBins / kWarps;
static_assert(kBinsOfWarp * kWarps == kBins && 32 % kBinsOfWarp == 0);
/// Of a bin: the sums of positive samples for each lane, each in its bank, then those of negative
/// ones.
constexpr int kRow = 2 * kWarp;
constexpr std::size_t kRowBytes = kRow * sizeof(std::int32_t);
static_assert(kRowBytes == 256);  // so a bin's number is a byte of its address

struct BoundMemory {
  std::int32_t sums[kBins * kRow];
  BoostSums parts[kWarps][kWarp];  ///< of a warp's bins, for each lane
  std::uint32_t bounds[kWarp];     ///< bits of what is not negative
};

/// Blocks at once on a multiprocessor: one of 7.5 has 1,024 threads.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kBlocks = 2;
#else
constexpr int kBlocks = 3;
#endif

template <Boosting kBoosting>
__global__ void __launch_bounds__(kWarps* kWarp, kBlocks)
    bound_kernel(const __grid_constant__ BinRows rows, std::uint32_t features,
                 const __grid_constant__ DeviceNode node, float* bounds, BestSplit* best) {
  extern __shared__ uint4 memory[];
  BoundMemory& shared = *reinterpret_cast<BoundMemory*>(memory);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  for (int i = thread; i < kBins * kRow; i += kWarps * kWarp) shared.sums[i] = 0;
  if (warp == 0) shared.bounds[lane] = 0;
  __syncthreads();
  const std::uint32_t feature = blockIdx.x * kWarp + static_cast<std::uint32_t>(lane);
  const bool has = feature < features;
  const int blocks = static_cast<int>(rows.stride / BinRows::kTogether);
  const uint4* bins =
      reinterpret_cast<const uint4*>(rows.bins + blockIdx.x * BinRows::kGroup * rows.stride) + lane;
  const int4* responses = reinterpret_cast<const int4*>(node.responses);
  auto* bytes = reinterpret_cast<std::byte*>(shared.sums);
  const auto load = [&](int block) {
    return has && block < blocks ? bins[block * kWarp] : uint4{0, 0, 0, 0};
  };
  uint4 next = load(warp);
  for (int block = warp; block < blocks; block += kWarps) {
    const uint4 now = next;
    next = load(block + kWarps);
    const std::uint32_t words[] = {now.x, now.y, now.z, now.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int4 four = responses[block * 4 + i];
      const std::int32_t of_word[] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) {
        const std::int32_t response = of_word[k];
        const std::uint32_t place = (static_cast<std::uint32_t>(response) >> 24 & 0x80) |
                                    static_cast<std::uint32_t>(lane) * sizeof(std::int32_t);
        const std::uint32_t address = __byte_perm(words[i], place, 0x5504 | k << 4);
        atomicAdd(reinterpret_cast<std::int32_t*>(bytes + address), response);
      }
    }
  }
  __syncthreads();
  const std::int32_t* sums = shared.sums + warp * kBinsOfWarp * kRow + lane;
  BoostSums own;
  for (int bin = 0; bin < kBinsOfWarp; ++bin) {
    const std::int32_t positive = sums[bin * kRow], negative = sums[bin * kRow + kWarp];
    own.weight += positive - negative;
    own.response += positive + negative;
  }
  shared.parts[warp][lane] = own;
  __syncthreads();
  BoostSums left;
  for (int before = 0; before < warp; ++before) {
    left.weight += shared.parts[before][lane].weight;
    left.response += shared.parts[before][lane].response;
  }
  const Splits<kBoosting> splits(node.all);
  const int first = warp * kBinsOfWarp;
  const std::uint32_t ends = has ? rows.ends[feature * kEndWords + first / 32] >> first % 32 : 0;
  float bound = splits.most(left), reached = 0;
  const auto raise = [](float& to, float by) { to = by > to ? by : to; };
  for (int bin = 0; bin < kBinsOfWarp; ++bin) {
    const std::int32_t positive = sums[bin * kRow], negative = sums[bin * kRow + kWarp];
    raise(bound, splits.most({left.weight + positive, left.response + positive}));
    raise(bound, splits.most({left.weight - negative, left.response + negative}));
    left.weight += positive - negative;
    left.response += positive + negative;
    const float here = splits.most(left);
    raise(bound, here);
    if ((ends >> bin & 1) && splits.is_split(left)) raise(reached, here);
  }
  atomicMax(shared.bounds + lane, std::bit_cast<std::uint32_t>(bound));
  for (int by = 1; by < kWarp; by *= 2) raise(reached, __shfl_xor_sync(kAllLanes, reached, by));
  const BestSplit found = split_of(reached, ~std::uint32_t{0});
  if (lane == 0 && found > now(best)) atomicMax(best, found);
  __syncthreads();
  if (warp == 0 && has) bounds[feature] = std::bit_cast<float>(shared.bounds[lane]);
}

}  // namespace

Result<bool> can_bound(Boosting boosting) {
  CUFACE_TAKE(most, most_shared_memory());
  return boosting != Boosting::kLogit && static_cast<std::size_t>(most) >= sizeof(BoundMemory);
}

Status bound_features(const BinRows& rows, std::uint32_t features, const DeviceNode& node,
                      float* bounds, BestSplit* best, Launcher launch) {
  if (features == 0) return {};
  const auto kernel = node.boosting == Boosting::kDiscrete ? bound_kernel<Boosting::kDiscrete>
                                                           : bound_kernel<Boosting::kGentle>;
  CUFACE_TRY(
      check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(BoundMemory)),
            "asking for shared memory"));
  return launch("bounding features", kernel,
                {(features + kWarp - 1) / kWarp, kWarps * kWarp, sizeof(BoundMemory)}, rows,
                features, node, bounds, best);
}

}  // namespace cuface::cuda::boost
