// cascade on CUDA, windows scaled over one set of integrals [S0.15, S0.17]: the windows that pass
// all stages, the same that the CPU's window searcher finds. The published way, and plain: searches
// of scaled pictures are faster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cascade/cuda/device_tables.h"
#include "kernels/cascade/cuda/search.h"
#include "kernels/cascade/scaled.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/geometry.h"
#include "kernels/common/status.h"
#include "kernels/integral/integral_cuda.h"

namespace cuface::cuda {

/// The windows of one scale, and the first block that searches some of them.
struct ScaledLevel {
  ScaledWindows windows;
  std::uint32_t first_block;
};

class ScaledSearch {
 public:
  /// Room for `limit` raw windows. Allocates its tables. kUnsupported: too many windows. Tables of
  /// the cascade are those that other searches of it use.
  static Result<ScaledSearch> create(DeviceCascade& cascade,
                                     const std::vector<ScaledWindows>& windows, std::uint32_t limit,
                                     ScratchLayout& scratch);
  void bind(std::byte* scratch);

  /// What is to be 0 when enqueue()'s kernel begins: by a kernel in front of it, whether or not
  /// there is a search.
  Zeros zeros() const;

  /// Leaves the boxes of the windows that pass in raw_windows(), in any order, and their number in
  /// counts(); with *run 0 the number is 0. `integrals` are those of the planned picture, with
  /// tilted sums where the cascade has tilted features. One launch.
  Status enqueue(const IntegralImages& integrals, const std::int32_t* run, Launcher launch) const;

  const Rect* raw_windows() const { return raw_.data(); }        ///< in device memory
  const SearchCounts* counts() const { return counts_.data(); }  ///< in device memory

 private:
  std::shared_ptr<const ScaledTables> tables_;
  DeviceBuffer<ScaledLevel> levels_;
  ScratchPart<Rect> raw_;
  ScratchPart<SearchCounts> counts_;
  std::uint32_t blocks_ = 0;
};

}  // namespace cuface::cuda
