#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/motion/background.cc"
#include "kernels/motion/background.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <utility>

#include "kernels/common/dispatch.h"
#include "kernels/common/simd.h"
#include "kernels/motion/mixture-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::motion::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void mixture_row(const MixtureRow&, int, const FrameRules&) {}
void grey_row(const std::uint16_t*, int, std::uint8_t*) {}
#endif
}  // namespace cuface::motion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace cuface::motion {
namespace {

HWY_EXPORT(mixture_row);
HWY_EXPORT(grey_row);

/// The least or greatest within `reach` of a pixel, of 2 * reach + 1 rows.
int around_plain(const std::uint8_t* const* rows, int reach, int x, bool greatest) {
  std::uint8_t best = rows[0][x];
  for (int i = 0; i <= 2 * reach; ++i)
    for (const std::uint8_t* at = rows[i] + x - reach; at <= rows[i] + x + reach; ++at)
      best = greatest ? std::max(best, *at) : std::min(best, *at);
  return best;
}

bool is_explained_around(const MixtureRow& row, int x, int restless) {
  const int near = around_plain(row.restless_around, kRestlessReach, x, true);
  if (std::max(restless, near) < kRestless) return false;
  const int low = around_plain(row.grey_around, kNeighbourReach, x, false);
  const int high = around_plain(row.grey_around, kNeighbourReach, x, true);
  return explained_around(row.picture[x], low, high);
}

void mixture_row_plain(const MixtureRow& row, int width, const FrameRules& rules) {
  for (int x = 0; x < width; ++x) {
    const int grey = row.picture[x];
    Modes modes;
    for (int k = 0; k < kModes; ++k) {
      modes.mean[k] = row.mean[k][x];
      modes.weight[k] = row.weight[k][x];
      modes.spread[k] = row.spread[k][x];
    }
    std::uint8_t& restless = row.restless[x];
    std::uint64_t& word = row.was_foreground[x / kWordBits];
    const std::uint64_t bit = std::uint64_t{1} << x % kWordBits;
    const bool unsure = row.unsure && (row.unsure[x / kWordBits] & bit) != 0;
    const bool foreground = !take_grey(modes, grey, unsure, rules);
    for (int k = 0; k < kModes; ++k) {
      row.mean[k][x] = modes.mean[k];
      row.weight[k][x] = modes.weight[k];
      row.spread[k][x] = modes.spread[k];
    }
    restless = restlessness(restless, (word & bit) != 0, foreground);
    word = foreground ? word | bit : word & ~bit;
    row.foreground[x] = foreground && !is_explained_around(row, x, restless);
  }
}

}  // namespace

Background::Background(int width, int height)
    : width_(width),
      height_(height),
      row_(zeros<std::uint8_t>(width, 1)),
      sample_(width, 2),
      grey_before_(width, kNeighbourReach),
      restless_before_(width, kRestlessReach),
      majority_(width),
      hidden_(width, height, kHiddenReach),
      staying_(width, height, stay_reach(width)),
      moved_(width, height),
      hidden_bits_(width, height),
      stayed_(width, height) {
  for (int k = 0; k < kModes; ++k) {
    planes_.mean[k] = zeros<std::uint16_t>(width, height);
    planes_.weight[k] = zeros<std::uint8_t>(width, height);
    planes_.spread[k] = zeros<std::uint8_t>(width, height);
  }
  planes_.restless = zeros<std::uint8_t>(width, height);
  planes_.was_foreground = {width, height};
  planes_.unsure = {width, height};
}

void Background::begin(Bytes picture) {
  for (int y = 0; y < height_; ++y) {
    const std::uint8_t* in = picture.row(y);
    for (int x = 0; x < width_; ++x) {
      for (int k = 0; k < kModes; ++k) {
        const bool first = k == 0;
        planes_.mean[k].view().at(x, y) = static_cast<std::uint16_t>(first ? in[x] * 256 : 0);
        planes_.weight[k].view().at(x, y) = first ? kEnoughWeight + 1 : 0;
        planes_.spread[k].view().at(x, y) = kFirstSpread;
      }
      planes_.restless.view().at(x, y) = 0;
    }
  }
  for (BitImage* bits : {&moved_, &planes_.was_foreground, &planes_.unsure}) bits->clear();
  frames_ = 1;
  unsure_frames_ = 0;
}

