#include "kernels/pyramid/pyramid.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/border.h"
#include "kernels/common/simd.h"
#include "kernels/pyramid/octave.h"

namespace cuface {
namespace {

/// [1 4 6 4 1] down the columns. 255 * 16 fits 12 bits.
void column_sums(const std::uint8_t* const rows[5], int first, int count, std::uint16_t* sums) {
  const std::uint8_t *r0 = rows[0] + first, *r1 = rows[1] + first, *r2 = rows[2] + first,
                     *r3 = rows[3] + first, *r4 = rows[4] + first;
  for (int x = 0; x < count; ++x) {
    sums[x] = static_cast<std::uint16_t>(r0[x] + r4[x] + 4 * (r1[x] + r3[x]) + 6 * r2[x]);
  }
}

/// [1 4 6 4 1] along the row at every second column, rounded: 255 * 256 + 128 still fits 16 bits.
/// sums[0] is the column two to the left of the first centre.
void row_sums(const std::uint16_t* sums, int count, std::uint8_t* out) {
  for (int x = 0; x < count; ++x) {
    const std::uint16_t* s = sums + 2 * x;
    const auto sum = static_cast<std::uint16_t>(s[0] + s[4] + 4 * (s[1] + s[3]) + 6 * s[2] + 128);
    out[x] = static_cast<std::uint8_t>(sum >> 8);
  }
}

}  // namespace

void octave::make(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst, Rect part) {
  if (simd::vectors()) return make_vector(src, dst, part);
  std::uint16_t sums[2 * octave::kChunk + 4];
  const int right = part.x + part.w;
  for (int y = part.y; y < part.y + part.h; ++y) {
    const std::uint8_t* rows[5];
    for (int k = 0; k < 5; ++k) rows[k] = src.row(reflect_101(2 * y + k - 2, src.height));
    for (int begin = part.x; begin < right; begin += octave::kChunk) {
      const int count = std::min(octave::kChunk, right - begin);
      const int first = 2 * begin - 2;  // source column of sums[0]
      const int last = 2 * (begin + count - 1) + 2;
      const int inside_first = std::max(first, 0);
      const int inside_last = std::min(last, src.width - 1);
      column_sums(rows, inside_first, inside_last - inside_first + 1, sums + inside_first - first);
      for (int x = first; x < 0; ++x) {
        column_sums(rows, reflect_101(x, src.width), 1, sums + x - first);
      }
      for (int x = src.width; x <= last; ++x) {
        column_sums(rows, reflect_101(x, src.width), 1, sums + x - first);
      }
      row_sums(sums, count, dst.row(y) + begin);
    }
  }
}

void gaussian_down(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst) {
  octave::make(src, dst, {0, 0, dst.width, dst.height});
}

PyramidLevel::PyramidLevel(int width, int height, PyramidLevel* below)
    : width(width), height(height), below_(below) {}

void PyramidLevel::allocate() {
  own_ = Image<std::uint8_t>(width, height);
  picture_ = own_.view();
  // Vector code reads pixels beside a window that nobody made, and ignores them.
  for (int y = 0; y < height; ++y) std::fill_n(own_.view().row(y), width, std::uint8_t{});
  tiles_across_ = (width + kTileWidth - 1) / kTileWidth;
  made_.resize(static_cast<std::size_t>(tiles_across_) *
               static_cast<std::size_t>((height + kTileHeight - 1) / kTileHeight));
}

void PyramidLevel::forget() {
  ready_ = {};
  std::fill(made_.begin(), made_.end(), false);
}

void PyramidLevel::refer(ImageView<const std::uint8_t> picture) {
  ready_ = {0, 0, width, height};
  picture_ = picture;
}

void PyramidLevel::copy(ImageView<const std::uint8_t> picture) {
  if (own_.width() == 0) own_ = Image<std::uint8_t>(width, height);
  refer(own_.view());
  for (int y = 0; y < height; ++y) {
    std::memcpy(own_.view().row(y), picture.row(y), static_cast<std::size_t>(width));
  }
}

void PyramidLevel::make(const Rect& part) {
  if (own_.width() == 0) allocate();
  const int left = part.x / kTileWidth, right = (part.x + part.w - 1) / kTileWidth,
            top = part.y / kTileHeight, bottom = (part.y + part.h - 1) / kTileHeight;
  for (int row = top; row <= bottom; ++row) {
    const auto tiles = made_.begin() + row * tiles_across_;
    for (int tile = left; tile <= right; ++tile) {
      const int first = tile;
      for (; tile <= right && !tiles[tile]; ++tile) tiles[tile] = true;
      if (tile == first) continue;
      const int x = first * kTileWidth, y = row * kTileHeight;
      const Rect run{x, y, std::min(tile * kTileWidth, width) - x,
                     std::min(kTileHeight, height - y)};
      const ImageView<const std::uint8_t> src =
          below_->part({2 * x - 2, 2 * y - 2, 2 * run.w + 3, 2 * run.h + 3});
      octave::make(src, own_.view(), run);
    }
  }
  const int x = left * kTileWidth, y = top * kTileHeight;
  ready_ = {x, y, std::min((right + 1) * kTileWidth, width) - x,
            std::min((bottom + 1) * kTileHeight, height) - y};
}

GaussianPyramid::GaussianPyramid(int width, int height, int levels, int min_side) {
  levels_.reserve(static_cast<std::size_t>(levels));  // levels point to each other
  levels_.emplace_back(width, height, nullptr);
  for (int i = 1; i < levels; ++i) {
    width = (width + 1) / 2;
    height = (height + 1) / 2;
    if (width <= min_side || height <= min_side) break;
    levels_.emplace_back(width, height, &levels_.back());
  }
}

void GaussianPyramid::build(ImageView<const std::uint8_t> picture) {
  level(0).copy(picture);
  forget();
}

void GaussianPyramid::refer(ImageView<const std::uint8_t> picture) {
  level(0).refer(picture);
  forget();
}

void GaussianPyramid::forget() {
  for (int i = 1; i < levels(); ++i) level(i).forget();
}

int GaussianPyramid::tiles_made() const {
  std::ptrdiff_t made = 0;
  for (const PyramidLevel& level : levels_)
    made += std::count(level.made_.begin(), level.made_.end(), true);
  return static_cast<int>(made);
}

}  // namespace cuface
