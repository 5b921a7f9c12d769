// Bilinear resizing in fixed point: weights with 8 fraction bits in each direction, rounded once at
// the end. The sample positions are double arithmetic with a fixed order of operations, so every
// machine computes the same weights.
#include <algorithm>
#include <cmath>

#include "kernels/pyramid/pyramid.h"

namespace cuface {
namespace {

constexpr int kOne = 256;  // the weight 1

// For every destination index the source pair it lies between. Beyond the centres of the outermost
// source pixels the outermost pixel is repeated.
std::vector<LinearResize::Tap> make_taps(int source, int destination) {
  const double inverse = static_cast<double>(destination) / source;
  const double scale = 1.0 / inverse;
  std::vector<LinearResize::Tap> taps(static_cast<std::size_t>(destination));
  for (int i = 0; i < destination; ++i) {
    const double position = scale * (i + 0.5) - 0.5;
    const int floor = static_cast<int>(std::floor(position));
    LinearResize::Tap& tap = taps[static_cast<std::size_t>(i)];
    if (floor < 0) {
      tap = {0, 0, kOne, 0};
    } else if (floor >= source - 1) {
      tap = {source - 1, source - 1, kOne, 0};
    } else {
      const int weight = static_cast<int>(std::lrint((position - floor) * kOne));
      tap = {floor, floor + 1, static_cast<std::uint16_t>(kOne - weight),
             static_cast<std::uint16_t>(weight)};
    }
  }
  return taps;
}

void resize_row(const std::uint8_t* source, const std::vector<LinearResize::Tap>& taps,
                std::uint16_t* out) {
  for (const LinearResize::Tap& tap : taps) {
    *out++ = LinearResize::along_row(source, tap);
  }
}

void blend_rows(const std::uint16_t* a, const std::uint16_t* b, std::uint32_t weight_a,
                std::uint32_t weight_b, int width, std::uint8_t* out) {
  for (int x = 0; x < width; ++x) out[x] = LinearResize::blend(a[x], b[x], weight_a, weight_b);
}

}  // namespace

LinearResize::LinearResize(int src_width, int src_height, int dst_width, int dst_height)
    : columns_(make_taps(src_width, dst_width)), rows_(make_taps(src_height, dst_height)) {}

void LinearResize::run(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst,
                       std::uint16_t* two_rows) const {
  std::uint16_t* row[2] = {two_rows, two_rows + dst.width};
  int held[2] = {-1, -1};  // the source row that each buffer holds
  for (int y = 0; y < dst.height; ++y) {
    const Tap& tap = rows_[static_cast<std::size_t>(y)];
    if (held[1] == tap.first) {
      std::swap(row[0], row[1]);
      std::swap(held[0], held[1]);
    }
    if (held[0] != tap.first) {
      resize_row(src.row(tap.first), columns_, row[0]);
      held[0] = tap.first;
    }
    const bool pair = tap.second != tap.first;
    if (pair && held[1] != tap.second) {
      resize_row(src.row(tap.second), columns_, row[1]);
      held[1] = tap.second;
    }
    blend_rows(row[0], pair ? row[1] : row[0], tap.weight_first, tap.weight_second, dst.width,
               dst.row(y));
  }
}

void resize_linear_exact(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst) {
  const LinearResize plan(src.width, src.height, dst.width, dst.height);
  std::vector<std::uint16_t> two_rows(2 * static_cast<std::size_t>(dst.width));
  plan.run(src, dst, two_rows.data());
}

}  // namespace cuface
