// How good a node's splits are, and at most can be.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/boost/cuda/scan.h"
#include "kernels/boost/steps.h"

namespace cuface::cuda::boost {

/// Qualities are rounded: twenty roundings, each by 2^-24 at most. What is below a bound by more
/// than this share of it is not above it.
inline constexpr float kSlack = 1 - 0x1p-18f;

/// A BestSplit has a quality's bits, then ~feature.
__device__ inline float quality_of(BestSplit split) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(split >> 32));
}
__device__ inline BestSplit split_of(float quality, std::uint32_t feature) {
  return BestSplit{std::bit_cast<std::uint32_t>(quality)} << 32 |
         static_cast<std::uint32_t>(~feature);
}
/// While others raise it: an old one only bounds less.
__device__ inline BestSplit now(const BestSplit* best) {
  return *reinterpret_cast<const volatile BestSplit*>(best);
}

/// What a node's samples add up to, and how good a split with so much on its left is.
template <Boosting kBoosting>
struct Splits {
  static constexpr bool kDiscrete = kBoosting == Boosting::kDiscrete;
  static constexpr bool kWeights = kBoosting == Boosting::kLogit;
  cuface::boost::BoostSums all;
  float own;  ///< quality of no split

  __device__ explicit Splits(cuface::boost::BoostSums sums) : all(sums), own(0) {
    const float response = static_cast<float>(all.response);
    if (!kDiscrete) own = response * response / static_cast<float>(all.weight);
  }

  __device__ float quality(cuface::boost::BoostSums left) const {
    return kDiscrete ? static_cast<float>(right_weight(all, left)) : squares_explained(all, left);
  }

  /// False where `left` is no split that is as good as `bound`. Without a division.
  __device__ bool may_reach(std::int32_t weight, std::int32_t response, float bound) const {
    if (kDiscrete) return static_cast<float>(right_weight(all, {weight, response})) >= bound;
    const float l = static_cast<float>(weight), r = static_cast<float>(all.weight - weight);
    const float d = static_cast<float>(response), e = static_cast<float>(all.response - response);
    const float dividend = d * d * r + e * e * l, divisor = l * r;
    // With nothing on one side: nearby splits are nearly as good as none.
    if (divisor == 0) return dividend > 0 || own >= bound * kSlack;
    return dividend >= bound * kSlack * divisor;
  }

  /// Of discrete boosting all are; the others' quality is else NaN.
  __device__ bool is_split(cuface::boost::BoostSums left) const {
    return kDiscrete || (left.weight != 0 && left.weight != all.weight);
  }

  /// The quality of a split; else what nearby splits come to.
  __device__ float most(cuface::boost::BoostSums left) const {
    return is_split(left) ? quality(left) : own;
  }

  /// may_reach() of all splits within a chunk that begins with `left` before it. Quality is a
  /// convex function of weight and response, so it is highest at a corner of where they may come
  /// to: with all or none of the positive samples, and of the negative ones. LogitBoost's samples
  /// have more or less of both: corners of a box.
  __device__ bool chunk_may_reach(cuface::boost::BoostSums left, std::int32_t weight,
                                  std::int32_t positive, std::int32_t negative, float bound) const {
    const auto reaches = [&](std::int32_t more, std::int32_t response) {
      return may_reach(left.weight + more, left.response + response, bound);
    };
    if (kDiscrete) return reaches(0, positive) || reaches(0, -negative);
    if (kWeights) {
      return reaches(0, positive) || reaches(weight, positive) || reaches(0, -negative) ||
             reaches(weight, -negative);
    }
    return reaches(0, 0) || reaches(positive, positive) || reaches(negative, -negative) ||
           reaches(weight, positive - negative);
  }
};

}  // namespace cuface::cuda::boost
