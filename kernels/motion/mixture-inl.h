// The mixture (mixture.h) of many pixels at once, for vector code; to be included for each target.
#if defined(CUFACE_MIXTURE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUFACE_MIXTURE_INL_H
#undef CUFACE_MIXTURE_INL_H
#else
#define CUFACE_MIXTURE_INL_H
#endif

#include <hwy/highway.h>

#include "kernels/motion/background.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::motion::HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

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
HWY_INLINE M all_or_none(bool all) { return all ? hn::Eq(set(0), set(0)) : hn::Ne(set(0), set(0)); }
HWY_INLINE M at_most(V a, V b) { return hn::Eq(hn::Min(a, b), a); }
/// a > b, of values below 2^15.
HWY_INLINE M more(V a, V b) {
  const hn::RebindToSigned<Shorts> d;
  return hn::RebindMask(Shorts(), hn::Gt(hn::BitCast(d, a), hn::BitCast(d, b)));
}

/// A mode of many pixels.
struct ModeLanes {
  V mean, weight, spread;
};

HWY_INLINE ModeLanes chosen(M mask, const ModeLanes& yes, const ModeLanes& no) {
  return {hn::IfThenElse(mask, yes.mean, no.mean), hn::IfThenElse(mask, yes.weight, no.weight),
          hn::IfThenElse(mask, yes.spread, no.spread)};
}

HWY_INLINE void swap_if_heavier(ModeLanes& first, ModeLanes& second) {
  const M heavier = more(second.weight, first.weight);
  const ModeLanes was = first;
  first = chosen(heavier, second, was);
  second = chosen(heavier, was, second);
}

/// take_grey() of the pixels from x on, where their modes lie. kNewLight: it has changed, or some
/// pixels are unsure since then.
template <bool kNewLight>
class ModesAt {
 public:
  HWY_INLINE ModesAt(const MixtureRow& row, int x, const FrameRules& rules)
      : row_(row), rules_(rules), x_(x), wide_(hn::ShiftLeft<8>(load(row.picture + x))) {
    if constexpr (kNewLight) {
      unsure_ =
          hn::LoadMaskBits(Shorts(), reinterpret_cast<const std::uint8_t*>(row.unsure) + x / 8);
      relight_ = rules.relight ? hn::Not(unsure_) : all_or_none(false);
    }
  }

  /// The first `kCount` modes, and those behind them where one of the pixels is of none of them. As
  /// weights descend, modes behind the one that explains a pixel only decay.
  template <int kCount = 1>
  HWY_INLINE M take() {
    constexpr int k = kCount - 1;
    const Shorts d;
    ModeLanes& mode = modes_[k];
    mode = {hn::LoadU(d, row_.mean[k] + x_), load(row_.weight[k] + x_), load(row_.spread[k] + x_)};
    const V off = hn::Sub(hn::Max(wide_, mode.mean), hn::Min(wide_, mode.mean));
    const V reach = hn::Add(set(kLeastApart * 256), hn::Mul(mode.spread, set(kSpreads * 16)));
    const M fits = hn::And(at_most(off, reach), hn::Ne(mode.weight, hn::Zero(d)));
    hit_[k] = hn::And(left_, fits);
    off_ = k == 0 ? off : hn::IfThenElse(hit_[k], off, off_);
    one_ = k == 0 ? mode : chosen(hit_[k], mode, one_);
    left_ = hn::AndNot(fits, left_);
    if constexpr (kCount < kModes) {
      if (!hn::AllFalse(d, left_)) return take<kCount + 1>();
    }
    return update<kCount>();
  }

