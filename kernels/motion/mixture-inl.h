// The mixture (mixture.h) of many pixels at once, for vector code; to be included for each target.
#if defined(CUFACE_MIXTURE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUFACE_MIXTURE_INL_H
#undef CUFACE_MIXTURE_INL_H
#else
#define CUFACE_MIXTURE_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>

#include "kernels/motion/background.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::motion::HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<std::uint8_t>;
using Shorts = hn::Repartition<std::uint16_t, Lanes>;
using Pixels = hn::Vec<Lanes>;
using Wide = hn::Vec<Shorts>;
using Which = hn::Mask<Lanes>;
inline constexpr int kLanes = static_cast<int>(hn::MaxLanes(Lanes()));
static_assert(kWordBits % kLanes == 0 && kLanes % kNoted == 0);
inline constexpr std::uint64_t kAllLanes = ~std::uint64_t{0} >> (kWordBits - kLanes);

HWY_INLINE Pixels set(int value) { return hn::Set(Lanes(), static_cast<std::uint8_t>(value)); }
HWY_INLINE Wide set_wide(int value) { return hn::Set(Shorts(), static_cast<std::uint16_t>(value)); }
HWY_INLINE Wide as_wide(Pixels bytes) { return hn::BitCast(Shorts(), bytes); }
HWY_INLINE Pixels as_pixels(Wide wide) { return hn::BitCast(Lanes(), wide); }
HWY_INLINE Which is_zero(Pixels bytes) { return hn::Eq(bytes, hn::Zero(Lanes())); }
HWY_INLINE Which is_more(Pixels bytes, int than) {
  return hn::Ne(hn::SaturatedSub(bytes, set(than)), hn::Zero(Lanes()));
}

/// The bits of a vector's pixels.
HWY_INLINE std::uint64_t bits_of(Which which) {
  std::uint64_t bits = 0;
  hn::StoreMaskBits(Lanes(), which, reinterpret_cast<std::uint8_t*>(&bits));
  return bits;
}
HWY_INLINE Which which_of(std::uint64_t bits) {
  return hn::LoadMaskBits(Lanes(), reinterpret_cast<const std::uint8_t*>(&bits));
}

/// 16 bits of each pixel: of even ones, and of odd ones.
struct EvenOdd {
  Wide even, odd;
};
/// Bytes times 256.
HWY_INLINE EvenOdd split_high(Pixels bytes) {
  return {hn::ShiftLeft<8>(as_wide(bytes)), hn::And(as_wide(bytes), set_wide(0xff00))};
}
/// Bytes that are 0 or 255 alike.
HWY_INLINE EvenOdd split_mask(Pixels bytes) {
  const hn::RebindToSigned<Shorts> d;
  const auto signs = hn::BitCast(d, bytes);
  return {hn::BitCast(Shorts(), hn::ShiftRight<8>(hn::ShiftLeft<8>(signs))),
          hn::BitCast(Shorts(), hn::ShiftRight<8>(signs))};
}
/// 1 where a pixel's 16 bits are not 0.
HWY_INLINE Pixels not_zero(const EvenOdd& pair) {
  const Wide one = set_wide(1);
  return as_pixels(hn::Or(hn::Min(pair.even, one), hn::ShiftLeft<8>(hn::Min(pair.odd, one))));
}
HWY_INLINE EvenOdd chosen(const EvenOdd& mask, const EvenOdd& yes, const EvenOdd& no) {
  return {hn::IfVecThenElse(mask.even, yes.even, no.even),
          hn::IfVecThenElse(mask.odd, yes.odd, no.odd)};
}

/// background_grey() of means.
HWY_INLINE Pixels grey_of(const EvenOdd& mean) {
  const Wide half = set_wide(128);
  const Wide even = hn::ShiftRight<8>(hn::SaturatedAdd(mean.even, half));
  const Wide odd = hn::And(hn::SaturatedAdd(mean.odd, half), set_wide(0xff00));
  return as_pixels(hn::Or(even, odd));
}
HWY_INLINE EvenOdd load_mean(const ModeBlock& block, int at) {
  return {hn::Load(Shorts(), block.means[0] + at / 2), hn::Load(Shorts(), block.means[1] + at / 2)};
}

