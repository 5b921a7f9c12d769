// How sure an engine is of one landmark: 0 to 1, the share of points like it that are within 10 %
// of the distance between the eyes. An engine has a score, more than 0 and the higher the worse; a
// table that is calibrated on labelled faces makes a confidence of it (docs/design/confidence.md).
// One source for the CPU and CUDA.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/common/host_device.h"

namespace cuface {

inline constexpr int kMostConfidenceSteps = 32;

/// Confidences of the scores 2^first, 2^(first + 1), ..., falling or equal; straight lines between
/// them, and beyond the ends what is there. An engine whose score is a logarithm already has them
/// at first, first + 1, ... Passed by value to kernels.
struct ConfidenceTable {
  std::int32_t first = 0, steps = 0;  ///< 0 steps: not calibrated, there are no confidences
  float at[kMostConfidenceSteps] = {};

  CUFACE_HD constexpr bool is_known() const { return steps > 0; }
};

/// Between step and step + 1, as far as `part` says.
CUFACE_HD inline float confidence_at(const ConfidenceTable& table, int step, double part) {
  if (step < 0) return table.at[0];
  if (step >= table.steps - 1) return table.at[table.steps - 1];
  return table.at[step] + (table.at[step + 1] - table.at[step]) * static_cast<float>(part);
}

/// `score` is a logarithm; the table must be is_known(). NaN gives 0.
CUFACE_HD inline float confidence_of_logarithm(const ConfidenceTable& table, double score) {
  constexpr double kFar = 1e6;
  if (!(score == score)) return 0;
  const double near = score < -kFar ? -kFar : score > kFar ? kFar : score;
  const double whole = std::floor(near);
  return confidence_at(table, static_cast<int>(whole) - table.first, near - whole);
}

/// The table must be is_known(). NaN gives 0.
CUFACE_HD inline float confidence_of(const ConfidenceTable& table, double score) {
  if (!(score >= 0)) return 0;
  const auto bits = std::bit_cast<std::uint64_t>(score);
  // Of denormal numbers and 0 the exponent is below all tables, of infinity above.
  const int step = static_cast<int>(bits >> 52) - 1023 - table.first;
  constexpr std::uint64_t kFraction = (std::uint64_t{1} << 52) - 1;
  return confidence_at(table, step, static_cast<double>(bits & kFraction) * 0x1p-52);
}

/// Whether a table is one: so many steps, exponents of normal numbers, confidences from 0 to 1 that
/// do not rise. One without steps is.
CUFACE_HD inline bool is_sound(const ConfidenceTable& table) {
  if (table.steps < 0 || table.steps > kMostConfidenceSteps || table.first < -512 ||
      table.first > 512)
    return false;
  for (int i = 0; i < table.steps; ++i)
    if (!(table.at[i] >= 0 && table.at[i] <= (i > 0 ? table.at[i - 1] : 1))) return false;
  return true;
}

/// Below this a point is weak: drawn dim.
inline constexpr float kWeakConfidence = 0.5f;

}  // namespace cuface
