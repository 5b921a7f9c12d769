#include "kernels/motion/counted.h"

#include <algorithm>
#include <utility>

namespace cuface::motion {
namespace {

/// std::popcount calls a library where the compiler may not count on the instruction.
std::uint32_t set_bits(std::uint64_t word) {
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return static_cast<std::uint32_t>(word * 0x0101010101010101 >> 56);
}

}  // namespace

CountedPixels::CountedPixels(const MotionPlan& plan)
    : plan_(plan), kept_(plan.width, plan.height), twins_(static_cast<std::size_t>(plan.height)) {
  for (int c = 0; c < plan.config.columns; ++c) {
    const int first = first_pixel(c, plan.config.columns, plan.width);
    const int end = first_pixel(c + 1, plan.config.columns, plan.width);
    for (int word = first / kWordBits; word * kWordBits < end; ++word)
      pieces_.push_back({c, word, bits_between(word, first, end)});
  }
  ignore({});
}

void CountedPixels::ignore(Bytes pixels) {
  const int border = plan_.config.border, width = plan_.width, height = plan_.height;
  for (int y = 0; y < height; ++y) {
    std::uint64_t* row = kept_.view().row(y);
    for (int i = 0; i < words_of(width); ++i) row[i] = bits_between(i, 0, width);
    for (int x = 0; pixels.data && x < width; ++x)
      if (pixels.at(x, y) != 0) row[x / kWordBits] &= ~(std::uint64_t{1} << x % kWordBits);
  }
  std::fill(std::begin(cell_pixels_), std::end(cell_pixels_), 0);
  for (int y = 0; y < height; ++y) count_row(y, kept_.view().row(y), cell_pixels_);
  for (int y = 0; y < height; ++y) {
    const bool inside = y >= border && y < height - border;
    for (int i = 0; i < words_of(width); ++i)
      kept_.view().row(y)[i] &= inside ? bits_between(i, border, width - border) : 0;
  }
  const auto cells_of = [&](int y) { return cell_of(y, plan_.config.rows, height); };
  for (int y = 0; y + 1 < height; ++y)
    twins_[static_cast<std::size_t>(y)] =
        cells_of(y) == cells_of(y + 1) &&
        std::equal(kept_.view().row(y), kept_.view().row(y) + words_of(width),
                   kept_.view().row(y + 1));
}

void CountedPixels::count_row(int y, const std::uint64_t* bits, std::uint32_t* cells,
                              int times) const {
  if (is_empty(bits, words_of(plan_.width))) return;
  std::uint32_t* row = cells + cell_of(y, plan_.config.rows, plan_.height) * plan_.config.columns;
  for (const Piece& piece : pieces_)
    if (const std::uint64_t word = bits[piece.word] & piece.bits; word != 0)
      row[piece.column] += set_bits(word) * static_cast<std::uint32_t>(times);
}

}  // namespace cuface::motion
