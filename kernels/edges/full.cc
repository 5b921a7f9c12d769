#include "kernels/edges/full.h"

#include <algorithm>
#include <cstring>

#include "kernels/convolve/convolve.h"
#include "kernels/edges/plan.h"

namespace cuface::edges {

int full_margin(const EdgeConfig& config) {
  // The last pixel has no gradient, so that what the detector takes for outside does not matter.
  return config.kernel_size / 2 + edge_rules(config).taps / 2 + 1;
}

void blur_full(ImageView<const std::uint8_t> src, const std::vector<int>& weights, int margin,
               ImageView<std::uint8_t> dst) {
  const int size = static_cast<int>(weights.size()), half = size / 2;
  std::vector<std::int32_t> across(static_cast<std::size_t>(dst.width));
  std::vector<std::int32_t> sums(static_cast<std::size_t>(dst.width));
  for (int y = 0; y < dst.height; ++y) {
    std::fill(across.begin(), across.end(), 0);
    std::fill(sums.begin(), sums.end(), 0);
    for (int k = 0; k < size; ++k) {
      const int row = y - margin + k - half;
      if (row < 0 || row >= src.height) continue;
      const std::uint8_t* from = src.row(row);
      std::int32_t* to = across.data() + margin;
      for (int x = 0; x < src.width; ++x) to[x] += from[x] * weights[static_cast<std::size_t>(k)];
    }
    for (int k = 0; k < size; ++k) {
      const std::int32_t* from = across.data() + margin;
      std::int32_t* to = sums.data() + margin + half - k;
      for (int x = 0; x < src.width; ++x) to[x] += from[x] * weights[static_cast<std::size_t>(k)];
    }
    std::uint8_t* out = dst.row(y);
    for (int x = 0; x < dst.width; ++x)
      out[x] = static_cast<std::uint8_t>(sums[static_cast<std::size_t>(x)] >> (2 * kBlurBits));
  }
}

}  // namespace cuface::edges
