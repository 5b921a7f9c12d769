#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/surf/window_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "kernels/common/dispatch.h"
#include "kernels/surf/window.h"

#ifndef CUFACE_SURF_WINDOW_VECTOR
#define CUFACE_SURF_WINDOW_VECTOR
namespace cuface::surf {

/// Bytes that are read from a pixel on.
inline constexpr int kReach = 4;

}  // namespace cuface::surf
#endif

HWY_BEFORE_NAMESPACE();
namespace cuface::surf::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void turns_of(const float*, const float*, const std::int32_t*, std::size_t, TurnSums&) {}
void turned_inside(const ImageView<const std::uint8_t>&, const WindowPlace&, int, std::uint8_t*) {}
void turned_anywhere(const ImageView<const std::uint8_t>&, const WindowPlace&, int, std::uint8_t*) {
}
void add_lines(const std::uint8_t*, std::ptrdiff_t, int, int, const float*, float*) {}
#else

namespace hn = hwy::HWY_NAMESPACE;

void turns_of(const float* x, const float* y, const std::int32_t* degrees, std::size_t count,
              TurnSums& out) {
  const hn::CappedTag<float, 8> d;
  const hn::RebindToSigned<decltype(d)> words;
  static_assert(kTurns % 8 == 0);
  const auto near = hn::Set(words, 30), far = hn::Set(words, 330);
  for (int turn = 0; turn < kTurns; turn += static_cast<int>(hn::Lanes(d))) {
    HWY_ALIGN std::int32_t angles[8];
    for (int i = 0; i < static_cast<int>(hn::Lanes(d)); ++i) angles[i] = (turn + i) * kTurnDegrees;
    const auto turns = hn::Load(words, angles);
    auto across = hn::Zero(d), down = hn::Zero(d);
    for (std::size_t i = 0; i < count; ++i) {
      const auto apart = hn::Abs(hn::Sub(hn::Set(words, degrees[i]), turns));
      const auto counts = hn::RebindMask(d, hn::Or(hn::Lt(apart, near), hn::Gt(apart, far)));
      across = hn::Add(across, hn::IfThenElseZero(counts, hn::Set(d, x[i])));
      down = hn::Add(down, hn::IfThenElseZero(counts, hn::Set(d, y[i])));
    }
    hn::StoreU(across, d, out.x + turn);
    hn::StoreU(down, d, out.y + turn);
  }
}

