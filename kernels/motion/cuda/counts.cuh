// The mask's cells as its blocks count them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/bits.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/motion/cuda/memory.h"

namespace cuface::cuda::motion {

/// A block's part of the mask: a warp a row.
inline constexpr int kMaskWords = kWarp, kMaskRows = 4, kMaskThreads = kMaskWords * kMaskRows;

/// The cells that a block's part of the mask has pixels of. A cell has at least a pixel each way.
struct CellPart {
  int left, above, columns, rows;

  __device__ CellPart(const MotionPlan& plan, int first_word, int top) {
    const int right = min((first_word + kMaskWords) * kWordBits, plan.width) - 1;
    const int bottom = min(top + kMaskRows, plan.height) - 1;
    left = cell_of(first_word * kWordBits, plan.config.columns, plan.width);
    above = cell_of(top, plan.config.rows, plan.height);
    columns = cell_of(right, plan.config.columns, plan.width) - left + 1;
    rows = cell_of(bottom, plan.config.rows, plan.height) - above + 1;
  }
  static constexpr int kMost = kMostMotionCells * kMaskRows;
  __device__ int cells() const { return columns * rows; }
};

/// The set pixels of a part's cells.
struct CellCounts {
  std::uint32_t of[CellPart::kMost];

  __device__ void clear(const CellPart& part, int thread) {
    for (int i = thread; i < part.cells(); i += kMaskThreads) of[i] = 0;
  }
  /// Those of a word.
  __device__ void add(const MotionPlan& plan, const CellPart& part, int i, int y,
                      std::uint64_t word) {
    if (word == 0) return;
    const int columns = plan.config.columns, begin = i * kWordBits;
    std::uint32_t* row =
        of + (cell_of(y, plan.config.rows, plan.height) - part.above) * part.columns;
    // Mostly all are of one cell.
    for (int c = cell_of(begin, columns, plan.width); word != 0; ++c) {
      const std::uint64_t own =
          word & bits_between(i, begin, first_pixel(c + 1, columns, plan.width));
      if (own != 0)
        atomicAdd(row + c - part.left,
                  static_cast<std::uint32_t>(__popcll(static_cast<unsigned long long>(own))));
      word &= ~own;
    }
  }
  /// Adds them to those of the frame.
  __device__ void give(const MotionPlan& plan, const CellPart& part, int thread,
                       std::uint32_t* frame) const {
    for (int i = thread; i < part.cells(); i += kMaskThreads) {
      const int row = part.above + i / part.columns, column = part.left + i % part.columns;
      if (of[i] != 0) atomicAdd(frame + row * plan.config.columns + column, of[i]);
    }
  }
};

/// Clears the counts of a result's cells: thread `first` of `all` its share.
__device__ inline void clear_cells(MotionResult* out, unsigned first, unsigned all) {
  constexpr std::size_t kBytes = sizeof(MotionResult) - sizeof(MotionSummary);
  static_assert(kBytes ==
                sizeof out->cell_changed + sizeof out->cell_pixels + sizeof out->cell_stirred);
  auto* words =
      reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(out) + sizeof(MotionSummary));
  for (unsigned i = first; i < kBytes / sizeof *words; i += all) words[i] = 0;
}

}  // namespace cuface::cuda::motion
