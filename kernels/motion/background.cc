#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/motion/background.cc"
#include "kernels/motion/background.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/common/dispatch.h"
#include "kernels/common/simd.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::motion::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void mixture_row(const MixtureRow&, int, const FrameRules&) {}
#else

namespace hn = hwy::HWY_NAMESPACE;
using Shorts = hn::ScalableTag<std::uint16_t>;
using Halves = hn::Rebind<std::uint8_t, Shorts>;
using V = hn::Vec<Shorts>;
using M = hn::Mask<Shorts>;

HWY_INLINE V load(const std::uint8_t* from) {
  return hn::PromoteTo(Shorts(), hn::LoadU(Halves(), from));
}
HWY_INLINE void store(V values, std::uint8_t* to) {
  const hn::RebindToSigned<Shorts> shorts;
  hn::StoreU(hn::DemoteTo(Halves(), hn::BitCast(shorts, values)), Halves(), to);
}
HWY_INLINE V set(int value) { return hn::Set(Shorts(), static_cast<std::uint16_t>(value)); }
HWY_INLINE M at_most(V a, V b) { return hn::Eq(hn::Min(a, b), a); }
HWY_INLINE M more(V a, V b) { return hn::Ne(hn::Min(a, b), a); }

/// As Modes, of many pixels.
struct ModeLanes {
  V mean[kModes], weight[kModes], spread[kModes];
};

HWY_INLINE void swap_if_heavier(ModeLanes& modes, int k) {
  const M heavier = more(modes.weight[k + 1], modes.weight[k]);
  for (V* part : {modes.mean, modes.weight, modes.spread}) {
    const V was = part[k];
    part[k] = hn::IfThenElse(heavier, part[k + 1], was);
    part[k + 1] = hn::IfThenElse(heavier, was, part[k + 1]);
  }
}

/// What holds for a vector of pixels of a frame.
struct LaneRules {
  LaneRules(M unsure, const FrameRules& rules)
      : unsure(unsure),
        relight(rules.relight ? hn::Not(unsure) : hn::Ne(set(0), set(0))),
        learn(rules.learn ? hn::Eq(set(0), set(0)) : relight),
        shift(rules.shift),
        decay(rules.decay) {}

  M unsure, relight, learn;
  int shift;
  bool decay;
};

/// How far a grey level, in 256ths, is off a mean.
HWY_INLINE V distance(V wide, V mean) { return hn::Sub(hn::Max(wide, mean), hn::Min(wide, mean)); }

/// explains() of many pixels.
HWY_INLINE M explains(V off, V weight, V spread) {
  const V reach = hn::Add(set(kLeastApart * 256), hn::Mul(spread, set(kSpreads * 16)));
  return hn::And(at_most(off, reach), hn::Ne(weight, hn::Zero(Shorts())));
}

/// A mode after it has explained a grey level.
HWY_INLINE void adapt(V& mean, V& weight, V& spread, V wide, V off, const LaneRules& rules) {
  const V one = set(1), most = set(255), enough = set(kEnoughWeight);
  const V step = hn::IfThenElse(rules.relight, off, hn::ShiftRightSame(off, rules.shift));
  mean = hn::IfThenElse(more(wide, mean), hn::Add(mean, step), hn::Sub(mean, step));
  const V least = hn::IfThenElse(rules.relight, hn::Max(spread, set(kFirstSpread)), spread);
  const V wider = hn::Min(hn::Add(least, one), most), less = hn::SaturatedSub(least, one);
  spread = hn::IfThenElse(more(hn::ShiftRight<4>(off), least), wider, less);
  const V heavier = hn::Min(hn::Add(weight, one), most);
  const M sure_now =
      hn::And(rules.unsure, hn::And(more(heavier, set(kUnsureWeight)), at_most(heavier, enough)));
  weight = hn::IfThenElse(sure_now, set(kEnoughWeight + 1), heavier);
}

/// take_grey() of many pixels.
HWY_INLINE M take_grey(ModeLanes& modes, V wide, const LaneRules& rules) {
  const Shorts d;
  const V one = set(1), enough = set(kEnoughWeight);
  M left = hn::Eq(one, one), background = hn::Ne(one, one);
  M hit[kModes];
  V off[kModes];
  for (int k = 0; k < kModes; ++k) {
    off[k] = distance(wide, modes.mean[k]);
    const M fits = explains(off[k], modes.weight[k], modes.spread[k]);
    hit[k] = hn::And(left, fits);
    left = hn::AndNot(fits, left);
    background = hn::Or(background, hn::And(hit[k], more(modes.weight[k], enough)));
  }
  background = hn::Or(background, hn::And(left, rules.learn));
  for (int k = 0; k < kModes; ++k) {
    V mean = modes.mean[k], weight = modes.weight[k], spread = modes.spread[k];
    adapt(mean, weight, spread, wide, off[k], rules);
    modes.mean[k] = hn::IfThenElse(hit[k], mean, modes.mean[k]);
    modes.spread[k] = hn::IfThenElse(hit[k], spread, modes.spread[k]);
    V lighter = modes.weight[k];
    if (rules.decay) {
      lighter = hn::SaturatedSub(lighter, one);
      if (k == 0) lighter = hn::Max(lighter, hn::Min(modes.weight[k], one));
    }
    modes.weight[k] = hn::IfThenElse(hit[k], weight, lighter);
  }
  constexpr int kLast = kModes - 1;
  modes.mean[kLast] = hn::IfThenElse(left, wide, modes.mean[kLast]);
  modes.spread[kLast] = hn::IfThenElse(left, hn::Set(d, kFirstSpread), modes.spread[kLast]);
  const V first = hn::IfThenElse(rules.learn, set(kEnoughWeight + 1), one);
  modes.weight[kLast] = hn::IfThenElse(left, first, modes.weight[kLast]);
  swap_if_heavier(modes, 1);
  swap_if_heavier(modes, 0);
  return background;
}

