#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/network/cpu/integer_rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>

#include "kernels/common/dispatch.h"
#include "kernels/common/pair_products-inl.h"
#include "kernels/network/cpu/blocks-inl.h"
#include "kernels/network/cpu/integer_program.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::network::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void make_integer_row_vector(const IntegerProgram&, int, int, ImageView<const Bgr>) {}
#else

namespace hn = hwy::HWY_NAMESPACE;
using Ints = hn::CappedTag<std::int32_t, kChannelGroup>;
using Shorts = hn::Repartition<std::int16_t, Ints>;
using HalfShorts = hn::Half<Shorts>;
using IntVector = hn::Vec<Ints>;
using ShortVector = hn::Vec<Shorts>;

constexpr int kLanes = static_cast<int>(hn::MaxLanes(Ints()));
constexpr int kShorts = 2 * kLanes;
static_assert(kShorts <= kIntegerGroup);

/// Pixels whose sums are held in registers at once. Fewer than floats need, as integers are added
/// in one clock; with 24 sums GCC 12 keeps copies of them in memory.
constexpr int pixels_together(int vectors) { return (kManyRegisters ? 16 : 10) / vectors; }

/// Both vectors in 16 bits, one after the other.
HWY_INLINE ShortVector narrowed(bool relu, IntVector shift, IntVector a, IntVector b) {
  auto v = hn::ReorderDemote2To(Shorts(), hn::Shr(a, shift), hn::Shr(b, shift));
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  // The instruction takes turns between the two, 8 bytes at a time.
  const hn::Repartition<std::uint64_t, Shorts> d;
  alignas(64) constexpr std::uint64_t kOrder[2][8] = {{0, 2, 1, 3}, {0, 2, 4, 6, 1, 3, 5, 7}};
  const auto order = hn::SetTableIndices(d, kOrder[HWY_TARGET == HWY_AVX3]);
  v = hn::BitCast(Shorts(), hn::TableLookupLanes(hn::BitCast(d, v), order));
#endif
  return relu ? hn::Max(v, hn::Zero(Shorts())) : v;
}

/// A block of sums over pairs of taps: `pixels` of a row, `vectors` of channels.
template <int pixels, int vectors>
struct IntegerSums {
  IntVector sum[std::size_t{pixels}][std::size_t{vectors}];

  HWY_INLINE void begin(const std::int32_t* biases) {
    for (int v = 0; v < vectors; ++v) {
      const auto bias = hn::LoadU(Ints(), biases + v * kLanes);
      for (int p = 0; p < pixels; ++p) sum[p][v] = bias;
    }
  }
  /// One more pair: `in` of the first pixel, `step` values from pixel to pixel.
  HWY_INLINE void add(const std::int16_t* in, std::ptrdiff_t step, const std::int16_t* weights) {
    ShortVector w[std::size_t{vectors}];
    for (int v = 0; v < vectors; ++v) w[v] = hn::LoadU(Shorts(), weights + v * kShorts);
    for (int p = 0; p < pixels; ++p) {
      std::int32_t both;
      std::memcpy(&both, in + p * step, sizeof both);
      const auto value = hn::BitCast(Shorts(), hn::Set(Ints(), both));
      for (int v = 0; v < vectors; ++v) {
        sum[p][v] = hn::Add(sum[p][v], cuface::HWY_NAMESPACE::pair_products(Ints(), value, w[v]));
      }
    }
  }
  HWY_INLINE void store(bool relu, int bits, std::int16_t* out, std::ptrdiff_t step) const {
    const auto shift = hn::Set(Ints(), bits);
    for (int p = 0; p < pixels; ++p) {
      for (int v = 0; v < vectors / 2; ++v) {
        hn::StoreU(narrowed(relu, shift, sum[p][2 * v], sum[p][2 * v + 1]), Shorts(),
                   out + p * step + v * kShorts);
      }
      if constexpr (vectors == 1) {
        hn::StoreU(hn::LowerHalf(narrowed(relu, shift, sum[p][0], sum[p][0])), HalfShorts(),
                   out + p * step);
      }
    }
  }
};

template <int vectors>
HWY_NOINLINE void sum_row(const RowNode& layout, const IntegerNode& node, int c,
                          const std::int16_t* in, std::ptrdiff_t step, std::int16_t* out) {
  each_block<pixels_together(vectors)>(layout.columns, [&](int x, auto pixels) {
    IntegerSums<pixels(), vectors> sums;
    sums.begin(node.biases.data() + c);
    const std::int16_t* const from = in + x * step;
    const std::int16_t* w = node.weights.data() + 2 * c;
    for (int i = 0; i < node.pairs; ++i, w += 2 * layout.pixel) sums.add(from + 2 * i, step, w);
    sums.store(layout.relu, node.shift, out + std::ptrdiff_t{x} * layout.pixel + c, layout.pixel);
  });
}

