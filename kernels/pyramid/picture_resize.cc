#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pyramid/picture_resize.cc"
#include "kernels/pyramid/picture_resize.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "kernels/common/dispatch.h"
#include "kernels/common/pair_products-inl.h"
#include "kernels/common/simd.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void resize_across(const std::uint8_t*, const std::vector<PictureResize::Eight>&, std::uint16_t*) {}
void resize_down(const std::uint16_t*, const std::uint16_t*, int, int, std::uint8_t*) {}
#else

namespace hn = hwy::HWY_NAMESPACE;

/// LinearResize::along_row() of a row.
void resize_across(const std::uint8_t* row, const std::vector<PictureResize::Eight>& eights,
                   std::uint16_t* out) {
  const hn::FixedTag<std::uint16_t, 8> d;
  const hn::Repartition<std::uint8_t, decltype(d)> bytes;
  for (const PictureResize::Eight& eight : eights) {
    const auto places = hn::LoadU(bytes, eight.places);
    const auto pixels = hn::TableLookupBytes(hn::LoadU(bytes, row + eight.start), places);
    const auto both = hn::BitCast(d, pixels);
    const auto first = hn::And(both, hn::Set(d, 0xff)), second = hn::ShiftRight<8>(both);
    const auto weight = hn::LoadU(d, eight.weight_second);
    const auto change = hn::Mul(weight, hn::Sub(second, first));  // modulo 2^16, as the sum
    hn::StoreU(hn::Add(hn::ShiftLeft<8>(first), change), d, out);
    out += 8;
  }
}

/// LinearResize::blend() of two such rows, which have a vector's room behind their end.
void resize_down(const std::uint16_t* above, const std::uint16_t* below, int weight_below,
                 int width, std::uint8_t* out) {
  const hn::ScalableTag<std::int16_t> d;
  const hn::RebindToUnsigned<decltype(d)> words;
  const hn::RepartitionToWide<decltype(d)> wide;
  const hn::Rebind<std::uint8_t, decltype(d)> bytes;
  const int lanes = static_cast<int>(hn::Lanes(d));
  // Values are taken less 2^15, so that they have 16 bits with a sign; the weights' sum is 256.
  const auto flip = hn::Set(words, 0x8000);
  const auto weights = hn::BitCast(d, hn::Set(wide, (weight_below << 16) | (256 - weight_below)));
  const auto rounding = hn::Set(wide, (1 << 23) + (1 << 15));
  const auto blended = [&](auto pairs) {
    return hn::ShiftRight<16>(
        hn::Add(cuface::HWY_NAMESPACE::pair_products(wide, pairs, weights), rounding));
  };
  const auto eight_bits = [&](int x) {
    const auto a = hn::BitCast(d, hn::Xor(hn::LoadU(words, above + x), flip));
    const auto b = hn::BitCast(d, hn::Xor(hn::LoadU(words, below + x), flip));
    const auto low = blended(hn::InterleaveLower(d, a, b));
    const auto high = blended(hn::InterleaveUpper(d, a, b));
    return hn::DemoteTo(bytes, hn::ReorderDemote2To(d, low, high));
  };
  int x = 0;
  for (; x + lanes <= width; x += lanes) hn::StoreU(eight_bits(x), bytes, out + x);
  if (x == width) return;
  HWY_ALIGN std::uint8_t last[HWY_MAX_BYTES];
  hn::Store(eight_bits(x), bytes, last);
  std::copy_n(last, width - x, out + x);
}

#endif
}  // namespace cuface::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface {

HWY_EXPORT(resize_across);
HWY_EXPORT(resize_down);

namespace {

constexpr int kBytes = 16;

/// Empty where they do not fit.
std::vector<PictureResize::Eight> make_eights(const std::vector<LinearResize::Tap>& columns,
                                              int source) {
  std::vector<PictureResize::Eight> eights;
  if (source < kBytes) return eights;
  for (std::size_t x = 0; x < columns.size(); x += 8) {
    PictureResize::Eight eight{};
    eight.start = std::min(columns[x].first, source - kBytes);
    for (std::size_t i = 0; i < 8; ++i) {
      const LinearResize::Tap& tap = columns[std::min(x + i, columns.size() - 1)];
      if (tap.second - eight.start >= kBytes) return {};
      eight.places[2 * i] = static_cast<std::uint8_t>(tap.first - eight.start);
      eight.places[2 * i + 1] = static_cast<std::uint8_t>(tap.second - eight.start);
      eight.weight_second[i] = tap.weight_second;
    }
    eights.push_back(eight);
  }
  return eights;
}

}  // namespace

PictureResize::PictureResize(int src_width, int src_height, int dst_width, int dst_height)
    : plan_(src_width, src_height, dst_width, dst_height),
      eights_(make_eights(plan_.columns(), src_width)) {
  constexpr std::size_t kBehind = 32;  // a vector
  for (std::vector<std::uint16_t>& row : rows_) row.resize(8 * eights_.size() + kBehind);
}

bool PictureResize::run(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst,
                        const StopFlag* stop) {
  if (!simd::vectors() || eights_.empty()) return plan_.run(src, dst, stop);
  const auto across = CUFACE_DISPATCH(resize_across);
  const auto down = CUFACE_DISPATCH(resize_down);
  int held[2] = {-1, -1};
  const auto row = [&](int y) {
    std::uint16_t* sums = rows_[y % 2].data();
    if (held[y % 2] != y) across(src.row(y), eights_, sums);
    held[y % 2] = y;
    return sums;
  };
  for (int y = 0; y < dst.height; ++y) {
    if (y % kRowsPerLook == 0 && is_raised(stop)) return false;
    const LinearResize::Tap& tap = plan_.rows()[static_cast<std::size_t>(y)];
    const std::uint16_t *above = row(tap.first), *below = row(tap.second);
    down(above, below, tap.weight_second, dst.width, dst.row(y));
  }
  return true;
}

}  // namespace cuface
#endif
