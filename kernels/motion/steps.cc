#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/motion/steps.cc"
#include "kernels/motion/steps.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "kernels/common/dispatch.h"
#include "kernels/common/simd.h"
#include "kernels/motion/edges.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::motion::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void pack_vector(const std::uint8_t*, int, std::uint64_t*) {}
void differing_row(const std::uint8_t*, const std::uint8_t*, int, int, std::uint64_t*) {}
void add_rows(const ColumnSums&, const std::uint64_t*, const std::uint64_t*, int) {}
void majority_row(const ColumnSums&, MajorityRule, int, std::uint64_t*) {}
#else

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<std::uint8_t>;
static_assert(HWY_MAX_BYTES <= 64, "a vector's mask is at most a word");

/// Bits of a mask of the pixels from x on; a vector's lanes are whole bytes of them.
HWY_INLINE void store_bits(hn::Mask<Lanes> mask, int x, std::uint64_t* bits) {
  hn::StoreMaskBits(Lanes(), mask, reinterpret_cast<std::uint8_t*>(bits) + x / 8);
}

void pack_vector(const std::uint8_t* bytes, int width, std::uint64_t* bits) {
  const Lanes d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto zero = hn::Zero(d);
  int x = 0;
  for (; x + lanes <= width; x += lanes) store_bits(hn::Ne(hn::LoadU(d, bytes + x), zero), x, bits);
  for (; x < width; ++x) bits[x / kWordBits] |= std::uint64_t{bytes[x] != 0} << x % kWordBits;
}

void differing_row(const std::uint8_t* then, const std::uint8_t* now, int width, int least,
                   std::uint64_t* out) {
  const Lanes d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto limit = hn::Set(d, static_cast<std::uint8_t>(least)), zero = hn::Zero(d);
  int x = 0;
  for (; x + lanes <= width; x += lanes) {
    const auto a = hn::LoadU(d, then + x), b = hn::LoadU(d, now + x);
    const auto apart = hn::Or(hn::SaturatedSub(a, b), hn::SaturatedSub(b, a));
    store_bits(hn::Ne(hn::SaturatedSub(apart, limit), zero), x, out);
  }
  for (; x < width; ++x)
    if (std::abs(now[x] - then[x]) > least) set_bit(out, x);
}

/// sums += in - out. Most words of both are empty.
void add_rows(const ColumnSums& sums, const std::uint64_t* in, const std::uint64_t* out,
              int words) {
  const Lanes d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto one = hn::Set(d, 1);
  for (int i = 0; i < words; ++i) {
    if ((in[i] | out[i]) == 0) continue;
    sums.counts[i] += static_cast<std::int32_t>(hwy::PopCount(in[i]));
    sums.counts[i] -= static_cast<std::int32_t>(hwy::PopCount(out[i]));
    const auto* ins = reinterpret_cast<const std::uint8_t*>(in + i);
    const auto* outs = reinterpret_cast<const std::uint8_t*>(out + i);
    for (int at = 0; at < kWordBits; at += lanes) {
      std::uint8_t* to = sums.columns + i * kWordBits + at;
      const auto more = hn::IfThenElseZero(hn::LoadMaskBits(d, ins + at / 8), one);
      const auto less = hn::IfThenElseZero(hn::LoadMaskBits(d, outs + at / 8), one);
      hn::Store(hn::Sub(hn::Add(hn::Load(d, to), more), less), d, to);
    }
  }
}

void majority_row(const ColumnSums& sums, MajorityRule rule, int words, std::uint64_t* bits) {
  const Lanes d;
  const int lanes = static_cast<int>(hn::Lanes(d)), half = rule.side / 2;
  const auto least = hn::Set(d, static_cast<std::uint8_t>(rule.least - 1));
  for (int i = 0; i < words; ++i) {
    bits[i] = 0;
    if (sums.counts[i - 1] + sums.counts[i] + sums.counts[i + 1] < rule.least) continue;
    for (int x = i * kWordBits; x < (i + 1) * kWordBits; x += lanes) {
      auto sum = hn::LoadU(d, sums.columns + x - half);
      for (int k = 1 - half; k <= half; ++k) sum = hn::Add(sum, hn::LoadU(d, sums.columns + x + k));
      store_bits(hn::Ne(hn::SaturatedSub(sum, least), hn::Zero(d)), x, bits);
    }
  }
}

