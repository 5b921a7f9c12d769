#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/network/cpu/rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/dispatch.h"
#include "kernels/network/cpu/blocks-inl.h"
#include "kernels/network/cpu/program.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::network::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void make_row_vector(const Program&, int, int, ImageView<const Bgr>) {}
#else

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, kChannelGroup>;
using FloatVector = hn::Vec<Floats>;

constexpr int kLanes = static_cast<int>(hn::MaxLanes(Floats()));

/// Pixels whose sums are held in registers at once, with `vectors` of channels each.
constexpr int pixels_together(int vectors) { return (kManyRegisters ? 24 : 10) / vectors; }

HWY_INLINE FloatVector rectified_if(bool relu, FloatVector v) {
  return relu ? hn::IfThenElseZero(hn::Gt(v, hn::Zero(Floats())), v) : v;
}

/// A block of sums: `pixels` of a row, `vectors` of channels.
template <int pixels, int vectors>
struct Sums {
  FloatVector sum[std::size_t{pixels}][std::size_t{vectors}];

  HWY_INLINE void begin(const float* biases) {
    const Floats d;
    for (int v = 0; v < vectors; ++v) {
      const auto bias = hn::LoadU(d, biases + v * kLanes);
      for (int p = 0; p < pixels; ++p) sum[p][v] = bias;
    }
  }
  /// One more tap: `in` of the first pixel, `step` floats from pixel to pixel.
  HWY_INLINE void add(const float* in, std::ptrdiff_t step, const float* weights) {
    const Floats d;
    FloatVector w[std::size_t{vectors}];
    for (int v = 0; v < vectors; ++v) w[v] = hn::LoadU(d, weights + v * kLanes);
    for (int p = 0; p < pixels; ++p) {
      const auto value = hn::Set(d, in[p * step]);
      for (int v = 0; v < vectors; ++v) sum[p][v] = hn::Add(sum[p][v], hn::Mul(value, w[v]));
    }
  }
  HWY_INLINE void store(bool relu, float* out, std::ptrdiff_t step) const {
    const Floats d;
    for (int p = 0; p < pixels; ++p) {
      for (int v = 0; v < vectors; ++v) {
        hn::StoreU(rectified_if(relu, sum[p][v]), d, out + p * step + v * kLanes);
      }
    }
  }
};

template <int vectors>
HWY_NOINLINE void pointwise_row(const RowNode& node, const float* in, int inputs, int in_pixel,
                                const float* weights, float* out) {
  each_block<pixels_together(vectors)>(node.columns, [&](int x, auto pixels) {
    Sums<pixels(), vectors> sums;
    sums.begin(weights + std::ptrdiff_t{inputs} * node.pixel);
    const float* const from = in + std::ptrdiff_t{x} * in_pixel;
    const float* w = weights;
    for (int i = 0; i < inputs; ++i, w += node.pixel) sums.add(from + i, in_pixel, w);
    sums.store(node.relu, out + std::ptrdiff_t{x} * node.pixel, node.pixel);
  });
}

/// `in`: three rows, from the pixel left of the first one on.
template <int vectors>
HWY_NOINLINE void picture_row(const RowNode& node, const float* const in[3], const float* weights,
                              float* out) {
  each_block<pixels_together(vectors)>(node.columns, [&](int x, auto pixels) {
    Sums<pixels(), vectors> sums;
    sums.begin(weights + std::ptrdiff_t{27} * node.pixel);
    const float* w = weights;
    for (int colour = 0; colour < 3; ++colour) {
      for (int ky = 0; ky < 3; ++ky) {
        for (int kx = 0; kx < 3; ++kx, w += node.pixel) {
          sums.add(in[ky] + (2 * x + kx) * 3 + colour, 6, w);
        }
      }
    }
    sums.store(node.relu, out + std::ptrdiff_t{x} * node.pixel, node.pixel);
  });
}

constexpr int kDepthPixels = kManyRegisters ? 6 : 4;