/// A mode of many pixels.
struct ModeLanes {
  HWY_INLINE ModeLanes(const ModeBlock& block, int at)
      : mean(load_mean(block, at)),
        weight(hn::Load(Lanes(), block.weight + at)),
        spread(hn::Load(Lanes(), block.spread + at)) {}
  HWY_INLINE void store(ModeBlock& block, int at) const {
    hn::Store(mean.even, Shorts(), block.means[0] + at / 2);
    hn::Store(mean.odd, Shorts(), block.means[1] + at / 2);
    hn::Store(weight, Lanes(), block.weight + at);
    hn::Store(spread, Lanes(), block.spread + at);
  }
  EvenOdd mean;
  Pixels weight, spread;
};

HWY_INLINE void swap_if_heavier(ModeLanes& first, ModeLanes& second) {
  const Which heavier = hn::Ne(hn::SaturatedSub(second.weight, first.weight), hn::Zero(Lanes()));
  if (hn::AllFalse(Lanes(), heavier)) return;
  const EvenOdd mask = split_mask(hn::VecFromMask(Lanes(), heavier));
  const ModeLanes was = first;
  first.mean = chosen(mask, second.mean, was.mean);
  second.mean = chosen(mask, was.mean, second.mean);
  first.weight = hn::Max(was.weight, second.weight);
  second.weight = hn::Min(was.weight, second.weight);
  first.spread = hn::IfThenElse(heavier, second.spread, was.spread);
  second.spread = hn::IfThenElse(heavier, was.spread, second.spread);
}

/// What 256ths of a grey level above it are more than `spread`: 16 times that and 15.
HWY_INLINE EvenOdd spread_ends(Pixels spread) {
  const Wide bytes = as_wide(spread), bits = set_wide(0xff0), ones = set_wide(15);
  return {hn::Or(hn::And(hn::ShiftLeft<4>(bytes), bits), ones),
          hn::Or(hn::And(hn::ShiftRight<4>(bytes), bits), ones)};
}

/// How far pixels are off a mean: above it, below it, either.
struct Apart {
  HWY_INLINE Apart(const EvenOdd& grey, const EvenOdd& mean)
      : above{hn::SaturatedSub(grey.even, mean.even), hn::SaturatedSub(grey.odd, mean.odd)},
        below{hn::SaturatedSub(mean.even, grey.even), hn::SaturatedSub(mean.odd, grey.odd)},
        either{hn::Or(above.even, below.even), hn::Or(above.odd, below.odd)} {}
  /// How far beyond what a mode of this spread explains.
  HWY_INLINE EvenOdd beyond(Pixels spread) const {
    static_assert(kSpreads == 3);
    const Wide least = set_wide(kLeastApart * 256 - kSpreads * 15);
    const EvenOdd end = spread_ends(spread);
    const auto of = [&](Wide off, Wide one) HWY_ATTR {
      return hn::SaturatedSub(off, hn::Add(hn::Add(one, one), hn::Add(one, least)));
    };
    return {of(either.even, end.even), of(either.odd, end.odd)};
  }
  EvenOdd above, below, either;
};

HWY_INLINE bool none(Wide bits) { return hn::AllTrue(Shorts(), hn::Eq(bits, hn::Zero(Shorts()))); }

/// take_grey() of a row. kNewLight: it has changed, or some pixels are unsure since then.
template <bool kNewLight>
class Mixing {
 public:
  HWY_INLINE Mixing(const MixtureRow& row, const FrameRules& rules)
      : row_(row),
        decays_(rules.decay),
        decay_(set(rules.decay)),
        learn_(set(rules.learn ? 255 : 0)),
        relight_(set(rules.relight ? 255 : 0)),
        factor_(set_wide(1 << (16 - rules.shift))) {}

  /// Which of the pixels `at` on of block i are foreground. Where the first mode explains all of
  /// them, the others are not touched: that their weights decay is noted.
  HWY_INLINE Which take(int i, int at) {
    ModeBlock& block = row_.mode[0][i];
    if (at == 0) fetch_below(0, i);
    const EvenOdd grey = split_high(hn::LoadU(Lanes(), row_.picture + i * kWordBits + at));
    ModeLanes first(block, at);
    hn::StoreU(grey_of(first.mean), Lanes(), row_.grey + i * kWordBits + at);
    if constexpr (kNewLight) {
      unsure_ = hn::VecFromMask(Lanes(), which_of(row_.unsure[i] >> at));
      relit_ = hn::AndNot(unsure_, relight_);
    }
    const Apart apart(grey, first.mean);
    // Mostly all are so near that no spread matters.
    const Wide most = hn::Max(apart.either.even, apart.either.odd);
    if (!none(hn::SaturatedSub(most, set_wide(kLeastApart * 256)))) {
      const EvenOdd beyond = apart.beyond(first.spread);
      if (!none(hn::Or(beyond.even, beyond.odd)))
        return take_others(i, at, grey, first, is_zero(not_zero(beyond)));
    }
    const Which background = is_more(first.weight, kEnoughWeight);
    strengthen(first, grey, apart);
    first.store(block, at);
    for (int k = 1; k < kModes; ++k) owe(k, i, at);
    return hn::Not(background);
  }

