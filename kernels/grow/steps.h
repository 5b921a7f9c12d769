// The computations of a tree: one source for the CPU and CUDA. Residuals are integers where they
// are added up, so that no order of additions changes a bit.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"

namespace cuface::grow {

/// A residual is what a sample lacks in one coordinate, target less current shape, in steps of
/// 2^-20 of the box: 1/2600 pixel of a box of 400.
inline constexpr int kResidualBits = 20;
/// Residuals stay within this: labels are refused that lie so far away, and a leaf that would move
/// a sample farther stops there.
inline constexpr std::int32_t kMostResidual = std::int32_t{1} << 29;

/// To the nearest step, ties to even; cut to kMostResidual.
CUFACE_HD inline std::int32_t in_steps(double value) {
  constexpr double kMost = kMostResidual;
  const double steps = std::rint(value * (1 << kResidualBits));
  return static_cast<std::int32_t>(steps > kMost ? kMost : steps < -kMost ? -kMost : steps);
}

CUFACE_HD inline std::int32_t residual(float target, float current) {
  return in_steps(static_cast<double>(target) - static_cast<double>(current));
}

/// After a leaf, in steps too, was added to the current shape.
CUFACE_HD inline std::int32_t after_leaf(std::int32_t residual, std::int32_t leaf) {
  const std::int32_t rest = residual - leaf;
  return rest > kMostResidual ? kMostResidual : rest < -kMostResidual ? -kMostResidual : rest;
}

/// A coordinate of a leaf: nu times the mean residual of the samples that have the landmark, whose
/// weights add up to `weight`. 0 where there is none.
CUFACE_HD inline float leaf_value(std::int64_t sum, std::int64_t weight, double nu) {
  if (weight == 0) return 0;
  return static_cast<float>(static_cast<double>(sum) * nu /
                            (static_cast<double>(weight) * (1 << kResidualBits)));
}

/// Squares are added up in so many parts: part k takes coordinates k, k + kScoreParts, ... in turn.
/// Then halves are added: parts 8 apart, 4, 2, 1.
inline constexpr int kScoreParts = 16;

/// How well a split explains the residuals of a node, whose sums are `all`; `left` are those of its
/// left side: the squares of each side's sum over its weight. Higher is better; -1, which is worse
/// than any, where a side is empty.
CUFACE_HD inline double split_score(const std::int64_t* all, const std::int64_t* left, int size,
                                    std::int64_t all_weight, std::int64_t left_weight) {
  const std::int64_t right_weight = all_weight - left_weight;
  if (left_weight == 0 || right_weight == 0) return -1;
  double l[kScoreParts] = {}, r[kScoreParts] = {};
  for (int i = 0; i < size; ++i) {
    const auto a = static_cast<double>(left[i]), b = static_cast<double>(all[i] - left[i]);
    l[i % kScoreParts] += a * a;
    r[i % kScoreParts] += b * b;
  }
  for (int apart = kScoreParts / 2; apart > 0; apart /= 2) {
    for (int k = 0; k < apart; ++k) {
      l[k] += l[k + apart];
      r[k] += r[k + apart];
    }
  }
  return l[0] / static_cast<double>(left_weight) + r[0] / static_cast<double>(right_weight);
}

}  // namespace cuface::grow
