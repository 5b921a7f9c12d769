// Frames of random samples in every format that the elements take.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/kernels/luma_frames.h"

namespace cuface::test {

struct ColourComponent {
  int plane, offset, pixel_stride;
  int sub_x = 0, sub_y = 0;
};

/// A format as GStreamer's GstVideoFormat describes it, without alpha.
struct ColourLayout {
  const char* name;
  bool rgb;
  int depth, shift;
  std::vector<ColourComponent> components;  ///< one of grey, else Y, U, V or R, G, B
};

inline const std::vector<ColourLayout>& colour_layouts() {
  static const std::vector<ColourLayout> layouts = {
      {"GRAY8", false, 8, 0, {{0, 0, 1}}},
      {"GRAY16_LE", false, 16, 0, {{0, 0, 2}}},
      {"I420, A420", false, 8, 0, {{0, 0, 1}, {1, 0, 1, 1, 1}, {2, 0, 1, 1, 1}}},
      {"YV12", false, 8, 0, {{0, 0, 1}, {2, 0, 1, 1, 1}, {1, 0, 1, 1, 1}}},
      {"NV12, AV12", false, 8, 0, {{0, 0, 1}, {1, 0, 2, 1, 1}, {1, 1, 2, 1, 1}}},
      {"NV21", false, 8, 0, {{0, 0, 1}, {1, 1, 2, 1, 1}, {1, 0, 2, 1, 1}}},
      {"NV16", false, 8, 0, {{0, 0, 1}, {1, 0, 2, 1, 0}, {1, 1, 2, 1, 0}}},
      {"NV61", false, 8, 0, {{0, 0, 1}, {1, 1, 2, 1, 0}, {1, 0, 2, 1, 0}}},
      {"NV24", false, 8, 0, {{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}},
      {"Y42B", false, 8, 0, {{0, 0, 1}, {1, 0, 1, 1, 0}, {2, 0, 1, 1, 0}}},
      {"Y444", false, 8, 0, {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}}},
      {"Y41B", false, 8, 0, {{0, 0, 1}, {1, 0, 1, 2, 0}, {2, 0, 1, 2, 0}}},
      {"YUV9", false, 8, 0, {{0, 0, 1}, {1, 0, 1, 2, 2}, {2, 0, 1, 2, 2}}},
      {"YVU9", false, 8, 0, {{0, 0, 1}, {2, 0, 1, 2, 2}, {1, 0, 1, 2, 2}}},
      {"YUY2", false, 8, 0, {{0, 0, 2}, {0, 1, 4, 1, 0}, {0, 3, 4, 1, 0}}},
      {"UYVY", false, 8, 0, {{0, 1, 2}, {0, 0, 4, 1, 0}, {0, 2, 4, 1, 0}}},
      {"YVYU", false, 8, 0, {{0, 0, 2}, {0, 3, 4, 1, 0}, {0, 1, 4, 1, 0}}},
      {"VYUY", false, 8, 0, {{0, 1, 2}, {0, 2, 4, 1, 0}, {0, 0, 4, 1, 0}}},
      {"v308", false, 8, 0, {{0, 0, 3}, {0, 1, 3}, {0, 2, 3}}},
      {"IYU2", false, 8, 0, {{0, 1, 3}, {0, 0, 3}, {0, 2, 3}}},
      {"AYUV", false, 8, 0, {{0, 1, 4}, {0, 2, 4}, {0, 3, 4}}},
      {"VUYA", false, 8, 0, {{0, 2, 4}, {0, 1, 4}, {0, 0, 4}}},
      {"RGB", true, 8, 0, {{0, 0, 3}, {0, 1, 3}, {0, 2, 3}}},
      {"BGR", true, 8, 0, {{0, 2, 3}, {0, 1, 3}, {0, 0, 3}}},
      {"RGBx, RGBA", true, 8, 0, {{0, 0, 4}, {0, 1, 4}, {0, 2, 4}}},
      {"BGRx, BGRA", true, 8, 0, {{0, 2, 4}, {0, 1, 4}, {0, 0, 4}}},
      {"xRGB, ARGB", true, 8, 0, {{0, 1, 4}, {0, 2, 4}, {0, 3, 4}}},
      {"xBGR, ABGR", true, 8, 0, {{0, 3, 4}, {0, 2, 4}, {0, 1, 4}}},
      {"GBR, GBRA", true, 8, 0, {{2, 0, 1}, {0, 0, 1}, {1, 0, 1}}},
      {"RGBP", true, 8, 0, {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}}},
      {"BGRP", true, 8, 0, {{2, 0, 1}, {1, 0, 1}, {0, 0, 1}}},
      {"P010_10LE", false, 10, 6, {{0, 0, 2}, {1, 0, 4, 1, 1}, {1, 2, 4, 1, 1}}},
      {"P012_LE", false, 12, 4, {{0, 0, 2}, {1, 0, 4, 1, 1}, {1, 2, 4, 1, 1}}},
      {"P016_LE", false, 16, 0, {{0, 0, 2}, {1, 0, 4, 1, 1}, {1, 2, 4, 1, 1}}},
      {"I420_10LE", false, 10, 0, {{0, 0, 2}, {1, 0, 2, 1, 1}, {2, 0, 2, 1, 1}}},
      {"I420_12LE", false, 12, 0, {{0, 0, 2}, {1, 0, 2, 1, 1}, {2, 0, 2, 1, 1}}},
      {"I422_10LE", false, 10, 0, {{0, 0, 2}, {1, 0, 2, 1, 0}, {2, 0, 2, 1, 0}}},
      {"I422_12LE", false, 12, 0, {{0, 0, 2}, {1, 0, 2, 1, 0}, {2, 0, 2, 1, 0}}},
      {"Y444_10LE", false, 10, 0, {{0, 0, 2}, {1, 0, 2}, {2, 0, 2}}},
      {"Y444_12LE", false, 12, 0, {{0, 0, 2}, {1, 0, 2}, {2, 0, 2}}},
      {"Y444_16LE", false, 16, 0, {{0, 0, 2}, {1, 0, 2}, {2, 0, 2}}},
      {"GBR_10LE", true, 10, 0, {{2, 0, 2}, {0, 0, 2}, {1, 0, 2}}},
      {"GBR_12LE", true, 12, 0, {{2, 0, 2}, {0, 0, 2}, {1, 0, 2}}},
  };
  return layouts;
}

