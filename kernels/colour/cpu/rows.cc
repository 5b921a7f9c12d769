#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/colour/cpu/rows.cc"
#include "kernels/colour/cpu/rows.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "kernels/common/dispatch.h"
#include "kernels/common/pair_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::bgr::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void make_planes(const FrameView&, const Weights&, int, const Planes&, const Planes&) {}
void join_planes(const Planes&, int, Bgr*) {}
#else

namespace hn = hwy::HWY_NAMESPACE;
using cuface::HWY_NAMESPACE::pair_products;

using Shorts = hn::ScalableTag<std::int16_t>;
using Ints = hn::Repartition<std::int32_t, Shorts>;
using Halves = hn::Rebind<std::uint8_t, Shorts>;
using ShortVector = hn::Vec<Shorts>;

template <int kBytes>
struct LaneOf;
template <>
struct LaneOf<1> {
  using Type = std::uint8_t;
};
template <>
struct LaneOf<2> {
  using Type = std::uint16_t;
};
template <>
struct LaneOf<4> {
  using Type = std::uint32_t;
};

/// Lanes of one size as lanes of another; their values are bytes.
template <class D, class V>
HWY_INLINE hn::Vec<D> resized(D d, V v) {
  using From = hn::DFromV<V>;
  if constexpr (sizeof(hn::TFromD<D>) > sizeof(hn::TFromD<From>))
    return hn::PromoteTo(d, v);
  else if constexpr (sizeof(hn::TFromD<D>) < sizeof(hn::TFromD<From>))
    return hn::DemoteTo(d, hn::BitCast(hn::RebindToSigned<From>(), v));
  else
    return v;
}

/// `count` samples that are kStride bytes apart, bits `shift` to `shift` + 7 of each, kRepeat
/// times. A vector reads whole strides, though a row may end behind its last sample of
/// `sample_bytes`. Returns how many samples are done: all, or none where they are few.
template <int kStride, int kRepeat>
int spread_samples(const std::uint8_t* in, int sample_bytes, int shift, int count,
                   std::uint8_t* out) {
  constexpr int kLarger = std::max(kStride, kRepeat);
  const hn::ScalableTag<typename LaneOf<kLarger>::Type> larger;
  const hn::Rebind<typename LaneOf<kStride>::Type, decltype(larger)> read;
  const hn::Rebind<typename LaneOf<kRepeat>::Type, decltype(larger)> written;
  const hn::Repartition<std::uint8_t, decltype(read)> bytes_read;
  const hn::Repartition<std::uint8_t, decltype(written)> bytes_written;
  const int lanes = static_cast<int>(hn::Lanes(larger));
  if (count <= lanes) return 0;
  const auto spread = [&](int i, int back) {
    auto v = hn::BitCast(read, hn::LoadU(bytes_read, in + std::ptrdiff_t{i} * kStride - back));
    if constexpr (kStride > 1)
      v = hn::And(hn::ShiftRightSame(v, shift + 8 * back), hn::Set(read, 255));
    auto w = resized(written, v);
    if constexpr (kRepeat > 1) w = hn::Or(w, hn::ShiftLeft<8>(w));
    if constexpr (kRepeat > 2) w = hn::Or(w, hn::ShiftLeft<16>(w));
    hn::StoreU(hn::BitCast(bytes_written, w), bytes_written, out + std::ptrdiff_t{i} * kRepeat);
  };
  for (int i = 0; i + lanes < count; i += lanes) spread(i, 0);
  spread(count - lanes, kStride - sample_bytes);  // its lanes end with their samples
  return count;
}

template <int kStride>
int spread_samples(const std::uint8_t* in, const Component& c, int count, std::uint8_t* out) {
  const int bytes = c.depth > 8 ? 2 : 1, shift = c.shift + c.depth - 8;
  if (c.sub_x == 0) return spread_samples<kStride, 1>(in, bytes, shift, count, out);
  if (c.sub_x == 1) return spread_samples<kStride, 2>(in, bytes, shift, count, out);
  return spread_samples<kStride, 4>(in, bytes, shift, count, out);
}

/// The component's samples of row y, one a pixel and cut to bytes, into a row with room for three
/// more where it is subsampled.
void samples_of(const Component& c, int y, int width, std::uint8_t* out) {
  const std::uint8_t* in = c.data + std::ptrdiff_t{y >> c.sub_y} * c.stride;
  const int count = ((width - 1) >> c.sub_x) + 1;
  int i = 0;
  if (c.pixel_stride == 1)
    i = spread_samples<1>(in, c, count, out);
  else if (c.pixel_stride == 2)
    i = spread_samples<2>(in, c, count, out);
  else if (c.pixel_stride == 4)
    i = spread_samples<4>(in, c, count, out);
  for (; i < count; ++i) {
    const std::uint32_t v = grey::sample(in + std::ptrdiff_t{i} * c.pixel_stride, c.depth, c.shift);
    std::memset(out + (std::ptrdiff_t{i} << c.sub_x), grey::full(v, c.depth),
                std::size_t{1} << c.sub_x);
  }
}