#endif
}  // namespace cuface::motion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace cuface::motion {
namespace {

HWY_EXPORT(pack_vector);
HWY_EXPORT(differing_row);
HWY_EXPORT(add_rows);
HWY_EXPORT(majority_row);

void clear_row(ImageView<std::uint64_t> bits, int y) {
  std::fill_n(bits.row(y), bits.width, std::uint64_t{0});
}

/// Adds what is `by` pixels before and behind along a row, 0 < by < 64. Words within the row have
/// both neighbours, so that compilers make vectors of them.
void spread_row(const std::uint64_t* in, int words, int by, std::uint64_t* out) {
  const int rest = kWordBits - by;
  const auto spread = [&](std::uint64_t before, std::uint64_t word, std::uint64_t behind) {
    return word | word << by | word >> by | before >> rest | behind << rest;
  };
  if (words == 1) {
    out[0] = spread(0, in[0], 0);
    return;
  }
  out[0] = spread(0, in[0], in[1]);
  for (int i = 1; i < words - 1; ++i) out[i] = spread(in[i - 1], in[i], in[i + 1]);
  out[words - 1] = spread(in[words - 2], in[words - 1], 0);
}

}  // namespace

BitImage::BitImage(int width, int height) : words_(words_of(width), height) { clear(); }

void BitImage::clear() {
  for (int y = 0; y < words_.height(); ++y) clear_row(words_.view(), y);
}

void pack(Bytes bytes, ImageView<std::uint64_t> bits) {
  for (int y = 0; y < bytes.height; ++y) {
    if (simd::vectors()) {
      clear_row(bits, y);
      CUFACE_DISPATCH(pack_vector)(bytes.row(y), bytes.width, bits.row(y));
    } else {
      pack_row(bytes.row(y), bytes.width, bits.row(y));
    }
  }
}

Dilation::Dilation(int width, int height, int reach)
    : width_(width), reach_(reach), across_(width, height), down_(width, height) {}

// What reaches k pixels grows by up to k + 1 at once along a row: by more, it would have to pass
// through pixels that are outside of the picture. Down it is by 2k + 1, with nothing left out.
void Dilation::run(Bits bits, ImageView<std::uint64_t> out) {
  const int words = bits.width;
  const std::uint64_t last = bits_between(words - 1, 0, width_);
  Bits from = bits;
  ImageView<std::uint64_t> to = across_.view(), other = down_.view();
  const auto made = [&] {
    from = to;
    std::swap(to, other);
  };
  for (int reach = 0; reach < reach_;) {
    const int by = std::min({reach + 1, reach_ - reach, kWordBits - 1});
    for (int y = 0; y < bits.height; ++y) {
      std::uint64_t* row = to.row(y);
      spread_row(from.row(y), words, by, row);
      row[words - 1] &= last;
    }
    made();
    reach += by;
  }
  for (int reach = 0; reach < reach_;) {
    const int by = std::min(2 * reach + 1, reach_ - reach);
    if (reach + by == reach_) to = out;
    for (int y = 0; y < bits.height; ++y) {
      const std::uint64_t* above = from.row(std::max(y - by, 0));
      const std::uint64_t* below = from.row(std::min(y + by, bits.height - 1));
      const std::uint64_t* in = from.row(y);
      std::uint64_t* row = to.row(y);
      // A row that is not there is the first or last one, which is as near.
      for (int i = 0; i < words; ++i) row[i] = in[i] | above[i] | below[i];
    }
    made();
    reach += by;
  }
  for (int y = 0; y < bits.height && reach_ == 0; ++y) std::copy_n(bits.row(y), words, out.row(y));
}

EdgeDifference::EdgeDifference(int width, int height, int tolerance, bool symmetric)
    : width_(width),
      tolerance_(tolerance),
      symmetric_(symmetric),
      dilation_(width, height, tolerance),
      hollow_(width, height),
      near_hollow_(width, height) {}

void EdgeDifference::prepare(EdgeFrame& frame) {
  if (simd::vectors()) dilation_.run(std::as_const(frame.map).view(), frame.near.view());
}

