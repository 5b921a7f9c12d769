// A block sorts a feature after the other: a radix sort from the lowest digit on. Its warps have
// parts of the samples, each counts its own digits, and a sum over warps and digits says where each
// warp writes. Lanes with the same digit find each other by a word of shared memory: a ballot for
// each bit of the digit would take twice the instructions.
#include <algorithm>

#include "kernels/boost/cuda/order.h"
#include "kernels/boost/keys.h"
#include "kernels/common/cuda/attributes.h"
#include "kernels/common/cuda/warp.cuh"

namespace cuface::cuda::boost {
namespace {

using cuface::boost::are_apart;
using cuface::boost::key_of;

constexpr int kMostThreads = 1024;
constexpr int kDigits = 4, kDigitBits = 8, kDigitValues = 1 << kDigitBits;
constexpr int kTotals = kDigitValues + 1;
/// Of a warp, where a block sorts in shared memory: ranks wait in registers.
constexpr int kMostRounds = 16;

/// Keys and ids, twice: each pass goes from one to the other.
template <typename Id>
struct SortBuffers {
  std::uint32_t *keys, *other_keys;
  Id *ids, *other_ids;

  __device__ SortBuffers(std::uint32_t* memory, int places)
      : keys(memory),
        other_keys(memory + places),
        ids(reinterpret_cast<Id*>(memory + 2 * places)),
        other_ids(ids + places) {}
  __device__ void swap() {
    std::uint32_t* const new_keys = other_keys;
    Id* const new_ids = other_ids;
    other_keys = keys;
    other_ids = ids;
    keys = new_keys;
    ids = new_ids;
  }
  static std::size_t bytes(std::size_t places) { return places * 2 * (4 + sizeof(Id)); }
};

__device__ inline float value_in(const BoundFeature& feature, const SumRows& rows, int i) {
  const auto weighted = [&](int r) {
    const std::int32_t* c = feature.corner[r];
    const auto at = [&](int k) {
      return rows.sums[static_cast<std::size_t>(c[k]) * rows.stride + static_cast<std::size_t>(i)];
    };
    return feature.weight[r] * static_cast<float>(at(0) - at(1) - at(2) + at(3));
  };
  const float value = weighted(0) + weighted(1);
  return (feature.weight[2] != 0 ? value + weighted(2) : value) * rows.norms[i];
}

/// A warp's digits so far: how many samples had each, and a word for each to tell lanes by, 0
/// between calls.
struct WarpDigits {
  std::uint32_t *counts, *lanes;

  /// Takes the lane's digit, if it has one: how many samples had it before. All lanes call it.
  __device__ std::uint32_t take(unsigned digit, bool has, int lane) const {
    if (has) atomicOr(lanes + digit, 1u << lane);
    __syncwarp();
    const unsigned peers = has ? lanes[digit] : 0;
    const std::uint32_t before = has ? counts[digit] : 0;
    const unsigned lower = peers & ((1u << lane) - 1);
    __syncwarp();
    if (has && lower == 0) {
      counts[digit] = before + static_cast<std::uint32_t>(__popc(peers));
      lanes[digit] = 0;
    }
    __syncwarp();
    return before + static_cast<std::uint32_t>(__popc(lower));
  }
};

/// counts[warp][digit] becomes the place of its first sample among those of the digit,
/// totals[digit] that of the digit's first. Whether all samples have one digit.
__device__ inline bool places_of(std::uint32_t* counts, std::uint32_t* totals, int count) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int lane = thread % kWarp, warps = threads / kWarp;
  bool one = false;
  for (int digit = thread; digit < kDigitValues; digit += threads) {
    std::uint32_t sum = 0;
    for (int warp = 0; warp < warps; ++warp) {
      const std::uint32_t own = counts[warp * kDigitValues + digit];
      counts[warp * kDigitValues + digit] = sum;
      sum += own;
    }
    totals[digit] = sum;
    one |= sum == static_cast<std::uint32_t>(count);
  }
  if (__syncthreads_or(one)) return true;
  if (thread < kWarp) {
    constexpr int kOfLane = kDigitValues / kWarp;
    std::uint32_t own[kOfLane], sum = 0;
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      own[i] = sum;
      sum += totals[lane * kOfLane + i];
    }
    const std::uint32_t before = prefix_sum(sum) - sum;
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) totals[lane * kOfLane + i] = before + own[i];
  }
  __syncthreads();
  return false;
}