 private:
  HWY_INLINE Which take_others(int i, int at, const EvenOdd& grey, ModeLanes& first,
                               Which first_hit) {
    const Lanes d;
    for (int k = 1; k < kModes && at == 0; ++k) fetch_below(k, i);
    ModeLanes one = first;  // of each pixel the mode that explains it
    Which left = hn::Not(first_hit);
    ModeLanes second(row_.mode[1][i], at);
    const Which second_hit = take_next(1, i, at, grey, second, one, left);
    const bool all = hn::AllFalse(d, left);
    ModeLanes third = second;
    Which third_hit = left;
    if (all) {
      owe(2, i, at);
    } else {
      third = ModeLanes(row_.mode[2][i], at);
      third_hit = take_next(2, i, at, grey, third, one, left);
    }
    Which background = hn::AndNot(left, is_more(one.weight, kEnoughWeight));
    strengthen(one, grey, Apart(grey, one.mean));
    if (!all) {
      Pixels learn = learn_;
      if constexpr (kNewLight) learn = hn::Or(learn, relit_);
      background = hn::Or(background, hn::And(left, hn::Not(is_zero(learn))));
      const Pixels weight = hn::IfVecThenElse(learn, set(kEnoughWeight + 1), set(1));
      one.mean = chosen(split_mask(hn::VecFromMask(d, left)), grey, one.mean);
      one.weight = hn::IfThenElse(left, weight, one.weight);
      one.spread = hn::IfThenElse(left, set(kFirstSpread), one.spread);
      third.weight = hn::SaturatedSub(third.weight, decay_);
      put(third, one, hn::Or(third_hit, left));
    }
    second.weight = hn::SaturatedSub(second.weight, decay_);
    put(second, one, second_hit);
    first.weight = hn::Max(hn::SaturatedSub(first.weight, decay_), set(1));  // it never goes
    put(first, one, first_hit);
    if (!all) {
      swap_if_heavier(second, third);
      third.store(row_.mode[2][i], at);
    }
    swap_if_heavier(first, second);
    first.store(row_.mode[0][i], at);
    second.store(row_.mode[1][i], at);
    return hn::Not(background);
  }

  /// Which of the pixels that are left a mode behind the first explains.
  HWY_INLINE Which take_next(int k, int i, int at, const EvenOdd& grey, ModeLanes& mode,
                             ModeLanes& one, Which& left) {
    std::uint8_t& owed = row_.notes[i].owed[k][at / kNoted];
    mode.weight = hn::SaturatedSub(mode.weight, set(owed));
    owed = 0;
    const EvenOdd beyond = Apart(grey, mode.mean).beyond(mode.spread);
    const Which fits = hn::AndNot(is_zero(mode.weight), is_zero(not_zero(beyond)));
    const Which hit = hn::And(left, fits);
    left = hn::AndNot(fits, left);
    put(one, mode, hit);
    return hit;
  }

  static HWY_INLINE void put(ModeLanes& to, const ModeLanes& from, Which which) {
    to.mean = chosen(split_mask(hn::VecFromMask(Lanes(), which)), from.mean, to.mean);
    to.weight = hn::IfThenElse(which, from.weight, to.weight);
    to.spread = hn::IfThenElse(which, from.spread, to.spread);
  }

