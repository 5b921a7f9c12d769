// How a thread makes four neighbouring pixels of a level, by the arithmetic of LinearResize.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/pyramid/atlas.h"
#include "kernels/pyramid/cuda/resize.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface::cuda {

inline constexpr int kQuad = 4;  ///< columns of a thread

__device__ inline LinearResize::Tap unpacked(ResizeTap tap) {
  const auto second = static_cast<std::uint16_t>(tap.weights >> 16);
  return {tap.first, tap.first + (second > 0), static_cast<std::uint16_t>(tap.weights), second};
}

/// Four neighbouring columns. The pixels of the first two lie in two neighbouring words of a row,
/// those of the others in two from another word on.
struct Quad {
  static constexpr int kPairs = kQuad / 2;
  int word[kPairs], next[kPairs];  ///< those words; no pixel in the second: it may be the first
  std::uint32_t bytes[kQuad];      ///< which of two words' bytes: a selector of __byte_perm()
  std::uint32_t weights[kQuad];

  /// False where the pixels do not lie so.
  __device__ bool make(const ResizeTap (&columns)[kQuad], int src_width) {
    const int last = src_width / 4 - 1;  // whole words only
    const ResizeTap& end = columns[kQuad - 1];
    bool lie_so = (end.first + (end.weights >> 16 > 0)) / 4 <= last;
#pragma unroll
    for (int k = 0; k < kQuad; ++k) {
      if (k % 2 == 0) {
        word[k / 2] = columns[k].first / 4;
        next[k / 2] = min(word[k / 2] + 1, last);
      }
      const int offset = columns[k].first - 4 * word[k / 2];
      lie_so = lie_so && offset < 7;
      bytes[k] = static_cast<std::uint32_t>(offset + (offset + 1) * 16);
      weights[k] = columns[k].weights;
    }
    return lie_so;
  }

  /// What LinearResize::along_row() is for each.
  __device__ void along_row(const std::uint8_t* row, std::uint32_t (&values)[kQuad]) const {
    const auto* words = reinterpret_cast<const std::uint32_t*>(row);
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
      const std::uint32_t a = words[word[pair]], b = words[next[pair]];
#pragma unroll
      for (int k = 2 * pair; k < 2 * pair + 2; ++k)
        values[k] = __dp2a_lo(weights[k], __byte_perm(a, b, bytes[k]), 0u);
    }
  }
};

/// `rows` rows, at most kRows, of `columns` columns, at most kQuad, whose taps begin at `column`
/// and `row`: emit(r, word) gets the pixels of each, the first in the lowest byte; behind the last
/// column they are anything. `words` where the source's rows begin at multiples of four bytes. The
/// warps of a block have rows one behind the other, as neighbours often read the same.
template <int kRows, typename Emit>
__device__ inline void resize_quads(ImageView<const std::uint8_t> src, bool words, bool same_size,
                                    const ResizeTap* column, int columns, const ResizeTap* row,
                                    int rows, const Emit& emit) {
  if (words && same_size && columns == kQuad) {
    const std::uint8_t* from = src.row(row->first) + column->first;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= rows) return;
      emit(r, *reinterpret_cast<const std::uint32_t*>(from + r * src.stride));
    }
    return;
  }
  ResizeTap of_column[kQuad];
#pragma unroll
  for (int k = 0; k < kQuad; ++k) of_column[k] = column[min(k, columns - 1)];
  Quad quad;
  if (!words || !quad.make(of_column, src.width)) {
#pragma unroll 1
    for (int r = 0; r < rows; ++r) {
      const LinearResize::Tap y = unpacked(row[r]);
      std::uint32_t word = 0;
#pragma unroll
      for (int k = 0; k < kQuad; ++k) {
        const LinearResize::Tap tap = unpacked(of_column[k]);
        const std::uint32_t made = LinearResize::blend(
            LinearResize::along_row(src.row(y.first), tap),
            LinearResize::along_row(src.row(y.second), tap), y.weight_first, y.weight_second);
        word |= made << (8 * k);
      }
      emit(r, word);
    }
    return;
  }
  ResizeTap next = row[0];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (r >= rows) return;
    const LinearResize::Tap y = unpacked(next);
    next = row[min(r + 1, rows - 1)];
    // Rows that neighbours share are made again: to ask whether they are the same takes longer.
    std::uint32_t above[kQuad], below[kQuad];
    quad.along_row(src.row(y.first), above);
    quad.along_row(src.row(y.second), below);
    std::uint32_t word = 0;
#pragma unroll
    for (int k = 0; k < kQuad; ++k)
      word |=
          std::uint32_t{LinearResize::blend(above[k], below[k], y.weight_first, y.weight_second)}
          << (8 * k);
    emit(r, word);
  }
}

/// Writes the first `columns` of four pixels to `to`, which begins at a multiple of four bytes
/// where they are four.
__device__ inline void store_quad(std::uint8_t* to, std::uint32_t word, int columns) {
  if (columns == kQuad) {
    *reinterpret_cast<std::uint32_t*>(to) = word;
    return;
  }
#pragma unroll
  for (int k = 0; k < kQuad; ++k)
    if (k < columns) to[k] = static_cast<std::uint8_t>(word >> (8 * k));
}

/// Two columns' pixels lie in two words wherever they begin.
inline bool quads_fit(int src_width, const AtlasSlot& slot) {
  return src_width <= 3LL * slot.width;
}

/// Appends them to a table of taps.
inline void add_taps(const std::vector<LinearResize::Tap>& from, std::vector<ResizeTap>& to) {
  for (const LinearResize::Tap& tap : from)
    to.push_back(
        {tap.first, tap.weight_first | static_cast<std::uint32_t>(tap.weight_second) << 16});
}

inline bool rows_are_words(const void* data, std::ptrdiff_t stride) {
  return reinterpret_cast<std::uintptr_t>(data) % 4 == 0 && stride % 4 == 0;
}

}  // namespace cuface::cuda
