// cascade on CUDA: the windows of all levels that pass all stages, the same that CascadeSearch
// finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cascade/cascade.h"
#include "kernels/common/cuda.h"
#include "kernels/common/geometry.h"
#include "kernels/common/launch_cuda.h"
#include "kernels/common/scratch_cuda.h"
#include "kernels/common/status.h"
#include "kernels/detect/levels.h"
#include "kernels/pyramid/atlas.h"

namespace cuface::cuda {

/// A cascade bound to a layout, in device memory; pointers are valid on the device.
struct CascadeView {
  struct Tree {
    std::int32_t first_node, first_leaf;
  };
  struct Stage {
    std::int32_t first_tree, tree_count;
    double threshold;
    bool any_order;  ///< its leaves add up to the same double in any order
  };
  const Stage* stages;
  const Tree* trees;
  const BoundCascade::Node* nodes;
  const float* leaves;
};

/// Where the windows of one level lie. Windows are numbered over all levels, by level, y, x.
struct WindowLevel {
  std::uint32_t first_window;
  std::int32_t per_row, step;
  float scale;
  std::ptrdiff_t origin;  ///< words from the first sum to the level's first sum
};

struct WindowTable {
  const WindowLevel* levels;
  std::int32_t count;
  std::int32_t stride;         ///< words between rows
  std::ptrdiff_t squared;      ///< words from a sum to its square
  std::int32_t width, height;  ///< the cascade's window
};

/// How many windows came how far.
struct SearchCounts {
  std::uint32_t listed[3];  ///< passed the first stage and were not skipped; the next two groups
  std::uint32_t raw;        ///< passed all; more than kMaxRawWindows are counted, not stored
};

class CascadeSearch {
 public:
  /// `layout` is that of the sums, levels[i] lies at slots[i] of them; `squared` as in WindowTable.
  /// Room for `limit` raw windows. Allocates its tables. kUnsupported where there are 2^31 windows
  /// or more.
  static Result<CascadeSearch> create(const CascadeModel& model, const std::vector<Level>& levels,
                                      const std::vector<AtlasSlot>& slots, const SumLayout& layout,
                                      std::ptrdiff_t squared, std::uint32_t limit,
                                      ScratchLayout& scratch);
  void bind(std::byte* scratch);

  /// Leaves the boxes of the windows that pass in raw_windows(), in any order, and their number in
  /// counts(); with *run 0 the number is 0. The sums are those of the planned layout.
  Status enqueue(const std::uint32_t* sums, const std::int32_t* run, Launcher launch);

  const Rect* raw_windows() const { return raw_.data(); }        ///< in device memory
  const SearchCounts* counts() const { return counts_.data(); }  ///< in device memory

 private:
  CascadeView cascade() const;
  WindowTable windows() const;

  DeviceBuffer<CascadeView::Stage> stages_;
  DeviceBuffer<CascadeView::Tree> trees_;
  DeviceBuffer<BoundCascade::Node> nodes_;
  DeviceBuffer<float> leaves_;
  DeviceBuffer<WindowLevel> levels_;
  ScratchPart<std::uint8_t> results_;   ///< of the first stage, per window
  ScratchPart<std::uint32_t> list_[2];  ///< numbers of windows
  ScratchPart<Rect> raw_;
  ScratchPart<SearchCounts> counts_;
  WindowTable table_ = {};  ///< but for the pointer
  std::uint32_t window_count_ = 0;
  int blocks_ = 0;  ///< for lists whose length only the device knows
};

}  // namespace cuface::cuda
