// The pixels that count, on the host: those that are not ignored, and how many of each cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/motion/rules.h"
#include "kernels/motion/steps.h"

namespace cuface::motion {

class CountedPixels {
 public:
  explicit CountedPixels(const MotionPlan& plan);
  /// Those that are not 0 count no more, and all others do. An empty view is none of them.
  void ignore(Bytes pixels);

  /// What counts and is none of the border.
  Bits kept() const { return kept_.view(); }
  /// Of each cell, row after row; those of the border count.
  const std::uint32_t* cell_pixels() const { return cell_pixels_; }
  /// Adds the set pixels of a row of bits, `times` times, to its cells.
  void count_row(int y, const std::uint64_t* bits, std::uint32_t* cells, int times = 1) const;
  /// Whether the row below has the same cells, and keeps the same pixels.
  bool has_twin(int y) const { return twins_[static_cast<std::size_t>(y)] != 0; }

 private:
  /// A part of a row of words that belongs to one cell.
  struct Piece {
    int column = 0, word = 0;
    std::uint64_t bits = 0;
  };

  const MotionPlan plan_;
  BitImage kept_;
  std::vector<Piece> pieces_;
  std::vector<std::uint8_t> twins_;
  std::uint32_t cell_pixels_[kMostMotionCells * kMostMotionCells] = {};
};

}  // namespace cuface::motion