 private:
  template <int kCount>
  HWY_INLINE M update() {
    const V one = set(1);
    M background = hn::AndNot(left_, more(one_.weight, set(kEnoughWeight)));
    strengthen();
    for (int k = 0; k < kCount; ++k) {
      if (rules_.decay) {
        V& weight = modes_[k].weight;
        const V lighter = hn::SaturatedSub(weight, one);
        weight = k == 0 ? hn::Max(lighter, hn::Min(weight, one)) : lighter;
      }
      modes_[k] = chosen(hit_[k], one_, modes_[k]);
    }
    if constexpr (kCount == kModes) {
      M learn = all_or_none(rules_.learn);
      if constexpr (kNewLight) learn = hn::Or(learn, relight_);
      background = hn::Or(background, hn::And(left_, learn));
      const V weight = hn::IfThenElse(learn, set(kEnoughWeight + 1), one);
      modes_[kModes - 1] = chosen(left_, {wide_, weight, set(kFirstSpread)}, modes_[kModes - 1]);
    }
    for (int k = kCount - 2; k >= 0; --k) swap_if_heavier(modes_[k], modes_[k + 1]);
    for (int k = 0; k < kCount; ++k) {
      hn::StoreU(modes_[k].mean, Shorts(), row_.mean[k] + x_);
      store(modes_[k].weight, row_.weight[k] + x_);
      store(modes_[k].spread, row_.spread[k] + x_);
    }
    for (int k = kCount; k < kModes && rules_.decay; ++k)
      store(hn::SaturatedSub(load(row_.weight[k] + x_), one), row_.weight[k] + x_);
    return background;
  }

  /// The modes that have explained the pixels.
  HWY_INLINE void strengthen() {
    const V one = set(1), most = set(255);
    V step = hn::ShiftRightSame(off_, rules_.shift), spread = one_.spread;
    if constexpr (kNewLight) {
      step = hn::IfThenElse(relight_, off_, step);
      spread = hn::IfThenElse(relight_, hn::Max(spread, set(kFirstSpread)), spread);
    }
    const M above = at_most(one_.mean, wide_);
    one_.mean = hn::IfThenElse(above, hn::Add(one_.mean, step), hn::Sub(one_.mean, step));
    const V wider = hn::Min(hn::Add(spread, one), most), less = hn::SaturatedSub(spread, one);
    one_.spread = hn::IfThenElse(more(hn::ShiftRight<4>(off_), spread), wider, less);
    one_.weight = hn::Min(hn::Add(one_.weight, one), most);
    if constexpr (kNewLight) {
      const M some = more(one_.weight, set(kUnsureWeight));
      const M enough = more(one_.weight, set(kEnoughWeight));
      const M sure_now = hn::And(unsure_, hn::AndNot(enough, some));
      one_.weight = hn::IfThenElse(sure_now, set(kEnoughWeight + 1), one_.weight);
    }
  }

  const MixtureRow& row_;
  const FrameRules& rules_;
  const int x_;
  const V wide_;
  M unsure_, relight_;  ///< kNewLight only
  ModeLanes modes_[kModes];
  M hit_[kModes], left_ = all_or_none(true);
  ModeLanes one_;  ///< of each pixel the mode that explains it, the first where none does
  V off_;          ///< how far the pixel is off its mean
};

/// Says of a row what the modes do not explain.
template <bool kNewLight>
HWY_INLINE void take_row(const MixtureRow& row, int width, const FrameRules& rules) {
  const V zero = set(0), one = set(1);
  for (int x = 0; x < width; x += static_cast<int>(hn::Lanes(Shorts()))) {
    const M background = ModesAt<kNewLight>(row, x, rules).take();
    store(hn::IfThenElse(background, zero, one), row.foreground + x);
  }
}

using Lanes = hn::ScalableTag<std::uint8_t>;
using Pixels = hn::Vec<Lanes>;