/// The pixels of a turned window: pixel j of line i is out[j * pitch + i]. kInside: all of them are
/// between four of the picture, kReach from its right side. The picture is kReach wide at least.
template <bool kInside>
HWY_INLINE void turned_window(const ImageView<const std::uint8_t>& grey, const WindowPlace& place,
                              int pitch, std::uint8_t* out) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> singles;
  const hn::Rebind<std::int32_t, decltype(d)> words;
  const hn::Rebind<std::uint32_t, decltype(d)> bits;
  const hn::Rebind<std::uint8_t, decltype(d)> bytes;
  const auto number = [&](int v) { return hn::Set(d, static_cast<double>(v)); };
  const auto cosine = hn::Set(d, static_cast<double>(place.cosine)),
             sine = hn::Set(d, static_cast<double>(place.sine));
  const auto zero = hn::Zero(d), right = number(grey.width - 1), bottom = number(grey.height - 1);
  const auto stride = hn::Set(words, static_cast<std::int32_t>(grey.stride));
  const auto last_four = hn::Set(words, grey.width - kReach);
  const auto last_row = hn::Set(words, grey.height - 1);
  const auto one = hn::Set(singles, 1.f);
  const auto low = hn::Set(bits, 255);
  const auto* base = reinterpret_cast<const std::int32_t*>(grey.data);
  for (int i = 0; i < place.size; i += static_cast<int>(hn::Lanes(d))) {
    auto x = hn::PromoteTo(d, hn::LoadU(singles, place.x.data() + i));
    auto y = hn::PromoteTo(d, hn::LoadU(singles, place.y.data() + i));
    for (int j = 0; j < place.size; ++j) {
      auto left = hn::Floor(x), top = hn::Floor(y);
      auto across = hn::Sub(x, left), down = hn::Sub(y, top);
      if (!kInside) {
        // The nearest pixel counts alone at the sides.
        const auto inside = hn::And(hn::And(hn::Ge(left, zero), hn::Ge(top, zero)),
                                    hn::And(hn::Lt(left, right), hn::Lt(top, bottom)));
        const auto nearest = [&](auto v, auto most) {
          return hn::Min(hn::Max(hn::Round(v), zero), most);
        };
        left = hn::IfThenElse(inside, left, nearest(x, right));
        top = hn::IfThenElse(inside, top, nearest(y, bottom));
        across = hn::IfThenElseZero(inside, across);
        down = hn::IfThenElseZero(inside, down);
      }
      const auto a = hn::DemoteTo(singles, across), b = hn::DemoteTo(singles, down);
      const auto column = hn::DemoteTo(words, left), row = hn::DemoteTo(words, top);
      // Four bytes are read of each row, the last ones where fewer follow.
      const auto first = kInside ? column : hn::Min(column, last_four);
      const auto unused = hn::BitCast(bits, hn::ShiftLeft<3>(hn::Sub(column, first)));
      const auto pair_of = [&](auto of_row) {
        const auto four = hn::BitCast(
            bits, hn::GatherOffset(words, base, hn::Add(hn::Mul(of_row, stride), first)));
        return kInside ? four : hn::Shr(four, unused);
      };
      auto next = hn::Add(row, hn::Set(words, 1));
      if (!kInside) next = hn::Min(next, last_row);
      const auto above = pair_of(row), below = pair_of(next);
      const auto single = [&](auto pair) {
        return hn::ConvertTo(singles, hn::BitCast(words, hn::And(pair, low)));
      };
      const auto second = [&](auto pair) { return single(hn::ShiftRight<8>(pair)); };
      const auto less_a = hn::Sub(one, a), less_b = hn::Sub(one, b);
      const auto p00 = hn::Mul(hn::Mul(single(above), less_a), less_b),
                 p01 = hn::Mul(hn::Mul(second(above), a), less_b),
                 p10 = hn::Mul(hn::Mul(single(below), less_a), b),
                 p11 = hn::Mul(hn::Mul(second(below), a), b);
      const auto sum = hn::Add(hn::Add(hn::Add(p00, p01), p10), p11);
      hn::StoreU(hn::DemoteTo(bytes, hn::NearestInt(sum)), bytes,
                 out + static_cast<std::ptrdiff_t>(j) * pitch + i);
      x = hn::Add(x, cosine);
      y = hn::Sub(y, sine);
    }
  }
}

void turned_inside(const ImageView<const std::uint8_t>& grey, const WindowPlace& place, int pitch,
                   std::uint8_t* out) {
  turned_window<true>(grey, place, pitch, out);
}

void turned_anywhere(const ImageView<const std::uint8_t>& grey, const WindowPlace& place, int pitch,
                     std::uint8_t* out) {
  turned_window<false>(grey, place, pitch, out);
}

/// out[i] := the sum of `count` lines' pixels i, weighted, for i below `size`, and some more.
void add_lines(const std::uint8_t* first, std::ptrdiff_t pitch, int size, int count,
               const float* weights, float* out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> words;
  const hn::Rebind<std::uint8_t, decltype(d)> bytes;
  for (int i = 0; i < size; i += static_cast<int>(hn::Lanes(d))) {
    auto sum = hn::Zero(d);
    for (int k = 0; k < count; ++k) {
      const auto pixels = hn::PromoteTo(words, hn::LoadU(bytes, first + k * pitch + i));
      sum = hn::Add(sum, hn::Mul(hn::ConvertTo(d, pixels), hn::Set(d, weights[k])));
    }
    hn::StoreU(sum, d, out + i);
  }
}

#endif
}  // namespace cuface::surf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::surf {

HWY_EXPORT(turns_of);
HWY_EXPORT(turned_inside);
HWY_EXPORT(turned_anywhere);
HWY_EXPORT(add_lines);

void sum_turns_vector(const Gradients& g, TurnSums& out) {
  CUFACE_DISPATCH(turns_of)(g.x.data(), g.y.data(), g.degrees.data(), g.x.size(), out);
}

