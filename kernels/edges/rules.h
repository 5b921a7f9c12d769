// The computation of one pixel of edges, the same on the CPU and in CUDA: integers throughout.
//
// Gradients are OpenCV's: x to the right, y downwards, the picture's border repeated outside. The
// largest one is 12,240 (aperture 5), so sums fit 32 bits and each gradient 16.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/common/host_device.h"

namespace cuface {

enum class GradientOperator : std::int32_t { kSobel, kScharr, kPrewitt };
enum class GradientNorm : std::int32_t { kL1, kL2 };
/// kGradient: cv::Canny's; kSectors: the published one, of uneven sectors [S1.06].
enum class Thinning : std::int32_t { kGradient, kSectors };
/// kHysteresis: ridge pixels that hang together with an edge [S1.08]; kApron: all pixels near an
/// edge [S1.07]; kNone: the edges themselves.
enum class Linking : std::int32_t { kHysteresis, kApron, kNone };

/// The blur. kOpenCv: the picture is reflected outside, and sums are rounded; kFull: the published
/// one, of zeros outside, with the edges that come of them, and sums are cut [S1.01].
enum class Convolution : std::int32_t { kOpenCv, kFull };

/// The settings that all pixels of a picture share.
struct EdgeRules {
  std::int32_t low = 0, high = 0;  ///< a magnitude above is one (magnitude_of())
  GradientNorm norm = GradientNorm::kL1;
  Thinning thinning = Thinning::kGradient;
  Linking linking = Linking::kHysteresis;
  std::int32_t apron = 0;
  std::int32_t taps = 3;  ///< of the two filters below
  /// A gradient is the sum of slope along its axis times smooth along the other one.
  std::int32_t smooth[7] = {}, slope[7] = {};
  std::int32_t sixteenths = 0;  ///< gradients are divided by 16, half to even
  std::int32_t gain = 1;        ///< the gradient of a step of one grey level along an axis: to 256
};

/// A pixel's place in the search for edges.
enum EdgeClass : std::uint8_t { kNoRidge = 0, kRidge = 1, kEdge = 2 };

/// sum / 16, half to even.
CUFACE_HD inline std::int32_t divide_by_sixteen(std::int32_t sum) {
  const std::int32_t floor = sum >> 4, rest = sum & 15;
  return floor + (rest > 8 || (rest == 8 && (floor & 1)) ? 1 : 0);
}

/// L1: |dx| + |dy|; L2: dx^2 + dy^2.
CUFACE_HD inline std::int32_t magnitude_of(std::int32_t dx, std::int32_t dy, GradientNorm norm) {
  if (norm == GradientNorm::kL2) return dx * dx + dy * dy;
  return (dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy);
}

/// The neighbours between which a ridge pixel is the highest: (x, y) and (-x, -y) away.
struct Across {
  std::int32_t x, y;
};

/// As in OpenCV: compares the slope with tan 22.5 and 67.5 degrees, in 1/32768.
CUFACE_HD inline Across across_of(std::int32_t dx, std::int32_t dy) {
  constexpr std::int32_t kTan22 = 13573, kBits = 15;
  const std::int32_t x = dx < 0 ? -dx : dx, y = (dy < 0 ? -dy : dy) << kBits;
  const std::int32_t tan22 = x * kTan22, tan67 = tan22 + (x << (kBits + 1));
  const bool flat = y<tan22, steep = y> tan67;
  return {steep ? 0 : flat || (dx ^ dy) >= 0 ? 1 : -1, flat ? 0 : 1};
}

/// Of the published sectors, with borders at 30 and 60 degrees: tan^2 is 1/3 and 3, so no gradient
/// but (0, 0) lies on one.
CUFACE_HD inline Across across_of_sectors(std::int32_t dx, std::int32_t dy) {
  const std::int32_t x2 = dx * dx, y2 = dy * dy;  // up to 1.5e8
  if (3 * y2 < x2) return {1, 0};
  if (y2 > 3 * x2) return {0, 1};
  return {(dx ^ dy) < 0 ? -1 : 1, 1};
}

/// Whether a pixel above rules.low is a ridge. `magnitude_at(x, y)` is that of the neighbour so far
/// away, 0 outside of the picture.
///
/// OpenCV lets a pixel win over an equal one to the right or below, but not along a diagonal; the
/// published rule never.
template <typename MagnitudeAt>
CUFACE_HD inline bool is_ridge(std::int32_t magnitude, std::int32_t dx, std::int32_t dy,
                               Thinning thinning, MagnitudeAt magnitude_at) {
  const bool sectors = thinning == Thinning::kSectors;
  const Across a = sectors ? across_of_sectors(dx, dy) : across_of(dx, dy);
  // Places that the compiler knows: neighbours in registers are chosen among, not looked up.
  const std::int32_t before = a.y == 0   ? magnitude_at(-1, 0)
                              : a.x == 0 ? magnitude_at(0, -1)
                              : a.x > 0  ? magnitude_at(-1, -1)
                                         : magnitude_at(1, -1);
  const std::int32_t after = a.y == 0   ? magnitude_at(1, 0)
                             : a.x == 0 ? magnitude_at(0, 1)
                             : a.x > 0  ? magnitude_at(1, 1)
                                        : magnitude_at(-1, 1);
  const bool equal_wins = !sectors && (a.x == 0 || a.y == 0);
  return magnitude > before && (equal_wins ? magnitude >= after : magnitude > after);
}

/// The root of n, cut. Doubles hold n and round its root rightly, so none of them reaches the next
/// integer.
CUFACE_HD inline std::int32_t integer_root(std::int32_t n) {
  return static_cast<std::int32_t>(::sqrt(static_cast<double>(n)));
}

/// A gradient's length as the contrast in grey levels of a straight step that has it, at most 255:
/// length / gain, cut. Half a unit is more than these floats are off, so that vectors may divide.
CUFACE_HD inline std::uint8_t contrast_of(std::int32_t length, std::int32_t gain) {
  const std::int32_t most = 255 * gain, least = length < most ? length : most;
  const float levels = (static_cast<float>(least) + 0.5f) * (1.0f / static_cast<float>(gain));
  return static_cast<std::uint8_t>(static_cast<std::int32_t>(levels));
}

/// The contrast of a magnitude, which of the norm L2 is a square.
CUFACE_HD inline std::uint8_t contrast(std::int32_t magnitude, const EdgeRules& rules) {
  return contrast_of(rules.norm == GradientNorm::kL2 ? integer_root(magnitude) : magnitude,
                     rules.gain);
}

/// Between the steps of an octave: tan((k + 0.5) * pi / 128) in 2^-30.
inline constexpr int kOctaveSteps = 32;
struct OctaveTable {
  std::int32_t tangents[kOctaveSteps];
};

/// The gradient's direction from the x axis towards the y axis, that is clockwise as one sees it,
/// in steps of 1/256 of a turn, rounded; 0 for (0, 0).
CUFACE_HD inline std::uint8_t angle_step(std::int32_t dx, std::int32_t dy,
                                         const OctaveTable& table) {
  const std::int64_t x = dx < 0 ? -dx : dx, y = dy < 0 ? -dy : dy;
  const bool steep = y > x;
  const std::int64_t run = steep ? y : x, rise = (steep ? x : y) << 30;
  int step = 0;  // how many tangents are passed: they ascend
  for (int half = kOctaveSteps / 2; half > 0; half /= 2)
    step += rise > run * table.tangents[step + half - 1] ? half : 0;
  step += rise > run * table.tangents[step] ? 1 : 0;
  if (steep) step = 64 - step;
  if (dx < 0) step = 128 - step;
  if (dy < 0) step = 256 - step;
  return static_cast<std::uint8_t>(step);
}

}  // namespace cuface