Background::Seen Background::look(Bytes picture, ImageView<std::uint64_t> mask) {
  if (frames_ == 0) {
    begin(picture);
    return {};
  }
  const bool global = change_of_all(picture);
  if (frames_ == 0) {
    begin(picture);
    return {true, true, true};
  }
  const FrameRules rules = frame_rules(frames_, global);
  frames_ = std::min(frames_ + 1, 1 << 30);
  if (unsure_frames_ > 0 && --unsure_frames_ == 0) planes_.unsure.clear();
  staying_.run(std::as_const(moved_).view(), stayed_.view());
  for (int y = 0; y < height_; ++y) {
    take_row(picture, y, rules);
    majority_.take(y, moved_.view());
  }
  for (int y = 0; y < height_; ++y)
    for (int i = 0; i < mask.width; ++i)
      mask.row(y)[i] = moved_.view().row(y)[i] & stayed_.view().row(y)[i];
  return {true, global, rules.learn};
}

void Background::copy_grey(int y, std::uint8_t* to) {
  const std::uint16_t* mean = planes_.mean[0].view().row(y);
  if (simd::vectors()) return CUFACE_DISPATCH(grey_row)(mean, width_, to);
  for (int x = 0; x < width_; ++x) to[x] = background_grey(mean[x]);
}

bool Background::change_of_all(Bytes picture) {
  const int step = sample_step(width_, height_);
  const auto each = [&](const auto& use) {
    for (int y = step / 2; y < height_; y += step)
      for (int x = step / 2; x < width_; x += step)
        use(int{background_grey(planes_.mean[0].view().at(x, y))}, int{picture.at(x, y)});
  };
  int all = 0, other = 0;
  std::uint8_t *grey = sample_.view().row(0), *apart = sample_.view().row(1);
  for (int y = step / 2; y < height_; y += step) {
    copy_grey(y, grey);
    differing(grey, picture.row(y), width_, kSampleApart, apart);
    for (int x = step / 2; x < width_; x += step, ++all) other += apart[x];
  }
  if (!most_of(other, all)) return false;
  LightSums sums;
  for (int pass = 0; pass < kLightPasses; ++pass) {
    const LightSums before = std::exchange(sums, {});
    each([&](int background, int grey) {
      if (!is_of_pass(pass, before, background, grey - background)) return;
      sums.sum[background >> kBinShift] += grey - background;
      ++sums.count[background >> kBinShift];
    });
  }
  const LightTable table = light_table(sums);
  int near = 0;
  each([&](int background, int grey) { near += is_near(table, background, grey); });
  if (most_of(near, all))
    relight(table);
  else
    frames_ = 0;
  return true;
}

void Background::relight(const LightTable& table) {
  hidden_.run(std::as_const(moved_).view(), hidden_bits_.view());
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x) {
      for (int k = 0; k < kModes; ++k) {
        std::uint16_t& mean = planes_.mean[k].view().at(x, y);
        mean = relit(table, mean);
      }
    }
    for (int i = 0; i < words_of(width_); ++i)
      planes_.unsure.view().row(y)[i] |= hidden_bits_.view().row(y)[i];
  }
  unsure_frames_ = kUnsureFrames;
}

void Background::take_row(Bytes picture, int y, const FrameRules& rules) {
  MixtureRow row;
  row.grey_around =
      grey_before_.around(y, height_, [&](int i, std::uint8_t* to) { copy_grey(i, to); });
  row.restless_around = restless_before_.around(y, height_, [&](int i, std::uint8_t* to) {
    std::copy_n(planes_.restless.view().row(i), width_, to);
  });
  for (int k = 0; k < kModes; ++k) {
    row.mean[k] = planes_.mean[k].view().row(y);
    row.weight[k] = planes_.weight[k].view().row(y);
    row.spread[k] = planes_.spread[k].view().row(y);
  }
  row.restless = planes_.restless.view().row(y);
  row.was_foreground = planes_.was_foreground.view().row(y);
  if (unsure_frames_ > 0) row.unsure = planes_.unsure.view().row(y);
  row.foreground = majority_.row(y);
  row.picture = picture.row(y);
  if (!simd::vectors()) return mixture_row_plain(row, width_, rules);
  if (width_ % 64 != 0) {
    std::copy_n(picture.row(y), width_, row_.view().row(0));
    row.picture = row_.view().row(0);
  }
  CUFACE_DISPATCH(mixture_row)(row, width_, rules);
}

}  // namespace cuface::motion
#endif
