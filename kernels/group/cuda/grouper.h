// group on CUDA: the same groups as group(), of windows whose number only the device knows.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/geometry.h"
#include "kernels/common/status.h"
#include "kernels/group/group.h"

namespace cuface::cuda {

/// How far the blocks of a launch are. All but the mark is 0 between launches: the last block
/// leaves it so.
struct GroupProgress {
  static constexpr int kParts = 6;
  std::uint32_t mark;          ///< of this launch (kFewWindows), never 0
  std::uint32_t ticket;        ///< tasks taken (more windows)
  std::uint32_t done[kParts];  ///< tasks done, of each part
  std::uint32_t means, groups;
};

/// What the kernel of grouping works in, all in device memory.
struct GroupMemory {
  GroupProgress* progress;
  std::uint64_t* said;   ///< few windows: see few_windows.cuh
  std::int32_t* parent;  ///< more: for `limit` windows, as the lists
  Detection *sums, *means;
};

class Grouper {
 public:
  /// So many windows are grouped by one block in its shared memory, of 48 KB, once all others have
  /// compared them.
  static constexpr std::uint32_t kFewWindows = 2016;

  Grouper() = default;
  /// For at most `limit` windows. Allocates half a megabyte of its own.
  static Result<Grouper> create(Grouping rule, int min_neighbors, std::uint32_t limit,
                                ScratchLayout& layout);
  void bind(std::byte* scratch);

  /// Groups windows[0 .. *count), in device memory on a 16-byte boundary; more than `limit` of them
  /// give none. One launch, two where min_neighbors is 0. `take` is a function object for a kernel,
  /// without padding:
  ///   take.begin()                        once, by one thread, before
  ///   take(groups, number, first, step)   by several warps at once, `step` in number, all threads
  ///                                       of each; `first` counts them; the groups are in any
  ///                                       order
  /// Defined in kernels.cuh. One launch at a time.
  template <typename Take>
  Status enqueue(const Rect* windows, const std::uint32_t* count, const Take& take,
                 Launcher launch);

 private:
  GroupMemory memory() {
    return {progress_.data(), said_.data(), parent_.data(), sums_.data(), means_.data()};
  }

  Grouping rule_ = Grouping::kOpenCv;
  int min_neighbors_ = 0;
  std::uint32_t limit_ = 0;
  DeviceBuffer<GroupProgress> progress_;
  DeviceBuffer<std::uint64_t> said_;
  ScratchPart<std::int32_t> parent_;
  ScratchPart<Detection> sums_, means_;
};

}  // namespace cuface::cuda
