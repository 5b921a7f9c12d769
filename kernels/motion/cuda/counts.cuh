// The mask's cells as its blocks count them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/bits.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/motion/cuda/memory.h"

namespace cuface::cuda::motion {

/// n / of, for n from 0 to 2^22 - 1, without a division: a half is more than the floats are off.
struct Divisor {
  float inverse;

  explicit Divisor(int of) : inverse(1.0f / static_cast<float>(of)) {}
  __device__ int operator()(int n) const {
    return static_cast<int>((static_cast<float>(n) + 0.5f) * inverse);
  }
};
static_assert(kMostMotionCells * (kMostMotionSide + 1) < 1 << 22);

/// Which cell a pixel is of, and where one begins.
struct CellPlaces {
  int width, height, columns, rows;
  Divisor by_width, by_height, by_columns;

  explicit CellPlaces(const MotionPlan& plan)
      : width(plan.width),
        height(plan.height),
        columns(plan.config.columns),
        rows(plan.config.rows),
        by_width(width),
        by_height(height),
        by_columns(columns) {}
  /// cell_of().
  __device__ int column_of(int x) const { return by_width(x * columns); }
  __device__ int row_of(int y) const { return by_height(y * rows); }
  /// first_pixel().
  __device__ int first_of(int column) const { return by_columns(column * width + columns - 1); }
};

/// The cells that a part of the mask has pixels of: words `first` to `end` of rows `top` to
/// `bottom`, the last ones without. A cell has at least a pixel each way.
struct CellPart {
  int left, above, columns, rows;

  __device__ CellPart(const CellPlaces& places, int first, int end, int top, int bottom) {
    left = places.column_of(first * kWordBits);
    above = places.row_of(top);
    columns = places.column_of(min(end * kWordBits, places.width) - 1) - left + 1;
    rows = places.row_of(min(bottom, places.height) - 1) - above + 1;
  }
  __device__ int cells() const { return columns * rows; }
};

/// The set pixels of a part's cells, of at most so many rows of them, by a block of so many
/// threads.
template <int kRows, int kThreads>
struct CellCounts {
  std::uint32_t of[kMostMotionCells * kRows];

  __device__ void clear(const CellPart& part, int thread) {
    for (int i = thread; i < part.cells(); i += kThreads) of[i] = 0;
  }
  /// Those of words one below the other, from row y on; behind the picture they are 0.
  template <int kWords>
  __device__ void add(const CellPlaces& places, const CellPart& part, int i, int y,
                      const std::uint64_t (&words)[kWords]) {
    std::uint64_t left = 0;
#pragma unroll
    for (const std::uint64_t word : words) left |= word;
    if (left == 0) return;
    const int begin = i * kWordBits;
    const int last = places.row_of(min(y + kWords, places.height) - 1);
    // Mostly all are of one cell.
    for (int c = places.column_of(begin); left != 0; ++c) {
      const std::uint64_t own = left & bits_between(i, begin, places.first_of(c + 1));
      left &= ~own;
      for (int r = places.row_of(y); own != 0 && r <= last; ++r) {
        int count = 0;
#pragma unroll
        for (int k = 0; k < kWords; ++k)
          if (places.row_of(y + k) == r)
            count += __popcll(static_cast<unsigned long long>(words[k] & own));
        if (count != 0)
          atomicAdd(of + (r - part.above) * part.columns + c - part.left,
                    static_cast<std::uint32_t>(count));
      }
    }
  }
  /// Adds them to those of the frame.
  __device__ void give(const CellPlaces& places, const CellPart& part, int thread,
                       std::uint32_t* frame) const {
    for (int r = 0; r < part.rows; ++r) {
      std::uint32_t* to = frame + (part.above + r) * places.columns + part.left;
      for (int c = thread; c < part.columns; c += kThreads)
        if (const std::uint32_t count = of[r * part.columns + c]) atomicAdd(to + c, count);
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
