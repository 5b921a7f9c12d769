#include "kernels/boost/cuda/bounds.h"
#include "kernels/boost/cuda/splits.cuh"
#include "kernels/common/cuda/warp.cuh"

namespace cuface::cuda::boost {
namespace {

using cuface::boost::BoostSums;

constexpr int kWarps = 8;
constexpr int kSigns = 2;  // of responses: positive samples apart from negative ones

template <Boosting kBoosting>
__global__ void __launch_bounds__(kWarps* kWarp)
    bound_kernel(const __grid_constant__ BinRows rows, std::uint32_t features,
                 const __grid_constant__ DeviceNode node, float* bounds, BestSplit* best) {
  // A lane's are in a bank of its own.
  __shared__ std::int32_t sums[kBins * kSigns * kWarp];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  for (int i = thread; i < kBins * kSigns * kWarp; i += kWarps * kWarp) sums[i] = 0;
  __syncthreads();
  const std::uint32_t feature = blockIdx.x * kWarp + static_cast<std::uint32_t>(lane);
  const bool has = feature < features;
  const int blocks = static_cast<int>(rows.stride / BinRows::kTogether);
  const uint4* bins =
      reinterpret_cast<const uint4*>(rows.bins + blockIdx.x * BinRows::kGroup * rows.stride) + lane;
  const int4* responses = reinterpret_cast<const int4*>(node.responses);
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
      for (int k = 0; k < 4; ++k) {
        const std::int32_t response = of_word[k];
        if (response == 0) continue;  // trimmed, for all lanes
        const std::uint32_t bin = words[i] >> (8 * k) & (kBins - 1);
        const auto sign = static_cast<std::uint32_t>(response) >> 31;
        atomicAdd(&sums[(bin * kSigns + sign) * kWarp + static_cast<std::uint32_t>(lane)],
                  response);
      }
    }
  }
  __syncthreads();
  if (warp > 0) return;
  const Splits<kBoosting> splits(node.all);
  const std::uint64_t ends = has ? rows.ends[feature] : 0;
  BoostSums left;
  float bound = splits.most(0, 0), reached = 0;
  for (int bin = 0; bin < kBins; ++bin) {
    const std::int32_t positive = sums[bin * kSigns * kWarp + lane];
    const std::int32_t negative = -sums[(bin * kSigns + 1) * kWarp + lane];
    const auto corner = [&](std::int32_t weight, std::int32_t response) {
      const float most = splits.most(left.weight + weight, left.response + response);
      bound = most > bound ? most : bound;
    };
    corner(positive, positive);
    corner(negative, -negative);
    corner(positive + negative, positive - negative);
    left.weight += positive + negative;
    left.response += positive - negative;
    if ((ends >> bin & 1) == 0) continue;
    const float here = splits.quality(left);
    reached = here > reached ? here : reached;
  }
  if (has) bounds[feature] = bound;
  for (int by = 1; by < kWarp; by *= 2) {
    const float other = __shfl_xor_sync(kAllLanes, reached, by);
    reached = other > reached ? other : reached;
  }
  const BestSplit found = split_of(reached, ~std::uint32_t{0});
  if (lane == 0 && found > now(best)) atomicMax(best, found);
}

}  // namespace

Status bound_features(const BinRows& rows, std::uint32_t features, const DeviceNode& node,
                      float* bounds, BestSplit* best, Launcher launch) {
  if (features == 0) return {};
  return launch("bounding features",
                node.boosting == Boosting::kDiscrete ? bound_kernel<Boosting::kDiscrete>
                                                     : bound_kernel<Boosting::kGentle>,
                {(features + kWarp - 1) / kWarp, kWarps * kWarp}, rows, features, node, bounds,
                best);
}

}  // namespace cuface::cuda::boost
