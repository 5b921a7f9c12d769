#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/motion/steps.cc"
#include "kernels/motion/steps.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/common/dispatch.h"
#include "kernels/common/simd.h"
#include "kernels/motion/edges.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::motion::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void pack_vector(const std::uint8_t*, int, std::uint64_t*) {}
void differing_row(const std::uint8_t*, const std::uint8_t*, int, int, std::uint8_t*) {}
void add_rows(std::uint8_t*, const std::uint8_t*, const std::uint8_t*, int) {}
void majority_row(const std::uint8_t*, int, std::uint64_t*) {}
void filter_down(const std::uint8_t*, std::ptrdiff_t, int, int, bool, std::uint8_t*) {}
void filter_along(const std::uint8_t*, int, int, bool, std::uint8_t*) {}
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
                   std::uint8_t* out) {
  const Lanes d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto limit = hn::Set(d, static_cast<std::uint8_t>(least)), one = hn::Set(d, 1);
  int x = 0;
  for (; x + lanes <= width; x += lanes) {
    const auto a = hn::LoadU(d, then + x), b = hn::LoadU(d, now + x);
    const auto apart = hn::Or(hn::SaturatedSub(a, b), hn::SaturatedSub(b, a));
    const auto over = hn::SaturatedSub(apart, limit);
    hn::StoreU(hn::Min(over, one), d, out + x);
  }
  for (; x < width; ++x) out[x] = static_cast<std::uint8_t>(std::abs(now[x] - then[x]) > least);
}

/// sums += in - out; null = a row of zeros.
void add_rows(std::uint8_t* sums, const std::uint8_t* in, const std::uint8_t* out, int width) {
  const Lanes d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int x = 0;
  for (; x + lanes <= width; x += lanes) {
    auto sum = hn::LoadU(d, sums + x);
    if (in) sum = hn::Add(sum, hn::LoadU(d, in + x));
    if (out) sum = hn::Sub(sum, hn::LoadU(d, out + x));
    hn::StoreU(sum, d, sums + x);
  }
  for (; x < width; ++x)
    sums[x] = static_cast<std::uint8_t>(sums[x] + (in ? in[x] : 0) - (out ? out[x] : 0));
}

/// Sums of columns have kAround / 2 zeros before them, and a vector and as many behind.
void majority_row(const std::uint8_t* sums, int width, std::uint64_t* bits) {
  const Lanes d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto least = hn::Set(d, kLeastAround - 1);
  for (int x = 0; x < width; x += lanes) {
    auto sum = hn::LoadU(d, sums + x - kAround / 2);
    for (int i = 1 - kAround / 2; i <= kAround / 2; ++i)
      sum = hn::Add(sum, hn::LoadU(d, sums + x + i));
    store_bits(hn::Ne(hn::SaturatedSub(sum, least), hn::Zero(d)), x, bits);
  }
}

HWY_INLINE hn::Vec<Lanes> chosen(bool greatest, hn::Vec<Lanes> a, hn::Vec<Lanes> b) {
  return greatest ? hn::Max(a, b) : hn::Min(a, b);
}

/// The least or greatest of `count` rows at each place.
void filter_down(const std::uint8_t* in, std::ptrdiff_t stride, int count, int width, bool greatest,
                 std::uint8_t* out) {
  const Lanes d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int x = 0;
  for (; x + lanes <= width; x += lanes) {
    auto best = hn::LoadU(d, in + x);
    for (int y = 1; y < count; ++y)
      best = chosen(greatest, best, hn::LoadU(d, in + y * stride + x));
    hn::StoreU(best, d, out + x);
  }
  for (; x < width; ++x) {
    out[x] = in[x];
    for (int y = 1; y < count; ++y) {
      const std::uint8_t other = in[y * stride + x];
      out[x] = greatest ? std::max(out[x], other) : std::min(out[x], other);
    }
  }
}

