// A second demonstration of gst/base: an element that publishes what the flow pyramid of each frame
// holds, and how much of it the elements before have made.
#pragma once

#include "kernels/common/host_device.h"
#include "kernels/common/status.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface {
struct Octaves {
  std::int32_t levels = 0;
  std::int32_t made = 0;  ///< before: tiles on the CPU, levels on a GPU
  std::uint64_t sum[GaussianPyramid::kMaxLevels] = {};  ///< of weigh(), of each level
  friend bool operator==(const Octaves&, const Octaves&) = default;
};

/// A pixel's part of a sum that is another one where two pixels change places.
CUFACE_HD inline std::uint64_t weigh(std::uint8_t pixel, int x, int y) {
  return pixel * (1 + static_cast<std::uint64_t>(x) + (static_cast<std::uint64_t>(y) << 16));
}

namespace cuda {
class GaussianPyramid;
class Launcher;
Status sum_octaves(const GaussianPyramid& pyramid, int made, Octaves* out, const Launcher& launch);
}  // namespace cuda
}  // namespace cuface