/// The least and greatest within kReach of the pixels from x on, of 2 * kReach + 1 rows.
template <int kReach>
struct Around {
  HWY_INLINE Around(const std::uint8_t* const* rows, int x) {
    const Lanes d;
    constexpr int kSpan = 2 * kReach;
    static_assert(kSpan <= 16, "two vectors cover a span more than one");
    HWY_ALIGN std::uint8_t lows[hn::MaxLanes(Lanes()) + kSpan];
    HWY_ALIGN std::uint8_t highs[hn::MaxLanes(Lanes()) + kSpan];
    for (const int i : {0, kSpan}) {
      const auto at = [&](int k) HWY_ATTR { return hn::LoadU(d, rows[k] + x - kReach + i); };
      Pixels low = at(0), high = low;
      for (int k = 1; k <= kSpan; ++k) {
        low = hn::Min(low, at(k));
        high = hn::Max(high, at(k));
      }
      hn::StoreU(low, d, lows + i);
      hn::StoreU(high, d, highs + i);
    }
    least = hn::LoadU(d, lows);
    greatest = hn::LoadU(d, highs);
    for (int i = 1; i <= kSpan; ++i) {
      least = hn::Min(least, hn::LoadU(d, lows + i));
      greatest = hn::Max(greatest, hn::LoadU(d, highs + i));
    }
  }
  Pixels least, greatest;
};

/// Which of the pixels are restless or near one that was, and explained by what is around them.
HWY_INLINE hn::Mask<Lanes> explained_around(const MixtureRow& row, int x, Pixels restless) {
  const Lanes d;
  const Pixels zero = hn::Zero(d), apart = hn::Set(d, kLeastApart);
  const Pixels near = Around<kRestlessReach>(row.restless_around, x).greatest;
  const auto stirs =
      hn::Ne(hn::SaturatedSub(hn::Max(restless, near), hn::Set(d, kRestless - 1)), zero);
  if (hn::AllFalse(d, stirs)) return stirs;
  const Around<kNeighbourReach> around(row.grey_around, x);
  const Pixels grey = hn::LoadU(d, row.picture + x);
  const Pixels below = hn::SaturatedSub(around.least, hn::SaturatedAdd(grey, apart));
  const Pixels above = hn::SaturatedSub(grey, hn::SaturatedAdd(around.greatest, apart));
  return hn::And(stirs, hn::Eq(hn::Or(below, above), zero));
}

/// Follows which pixels come and go. Only what is foreground asks what is around it.
HWY_INLINE void take_changes(const MixtureRow& row, int width) {
  const Lanes d;
  const Pixels zero = hn::Zero(d), one = hn::Set(d, 1), change = hn::Set(d, kChange);
  for (int x = 0; x < width; x += static_cast<int>(hn::Lanes(d))) {
    std::uint8_t* bits = reinterpret_cast<std::uint8_t*>(row.was_foreground) + x / 8;
    const Pixels is = hn::LoadU(d, row.foreground + x);
    const auto was = hn::LoadMaskBits(d, bits), now = hn::Ne(is, zero);
    hn::StoreMaskBits(d, now, bits);
    const Pixels calmer = hn::SaturatedSub(hn::LoadU(d, row.restless + x), one);
    const Pixels changed = hn::IfThenElse(hn::Xor(was, now), change, zero);
    const Pixels restless = hn::SaturatedAdd(calmer, changed);
    hn::StoreU(restless, d, row.restless + x);
    if (hn::AllFalse(d, now)) continue;
    hn::StoreU(hn::IfThenElse(explained_around(row, x, restless), zero, is), d, row.foreground + x);
  }
}

void grey_row(const std::uint16_t* mean, int width, std::uint8_t* out) {
  for (int x = 0; x < width; x += static_cast<int>(hn::Lanes(Shorts()))) {
    const V wide = hn::SaturatedAdd(hn::LoadU(Shorts(), mean + x), set(128));
    store(hn::ShiftRight<8>(wide), out + x);
  }
}

void mixture_row(const MixtureRow& row, int width, const FrameRules& rules) {
  if (row.unsure)
    take_row<true>(row, width, rules);
  else
    take_row<false>(row, width, rules);
  take_changes(row, width);
}

#endif
}  // namespace cuface::motion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