/// The row has `reach` pixels like its ends beside them, and may be read a vector behind those.
void filter_along(const std::uint8_t* row, int width, int reach, bool greatest, std::uint8_t* out) {
  const Lanes d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int x = 0;
  for (; x + lanes <= width; x += lanes) {
    auto best = hn::LoadU(d, row + x);
    for (int i = 1; i <= reach; ++i) {
      best = chosen(greatest, best, hn::LoadU(d, row + x - i));
      best = chosen(greatest, best, hn::LoadU(d, row + x + i));
    }
    hn::StoreU(best, d, out + x);
  }
  for (; x < width; ++x) {
    out[x] = row[x];
    for (int i = -reach; i <= reach; ++i)
      out[x] = greatest ? std::max(out[x], row[x + i]) : std::min(out[x], row[x + i]);
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
HWY_EXPORT(filter_down);
HWY_EXPORT(filter_along);

void clear_row(ImageView<std::uint64_t> bits, int y) {
  std::fill_n(bits.row(y), bits.width, std::uint64_t{0});
}

/// The word `words` before or behind another moved along the row by `by` pixels, 0 < by < 64.
std::uint64_t moved(const std::uint64_t* row, int words, int i, int by) {
  const int rest = kWordBits - by;
  const std::uint64_t right = row[i] << by | (i > 0 ? row[i - 1] >> rest : 0);
  const std::uint64_t left = row[i] >> by | (i + 1 < words ? row[i + 1] << rest : 0);
  return left | right;
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
      const std::uint64_t* in = from.row(y);
      std::uint64_t* row = to.row(y);
      for (int i = 0; i < words; ++i) row[i] = in[i] | moved(in, words, i, by);
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

void differing(Bytes then, Bytes now, int least, ImageView<std::uint8_t> out) {
  for (int y = 0; y < now.height; ++y) {
    const std::uint8_t *a = then.row(y), *b = now.row(y);
    std::uint8_t* row = out.row(y);
    if (simd::vectors()) {
      CUFACE_DISPATCH(differing_row)(a, b, now.width, least, row);
      continue;
    }
    for (int x = 0; x < now.width; ++x)
      row[x] = static_cast<std::uint8_t>(std::abs(b[x] - a[x]) > least);
  }
}

namespace {
constexpr int kBefore = 64;                // so that vectors are aligned
constexpr int kBehind = 64 + kAround / 2;  // what the last vector reads
}  // namespace

Majority::Majority(int width) : sums_(kBefore + width + kBehind, 1) {}

void Majority::run(Bytes in, ImageView<std::uint64_t> out) {
  constexpr int kHalf = kAround / 2;
  if (!simd::vectors()) {
    for (int y = 0; y < in.height; ++y) {
      clear_row(out, y);
      for (int x = 0; x < in.width; ++x) {
        int count = 0;
        for (int v = std::max(y - kHalf, 0); v <= std::min(y + kHalf, in.height - 1); ++v)
          for (int u = std::max(x - kHalf, 0); u <= std::min(x + kHalf, in.width - 1); ++u)
            count += in.at(u, v);
        if (count >= kLeastAround) set_bit(out.row(y), x);
      }
    }
    return;
  }
  std::uint8_t* sums = sums_.view().row(0);
  std::memset(sums, 0, static_cast<std::size_t>(sums_.width()));
  sums += kBefore;
  const auto row = [&](int y) { return y >= 0 && y < in.height ? in.row(y) : nullptr; };
  for (int y = 0; y < kHalf; ++y)
    if (row(y)) CUFACE_DISPATCH(add_rows)(sums, row(y), nullptr, in.width);
  for (int y = 0; y < in.height; ++y) {
    CUFACE_DISPATCH(add_rows)(sums, row(y + kHalf), row(y - kHalf - 1), in.width);
    CUFACE_DISPATCH(majority_row)(sums, in.width, out.row(y));
    out.row(y)[out.width - 1] &= bits_between(out.width - 1, 0, in.width);
  }
}

WindowFilter::WindowFilter(int width, int reach) : reach_(reach), row_(width + 2 * kBefore, 1) {}

void WindowFilter::run_row(Bytes in, int y, bool greatest, ImageView<std::uint8_t> out) {
  const int top = std::max(y - reach_, 0), bottom = std::min(y + reach_, in.height - 1);
  if (!simd::vectors()) {
    for (int x = 0; x < in.width; ++x) {
      std::uint8_t best = in.at(x, y);
      for (int v = top; v <= bottom; ++v)
        for (int u = std::max(x - reach_, 0); u <= std::min(x + reach_, in.width - 1); ++u)
          best = greatest ? std::max(best, in.at(u, v)) : std::min(best, in.at(u, v));
      out.at(x, y) = best;
    }
    return;
  }
  std::uint8_t* row = row_.view().row(0) + kBefore;
  CUFACE_DISPATCH(filter_down)(in.row(top), in.stride, bottom + 1 - top, in.width, greatest, row);
  std::fill_n(row - reach_, reach_, row[0]);
  std::fill_n(row + in.width, reach_, row[in.width - 1]);
  CUFACE_DISPATCH(filter_along)(row, in.width, reach_, greatest, out.row(y));
}

}  // namespace cuface::motion
#endif