/// Random samples; `lead` guard bytes in front of each plane, `padding` behind every row but the
/// last of a frame, which ends with its last sample.
inline TestFrame make_frame(const ColourLayout& layout, int width, int height, std::mt19937& random,
                            int lead = 7, int padding = 13) {
  struct Plane {
    int row = 0, rows = 0, first = 0;  // bytes of a row, rows, first byte
  };
  Plane planes[3];
  const auto samples = [](int side, int sub) { return ((side - 1) >> sub) + 1; };
  for (const ColourComponent& c : layout.components) {
    Plane& plane = planes[c.plane];
    plane.row = std::max(plane.row, samples(width, c.sub_x) * c.pixel_stride);
    plane.rows = samples(height, c.sub_y);
  }
  TestFrame frame;
  for (Plane& plane : planes) {
    if (plane.rows == 0) continue;
    frame.bytes.resize(frame.bytes.size() + static_cast<std::size_t>(lead), kGuard);
    plane.first = static_cast<int>(frame.bytes.size());
    for (int y = 0; y < plane.rows; ++y) {
      for (int x = 0; x < plane.row; ++x)
        frame.bytes.push_back(static_cast<std::uint8_t>(random()));
      frame.bytes.resize(frame.bytes.size() + static_cast<std::size_t>(padding), kGuard);
    }
    frame.bytes.resize(frame.bytes.size() - static_cast<std::size_t>(padding));
  }
  frame.bytes.shrink_to_fit();  // a read behind it is seen
  frame.view.width = width;
  frame.view.height = height;
  frame.view.rgb = layout.rgb;
  for (std::size_t i = 0; i < layout.components.size(); ++i) {
    const ColourComponent& c = layout.components[i];
    const Plane& plane = planes[c.plane];
    frame.view.component[i] = {frame.bytes.data() + plane.first + c.offset,
                               plane.row + padding,
                               c.pixel_stride,
                               layout.depth,
                               layout.shift,
                               c.sub_x,
                               c.sub_y};
  }
  return frame;
}

}  // namespace cuface::test