/// take_grey() of the pixels from x on, where their modes lie. Most often all are what they were
/// before: their first modes, which stay the first then, explain them, and the others only decay.
HWY_INLINE M take_greys(const MixtureRow& row, int x, V grey, M unsure, const FrameRules& frame) {
  const Shorts d;
  const LaneRules rules(unsure, frame);
  const V wide = hn::ShiftLeft<8>(grey);
  ModeLanes modes;
  const auto read = [&](int k) HWY_ATTR {
    modes.mean[k] = hn::LoadU(d, row.mean[k] + x);
    modes.weight[k] = load(row.weight[k] + x);
    modes.spread[k] = load(row.spread[k] + x);
  };
  const auto write = [&](int k) HWY_ATTR {
    hn::StoreU(modes.mean[k], d, row.mean[k] + x);
    store(modes.weight[k], row.weight[k] + x);
    store(modes.spread[k], row.spread[k] + x);
  };
  read(0);
  const V off = distance(wide, modes.mean[0]);
  M background;
  if (hn::AllTrue(d, explains(off, modes.weight[0], modes.spread[0]))) {
    background = more(modes.weight[0], set(kEnoughWeight));
    adapt(modes.mean[0], modes.weight[0], modes.spread[0], wide, off, rules);
    for (int k = 1; k < kModes && rules.decay; ++k)
      store(hn::SaturatedSub(load(row.weight[k] + x), set(1)), row.weight[k] + x);
  } else {
    for (int k = 1; k < kModes; ++k) read(k);
    background = take_grey(modes, wide, rules);
    for (int k = 1; k < kModes; ++k) write(k);
  }
  write(0);
  store(hn::Min(hn::ShiftRight<8>(hn::Add(modes.mean[0], set(128))), set(255)), row.grey + x);
  return background;
}

void mixture_row(const MixtureRow& row, int width, const FrameRules& rules) {
  const Shorts d;
  const V zero = hn::Zero(d), one = set(1);
  for (int x = 0; x < width; x += static_cast<int>(hn::Lanes(d))) {
    const V grey = load(row.picture + x), flags = load(row.flags + x);
    const M unsure = hn::Ne(hn::And(flags, set(kUnsure)), zero);
    const M background = take_greys(row, x, grey, unsure, rules);
    const V is = hn::IfThenElse(background, zero, one), was = hn::And(flags, one);
    store(hn::Or(hn::AndNot(one, flags), is), row.flags + x);
    const V change = hn::Mul(hn::Xor(is, was), set(kChange));
    const V calmer = hn::SaturatedSub(load(row.restless + x), one);
    const V restless = hn::Min(hn::Add(calmer, change), set(255));
    store(restless, row.restless + x);
    const M stirs = more(hn::Max(restless, load(row.near + x)), set(kRestless - 1));
    const M around = hn::And(at_most(load(row.low + x), hn::Add(grey, set(kLeastApart))),
                             at_most(grey, hn::Add(load(row.high + x), set(kLeastApart))));
    store(hn::IfThenElse(hn::And(stirs, around), zero, is), row.foreground + x);
  }
}

#endif
}  // namespace cuface::motion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace cuface::motion {
namespace {

HWY_EXPORT(mixture_row);

template <typename T>
Image<T> zeros(int width, int height) {
  Image<T> out(width, height);
  for (int y = 0; y < height; ++y)
    std::memset(out.view().row(y), 0, static_cast<std::size_t>(out.view().stride));
  return out;
}

}  // namespace

