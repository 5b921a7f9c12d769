#include "kernels/activity/activity.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "kernels/common/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activity/activity.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/cover-inl.h"
#include "kernels/common/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The means of blocks side by side, of four rows of pixels; returns how many are done.
int block_means(const std::uint8_t* const* in, int blocks, std::uint8_t* out) {
  const hn::ScalableTag<std::int32_t> d;  // a block
  const hn::Repartition<std::uint8_t, decltype(d)> pixels;
  const hn::Rebind<std::uint8_t, decltype(d)> means;
  const auto pair = hn::Set(d, 0xff00ff);
  return cover(blocks, static_cast<int>(hn::Lanes(d)), [&](int x) HWY_ATTR {
    auto sums = hn::Set(d, kBlock * kBlock / 2);
    for (int y = 0; y < kBlock; ++y) {
      const auto four = hn::BitCast(d, hn::LoadU(pixels, in[y] + kBlock * x));
      sums = hn::Add(sums, hn::Add(hn::And(four, pair), hn::And(hn::ShiftRight<8>(four), pair)));
    }
    sums = hn::Add(hn::And(sums, hn::Set(d, 0xffff)), hn::ShiftRight<16>(sums));
    hn::StoreU(hn::DemoteTo(means, hn::ShiftRight<4>(sums)), means, out + x);
  });
}

}  // namespace cuface::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface {

HWY_EXPORT(block_means);

Activity::Activity(int width, int height, int full_width, int full_height, bool no_parts)
    : grid_(cell_grid(width, height)),
      full_width_(full_width),
      full_height_(full_height),
      blocks_across_(width / kBlock),
      blocks_down_(height / kBlock),
      no_parts_(no_parts) {
  for (int c = 0; c < grid_.columns; ++c)
    cell_of_column_.resize(static_cast<std::size_t>(first_block(c + 1, grid_.columns, width)),
                           static_cast<std::uint8_t>(c));
  column_differs_.resize(static_cast<std::size_t>(blocks_across_));
  now_.resize(static_cast<std::size_t>(blocks_across_) * static_cast<std::size_t>(blocks_down_));
  then_.resize(now_.size());
}

void Activity::reduce(ImageView<const std::uint8_t> picture, int row, std::uint8_t* out) {
  static_assert(kBlock == 4);
  const std::uint8_t* in[kBlock];
  for (int y = 0; y < kBlock; ++y) in[y] = picture.row(row * kBlock + y);
  int x = simd::vectors() ? CUFACE_DISPATCH(block_means)(in, blocks_across_, out) : 0;
  for (; x < blocks_across_; ++x) {
    int sum = 0;
    for (const std::uint8_t* pixels : in)
      sum += std::accumulate(pixels + kBlock * x, pixels + kBlock * (x + 1), 0);
    out[x] = block_mean(sum);
  }
}

void Activity::take(ImageView<const std::uint8_t> picture) {
  for (int y = 0; y < blocks_down_; ++y)
    reduce(picture, y, then_.data() + std::ptrdiff_t{y} * blocks_across_);
  taken_ = true;
}

const ActivityMap& Activity::look(ImageView<const std::uint8_t> picture,
                                  std::span<const Followed> followed, const SearchRegion& what) {
  std::fill_n(changed_, kMostCells, 0);
  if (!taken_) {
    if (!no_parts_) take(picture);
    std::fill_n(changed_, grid_.rows, cell_bits(0, grid_.columns - 1));
  } else {
    for (int row = 0; row < grid_.rows; ++row) {
      int blocks[kMostCells] = {}, differ[kMostCells] = {};
      std::fill(column_differs_.begin(), column_differs_.end(), std::uint8_t{0});
      const int first = first_block(row, grid_.rows, grid_.height);
      const int end = first_block(row + 1, grid_.rows, grid_.height);
      for (int y = first; y < end; ++y) {
        std::uint8_t* now = now_.data() + std::ptrdiff_t{y} * blocks_across_;
        const std::uint8_t* then = then_.data() + std::ptrdiff_t{y} * blocks_across_;
        reduce(picture, y, now);
        std::uint8_t* const column_differs = column_differs_.data();
        // A byte may be part of *this: the loop would read the member again.
        const int across = blocks_across_;
        for (int x = 0; x < across; ++x)
          column_differs[x] =
              static_cast<std::uint8_t>(column_differs[x] + differs(now[x], then[x]));
      }
      for (std::size_t x = 0; x < column_differs_.size(); ++x) {
        blocks[cell_of_column_[x]] += end - first;
        differ[cell_of_column_[x]] += column_differs_[x];
      }
      for (int c = 0; c < grid_.columns; ++c)
        if (has_changed(differ[c], blocks[c])) changed_[row] |= std::uint64_t{1} << c;
      if (what.only_new())
        for (const Followed& face : followed)
          changed_[row] &= ~person_row(face.box, person_beside(no_parts_), full_width_,
                                       full_height_, grid_, row);
      if (changed_[row] == 0 || no_parts_) continue;
      for (int k = first; k < end; ++k) {
        const std::uint8_t* now = now_.data() + std::ptrdiff_t{k} * blocks_across_;
        std::uint8_t* then = then_.data() + std::ptrdiff_t{k} * blocks_across_;
        for (int x = 0; x < blocks_across_; ++x)
          if (changed_[row] >> cell_of_column_[static_cast<std::size_t>(x)] & 1) then[x] = now[x];
      }
    }
  }
  if (no_parts_ && what.only_new()) {
    bool large = false;
    for (int row = 0; row < grid_.rows; ++row) large = large || is_large(changed_, grid_, row);
    if (!large) std::fill_n(changed_, kMostCells, 0);
  }
  followed_.clear();
  if (!what.only_new())
    for (const Followed& face : followed)
      followed_.push_back(
          followed_cells(face.box, full_width_, full_height_, grid_, what == kChangedParts));
  for (int size = 0; size < kSizeClasses; ++size)
    for (int row = 0; row < grid_.rows; ++row)
      map_.cells[size][row] =
          map_row(changed_, grid_, followed_.data(), static_cast<int>(followed_.size()), size, row);
  return map_;
}

}  // namespace cuface
#endif
