// The samples' sums in device memory, made there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"

namespace cuface::cuda::boost {

/// Windows of one size, one behind the other, as TrainingSamples has them.
struct DeviceWindows {
  const std::uint8_t* pixels;
  int count, width, height;
};

/// Writes what SampleValues has of them: a row of `stride` for each corner of upright features, and
/// the inverse norms. What lies behind the last sample of a row is not written.
Status make_sums(const DeviceWindows& windows, std::size_t stride, std::uint32_t* sums,
                 float* norms, Launcher launch);

}  // namespace cuface::cuda::boost