/// What a place is multiplied with for its bin, in steps of 2^-32.
__device__ inline std::uint32_t bin_scale(int count) {
  const std::uint64_t scale = (std::uint64_t{kBins} << 32) / static_cast<std::uint32_t>(count);
  return static_cast<std::uint32_t>(scale < UINT32_MAX ? scale : UINT32_MAX);
}

template <typename Id, bool kShared>
__global__ void __launch_bounds__(kMostThreads)
    order_kernel(const __grid_constant__ SumRows rows, const BoundFeature* bound,
                 std::uint32_t features, const __grid_constant__ OrderRows<Id> out,
                 const __grid_constant__ BinRows bins, std::byte* scratch,
                 std::size_t scratch_of_block) {
  extern __shared__ std::uint32_t memory[];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int lane = thread % kWarp, warp = thread / kWarp, warps = threads / kWarp;
  const int count = rows.count, places = static_cast<int>(out.stride);
  std::uint32_t* counts = memory;
  std::uint32_t* lanes = counts + warps * kDigitValues;
  std::uint32_t* totals = lanes + warps * kDigitValues;
  std::uint32_t* ends = totals + kTotals;
  std::uint32_t* buffers = ends + kEndWords;
  if constexpr (!kShared)
    buffers = reinterpret_cast<std::uint32_t*>(scratch + blockIdx.x * scratch_of_block);
  SortBuffers<Id> at(buffers, places);
  // Whole rounds of a warp, so that its lanes go together.
  const int rounds = (count + threads - 1) / threads;
  const int begin = warp * rounds * kWarp, end = min(count, begin + rounds * kWarp);
  const WarpDigits own{counts + warp * kDigitValues, lanes + warp * kDigitValues};
  for (int i = thread; i < warps * kDigitValues; i += threads) lanes[i] = 0;
  const std::uint32_t scale = bin_scale(count);
  const auto bin_of = [scale](int place) {
    return static_cast<std::uint32_t>(std::uint64_t{scale} * static_cast<std::uint32_t>(place) >>
                                      32);
  };

  for (std::uint32_t f = blockIdx.x; f < features; f += gridDim.x) {
    const BoundFeature feature = bound[f];
    if (thread < kEndWords) ends[thread] = 0;
    for (int i = thread; i < count; i += threads) {
      at.keys[i] = key_of(value_in(feature, rows, i));
      at.ids[i] = static_cast<Id>(i);
    }
    for (int pass = 0; pass < kDigits; ++pass) {
      const auto digit_of = [&](std::uint32_t key) {
        return key >> (pass * kDigitBits) & (kDigitValues - 1);
      };
      const auto move = [&](int i, std::uint32_t key, std::uint32_t rank) {
        const std::uint32_t place = totals[digit_of(key)] + rank;
        at.other_keys[place] = key;
        at.other_ids[place] = at.ids[i];
      };
      for (int i = thread; i < warps * kDigitValues; i += threads) counts[i] = 0;
      __syncthreads();
      if constexpr (kShared) {
        std::uint32_t ranks[kMostRounds / 2];  // each is below 2^16
#pragma unroll
        for (int r = 0; r < kMostRounds; ++r) {
          const int first = begin + r * kWarp, i = first + lane;
          if (first >= end) break;
          const std::uint32_t key = i < end ? at.keys[i] : 0;
          const std::uint32_t rank = own.take(digit_of(key), i < end, lane);
          ranks[r / 2] = r % 2 == 0 ? rank : ranks[r / 2] | rank << 16;
        }
        __syncthreads();
        if (places_of(counts, totals, count)) continue;
#pragma unroll
        for (int r = 0; r < kMostRounds; ++r) {
          const int i = begin + r * kWarp + lane;
          if (i >= end) break;
          const std::uint32_t key = at.keys[i], rank = ranks[r / 2] >> (r % 2 * 16) & 0xffff;
          move(i, key, own.counts[digit_of(key)] + rank);
        }
      } else {
        for (int first = begin; first < end; first += kWarp) {
          const int i = first + lane;
          own.take(i < end ? digit_of(at.keys[i]) : 0, i < end, lane);
        }
        __syncthreads();
        if (places_of(counts, totals, count)) continue;
        for (int first = begin; first < end; first += kWarp) {
          const int i = first + lane;
          const std::uint32_t key = i < end ? at.keys[i] : 0;
          const std::uint32_t rank = own.take(digit_of(key), i < end, lane);
          if (i < end) move(i, key, rank);
        }
      }
      at.swap();
      __syncthreads();
    }
    const std::uint32_t* keys = at.keys;
    Id* to = out.ids + static_cast<std::size_t>(f) * out.stride;
    auto* bin_of_sample = reinterpret_cast<std::uint8_t*>(at.other_keys);
    for (int i = thread; i < places; i += threads) {
      const bool apart = i + 1 < count && are_apart(keys[i], keys[i + 1]);
      const Id id = i < count ? at.ids[i] : static_cast<Id>(count);
      to[i] = static_cast<Id>(id | (apart ? OrderRows<Id>::kApart : Id{0}));
      if (!bins.bins) continue;
      bin_of_sample[id] = static_cast<std::uint8_t>(bin_of(i));
      if (apart && bin_of(i) != bin_of(i + 1))
        atomicOr(ends + bin_of(i) / 32, 1u << bin_of(i) % 32);
    }
    __syncthreads();
    if (!bins.bins) continue;
    if (thread < kEndWords) bins.ends[f * kEndWords + thread] = ends[thread];
    auto* of_feature =
        reinterpret_cast<uint4*>(bins.bins + f / BinRows::kGroup * BinRows::kGroup * bins.stride) +
        f % BinRows::kGroup;
    for (int i = thread; i < places / static_cast<int>(BinRows::kTogether); i += threads) {
      const std::uint32_t* four = at.other_keys + 4 * i;
      of_feature[i * static_cast<int>(BinRows::kGroup)] = uint4{four[0], four[1], four[2], four[3]};
    }
    __syncthreads();
  }
}

