// group on CUDA: the same groups as group(), of windows whose number only the device knows.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/common/cuda.h"
#include "kernels/common/geometry.h"
#include "kernels/common/status.h"
#include "kernels/group/group.h"

namespace cuface::cuda {

class Grouper {
 public:
  /// For at most `limit` windows. Allocates.
  static Result<Grouper> create(Grouping rule, int min_neighbors, std::uint32_t limit);

  /// Groups windows[0 .. *count). More than `limit` of them give none. All in device memory; leaves
  /// the groups, in any order, in groups() and their number in group_count().
  Status enqueue(const Rect* windows, const std::uint32_t* count, cudaStream_t stream);

  const Detection* groups() const { return groups_.data(); }
  const std::uint32_t* group_count() const { return counts_.data() + 1; }

 private:
  Grouping rule_ = Grouping::kOpenCv;
  int min_neighbors_ = 0;
  std::uint32_t limit_ = 0;
  DeviceBuffer<std::int32_t> parent_;
  DeviceBuffer<Detection> sums_, means_, groups_;
  DeviceBuffer<std::uint32_t> counts_;  ///< means, groups
};

}  // namespace cuface::cuda
