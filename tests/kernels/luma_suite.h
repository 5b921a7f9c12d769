// What every version of luma has to give, on either processor: the formulas of the contract written
// out per pixel. test_luma.cc runs it with each version of the CPU's,
// tests/gpu/kernels/test_luma.cc with CUDA's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "tests/kernels/luma_frames.h"

namespace cuface::test {

/// The grey picture of a frame that lies in `bytes`, in rows of `stride` bytes that were filled
/// with kGuard. `bytes` are as they are behind the call.
using LumaVersion = std::function<std::vector<std::uint8_t>(
    const FrameView&, std::vector<std::uint8_t>& bytes, int stride)>;

inline long sample_at(const Component& c, int x, int y) {
  const std::uint8_t* p = c.data + y * c.stride + x * c.pixel_stride;
  if (c.depth == 8) return *p;
  return ((p[0] + 256L * p[1]) >> c.shift) % (1L << c.depth);
}

/// The contract, one pixel at a time, in wide signed integers.
inline int expected_grey(const FrameView& frame, int x, int y) {
  const int extra = frame.component[0].depth - 8;
  const long one = 1L << extra;
  if (frame.rgb) {
    const long r = sample_at(frame.component[0], x, y) / one;
    const long g = sample_at(frame.component[1], x, y) / one;
    const long b = sample_at(frame.component[2], x, y) / one;
    return static_cast<int>((9798 * r + 19235 * g + 3735 * b + 16384) / 32768);
  }
  const long v = sample_at(frame.component[0], x, y);
  if (frame.full_range) return static_cast<int>(v / one);
  const long scaled = ((v - 16 * one) * 255 + 219 * one / 2) / (219 * one);
  return static_cast<int>(std::clamp(scaled, 0L, 255L));
}

/// The picture by the formula, in rows as a LumaVersion's.
inline std::vector<std::uint8_t> expected_luma(const FrameView& frame, int stride) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(stride * frame.height), kGuard);
  for (int y = 0; y < frame.height; ++y)
    for (int x = 0; x < frame.width; ++x)
      out[static_cast<std::size_t>(y * stride + x)] =
          static_cast<std::uint8_t>(expected_grey(frame, x, y));
  return out;
}

struct LumaCompared {
  long pixels = 0;
  long whole_rows = 0;  ///< frames whose rows are whole and aligned words of 16 bytes
};

/// Every layout, range, size and alignment, or every `every`-th of them.
inline void every_frame_follows_the_formula(const LumaVersion& luma, int every,
                                            LumaCompared& compared) {
  struct Fit {
    int lead, padding, out_padding;
    bool to_16;  ///< rows of whole 16 bytes
  };
  std::mt19937 random(11);
  long number = 0;
  for (const LumaLayout& layout : kLumaLayouts) {
    for (const auto& [width, height] : {std::pair{1, 1},
                                        {2, 3},
                                        {15, 4},
                                        {16, 2},
                                        {17, 5},
                                        {33, 7},
                                        {64, 2},
                                        {65, 3},
                                        {127, 2},
                                        {641, 23},
                                        {1100, 9}}) {
      for (const Fit& fit : {Fit{0, 16, 0, true},
                             {16, 32, 48, true},
                             {0, 0, 1, false},
                             {7, 13, 9, false},
                             {3, 0, 16, true}}) {
        const auto up = [&](int row) { return fit.to_16 ? (16 - row % 16) % 16 : 0; };
        TestFrame frame = make_frame(layout, width, height, random, fit.lead,
                                     fit.padding + up(width * layout.pixel_stride));
        const int stride = width + up(width) + fit.out_padding;
        for (bool full : {false, true}) {
          if (++number % every != 0) continue;
          frame.view.full_range = full;
          ASSERT_TRUE(validate(frame.view).ok()) << layout.name;
          const auto before = frame.bytes;
          ASSERT_EQ(luma(frame.view, frame.bytes, stride), expected_luma(frame.view, stride))
              << layout.name << " full=" << full << " " << width << "x" << height << " lead "
              << fit.lead;
          ASSERT_EQ(frame.bytes, before) << layout.name << ": the frame was written to";
          compared.pixels += static_cast<long>(width) * height;
          compared.whole_rows +=
              layout.pixel_stride == 1 && !layout.rgb && fit.to_16 && fit.lead % 16 == 0;
        }
      }
    }
  }
}

inline void every_value_follows_the_formula(const LumaVersion& luma) {
  for (int depth = 8; depth <= 16; ++depth) {
    const int values = 1 << depth, bytes = depth > 8 ? 2 : 1;
    std::vector<std::uint8_t> data(static_cast<std::size_t>(values * bytes));
    for (int v = 0; v < values; ++v)
      for (int b = 0; b < bytes; ++b)
        data[static_cast<std::size_t>(v * bytes + b)] = static_cast<std::uint8_t>(v >> 8 * b);
    for (bool full : {false, true}) {
      FrameView frame{values, 1, false, full, {}};
      frame.component[0] = {data.data(), values * bytes, bytes, depth, 0, 0, 0};
      ASSERT_EQ(luma(frame, data, values), expected_luma(frame, values))
          << depth << " bits, full=" << full;
    }
  }
}

inline void bottom_up_frames_are_read_upwards(const LumaVersion& luma) {
  std::mt19937 random(12);
  for (int width : {2, 37, 48}) {
    TestFrame frame = make_frame(kLumaLayouts[0], width, 19, random, 0, 11);
    Component& y = frame.view.component[0];
    const std::uint8_t* first = y.data;
    y.data += 18 * y.stride;
    y.stride = -y.stride;
    frame.view.full_range = true;
    ASSERT_TRUE(validate(frame.view).ok());
    const auto got = luma(frame.view, frame.bytes, width);
    ASSERT_EQ(got, expected_luma(frame.view, width));
    ASSERT_TRUE(std::equal(first, first + width, got.end() - width)) << "the last row is the first";
  }
}

}  // namespace cuface::test