namespace {

/// Whether no pixel of the window is at the picture's sides.
bool is_inside(const ImageView<const std::uint8_t>& grey, const WindowPlace& place) {
  const auto along = static_cast<float>(place.size - 1);
  const auto last = static_cast<std::size_t>(place.size - 1);
  for (const std::size_t i : {std::size_t{0}, last})
    for (const float j : {0.f, along}) {
      const float x = place.x[i] + j * place.cosine, y = place.y[i] - j * place.sine;
      // Less a pixel, because these are rounded in another way.
      if (!(x >= 1 && y >= 1 && x < static_cast<float>(grey.width - kReach - 1) &&
            y < static_cast<float>(grey.height - 3)))
        return false;
    }
  return true;
}

}  // namespace

WindowResize::Lines WindowResize::lines_of(const ImageView<const std::uint8_t>& grey,
                                           const WindowPlace& place) {
  const int size = place.size, pitch = (size / kVector + 1) * kVector;
  if (place.upright && place.left >= 0 && place.left + pitch <= grey.width &&
      place.bottom < grey.height && place.bottom - (size - 1) >= 0)
    return {grey.row(place.bottom) + place.left, -grey.stride};
  pixels_.resize(static_cast<std::size_t>(size) * static_cast<std::size_t>(pitch));
  const auto line = [&](int j) { return pixels_.data() + static_cast<std::ptrdiff_t>(j) * pitch; };
  if (place.upright) {
    for (int j = 0; j < size; ++j) {
      const std::uint8_t* from = grey.row(std::clamp(place.bottom - j, 0, grey.height - 1));
      for (int i = 0; i < size; ++i)
        line(j)[i] = from[std::clamp(place.left + i, 0, grey.width - 1)];
    }
  } else if (grey.width >= kReach && grey.stride > 0 &&
             grey.stride * grey.height < std::ptrdiff_t{1} << 31) {  // offsets have 32 bits
    const auto turned =
        is_inside(grey, place) ? CUFACE_DISPATCH(turned_inside) : CUFACE_DISPATCH(turned_anywhere);
    turned(grey, place, pitch, pixels_.data());
  } else {
    for (int i = 0; i < size; ++i)
      place.for_each_of_line(i,
                             [&](int j, double x, double y) { line(j)[i] = pixel_at(grey, x, y); });
  }
  return {pixels_.data(), pitch};
}

void WindowResize::run_vector(ImageView<const std::uint8_t> grey, const WindowPlace& place,
                              std::uint8_t* patch) {
  const int size = place.size;
  // Then all sums of whole pixels are exact in float.
  const int side = size % patch_ == 0 ? size / patch_ : 0;
  if (side > kMostExactSide) return run(grey, place, patch);
  const Lines lines = lines_of(grey, place);
  const Shares& all = shares(size);
  const int pitch = (size / kVector + 1) * kVector;
  sums_.resize(static_cast<std::size_t>(pitch));
  const std::vector<float> ones(static_cast<std::size_t>(side), 1.f);
  const auto add = CUFACE_DISPATCH(add_lines);
  for (int x = 0; x < patch_; ++x) {
    const Shares::One& across = all.of[static_cast<std::size_t>(x)];
    const int first = side > 0 ? x * side : across.first;
    add(lines.first + first * lines.pitch, lines.pitch, size, side > 0 ? side : across.count,
        side > 0 ? ones.data() : across.weights, sums_.data());
    for (int y = 0; y < patch_; ++y) {
      const Shares::One& down = all.of[static_cast<std::size_t>(y)];
      float sum = 0;
      if (side > 0) {
        for (int v = 0; v < side; ++v) sum += sums_[static_cast<std::size_t>(y * side + v)];
        patch[y * patch_ + x] = mean_of(static_cast<int>(sum), side);
        continue;
      }
      const float* from = sums_.data() + down.first;
      for (int v = 0; v < down.count; ++v) sum += down.weights[v] * from[v];
      patch[y * patch_ + x] = byte_of(sum);
    }
  }
}

}  // namespace cuface::surf
#endif
