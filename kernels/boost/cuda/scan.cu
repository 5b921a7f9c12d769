// A warp walks up a feature, a chunk of samples for each lane at once. Most chunks are only added
// up: their corners tell that no split within reaches the best one so far.
#include <algorithm>

#include "kernels/boost/cuda/scan.h"
#include "kernels/boost/cuda/splits.cuh"
#include "kernels/common/cuda/attributes.h"
#include "kernels/common/cuda/warp.cuh"

namespace cuface::cuda::boost {
namespace {

using cuface::boost::BoostSums;

constexpr int kThreads = 1024;

template <typename Id>
struct Chunk {
  static constexpr int kWords = kChunk * sizeof(Id) / sizeof(std::uint32_t);
  std::uint32_t words[kWords];

  __device__ Chunk(const Id* ids, bool inside) {
    const auto* from = reinterpret_cast<const uint4*>(ids);
#pragma unroll
    for (int i = 0; i < kWords / 4; ++i) {
      const uint4 four = inside ? from[i] : uint4{0, 0, 0, 0};
      words[4 * i] = four.x;
      words[4 * i + 1] = four.y;
      words[4 * i + 2] = four.z;
      words[4 * i + 3] = four.w;
    }
  }
  __device__ std::uint32_t marked(int i) const {
    if constexpr (sizeof(Id) == 2)
      return words[i / 2] >> (i % 2 * 16) & 0xffff;
    else
      return words[i];
  }
  __device__ std::uint32_t sample(int i) const {
    return marked(i) & (static_cast<std::uint32_t>(OrderRows<Id>::kApart) - 1);
  }
  __device__ bool is_apart(int i) const { return (marked(i) & OrderRows<Id>::kApart) != 0; }
};

template <typename Id, Boosting kBoosting, bool kShared>
__global__ void __launch_bounds__(kThreads, 1)
    scan_kernel(const __grid_constant__ OrderRows<Id> orders, std::uint32_t first,
                std::uint32_t features, const __grid_constant__ DeviceNode node,
                const float* bounds, BestSplit* best) {
  using Found = Splits<kBoosting>;
  extern __shared__ std::int32_t memory[];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int lane = thread % kWarp, samples = node.count + 1;
  const std::int32_t* responses = node.responses;
  const std::int32_t* weights = node.weights;
  if constexpr (kShared) {
    for (int i = thread; i < samples; i += threads) memory[i] = responses[i];
    responses = memory;
    if constexpr (Found::kWeights) {
      for (int i = thread; i < samples; i += threads) memory[samples + i] = weights[i];
      weights = memory + samples;
    }
    __syncthreads();
  }
  const auto sums_of = [&](std::uint32_t sample) {
    const std::int32_t response = responses[sample];
    if constexpr (Found::kWeights)
      return BoostSums{weights[sample], response};
    else
      return BoostSums{response < 0 ? -response : response, response};
  };
  const Found splits(node.all);
  const std::size_t stride = orders.stride;
  const auto warps = static_cast<std::uint32_t>(threads / kWarp);

  const auto walk = [&](std::uint32_t f) {
    // Others raise it meanwhile: an old one only bounds less.
    const BestSplit before = now(best);
    float bound = quality_of(before), quality = -1;
    const Id* ids = orders.ids + f * stride;
    BoostSums carry;
    const std::size_t step = kWarp * kChunk;
    std::size_t at = static_cast<std::size_t>(lane) * kChunk;
    Chunk<Id> next(ids + at, at < stride);
    for (std::size_t of_warp = 0; of_warp < stride; of_warp += step, at += step) {
      const bool inside = at < stride;
      const Chunk<Id> chunk = next;
      next = Chunk<Id>(ids + at + step, at + step < stride);
      BoostSums own;
      std::int32_t positive = 0;
      if (inside) {
#pragma unroll
        for (int i = 0; i < kChunk; ++i) {
          const BoostSums sample = sums_of(chunk.sample(i));
          own.weight += sample.weight;
          own.response += sample.response;
          if constexpr (Found::kWeights) positive += sample.response > 0 ? sample.response : 0;
        }
        // Weights are the sizes of responses.
        if constexpr (!Found::kWeights) {
          positive = static_cast<std::int32_t>(
              (static_cast<std::uint32_t>(own.weight) + static_cast<std::uint32_t>(own.response)) /
              2);
        }
      }
      const std::int32_t weight = prefix_sum(own.weight);
      const std::int32_t response = prefix_sum(own.response);
      BoostSums left{carry.weight + weight - own.weight, carry.response + response - own.response};
      carry.weight += __shfl_sync(kAllLanes, weight, kWarp - 1);
      carry.response += __shfl_sync(kAllLanes, response, kWarp - 1);
      bool better = false;
      if (inside &&
          splits.chunk_may_reach(left, own.weight, positive, positive - own.response, bound)) {
#pragma unroll
        for (int i = 0; i < kChunk; ++i) {
          const BoostSums sample = sums_of(chunk.sample(i));
          left.weight += sample.weight;
          left.response += sample.response;
          if (!chunk.is_apart(i) || !splits.may_reach(left.weight, left.response, bound)) continue;
          const float here = splits.quality(left);
          better |= here > quality;
          quality = here > quality ? here : quality;
        }
      }
      if (!__any_sync(kAllLanes, better)) continue;
      for (int by = 1; by < kWarp; by *= 2) {
        const float other = __shfl_xor_sync(kAllLanes, quality, by);
        quality = other > quality ? other : quality;
      }
      bound = quality > bound ? quality : bound;
    }
    // All lanes have the same.
    if (lane != 0 || quality < 0) return;
    const BestSplit found = split_of(quality, first + f);
    if (found > before) atomicMax(best, found);
  };
  const std::uint32_t all_warps = gridDim.x * warps;
  // Alike features lie side by side: they are of different blocks.
  for (std::uint32_t from = threadIdx.x / kWarp * gridDim.x + blockIdx.x; from < features;
       from += kWarp * all_warps) {
    const std::uint32_t of_lane = from + static_cast<std::uint32_t>(lane) * all_warps;
    bool is_wanted = of_lane < features;
    if (is_wanted && bounds) is_wanted = bounds[of_lane] >= quality_of(now(best)) * kSlack;
    for (unsigned wanted = __ballot_sync(kAllLanes, is_wanted); wanted != 0; wanted &= wanted - 1) {
      const std::uint32_t f =
          from + static_cast<std::uint32_t>(__ffs(static_cast<int>(wanted)) - 1) * all_warps;
      walk(f);
    }
  }
}

template <typename Id, bool kShared>
auto kernel_for(Boosting boosting) {
  switch (boosting) {
    case Boosting::kDiscrete:
      return scan_kernel<Id, Boosting::kDiscrete, kShared>;
    case Boosting::kLogit:
      return scan_kernel<Id, Boosting::kLogit, kShared>;
    default:
      return scan_kernel<Id, Boosting::kGentle, kShared>;
  }
}

template <typename Id>
auto kernel_for(Boosting boosting, bool shared) {
  return shared ? kernel_for<Id, true>(boosting) : kernel_for<Id, false>(boosting);
}

}  // namespace

Result<ScanPlan> ScanPlan::create(int count, Boosting boosting) {
  ScanPlan plan;
  CUFACE_TAKE(most_shared, most_shared_memory());
  CUFACE_TAKE(processors, multiprocessors());
  plan.blocks_ = processors;
  plan.shared_ = static_cast<std::size_t>(count + 1) * sizeof(std::int32_t) *
                 (boosting == Boosting::kLogit ? 2 : 1);
  if (plan.shared_ > static_cast<std::size_t>(most_shared)) plan.shared_ = 0;
  for (const void* kernel :
       {reinterpret_cast<const void*>(kernel_for<std::uint16_t>(boosting, true)),
        reinterpret_cast<const void*>(kernel_for<std::uint32_t>(boosting, true))}) {
    CUFACE_TRY(check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared),
        "asking for shared memory"));
  }
  return plan;
}

template <typename Id>
Status ScanPlan::run(const OrderRows<Id>& orders, std::uint32_t first, std::uint32_t features,
                     const DeviceNode& node, const float* bounds, BestSplit* best,
                     Launcher launch) const {
  if (features == 0) return {};
  const unsigned warps = std::min(features, static_cast<std::uint32_t>(kThreads / kWarp));
  const unsigned blocks = std::min(static_cast<unsigned>(blocks_), (features + warps - 1) / warps);
  return launch("searching features", kernel_for<Id>(node.boosting, shared_ > 0),
                {blocks, warps * kWarp, shared_}, orders, first, features, node, bounds, best);
}

template Status ScanPlan::run(const OrderRows<std::uint16_t>&, std::uint32_t, std::uint32_t,
                              const DeviceNode&, const float*, BestSplit*, Launcher) const;
template Status ScanPlan::run(const OrderRows<std::uint32_t>&, std::uint32_t, std::uint32_t,
                              const DeviceNode&, const float*, BestSplit*, Launcher) const;

}  // namespace cuface::cuda::boost