void EdgeDifference::run(const EdgeFrame& former, const EdgeFrame& latter,
                         ImageView<std::uint64_t> out) {
  const Bits then = former.map.view(), now = latter.map.view();
  if (!simd::vectors()) return run_plain(then, now, out);
  const int words = now.width;
  if (!symmetric_) {
    for (int y = 0; y < now.height; ++y)
      for (int i = 0; i < words; ++i)
        hollow_.view().row(y)[i] = ~then.row(y)[i] & bits_between(i, 0, width_);
    dilation_.run(std::as_const(hollow_).view(), near_hollow_.view());
  }
  for (int y = 0; y < now.height; ++y) {
    for (int i = 0; i < words; ++i) {
      EdgeWords one = {then.row(y)[i], now.row(y)[i], former.near.view().row(y)[i]};
      if (symmetric_)
        one.near_now = latter.near.view().row(y)[i];
      else
        one.solid_then = ~near_hollow_.view().row(y)[i];
      out.row(y)[i] = changed_edges(one, symmetric_);
    }
  }
}

// [S1.09] as it is written: a pixel that differs, unless one like it is near.
void EdgeDifference::run_plain(Bits then, Bits now, ImageView<std::uint64_t> out) const {
  const auto has_near = [&](Bits map, int x, int y, bool value) {
    for (int v = std::max(y - tolerance_, 0); v <= std::min(y + tolerance_, map.height - 1); ++v)
      for (int u = std::max(x - tolerance_, 0); u <= std::min(x + tolerance_, width_ - 1); ++u)
        if (bit_at(map, u, v) == value) return true;
    return false;
  };
  for (int y = 0; y < now.height; ++y) {
    clear_row(out, y);
    for (int x = 0; x < width_; ++x) {
      const bool is = bit_at(now, x, y), was = bit_at(then, x, y);
      if (is == was) continue;
      const bool gone = was && symmetric_;
      if (!(gone ? has_near(now, x, y, true) : has_near(then, x, y, is))) set_bit(out.row(y), x);
    }
  }
}

void differing(const std::uint8_t* then, const std::uint8_t* now, int width, int least,
               std::uint64_t* out) {
  std::fill_n(out, words_of(width), std::uint64_t{0});
  if (simd::vectors()) return CUFACE_DISPATCH(differing_row)(then, now, width, least, out);
  for (int x = 0; x < width; ++x)
    if (std::abs(now[x] - then[x]) > least) set_bit(out, x);
}

Majority::Majority(int width, MajorityRule rule)
    : width_(width),
      rule_(rule),
      columns_(zeros<std::uint8_t>((words_of(width) + 2) * kWordBits, 1)),
      counts_(static_cast<std::size_t>(words_of(width)) + 2),
      none_(static_cast<std::size_t>(words_of(width))) {}

void Majority::take(int y, Bits pixels, ImageView<std::uint64_t> out) {
  const int half = rule_.side / 2;
  if (y == 0) {
    clear(columns_);
    std::fill(counts_.begin(), counts_.end(), 0);
  }
  const auto row = [&](int i) {
    return i >= 0 && i < pixels.height ? pixels.row(i) : none_.data();
  };
  const int last = y == out.height - 1 ? y : y - half;
  for (int i = y; i <= last + half; ++i) {
    if (simd::vectors())
      CUFACE_DISPATCH(add_rows)(sums(), row(i), row(i - rule_.side), pixels.width);
    if (i >= half) keep(i - half, pixels, out);
  }
}

/// A row whose sums down the rows are made.
void Majority::keep(int y, Bits pixels, ImageView<std::uint64_t> out) {
  const int half = rule_.side / 2;
  if (simd::vectors()) {
    CUFACE_DISPATCH(majority_row)(sums(), rule_, out.width, out.row(y));
    out.row(y)[out.width - 1] &= bits_between(out.width - 1, 0, width_);
    return;
  }
  clear_row(out, y);
  for (int x = 0; x < width_; ++x) {
    int count = 0;
    for (int v = std::max(y - half, 0); v <= std::min(y + half, out.height - 1); ++v)
      for (int u = std::max(x - half, 0); u <= std::min(x + half, width_ - 1); ++u)
        count += bit_at(pixels, u, v);
    if (count >= rule_.least) set_bit(out.row(y), x);
  }
}

}  // namespace cuface::motion
#endif