Background::Background(int width, int height)
    : width_(width),
      height_(height),
      row_(zeros<std::uint8_t>(width, 1)),
      low_(zeros<std::uint8_t>(width, height)),
      high_(zeros<std::uint8_t>(width, height)),
      near_(zeros<std::uint8_t>(width, height)),
      foreground_(zeros<std::uint8_t>(width, height)),
      neighbours_(width, kNeighbourReach),
      around_restless_(width, kRestlessReach),
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
  planes_.flags = zeros<std::uint8_t>(width, height);
  planes_.grey = zeros<std::uint8_t>(width, height);
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
      planes_.restless.view().at(x, y) = planes_.flags.view().at(x, y) = 0;
      planes_.grey.view().at(x, y) = in[x];
    }
  }
  moved_.clear();
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
  if (unsure_frames_ > 0 && --unsure_frames_ == 0) {
    for (int y = 0; y < height_; ++y)
      for (int x = 0; x < width_; ++x)
        planes_.flags.view().at(x, y) &= static_cast<std::uint8_t>(~kUnsure);
  }
  for (int y = 0; y < height_; ++y) look_around(y);
  for (int y = 0; y < height_; ++y) take_row(picture, y, rules);
  staying_.run(std::as_const(moved_).view(), stayed_.view());
  majority_.run(foreground_.view(), moved_.view());
  for (int y = 0; y < height_; ++y)
    for (int i = 0; i < mask.width; ++i)
      mask.row(y)[i] = moved_.view().row(y)[i] & stayed_.view().row(y)[i];
  return {true, global, rules.learn};
}

/// What is close by explains restless pixels only: no row without one asks for it.
void Background::look_around(int y) {
  around_restless_.greatest(planes_.restless.view(), y, near_.view());
  const std::uint8_t* near = near_.view().row(y);
  std::uint8_t most = 0;  // not std::max_element, which compilers make no vectors of
  for (int x = 0; x < width_; ++x) most = std::max(most, near[x]);
  if (most < kRestless - kChange) return;
  neighbours_.least(planes_.grey.view(), y, low_.view());
  neighbours_.greatest(planes_.grey.view(), y, high_.view());
}

bool Background::change_of_all(Bytes picture) {
  const int step = sample_step(width_, height_);
  const auto each = [&](const auto& use) {
    for (int y = step / 2; y < height_; y += step)
      for (int x = step / 2; x < width_; x += step)
        use(int{planes_.grey.view().at(x, y)}, int{picture.at(x, y)});
  };
  int all = 0, other = 0;
  each([&](int background, int grey) {
    ++all;
    other += distance(background, grey) > kSampleApart;
  });
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
      planes_.grey.view().at(x, y) = background_grey(planes_.mean[0].view().at(x, y));
      if (bit_at(hidden_bits_.view(), x, y)) planes_.flags.view().at(x, y) |= kUnsure;
    }
  }
  unsure_frames_ = kUnsureFrames;
}

void Background::take_row(Bytes picture, int y, const FrameRules& rules) {
  if (!simd::vectors()) return take_row_plain(picture, y, rules);
  std::copy_n(picture.row(y), width_, row_.view().row(0));
  MixtureRow row;
  row.picture = row_.view().row(0);
  row.low = low_.view().row(y);
  row.high = high_.view().row(y);
  row.near = near_.view().row(y);
  for (int k = 0; k < kModes; ++k) {
    row.mean[k] = planes_.mean[k].view().row(y);
    row.weight[k] = planes_.weight[k].view().row(y);
    row.spread[k] = planes_.spread[k].view().row(y);
  }
  row.restless = planes_.restless.view().row(y);
  row.flags = planes_.flags.view().row(y);
  row.grey = planes_.grey.view().row(y);
  row.foreground = foreground_.view().row(y);
  CUFACE_DISPATCH(mixture_row)(row, width_, rules);
}

void Background::take_row_plain(Bytes picture, int y, const FrameRules& rules) {
  for (int x = 0; x < width_; ++x) {
    const int grey = picture.at(x, y);
    Modes modes;
    for (int k = 0; k < kModes; ++k) {
      modes.mean[k] = planes_.mean[k].view().at(x, y);
      modes.weight[k] = planes_.weight[k].view().at(x, y);
      modes.spread[k] = planes_.spread[k].view().at(x, y);
    }
    std::uint8_t& flags = planes_.flags.view().at(x, y);
    std::uint8_t& restless = planes_.restless.view().at(x, y);
    const bool foreground = !take_grey(modes, grey, (flags & kUnsure) != 0, rules);
    for (int k = 0; k < kModes; ++k) {
      planes_.mean[k].view().at(x, y) = modes.mean[k];
      planes_.weight[k].view().at(x, y) = modes.weight[k];
      planes_.spread[k].view().at(x, y) = modes.spread[k];
    }
    restless = restlessness(restless, (flags & kWasForeground) != 0, foreground);
    flags =
        static_cast<std::uint8_t>((flags & ~kWasForeground) | (foreground ? kWasForeground : 0));
    planes_.grey.view().at(x, y) = background_grey(modes.mean[0]);
    const bool stirs = std::max(restless, near_.view().at(x, y)) >= kRestless;
    const bool explained =
        stirs && explained_around(grey, low_.view().at(x, y), high_.view().at(x, y));
    foreground_.view().at(x, y) = foreground && !explained;
  }
}

}  // namespace cuface::motion
#endif
