#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/motion/background.cc"
#include "kernels/motion/background.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <utility>

#include "kernels/common/dispatch.h"
#include "kernels/common/simd.h"
#include "kernels/motion/around-inl.h"
#include "kernels/motion/mixture-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::motion::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void mixture_row(const MixtureRow&, int, const FrameRules&) {}
void explain_words(const ExplainedRow&, int) {}
int count_samples(const ModeBlock*, const std::uint8_t*, const std::uint64_t*, int) { return 0; }
#endif
}  // namespace cuface::motion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace cuface::motion {
namespace {

HWY_EXPORT(mixture_row);
HWY_EXPORT(explain_words);
HWY_EXPORT(count_samples);

void mixture_row_plain(const MixtureRow& row, int width, const FrameRules& rules) {
  for (int x = 0; x < width; ++x) {
    const int i = x / kWordBits, at = x % kWordBits;
    Modes modes;
    for (int k = 0; k < kModes; ++k) {
      modes.mean[k] = row.mode[k][i].mean(at);
      modes.weight[k] = row.mode[k][i].weight[at];
      modes.spread[k] = row.mode[k][i].spread[at];
    }
    row.grey[x] = background_grey(modes.mean[0]);
    BlockNotes& notes = row.notes[i];
    const std::uint64_t bit = std::uint64_t{1} << at;
    const bool unsure = row.unsure && (row.unsure[i] & bit) != 0;
    const bool foreground = !take_grey(modes, row.picture[x], unsure, rules);
    for (int k = 0; k < kModes; ++k) {
      row.mode[k][i].mean(at) = modes.mean[k];
      row.mode[k][i].weight[at] = modes.weight[k];
      row.mode[k][i].spread[at] = modes.spread[k];
    }
    const auto note = [&](std::uint64_t& word, bool is) { word = is ? word | bit : word & ~bit; };
    note(notes.was_restless, row.restless[x] >= kRestless);
    row.restless[x] = restlessness(row.restless[x], (notes.foreground & bit) != 0, foreground);
    note(notes.is_restless, row.restless[x] >= kRestless);
    note(notes.foreground, foreground);
  }
}

bool has_bit(std::uint64_t word, int x) { return (word >> x % kWordBits & 1) != 0; }

void explain_row_plain(const ExplainedRow& row, int width) {
  std::fill_n(row.seen, words_of(width), std::uint64_t{0});
  for (int x = 0; x < width; ++x) {
    if (!has_bit(row.notes[x / kWordBits].foreground, x)) continue;
    bool restless = has_bit(row.notes[x / kWordBits].is_restless, x);
    for (const BlockNotes* notes : row.around)
      for (int u = x - kRestlessReach; u <= x + kRestlessReach; ++u)
        restless |= u >= 0 && u < width && has_bit(notes[u / kWordBits].was_restless, u);
    int low = 255, high = 0;
    for (int k = 0; k < GreyAround::kRows; ++k) {
      const std::uint8_t* grey = row.grey_around[k]->grey;
      for (int u = x - kNeighbourReach; u <= x + kNeighbourReach; ++u) {
        low = std::min<int>(low, grey[u]);
        high = std::max<int>(high, grey[u]);
      }
    }
    if (!restless || !explained_around(row.picture[x], low, high)) set_bit(row.seen, x);
  }
}

}  // namespace

Background::Background(int width, int height)
    : width_(half_size(width)),
      height_(half_size(height)),
      half_(zeros<std::uint8_t>(width_, height_)),
      sampled_(static_cast<std::size_t>(words_of(width_))),
      grey_(width_),
      seen_(width_, height_),
      majority_(width_, kBackgroundMajority),
      hidden_(width_, height_, kHiddenReach),
      staying_(width_, height_, stay_reach(width_)),
      moved_(width_, height_),
      hidden_bits_(width_, height_) {
  const int words = words_of(width_);
  planes_.modes = {words, kModes * height_};
  planes_.notes = {words, height_};
  planes_.restless = {width_, height_};
  planes_.unsure = {width_, height_};
  const int step = sample_step(width_, height_);
  for (int x = step / 2; x < width_; x += step) set_bit(sampled_.data(), x);
}