/// Splits pixels of three bytes; what is first in memory goes to the first plane.
void split_triples(const std::uint8_t* in, int width, const Planes& out) {
  const hn::ScalableTag<std::uint8_t> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int x = 0;
  for (; x + lanes <= width; x += lanes) {
    hn::Vec<decltype(d)> a, b, c;
    hn::LoadInterleaved3(d, in + std::ptrdiff_t{x} * 3, a, b, c);
    hn::StoreU(a, d, out.row[0] + x);
    hn::StoreU(b, d, out.row[1] + x);
    hn::StoreU(c, d, out.row[2] + x);
  }
  for (; x < width; ++x)
    for (int i = 0; i < 3; ++i) out.row[i][x] = in[std::ptrdiff_t{x} * 3 + i];
}

/// Where a row of triples begins; null where the samples of a pixel are not its three bytes.
const std::uint8_t* triples(const Component (&c)[3]) {
  const std::uint8_t *first = c[0].data, *last = c[0].data;
  for (const Component& one : c) {
    if (!one.data || one.pixel_stride != 3 || one.depth != 8 || one.stride != c[0].stride ||
        one.sub_x != 0 || one.sub_y != 0)
      return nullptr;
    first = std::min<const std::uint8_t*>(first, one.data);
    last = std::max<const std::uint8_t*>(last, one.data);
  }
  return last == first + 2 ? first : nullptr;
}

/// The vectors of Y - black, U - 128 and V - 128 become bytes of B, G and R.
class Conversion {
 public:
  explicit Conversion(const Weights& w)
      : black_(hn::Set(Shorts(), static_cast<std::int16_t>(w.black))),
        twice_(hn::Set(Shorts(), static_cast<std::int16_t>(w.u_to_b < 2 * kOne ? 0 : -1))),
        yu_to_b_(pair(w.y - kOne, w.u_to_b < 2 * kOne ? w.u_to_b - kOne : w.u_to_b - 2 * kOne)),
        yu_to_g_(pair(w.y - kOne, -w.u_to_g)),
        v1_to_g_(pair(-w.v_to_g, kHalf)),
        yv_to_r_(pair(w.y - kOne, w.v_to_r - kOne)) {}

  HWY_INLINE void run(const std::uint8_t* const in[3], int x, const Planes& out) const {
    const Shorts d;
    const auto load = [&](int c) { return hn::PromoteTo(d, hn::LoadU(Halves(), in[c] + x)); };
    const auto middle = hn::Set(d, 128);
    const auto y = hn::Sub(load(0), black_);
    const auto u = hn::Sub(load(1), middle), v = hn::Sub(load(2), middle);
    const auto yu_low = hn::InterleaveLower(d, y, u), yu_high = hn::InterleaveUpper(d, y, u);
    const auto rounded = [&](ShortVector low, ShortVector high, ShortVector weights) {
      const auto half = hn::Set(Ints(), kHalf);
      return shifted(hn::Add(pair_products(Ints(), low, weights), half),
                     hn::Add(pair_products(Ints(), high, weights), half));
    };
    const auto b =
        hn::Add(hn::Add(y, hn::Add(u, hn::And(u, twice_))), rounded(yu_low, yu_high, yu_to_b_));
    const auto one = hn::Set(d, 1);  // of the half that rounds
    const auto g_low = hn::Add(pair_products(Ints(), yu_low, yu_to_g_),
                               pair_products(Ints(), hn::InterleaveLower(d, v, one), v1_to_g_));
    const auto g_high = hn::Add(pair_products(Ints(), yu_high, yu_to_g_),
                                pair_products(Ints(), hn::InterleaveUpper(d, v, one), v1_to_g_));
    const auto g = hn::Add(y, shifted(g_low, g_high));
    const auto r = hn::Add(hn::Add(y, v), rounded(hn::InterleaveLower(d, y, v),
                                                  hn::InterleaveUpper(d, y, v), yv_to_r_));
    hn::StoreU(hn::DemoteTo(Halves(), b), Halves(), out.row[0] + x);
    hn::StoreU(hn::DemoteTo(Halves(), g), Halves(), out.row[1] + x);
    hn::StoreU(hn::DemoteTo(Halves(), r), Halves(), out.row[2] + x);
  }

 private:
  static constexpr std::int32_t kOne = 1 << 15, kHalf = 1 << 14;

