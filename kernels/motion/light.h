// The method background: a change of the whole picture. Samples of a frame tell whether most of it
// is other than the background. If so, a table from the background's grey levels to those of the
// frame is made of them: other light. Where the table explains the frame no better, it is another
// scene.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"

namespace cuface::motion {

inline constexpr int kLightBins = 32;       ///< of 8 grey levels
inline constexpr int kBinShift = 3;         ///< log2 of those
inline constexpr int kSampleApart = 12;     ///< grey levels; a sample is other that is further off
inline constexpr int kFewestSamples = 8;    ///< that say something of a bin
inline constexpr int kMostSamples = 20000;  ///< of a picture
inline constexpr int kLightPasses = 3;      ///< each beside the mean of the one before

/// Samples lie so many pixels of the half picture apart, both ways, the first half as far from the
/// border.
CUFACE_HD inline int sample_step(int width, int height) {
  int step = 4;
  while (std::int64_t{width / step} * (height / step) > kMostSamples) ++step;
  return step;
}

/// Sums over samples, in any order.
struct LightSums {
  std::int32_t sum[kLightBins] = {}, count[kLightBins] = {};  ///< of frame less background
};

/// Whether a sample counts in a pass: the first has all, the others what is near the mean before.
CUFACE_HD inline bool is_of_pass(int pass, const LightSums& before, int background, int off) {
  if (pass == 0) return true;
  const int bin = background >> kBinShift, count = before.count[bin];
  const int apart = off * count - before.sum[bin];
  return (apart < 0 ? -apart : apart) <= (pass == 1 ? 2 : 1) * kSampleApart * count;
}

/// What to add to a background of each grey level, in 256ths of one.
struct LightTable {
  std::int32_t add[256] = {};
};

/// The same for a bin. One without samples is as the nearest that has some, the darker one of two.
CUFACE_HD inline std::int32_t light_of_bin(const LightSums& sums, int bin) {
  for (int i = 0; i < 2 * kLightBins; ++i) {
    const int near = i % 2 == 0 ? bin + i / 2 : bin - (i + 1) / 2;
    if (near < 0 || near >= kLightBins || sums.count[near] < kFewestSamples) continue;
    return sums.sum[near] * 256 / sums.count[near];
  }
  return 0;
}

/// And for a grey level: linear between the bins' middles.
CUFACE_HD inline std::int32_t light_of_grey(const std::int32_t* bins, int grey) {
  constexpr int kWide = 1 << kBinShift;
  const int from_first = grey - kWide / 2;
  const int bin = from_first < 0 ? 0 : from_first >> kBinShift;
  const int next = bin + 1 < kLightBins ? bin + 1 : bin;
  const int part = from_first < 0 ? 0 : from_first - bin * kWide;
  return bins[bin] + (bins[next] - bins[bin]) * part / kWide;
}

inline LightTable light_table(const LightSums& sums) {
  std::int32_t bins[kLightBins];
  for (int b = 0; b < kLightBins; ++b) bins[b] = light_of_bin(sums, b);
  LightTable table;
  for (int grey = 0; grey < 256; ++grey) table.add[grey] = light_of_grey(bins, grey);
  return table;
}

CUFACE_HD inline bool most_of(int count, int all) { return 2 * count > all; }

/// Whether the background in other light is near what is seen.
CUFACE_HD inline bool is_near(const LightTable& table, int background, int grey) {
  const int off = grey * 256 - background * 256 - table.add[background];
  return (off < 0 ? -off : off) <= kSampleApart * 256;
}

/// A mode's mean in other light.
CUFACE_HD inline std::uint16_t relit(const LightTable& table, std::uint16_t mean) {
  const int lit = mean + table.add[mean >> 8];
  return static_cast<std::uint16_t>(lit < 0 ? 0 : lit > 255 * 256 ? 255 * 256 : lit);
}

}  // namespace cuface::motion
