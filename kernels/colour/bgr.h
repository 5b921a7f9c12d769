// The common part of the CPU and CUDA versions: the contract's formulas for one pixel, and the
// checks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/colour/colour.h"
#include "kernels/common/bgr.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/luma/color_matrix.h"
#include "kernels/luma/grey.h"
#include "kernels/luma/luma.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface::bgr {

/// The coefficients of the contract in steps of 2^-15, and the luma of black.
struct Weights {
  std::int32_t y, v_to_r, u_to_g, v_to_g, u_to_b, black;
};

/// Rounded half up from the exact fractions.
constexpr Weights make_weights(ColorMatrix matrix, bool full_range) {
  constexpr std::int64_t kAll = 10000;
  const LumaWeights luma = luma_weights(matrix);
  const std::int64_t red = luma.red, blue = luma.blue, green = kAll - red - blue;
  const std::int64_t luma_span = full_range ? 255 : 219, chroma_span = full_range ? 255 : 224;
  const auto rounded = [](std::int64_t n, std::int64_t d) {
    return static_cast<std::int32_t>(((n * 255 << 15) * 2 + d) / (2 * d));
  };
  return {rounded(1, luma_span),
          rounded(2 * (kAll - red), kAll * chroma_span),
          rounded(2 * blue * (kAll - blue), kAll * green * chroma_span),
          rounded(2 * red * (kAll - red), kAll * green * chroma_span),
          rounded(2 * (kAll - blue), kAll * chroma_span),
          full_range ? 0 : 16};
}

/// A sum of products in steps of 2^-15 as a byte.
CUFACE_HD constexpr std::uint8_t byte_of(std::int32_t sum) {
  const std::int32_t value = (sum + (1 << 14)) >> 15;
  return static_cast<std::uint8_t>(value < 0 ? 0 : (value > 255 ? 255 : value));
}

CUFACE_HD constexpr Bgr from_yuv(const Weights& weights, std::int32_t y, std::int32_t u,
                                 std::int32_t v) {
  const std::int32_t luma = weights.y * (y - weights.black);
  u -= 128;
  v -= 128;
  return {byte_of(luma + weights.u_to_b * u),
          byte_of(luma - weights.u_to_g * u - weights.v_to_g * v),
          byte_of(luma + weights.v_to_r * v)};
}

/// The sample that a pixel of the frame has of a component, cut to 8 bits.
CUFACE_HD inline std::uint8_t sample_of(const Component& c, int x, int y) {
  const std::uint8_t* at = c.data + std::ptrdiff_t{y >> c.sub_y} * c.stride +
                           std::ptrdiff_t{x >> c.sub_x} * c.pixel_stride;
  return grey::full(grey::sample(at, c.depth, c.shift), c.depth);
}

/// Has the frame no chroma?
CUFACE_HD inline bool is_grey(const FrameView& frame) { return !frame.component[1].data; }

CUFACE_HD inline Bgr pixel_of(const FrameView& frame, const Weights& weights, int x, int y) {
  const Component* c = frame.component;
  const std::uint8_t first = sample_of(c[0], x, y);
  if (is_grey(frame)) return from_yuv(weights, first, 128, 128);
  const std::uint8_t second = sample_of(c[1], x, y), third = sample_of(c[2], x, y);
  if (frame.rgb) return {third, second, first};
  return from_yuv(weights, first, second, third);
}

/// A pixel of the picture: the four of the frame around it, weighed.
CUFACE_HD inline Bgr pixel_of(const FrameView& frame, const Weights& weights,
                              const LinearResize::Tap& column, const LinearResize::Tap& row) {
  const Bgr a = pixel_of(frame, weights, column.first, row.first);
  if (column.weight_second == 0 && row.weight_second == 0) return a;  // the sums would give it, too
  const Bgr b = pixel_of(frame, weights, column.second, row.first);
  const Bgr below_a = pixel_of(frame, weights, column.first, row.second);
  const Bgr below_b = pixel_of(frame, weights, column.second, row.second);
  const auto blend = [&](std::uint8_t Bgr::*c) {
    const std::uint8_t above[2] = {a.*c, b.*c}, below[2] = {below_a.*c, below_b.*c};
    const LinearResize::Tap pair = {0, 1, column.weight_first, column.weight_second};
    return LinearResize::blend(LinearResize::along_row(above, pair),
                               LinearResize::along_row(below, pair), row.weight_first,
                               row.weight_second);
  };
  return {blend(&Bgr::b), blend(&Bgr::g), blend(&Bgr::r)};
}

/// The configurations that create() refuses on both processors.
Status validate_plan(int width, int height, int input_size);
/// The arguments that run() refuses, for frames of `width` x `height` and pictures of `size`.
Status validate_run(const FrameView& frame, int width, int height, ImageView<Bgr> out,
                    const BgrSize& size);

}  // namespace cuface::bgr