void Background::begin(Bytes picture) {
  for (int y = 0; y < height_; ++y) {
    const std::uint8_t* in = picture.row(y);
    for (int i = 0; i < words_of(width_); ++i) {
      for (int k = 0; k < kModes; ++k) {
        ModeBlock& block = planes_.mode(k, y)[i];
        const bool first = k == 0;
        for (int at = 0; at < kWordBits; ++at)
          block.mean(at) = static_cast<std::uint16_t>(first ? in[i * kWordBits + at] * 256 : 0);
        std::fill_n(block.weight, kWordBits,
                    static_cast<std::uint8_t>(first ? kEnoughWeight + 1 : 0));
        std::fill_n(block.spread, kWordBits, static_cast<std::uint8_t>(kFirstSpread));
      }
    }
  }
  clear(planes_.notes);
  clear(planes_.restless);
  moved_.clear();
  planes_.unsure.clear();
  frames_ = 1;
  unsure_frames_ = 0;
}

Background::Seen Background::look(Bytes whole, ImageView<std::uint64_t> mask) {
  halve(whole, half_.view());
  const Bytes picture = half_.view();
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
  staying_.prepare(std::as_const(moved_).view());
  static_assert(kRestlessReach <= kNeighbourReach, "explain_row() reads restless pixels below");
  for (int y = 0; y < height_ + kNeighbourReach; ++y) {
    if (y < height_) take_row(picture, y, rules);
    if (y < kNeighbourReach) continue;
    explain_row(picture, y - kNeighbourReach);
    majority_.take(y - kNeighbourReach, std::as_const(seen_).view(), moved_.view());
  }
  staying_.keep(std::as_const(moved_).view(), mask);
  return {true, global, rules.learn};
}

std::uint8_t Background::grey(int x, int y) {
  return background_grey(planes_.mode(0, y)[x / kWordBits].mean(x % kWordBits));
}

int Background::count_other(Bytes picture, int y) {
  if (simd::vectors())
    return CUFACE_DISPATCH(count_samples)(planes_.mode(0, y), picture.row(y), sampled_.data(),
                                          words_of(width_));
  int count = 0;
  for (int x = 0; x < width_; ++x)
    count += has_bit(sampled_[static_cast<std::size_t>(x / kWordBits)], x) &&
             distance(grey(x, y), picture.at(x, y)) > kSampleApart;
  return count;
}

bool Background::change_of_all(Bytes picture) {
  const int step = sample_step(width_, height_);
  const auto each = [&](const auto& use) {
    for (int y = step / 2; y < height_; y += step)
      for (int x = step / 2; x < width_; x += step) use(int{grey(x, y)}, int{picture.at(x, y)});
  };
  int all = 0, other = 0;
  for (int y = step / 2; y < height_; y += step) {
    other += count_other(picture, y);
    all += (width_ - step / 2 + step - 1) / step;
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
        std::uint16_t& mean = planes_.mode(k, y)[x / kWordBits].mean(x % kWordBits);
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
  row.picture = picture.row(y);
  for (int k = 0; k < kModes; ++k) row.mode[k] = planes_.mode(k, y);
  row.to_below = y + 1 < height_ ? words_of(width_) : 0;
  row.notes = planes_.notes.view().row(y);
  row.restless = planes_.restless.view().row(y);
  if (unsure_frames_ > 0) row.unsure = planes_.unsure.view().row(y);
  row.grey = grey_.row(y);
  if (simd::vectors())
    CUFACE_DISPATCH(mixture_row)(row, words_of(width_), rules);
  else
    mixture_row_plain(row, width_, rules);
  grey_.finish(y);
}

void Background::explain_row(Bytes picture, int y) {
  const int words = words_of(width_);
  ExplainedRow row;
  row.notes = planes_.notes.view().row(y);
  row.seen = seen_.view().row(y);
  const auto is_foreground = [](const BlockNotes& notes) { return notes.foreground != 0; };
  if (std::none_of(row.notes, row.notes + words, is_foreground)) {
    std::fill_n(row.seen, words, std::uint64_t{0});
    return;
  }
  row.picture = picture.row(y);
  for (int k = 0; k <= 2 * kRestlessReach; ++k)
    row.around[k] = planes_.notes.view().row(std::clamp(y + k - kRestlessReach, 0, height_ - 1));
  row.grey_around = grey_.around(y, height_);
  if (!simd::vectors()) return explain_row_plain(row, width_);
  CUFACE_DISPATCH(explain_words)(row, words);
  row.seen[words - 1] &= bits_between(words - 1, 0, width_);
}

}  // namespace cuface::motion
#endif
