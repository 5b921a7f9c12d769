// flow on the device, bit-equal to cuface::flow.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/geometry.h"
#include "kernels/common/status.h"
#include "kernels/flow/flow.h"
#include "kernels/pyramid/cuda/octaves.h"

namespace cuface::cuda {

/// Points to follow and where the answers go; all in device memory, none overlapping.
struct FlowPoints {
  const Point* from = nullptr;
  const std::int32_t* count = nullptr;  ///< points, 0..max_count; read when the kernel runs
  int max_count = 0;                    ///< >= 1
  Point* to = nullptr;
  /// Null: forward only. Else to[i] flowed back, or to[i] itself where it was not followed.
  Point* back = nullptr;
  std::uint8_t* status = nullptr;  ///< 1 where followed (and back again, with `back`), else 0
};

/// As cuface::flow: from `prev` to `next`, which have the same sizes and hold at least the levels
/// that `config`, which is valid, uses of them. One launch.
Status enqueue_flow(const GaussianPyramid& prev, const GaussianPyramid& next,
                    const FlowPoints& points, const FlowConfig& config, Launcher launch);

/// Levels enqueue_flow() uses of such pyramids.
int flow_levels(const GaussianPyramid& pyramid, const FlowConfig& config);

}  // namespace cuface::cuda