  /// strengthen() of the modes that have explained the pixels.
  HWY_INLINE void strengthen(ModeLanes& mode, const EvenOdd& grey, const Apart& apart) {
    // The upper half of a product is a shift.
    const auto moved = [&](Wide mean, Wide above, Wide below) HWY_ATTR {
      return hn::Sub(hn::Add(mean, hn::MulHigh(above, factor_)), hn::MulHigh(below, factor_));
    };
    mode.mean = {moved(mode.mean.even, apart.above.even, apart.below.even),
                 moved(mode.mean.odd, apart.above.odd, apart.below.odd)};
    if constexpr (kNewLight) {
      mode.mean = chosen(split_mask(relit_), grey, mode.mean);
      mode.spread = hn::IfVecThenElse(relit_, hn::Max(mode.spread, set(kFirstSpread)), mode.spread);
    }
    const EvenOdd end = spread_ends(mode.spread);
    const Pixels one = set(1), wider = not_zero({hn::SaturatedSub(apart.either.even, end.even),
                                                 hn::SaturatedSub(apart.either.odd, end.odd)});
    mode.spread = hn::SaturatedSub(hn::SaturatedAdd(mode.spread, wider), hn::Xor(wider, one));
    mode.weight = hn::SaturatedAdd(mode.weight, one);
    if constexpr (kNewLight) {
      const Which some = is_more(mode.weight, kUnsureWeight);
      const Which enough = is_more(mode.weight, kEnoughWeight);
      const Which unsure = hn::Not(is_zero(unsure_));
      const Which sure_now = hn::And(unsure, hn::AndNot(enough, some));
      mode.weight = hn::IfThenElse(sure_now, set(kEnoughWeight + 1), mode.weight);
    }
  }

  /// Fetches a mode of the row below, which mostly needs those that this one does.
  HWY_INLINE void fetch_below(int k, int i) {
    const auto* block = reinterpret_cast<const std::uint8_t*>(row_.mode[k] + i + row_.to_below);
    for (std::size_t at = 0; at < sizeof(ModeBlock); at += kWordBits) hwy::Prefetch(block + at);
  }

  HWY_INLINE void owe(int k, int i, int at) {
    if (!decays_) return;
    std::uint8_t& owed = row_.notes[i].owed[k][at / kNoted];
    owed = static_cast<std::uint8_t>(owed + (owed < 255));
  }

  const MixtureRow row_;  // a copy: what is stored may lie anywhere, so a reference is read again
  const bool decays_;
  const Pixels decay_, learn_, relight_;
  const Wide factor_;
  Pixels unsure_, relit_;  ///< kNewLight only
};

template <bool kNewLight>
HWY_INLINE void take_row(const MixtureRow row, int words, const FrameRules& rules) {
  const Lanes d;
  Mixing<kNewLight> mixing(row, rules);
  for (int i = 0; i < words; ++i) {
    BlockNotes& notes = row.notes[i];
    std::uint64_t foreground = 0, was = 0, is = 0;
    for (int at = 0; at < kWordBits; at += kLanes) {
      const std::uint64_t now = bits_of(mixing.take(i, at));
      foreground |= now << at;
      // Follows what comes and goes.
      const std::uint64_t changed = (notes.foreground >> at ^ now) & kAllLanes;
      std::uint8_t& stirred = notes.stirred[at / kNoted];
      if (changed == 0 && stirred == 0) continue;
      std::uint8_t* restless = row.restless + i * kWordBits + at;
      const Pixels before = hn::Load(d, restless);
      const Pixels change = hn::IfThenElseZero(which_of(changed), set(kChange));
      const Pixels after = hn::SaturatedAdd(hn::SaturatedSub(before, set(1)), change);
      hn::Store(after, d, restless);
      stirred = !hn::AllTrue(d, is_zero(after));
      was |= bits_of(is_more(before, kRestless - 1)) << at;
      is |= bits_of(is_more(after, kRestless - 1)) << at;
    }
    notes.foreground = foreground;
    notes.was_restless = was;
    notes.is_restless = is;
  }
}

void mixture_row(const MixtureRow& row, int words, const FrameRules& rules) {
  if (row.unsure)
    take_row<true>(row, words, rules);
  else
    take_row<false>(row, words, rules);
}

/// How many of the samples of a row differ from the background.
int count_samples(const ModeBlock* blocks, const std::uint8_t* picture,
                  const std::uint64_t* sampled, int words) {
  std::size_t count = 0;
  for (int i = 0; i < words; ++i) {
    for (int at = 0; at < kWordBits; at += kLanes) {
      const Pixels seen = hn::LoadU(Lanes(), picture + i * kWordBits + at);
      const Pixels grey = grey_of(load_mean(blocks[i], at));
      const Pixels apart = hn::Or(hn::SaturatedSub(seen, grey), hn::SaturatedSub(grey, seen));
      count += hwy::PopCount(bits_of(is_more(apart, kSampleApart)) & sampled[i] >> at);
    }
  }
  return static_cast<int>(count);
}

#endif
}  // namespace cuface::motion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