/// `in`: three rows, from the pixel left of the first one on. Five pairs of each: three pixels.
template <int vectors>
HWY_NOINLINE void picture_row(const RowNode& layout, const IntegerNode& node, int c,
                              const std::int16_t* const in[3], std::int16_t* out) {
  each_block<pixels_together(vectors)>(layout.columns, [&](int x, auto pixels) {
    IntegerSums<pixels(), vectors> sums;
    sums.begin(node.biases.data() + c);
    const std::int16_t* w = node.weights.data() + 2 * c;
    for (int ky = 0; ky < 3; ++ky) {
      for (int i = 0; i < 5; ++i, w += 2 * layout.pixel) sums.add(in[ky] + 6 * x + 2 * i, 6, w);
    }
    sums.store(layout.relu, node.shift, out + std::ptrdiff_t{x} * layout.pixel + c, layout.pixel);
  });
}

constexpr int kDepthVectors = kManyRegisters ? 6 : 4;

/// Channels from `c` on, as many as D has lanes; those of `together` pixels where D has more than
/// a pixel. `in`: three rows, from the pixel left of the first one on.
template <class D>
HWY_NOINLINE void depthwise_channels(D d, const RowNode& layout, const IntegerNode& node, int c,
                                     int together, const std::int16_t* const in[3],
                                     std::int16_t* out) {
  const int wide = std::max(layout.pixel, kIntegerGroup);
  hn::Vec<D> w[10];
  for (int tap = 0; tap < 10; ++tap) w[tap] = hn::LoadU(d, node.weights.data() + tap * wide + c);
  const std::ptrdiff_t pixel = layout.pixel, next = pixel * together;
  const int last = layout.columns - together;  // pixel
  const auto block = [&](int x, auto vectors) {
    constexpr int kVectors = vectors();
    hn::Vec<D> sum[std::size_t{kVectors}];
    for (int v = 0; v < kVectors; ++v) sum[v] = w[9];
    for (int ky = 0; ky < 3; ++ky) {
      for (int kx = 0; kx < 3; ++kx) {
        const std::int16_t* const from = in[ky] + (x + kx) * pixel + c;
        for (int v = 0; v < kVectors; ++v) {
          const auto product = hn::MulFixedPoint15(hn::LoadU(d, from + v * next), w[3 * ky + kx]);
          sum[v] = hn::SaturatedAdd(sum[v], product);
        }
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      if (layout.relu) sum[v] = hn::Max(sum[v], hn::Zero(d));
      hn::StoreU(sum[v], d, out + x * pixel + c + v * next);
    }
  };
  const int step = kDepthVectors * together;
  if (layout.columns < step) {
    for (int x = 0; x < layout.columns; x += together) {
      block(std::min(x, last), std::integral_constant<int, 1>());
    }
    return;
  }
  for (int x = 0; x < layout.columns; x += step) {
    block(std::min(x, layout.columns - step), std::integral_constant<int, kDepthVectors>());
  }
}

void depthwise_row(const RowNode& layout, const IntegerNode& node, const std::int16_t* const in[3],
                   std::int16_t* out) {
  if (kShorts == 2 * layout.pixel && layout.columns > 1) {
    return depthwise_channels(Shorts(), layout, node, 0, 2, in, out);
  }
  int c = 0;
  for (; c + kShorts <= layout.pixel; c += kShorts) {
    depthwise_channels(Shorts(), layout, node, c, 1, in, out);
  }
  if (c < layout.pixel) depthwise_channels(HalfShorts(), layout, node, c, 1, in, out);
}

// What follows is done kChannelGroup values at a time: the least that a pixel has.
using Group = hn::CappedTag<std::int16_t, kChannelGroup>;
constexpr int kGroupLanes = static_cast<int>(hn::MaxLanes(Group()));

void pool_row(const RowNode& layout, const std::int16_t* upper, const std::int16_t* lower,
              std::int16_t* out) {
  const Group d;
  const std::ptrdiff_t pixel = layout.pixel;
  for (int x = 0; x < layout.columns; ++x, upper += 2 * pixel, lower += 2 * pixel, out += pixel) {
    for (int c = 0; c < layout.pixel; c += kGroupLanes) {
      const auto of = [&](const std::int16_t* row) {
        return hn::Max(hn::LoadU(d, row + c), hn::LoadU(d, row + pixel + c));
      };
      hn::StoreU(hn::Max(of(upper), of(lower)), d, out + c);
    }
  }
}

void upsample_add_row(const RowNode& layout, const IntegerNode& node, const std::int16_t* small,
                      const std::int16_t* other, std::int16_t* out) {
  const Group d;
  const std::ptrdiff_t pixel = layout.pixel;
  const std::int16_t* const factors = node.weights.data();
  for (int x = 0; x < layout.columns; ++x, other += pixel, out += pixel) {
    const std::int16_t* const from = small + x / 2 * pixel;
    for (int c = 0; c < layout.pixel; c += kGroupLanes) {
      const auto of = [&](const std::int16_t* values, const std::int16_t* by) {
        return hn::MulFixedPoint15(hn::LoadU(d, values + c), hn::LoadU(d, by + c));
      };
      hn::StoreU(hn::SaturatedAdd(of(from, factors), of(other, factors + pixel)), d, out + c);
    }
  }
}

void convert_row(const RowNode& layout, ImageView<const Bgr> picture, int y, std::int16_t* out) {
  int values = 0;
  if (y < picture.height) {
    static_assert(sizeof(Bgr) == 3);
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(picture.row(y));
    values = 3 * picture.width;
    for (int i = 0; i < values; ++i) out[i] = bytes[i];
  }
  std::fill(out + values, out + 3 * layout.columns, std::int16_t{0});
}

void write_cells(const RowNode& layout, const IntegerNode& node, const std::int16_t* row,
                 float* cells) {
  const hn::Repartition<float, Ints> d;
  for (int i = 0; i < layout.columns * kChannelGroup; i += kLanes) {
    const auto ints = hn::PromoteTo(Ints(), hn::LoadU(HalfShorts(), row + i));
    const auto step = hn::LoadU(d, node.steps.data() + i % kChannelGroup);
    hn::StoreU(hn::Mul(hn::ConvertTo(d, ints), step), d, cells + i);
  }
}

void make_integer_row_vector(const IntegerProgram& program, int index, int y,
                             ImageView<const Bgr> picture) {
  const RowNode& layout = program.layout(index);
  const RowNode& input = program.layout(layout.input);
  const IntegerNode& node = program.node(index);
  std::int16_t* const out = program.row(index, y);
  // Three rows of the input from their left borders on, of zeros where there is none.
  const auto rows_around = [&](int middle, const std::int16_t* rows[3]) {
    for (int i = 0; i < 3; ++i) {
      const int row = middle + i - 1;
      const bool is_there = row >= 0 && row < input.rows;
      rows[i] = (is_there ? program.row(layout.input, row) : program.zeros()) - input.pixel;
    }
  };
  const std::int16_t* rows[3];
  switch (layout.kind) {
    case RowNode::Kind::kPicture:
      return convert_row(layout, picture, y, out);
    case RowNode::Kind::kPictureConvolution:
      rows_around(2 * y, rows);
      return each_group<kLanes>(layout.pixel, [&](int c, auto vectors) {
        picture_row<vectors()>(layout, node, c, rows, out);
      });
    case RowNode::Kind::kPointwise:
      return each_group<kLanes>(layout.pixel, [&](int c, auto vectors) {
        sum_row<vectors()>(layout, node, c, program.row(layout.input, y), input.pixel, out);
      });
    case RowNode::Kind::kDepthwise:
      rows_around(y, rows);
      depthwise_row(layout, node, rows, out);
      if (layout.first_cell >= 0) write_cells(layout, node, out, program.cells(index, y));
      return;
    case RowNode::Kind::kMaxPool:
      return pool_row(layout, program.row(layout.input, 2 * y),
                      program.row(layout.input, 2 * y + 1), out);
    case RowNode::Kind::kUpsampleAdd:
      return upsample_add_row(layout, node, program.row(layout.input, y / 2),
                              program.row(layout.other, y), out);
  }
}

#endif
}  // namespace cuface::network::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::network {
HWY_EXPORT(make_integer_row_vector);

void make_integer_row(const IntegerProgram& program, int node, int row,
                      ImageView<const Bgr> picture) {
  CUFACE_DISPATCH(make_integer_row_vector)(program, node, row, picture);
}

}  // namespace cuface::network
#endif