  static HWY_INLINE ShortVector pair(std::int32_t even, std::int32_t odd) {
    const Shorts d;
    return hn::OddEven(hn::Set(d, static_cast<std::int16_t>(odd)),
                       hn::Set(d, static_cast<std::int16_t>(even)));
  }
  // Interleaving and demoting work within blocks of 16 bytes both, so the order is kept.
  static HWY_INLINE ShortVector shifted(hn::Vec<Ints> low, hn::Vec<Ints> high) {
    return hn::ReorderDemote2To(Shorts(), hn::ShiftRight<15>(low), hn::ShiftRight<15>(high));
  }

  // The coefficients' whole parts are added apart: what is left fits 16 bits, and a whole number of
  // steps passes the rounding unchanged.
  ShortVector black_, twice_, yu_to_b_, yu_to_g_, v1_to_g_, yv_to_r_;
};

void convert(const std::uint8_t* const in[3], const Weights& weights, int width,
             const Planes& out) {
  const int lanes = static_cast<int>(hn::Lanes(Shorts()));
  const Conversion conversion(weights);
  int x = 0;
  for (; x + lanes <= width; x += lanes) conversion.run(in, x, out);
  if (x < width && width >= lanes) {  // once more, what is done already among it
    conversion.run(in, width - lanes, out);
    x = width;
  }
  for (; x < width; ++x) {
    const Bgr pixel = from_yuv(weights, in[0][x], in[1][x], in[2][x]);
    out.row[0][x] = pixel.b;
    out.row[1][x] = pixel.g;
    out.row[2][x] = pixel.r;
  }
}

void make_planes(const FrameView& frame, const Weights& weights, int y, const Planes& samples,
                 const Planes& out) {
  const Component(&c)[3] = frame.component;
  // RGB has its samples where they are to go.
  const Planes to = frame.rgb ? Planes{{out.row[2], out.row[1], out.row[0]}} : samples;
  const std::uint8_t* in[3] = {to.row[0], to.row[1], to.row[2]};
  if (const std::uint8_t* first = triples(c)) {
    Planes ordered{};
    for (int i = 0; i < 3; ++i) ordered.row[c[i].data - first] = to.row[i];
    split_triples(first + y * c[0].stride, frame.width, ordered);
  } else {
    for (int i = 0; i < 3; ++i) {
      if (!c[i].data)
        std::memset(to.row[i], 128, static_cast<std::size_t>(frame.width));
      else if (!frame.rgb && c[i].depth == 8 && c[i].pixel_stride == 1 && c[i].sub_x == 0)
        in[i] = c[i].data + std::ptrdiff_t{y >> c[i].sub_y} * c[i].stride;
      else
        samples_of(c[i], y, frame.width, to.row[i]);
    }
  }
  if (!frame.rgb) convert(in, weights, frame.width, out);
}

void join_planes(const Planes& in, int width, Bgr* out) {
  const hn::ScalableTag<std::uint8_t> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int x = 0;
  for (; x + lanes <= width; x += lanes)
    hn::StoreInterleaved3(hn::LoadU(d, in.row[0] + x), hn::LoadU(d, in.row[1] + x),
                          hn::LoadU(d, in.row[2] + x), d, &out[x].b);
  for (; x < width; ++x) out[x] = {in.row[0][x], in.row[1][x], in.row[2][x]};
}

#endif
}  // namespace cuface::bgr::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::bgr {
namespace {

HWY_EXPORT(make_planes);
HWY_EXPORT(join_planes);

constexpr int kSlack = 64;  // bytes behind a row, which a repeated sample may reach

}  // namespace

RowMaker::RowMaker(int width, int out_width) : bytes_(std::max(width, out_width) + kSlack, 4 * 3) {}

Planes RowMaker::planes(int number) {
  const ImageView<std::uint8_t> all = bytes_.view();
  return {{all.row(3 * number), all.row(3 * number + 1), all.row(3 * number + 2)}};
}

Planes RowMaker::row(const FrameView& frame, const Weights& weights, int y) {
  const Planes made = planes(y % 2);
  if (held_[y % 2] != y) CUFACE_DISPATCH(make_planes)(frame, weights, y, planes(kSamples), made);
  held_[y % 2] = y;
  return made;
}

void RowMaker::make(const FrameView& frame, const Weights& weights, const LinearResize& resize,
                    int y, ImageView<Bgr> out) {
  if (out.width == frame.width && out.height == frame.height)
    return CUFACE_DISPATCH(join_planes)(row(frame, weights, y), out.width, out.row(y));
  const LinearResize::Tap& tap = resize.rows()[static_cast<std::size_t>(y)];
  const Planes above = row(frame, weights, tap.first), below = row(frame, weights, tap.second);
  const Planes resized = planes(kResized);
  for (int c = 0; c < 3; ++c)
    resize.row(above.row[c], below.row[c], y, 0, out.width, resized.row[c]);
  CUFACE_DISPATCH(join_planes)(resized, out.width, out.row(y));
}

}  // namespace cuface::bgr
#endif
