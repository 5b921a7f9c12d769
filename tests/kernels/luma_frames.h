// Frames of random samples in every layout that luma reads.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/luma/luma.h"

namespace cuface::test {

inline constexpr std::uint8_t kGuard = 0xA5;

/// A frame's bytes, and the view of it.
struct TestFrame {
  std::vector<std::uint8_t> bytes;
  FrameView view;
};

struct LumaLayout {
  const char* name;
  bool rgb;
  int pixel_stride;
  int offset[3];  ///< bytes from the pixel's start; planes apart when pixel_stride is one sample
  bool planar;
  int depth;
  int shift;
};

inline constexpr LumaLayout kLumaLayouts[] = {
    {"planar Y", false, 1, {0, 0, 0}, true, 8, 0},
    {"YUY2", false, 2, {0, 1, 3}, false, 8, 0},
    {"UYVY", false, 2, {1, 0, 2}, false, 8, 0},
    {"v308", false, 3, {0, 1, 2}, false, 8, 0},
    {"AYUV", false, 4, {1, 2, 3}, false, 8, 0},
    {"VUYA", false, 4, {2, 1, 0}, false, 8, 0},
    {"planar 9", false, 2, {0, 0, 0}, true, 9, 0},
    {"I420_10LE", false, 2, {0, 0, 0}, true, 10, 0},
    {"P010", false, 2, {0, 0, 0}, true, 10, 6},
    {"Y210", false, 4, {0, 2, 6}, false, 10, 6},
    {"I420_12LE", false, 2, {0, 0, 0}, true, 12, 0},
    {"P012", false, 2, {0, 0, 0}, true, 12, 4},
    {"P016", false, 2, {0, 0, 0}, true, 16, 0},
    {"RGB", true, 3, {0, 1, 2}, false, 8, 0},
    {"BGR", true, 3, {2, 1, 0}, false, 8, 0},
    {"RGBA", true, 4, {0, 1, 2}, false, 8, 0},
    {"BGRx", true, 4, {2, 1, 0}, false, 8, 0},
    {"ARGB", true, 4, {1, 2, 3}, false, 8, 0},
    {"planar RGB", true, 1, {0, 0, 0}, true, 8, 0},
    {"planar RGB 10", true, 2, {0, 0, 0}, true, 10, 0},
};

/// Random samples; `lead` guard bytes in front of the first row, `padding` behind every row.
inline TestFrame make_frame(const LumaLayout& layout, int width, int height, std::mt19937& random,
                            int lead = 7, int padding = 13) {
  const int planes = layout.planar ? 3 : 1;
  const int row = width * layout.pixel_stride;
  const int stride = row + padding;
  TestFrame frame;
  frame.bytes.assign(static_cast<std::size_t>(lead + planes * stride * height), kGuard);
  for (int p = 0; p < planes; ++p)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < row; ++x)
        frame.bytes[static_cast<std::size_t>(lead + (p * height + y) * stride + x)] =
            static_cast<std::uint8_t>(random());
  frame.view.width = width;
  frame.view.height = height;
  frame.view.rgb = layout.rgb;
  for (int c = 0; c < 3; ++c)
    frame.view.component[c] = {
        frame.bytes.data() + lead + (layout.planar ? c * stride * height : 0) + layout.offset[c],
        stride,
        layout.pixel_stride,
        layout.depth,
        layout.shift,
        0,
        0};
  return frame;
}

}  // namespace cuface::test