template <typename Id>
auto kernel_for(bool shared) {
  return shared ? order_kernel<Id, true> : order_kernel<Id, false>;
}

}  // namespace

Result<OrderPlan> OrderPlan::create(int count, std::size_t id_bytes) {
  OrderPlan plan;
  CUFACE_TAKE(most_shared, most_shared_memory());
  CUFACE_TAKE(processors, multiprocessors());
  const bool wide = id_bytes == sizeof(std::uint32_t);
  const std::size_t places = OrderRows<std::uint16_t>::stride_of(static_cast<std::size_t>(count));
  const std::size_t buffers =
      wide ? SortBuffers<std::uint32_t>::bytes(places) : SortBuffers<std::uint16_t>::bytes(places);
  // Eight samples a thread are enough to be busy with.
  plan.threads_ = std::clamp((count / 8 + kWarp - 1) / kWarp * kWarp, 4 * kWarp, kMostThreads);
  // Their digits take half of a block's shared memory at most.
  constexpr int kDigitBytes = 2 * kDigitValues * static_cast<int>(sizeof(std::uint32_t));
  plan.threads_ = std::min(plan.threads_, most_shared / 2 / kDigitBytes * kWarp);
  plan.shared_ =
      static_cast<std::size_t>(2 * plan.threads_ / kWarp * kDigitValues + kTotals + kEndWords) *
      sizeof(int);
  const bool fits = plan.shared_ + buffers <= static_cast<std::size_t>(most_shared) &&
                    count <= kMostRounds * plan.threads_;
  if (fits)
    plan.shared_ += buffers;
  else
    plan.scratch_ = buffers;
  const std::size_t blocks = std::max<std::size_t>(
      1, std::min<std::size_t>(static_cast<std::size_t>(kMostThreads * 2 / plan.threads_),
                               static_cast<std::size_t>(most_shared) / plan.shared_));
  plan.blocks_ = processors * static_cast<int>(blocks);
  for (const bool shared : {false, true}) {
    const void* kernel = wide ? reinterpret_cast<const void*>(kernel_for<std::uint32_t>(shared))
                              : reinterpret_cast<const void*>(kernel_for<std::uint16_t>(shared));
    CUFACE_TRY(check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared),
        "asking for shared memory"));
  }
  return plan;
}

template <typename Id>
Status OrderPlan::make(const SumRows& rows, const BoundFeature* bound, std::uint32_t features,
                       const OrderRows<Id>& out, const BinRows& bins, std::byte* scratch,
                       Launcher launch) const {
  if (features == 0) return {};
  const unsigned blocks = std::min(static_cast<unsigned>(blocks_), features);
  return launch("sorting features", kernel_for<Id>(scratch_ == 0),
                {blocks, static_cast<unsigned>(threads_), shared_}, rows, bound, features, out,
                bins, scratch, scratch_);
}

template Status OrderPlan::make(const SumRows&, const BoundFeature*, std::uint32_t,
                                const OrderRows<std::uint16_t>&, const BinRows&, std::byte*,
                                Launcher) const;
template Status OrderPlan::make(const SumRows&, const BoundFeature*, std::uint32_t,
                                const OrderRows<std::uint32_t>&, const BinRows&, std::byte*,
                                Launcher) const;

}  // namespace cuface::cuda::boost
