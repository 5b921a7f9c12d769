// What a round of boosting computes: one source for the CPU and CUDA. Weights are integers where
// they are added up, so that no order of additions changes a bit.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "kernels/boost/boost.h"
#include "kernels/common/exponential.h"
#include "kernels/common/host_device.h"

namespace cuface::boost {

/// Two values of a feature are told apart where they differ by more, as in opencv_traincascade.
inline constexpr float kTieGap = 2 * FLT_EPSILON;
/// A node with no more samples is a leaf, as there.
inline constexpr int kMostLeafSamples = 10;
/// Weights of a round are integers in steps of 2^-30 of their sum; so is the response of a sample,
/// its weight with the sign of its label. LogitBoost's goes to 10 weights: it has steps of 2^-26.
inline constexpr int kWeightBits = 30, kLogitBits = 26;
/// The sum that weights are divided by is one of integers in steps of 2^-44.
inline constexpr int kTotalBits = 44;
inline constexpr double kLeastError = 1e-5;  ///< smaller ones count as this
inline constexpr double kLeastLogitWeight = FLT_EPSILON, kMostLogitResponse = 10;

/// Sums over the samples of a node, or of one side of a split.
struct BoostSums {
  std::int32_t weight = 0, response = 0;
  friend bool operator==(const BoostSums&, const BoostSums&) = default;
};

/// How good a split is for discrete boosting: the weight that it labels right, with the better
/// choice of labels for its two sides.
CUFACE_HD inline std::int32_t right_weight(BoostSums all, BoostSums left) {
  const std::int32_t positive =
      static_cast<std::int32_t>((static_cast<std::int64_t>(all.weight) + all.response) / 2);
  const std::int32_t rising = positive - left.response;
  const std::int32_t falling = all.weight - positive + left.response;
  return rising > falling ? rising : falling;
}

/// For the others: how much less the squared error is with a mean on each side than with 0. Of real
/// boosting it is Gini's index but for a constant. NaN where a side is empty.
CUFACE_HD inline float squares_explained(BoostSums all, BoostSums left) {
  const float l = static_cast<float>(left.weight);
  const float r = static_cast<float>(all.weight - left.weight);
  const float d = static_cast<float>(left.response);
  const float e = static_cast<float>(all.response - left.response);
  return (d * d * r + e * e * l) / (l * r);
}

/// The same for a node that is not split.
inline float own_quality(BoostSums all, Boosting boosting) {
  if (boosting == Boosting::kDiscrete) return static_cast<float>(right_weight(all, {}));
  const float response = static_cast<float>(all.response);
  return response * response / static_cast<float>(all.weight);
}

/// log(p / (1 - p)), with p at least kLeastError from 0 and 1: what is perfect stays finite.
inline double log_odds(double p) {
  const double q = std::fmin(std::fmax(p, kLeastError), 1 - kLeastError);
  return std::log(q / (1 - q));
}

/// What a leaf says of its samples: discrete boosting their label, which is scaled later.
inline float leaf_value(BoostSums all, Boosting boosting) {
  const double weight = all.weight, response = all.response;
  switch (boosting) {
    case Boosting::kDiscrete:
      return response > 0 ? 1.0f : -1.0f;
    case Boosting::kReal:
      return static_cast<float>(0.5 * log_odds((weight + response) / 2 / weight));
    case Boosting::kLogit:
      return static_cast<float>(response / weight * (1 << (kWeightBits - kLogitBits)));
    case Boosting::kGentle:
      break;
  }
  return static_cast<float>(response / weight);
}

/// A positive number as an integer of so many bits behind the point, to nearest, ties to even.
CUFACE_HD inline std::int64_t fixed_point(double value, int bits) {
  return std::llrint(value * static_cast<double>(std::int64_t{1} << bits));
}

/// LogitBoost's weight, and the response that it wants, of a sample whose trees add up to `sum`.
struct LogitTarget {
  double weight, response;
};
CUFACE_HD inline LogitTarget logit_target(bool positive, double sum) {
  const double e = static_cast<double>(exponential(static_cast<float>(-2 * sum)));
  const double p = 1 / (1 + e), not_p = e / (1 + e);
  const double weight = p * not_p, response = 1 / (positive ? p : not_p);
  const double bounded = response < kMostLogitResponse ? response : kMostLogitResponse;
  return {weight > kLeastLogitWeight ? weight : kLeastLogitWeight, positive ? bounded : -bounded};
}

/// The threshold between two values of different sides: what is less goes left, so the lower one
/// must be less.
CUFACE_HD inline float between(float lower, float upper) {
  const float middle = (lower + upper) * 0.5f;
  return middle > lower ? middle : upper;
}

}  // namespace cuface::boost
