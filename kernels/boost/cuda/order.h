// The values of features in all samples, sorted, in device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cascade/cascade.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"

namespace cuface::cuda::boost {

/// Samples that a lane of a scan takes at once; an order has a multiple of it.
inline constexpr int kChunk = 16;

/// The samples' sums: a row of `stride` for each corner, as SampleValues has them.
struct SumRows {
  const std::uint32_t* sums;
  const float* norms;  ///< of each sample the inverse one
  std::size_t stride;
  int count;  ///< samples
};

/// Of each feature the samples by value: ids, whose highest bit says that a split may stand behind.
/// Behind the last sample there is the id `count` up to a whole chunk.
template <typename Id>
struct OrderRows {
  static constexpr Id kApart = static_cast<Id>(Id{1} << (sizeof(Id) * 8 - 1));
  Id* ids;
  std::size_t stride;  ///< ids of a feature, a multiple of kChunk

  static std::size_t stride_of(std::size_t count) { return (count + kChunk - 1) / kChunk * kChunk; }
};

inline constexpr int kBins = 256;             ///< as a byte has
inline constexpr int kEndWords = kBins / 32;  ///< a bit for each bin

/// Of each feature the bin that each sample lies in. A group of features lies side by side: 16
/// samples of the first one, of the second one, and so on; then the next 16.
struct BinRows {
  static constexpr std::size_t kGroup = 32, kTogether = 16;

  std::uint8_t* bins = nullptr;  ///< null: there are none
  /// Of each feature a bit for each bin behind which a split may stand.
  std::uint32_t* ends = nullptr;
  std::size_t stride = 0;  ///< samples of a feature, a multiple of kTogether

  static std::size_t bytes(std::size_t features, std::size_t stride) {
    return (features + kGroup - 1) / kGroup * kGroup * stride;
  }
  /// From feature `first` on, a multiple of kGroup.
  BinRows from(std::size_t first) const {
    return {bins + first * stride, ends + first * kEndWords, stride};
  }
};

/// How orders are made on a GPU: a block sorts a feature, in shared memory where it fits.
class OrderPlan {
 public:
  /// `id_bytes`: 2 or 4. Of the current GPU.
  static Result<OrderPlan> create(int count, std::size_t id_bytes);

  /// Of device memory, for blocks that do not sort in shared memory.
  std::size_t scratch_bytes() const { return scratch_ * static_cast<std::size_t>(blocks_); }

  /// Writes the orders of `features` features from `bound` on, and their bins, where there is room
  /// for them. A corner of theirs is a row of sums.
  template <typename Id>
  Status make(const SumRows& rows, const BoundFeature* bound, std::uint32_t features,
              const OrderRows<Id>& out, const BinRows& bins, std::byte* scratch,
              Launcher launch) const;

 private:
  int blocks_ = 0, threads_ = 0;
  std::size_t shared_ = 0;   ///< bytes of a block
  std::size_t scratch_ = 0;  ///< bytes of a block; 0 = it sorts in shared memory
};

}  // namespace cuface::cuda::boost