/// `in`: three rows, from the pixel left of the first one on.
HWY_NOINLINE void depthwise_row(const RowNode& node, const float* const in[3], const float* weights,
                                float* out) {
  const Floats d;
  const std::ptrdiff_t pixel = node.pixel;
  for (int c = 0; c < node.pixel; c += kLanes) {
    FloatVector w[9];
    for (int tap = 0; tap < 9; ++tap) w[tap] = hn::LoadU(d, weights + tap * pixel + c);
    const auto bias = hn::LoadU(d, weights + 9 * pixel + c);
    each_block<kDepthPixels>(node.columns, [&](int x, auto pixels) {
      constexpr int kPixels = pixels();
      FloatVector sum[std::size_t{kPixels}];
      for (int p = 0; p < kPixels; ++p) sum[p] = bias;
      for (int ky = 0; ky < 3; ++ky) {
        const float* const from = in[ky] + x * pixel + c;
        FloatVector value[std::size_t{kPixels + 2}];
        for (int p = 0; p < kPixels + 2; ++p) value[p] = hn::LoadU(d, from + p * pixel);
        for (int kx = 0; kx < 3; ++kx) {
          for (int p = 0; p < kPixels; ++p) {
            sum[p] = hn::Add(sum[p], hn::Mul(value[p + kx], w[3 * ky + kx]));
          }
        }
      }
      for (int p = 0; p < kPixels; ++p) {
        hn::StoreU(rectified_if(node.relu, sum[p]), d, out + (x + p) * pixel + c);
      }
    });
  }
}

HWY_INLINE FloatVector larger(FloatVector a, FloatVector b) {
  return hn::IfThenElse(hn::Gt(a, b), a, b);
}

void pool_row(const RowNode& node, const float* upper, const float* lower, float* out) {
  const Floats d;
  const std::ptrdiff_t pixel = node.pixel;
  for (int x = 0; x < node.columns; ++x, upper += 2 * pixel, lower += 2 * pixel, out += pixel) {
    for (int c = 0; c < node.pixel; c += kLanes) {
      const auto of = [&](const float* row) {
        return larger(hn::LoadU(d, row + c), hn::LoadU(d, row + pixel + c));
      };
      hn::StoreU(larger(of(upper), of(lower)), d, out + c);
    }
  }
}

void upsample_add_row(const RowNode& node, const float* small, const float* other, float* out) {
  const Floats d;
  for (int x = 0; x < node.columns; ++x, other += node.pixel, out += node.pixel) {
    const float* const from = small + x / 2 * std::ptrdiff_t{node.pixel};
    for (int c = 0; c < node.pixel; c += kLanes) {
      hn::StoreU(hn::Add(hn::LoadU(d, from + c), hn::LoadU(d, other + c)), d, out + c);
    }
  }
}

void convert_row(const RowNode& node, ImageView<const Bgr> picture, int y, float* out) {
  int floats = 0;
  if (y < picture.height) {
    static_assert(sizeof(Bgr) == 3);
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(picture.row(y));
    floats = 3 * picture.width;
    for (int i = 0; i < floats; ++i) out[i] = static_cast<float>(bytes[i]);
  }
  std::fill(out + floats, out + 3 * node.columns, 0.0f);
}

void make_row_vector(const Program& program, int index, int y, ImageView<const Bgr> picture) {
  const RowNode& node = program.node(index);
  const RowNode& input = program.node(node.input);
  const float* const weights = program.weights(node);
  float* const out = node.row(y);
  // Three rows of the input from their left borders on, of zeros where there is none.
  const auto rows_around = [&](int middle, const float* rows[3]) {
    for (int i = 0; i < 3; ++i) {
      const int row = middle + i - 1;
      const bool is_there = row >= 0 && row < input.rows;
      rows[i] = (is_there ? input.row(row) : program.zeros()) - input.pixel;
    }
  };
  const float* rows[3];
  switch (node.kind) {
    case RowNode::Kind::kPicture:
      return convert_row(node, picture, y, out);
    case RowNode::Kind::kPictureConvolution:
      rows_around(2 * y, rows);
      return each_group<kLanes>(node.pixel, [&](int c, auto vectors) {
        picture_row<vectors()>(node, rows, weights + c, out + c);
      });
    case RowNode::Kind::kPointwise:
      return each_group<kLanes>(node.pixel, [&](int c, auto vectors) {
        pointwise_row<vectors()>(node, input.row(y), input.channels, input.pixel, weights + c,
                                 out + c);
      });
    case RowNode::Kind::kDepthwise:
      rows_around(y, rows);
      return depthwise_row(node, rows, weights, out);
    case RowNode::Kind::kMaxPool:
      return pool_row(node, input.row(2 * y), input.row(2 * y + 1), out);
    case RowNode::Kind::kUpsampleAdd:
      return upsample_add_row(node, input.row(y / 2), program.node(node.other).row(y), out);
  }
}

#endif
}  // namespace cuface::network::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::network {
HWY_EXPORT(make_row_vector);

void make_row(const Program& program, int node, int row, ImageView<const Bgr> picture) {
  CUFACE_DISPATCH(make_row_vector)(program, node, row, picture);
}

}  // namespace cuface::network
#endif
