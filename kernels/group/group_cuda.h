// group on CUDA: the same groups as group(), of windows whose number only the device knows.
#pragma once

#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/launch_cuda.h"
#include "kernels/common/scratch_cuda.h"
#include "kernels/common/status.h"
#include "kernels/group/group.h"

namespace cuface::cuda {

class Grouper {
 public:
  Grouper() = default;
  /// For at most `limit` windows.
  Grouper(Grouping rule, int min_neighbors, std::uint32_t limit, ScratchLayout& layout);
  void bind(std::byte* scratch);

  /// Groups windows[0 .. *count). More than `limit` of them give none. All in device memory; leaves
  /// the groups, in any order, in groups() and their number in group_count().
  Status enqueue(const Rect* windows, const std::uint32_t* count, Launcher launch);

  const Detection* groups() const { return groups_.data(); }
  const std::uint32_t* group_count() const { return counts_.data() + 1; }

 private:
  Grouping rule_ = Grouping::kOpenCv;
  int min_neighbors_ = 0;
  std::uint32_t limit_ = 0;
  ScratchPart<std::int32_t> parent_;
  ScratchPart<Detection> sums_, means_, groups_;
  ScratchPart<std::uint32_t> counts_;  ///< means, groups
};

}  // namespace cuface::cuda
