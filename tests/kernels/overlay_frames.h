// Frames of every layout and faces to draw into them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kernels/overlay/overlay.h"

namespace cuface::test {

struct OverlayPlane {
  int pixel_stride, depth, shift, sub_x, sub_y, offset;
};

/// Where the three components of a format lie; components with the same `memory` share a plane.
struct OverlayLayout {
  std::string name;
  bool rgb;
  int memory[3];
  OverlayPlane plane[3];
};

inline const std::vector<OverlayLayout>& layouts() {
  static const std::vector<OverlayLayout> all = {
      {"Y444", false, {0, 1, 2}, {{1, 8, 0, 0, 0, 0}, {1, 8, 0, 0, 0, 0}, {1, 8, 0, 0, 0, 0}}},
      {"I420", false, {0, 1, 2}, {{1, 8, 0, 0, 0, 0}, {1, 8, 0, 1, 1, 0}, {1, 8, 0, 1, 1, 0}}},
      {"NV12", false, {0, 1, 1}, {{1, 8, 0, 0, 0, 0}, {2, 8, 0, 1, 1, 0}, {2, 8, 0, 1, 1, 1}}},
      {"NV21", false, {0, 1, 1}, {{1, 8, 0, 0, 0, 0}, {2, 8, 0, 1, 1, 1}, {2, 8, 0, 1, 1, 0}}},
      {"Y42B", false, {0, 1, 2}, {{1, 8, 0, 0, 0, 0}, {1, 8, 0, 1, 0, 0}, {1, 8, 0, 1, 0, 0}}},
      {"Y41B", false, {0, 1, 2}, {{1, 8, 0, 0, 0, 0}, {1, 8, 0, 2, 0, 0}, {1, 8, 0, 2, 0, 0}}},
      {"YUV9", false, {0, 1, 2}, {{1, 8, 0, 0, 0, 0}, {1, 8, 0, 2, 2, 0}, {1, 8, 0, 2, 2, 0}}},
      {"YUY2", false, {0, 0, 0}, {{2, 8, 0, 0, 0, 0}, {4, 8, 0, 1, 0, 1}, {4, 8, 0, 1, 0, 3}}},
      {"UYVY", false, {0, 0, 0}, {{2, 8, 0, 0, 0, 1}, {4, 8, 0, 1, 0, 0}, {4, 8, 0, 1, 0, 2}}},
      {"AYUV", false, {0, 0, 0}, {{4, 8, 0, 0, 0, 1}, {4, 8, 0, 0, 0, 2}, {4, 8, 0, 0, 0, 3}}},
      {"I420_10",
       false,
       {0, 1, 2},
       {{2, 10, 0, 0, 0, 0}, {2, 10, 0, 1, 1, 0}, {2, 10, 0, 1, 1, 0}}},
      {"P010", false, {0, 1, 1}, {{2, 10, 6, 0, 0, 0}, {4, 10, 6, 1, 1, 0}, {4, 10, 6, 1, 1, 2}}},
      {"Y444_16",
       false,
       {0, 1, 2},
       {{2, 16, 0, 0, 0, 0}, {2, 16, 0, 0, 0, 0}, {2, 16, 0, 0, 0, 0}}},
      {"RGB", true, {0, 0, 0}, {{3, 8, 0, 0, 0, 0}, {3, 8, 0, 0, 0, 1}, {3, 8, 0, 0, 0, 2}}},
      {"BGRx", true, {0, 0, 0}, {{4, 8, 0, 0, 0, 2}, {4, 8, 0, 0, 0, 1}, {4, 8, 0, 0, 0, 0}}},
      {"GBR", true, {2, 0, 1}, {{1, 8, 0, 0, 0, 0}, {1, 8, 0, 0, 0, 0}, {1, 8, 0, 0, 0, 0}}},
      {"GBR_10", true, {2, 0, 1}, {{2, 10, 0, 0, 0, 0}, {2, 10, 0, 0, 0, 0}, {2, 10, 0, 0, 0, 0}}},
      {"GRAY8", false, {0, -1, -1}, {{1, 8, 0, 0, 0, 0}, {}, {}}},
  };
  return all;
}

inline const OverlayLayout& layout(const std::string& name) {
  return *std::find_if(layouts().begin(), layouts().end(),
                       [&](const OverlayLayout& l) { return l.name == name; });
}

inline int samples(int pixels, int sub) { return (pixels + (1 << sub) - 1) >> sub; }

/// A frame that owns its memory, with untouchable bytes around every row.
class OverlayFrame {
 public:
  static constexpr std::uint8_t kCanary = 0xa5;
  static constexpr int kMargin = 40;

  OverlayFrame(const OverlayLayout& l, int width, int height, bool full_range = false)
      : layout_(l) {
    view_.width = width;
    view_.height = height;
    view_.rgb = l.rgb;
    view_.full_range = full_range || l.rgb;
    for (int m = 0; m < 3; ++m) {  // a plane is as large as the largest component in it
      int stride = 0, rows = 0;
      for (int i = 0; i < 3; ++i) {
        if (l.memory[i] != m) continue;
        const OverlayPlane& p = l.plane[i];
        stride = std::max(stride, samples(width, p.sub_x) * p.pixel_stride + kMargin);
        rows = std::max(rows, samples(height, p.sub_y) + 2);
      }
      memory_[m].assign(static_cast<std::size_t>(stride * rows + kMargin), kCanary);
      for (int i = 0; i < 3; ++i) {
        if (l.memory[i] != m) continue;
        const OverlayPlane& p = l.plane[i];
        view_.component[i] = {memory_[m].data() + kMargin + stride + p.offset,
                              stride,
                              p.pixel_stride,
                              p.depth,
                              p.shift,
                              p.sub_x,
                              p.sub_y};
      }
    }
  }
  OverlayFrame(const OverlayFrame&) = delete;

  const FrameView& view() const { return view_; }
  int columns(int i) const { return samples(view_.width, layout_.plane[i].sub_x); }
  int rows(int i) const { return samples(view_.height, layout_.plane[i].sub_y); }
  bool has(int i) const { return view_.component[i].data != nullptr; }
  int depth(int i) const { return view_.component[i].depth; }

  std::uint8_t* at(int i, int x, int y) const {
    const Component& c = view_.component[i];
    return c.data + y * c.stride + x * c.pixel_stride;
  }
  int get(int i, int x, int y) const {
    if (depth(i) <= 8) return *at(i, x, y);
    std::uint16_t word;
    std::memcpy(&word, at(i, x, y), 2);
    return word >> view_.component[i].shift;
  }
  void set(int i, int x, int y, int value) const {
    if (depth(i) <= 8) {
      *at(i, x, y) = static_cast<std::uint8_t>(value);
      return;
    }
    const auto word = static_cast<std::uint16_t>(value << view_.component[i].shift);
    std::memcpy(at(i, x, y), &word, 2);
  }

  /// `value(component, x, y)` is 8 bit and given in luma pixels.
  void paint(const std::function<int(int, int, int)>& value) const {
    for (int i = 0; i < 3; ++i)
      for (int y = 0; has(i) && y < rows(i); ++y)
        for (int x = 0; x < columns(i); ++x)
          set(i, x, y,
              value(i, x << layout_.plane[i].sub_x, y << layout_.plane[i].sub_y) << (depth(i) - 8));
  }

  /// The bytes of the planes, guards included; a component lies at `view().component[i].data`.
  const std::vector<std::uint8_t>& memory(int m) const { return memory_[m]; }
  int memory_of(int i) const { return layout_.memory[i]; }

  /// Bytes that belong to no sample and changed.
  int damage() const {
    std::vector<std::uint8_t> copy[3] = {memory_[0], memory_[1], memory_[2]};
    for (int i = 0; i < 3; ++i) {
      for (int y = 0; has(i) && y < rows(i); ++y) {
        for (int x = 0; x < columns(i); ++x) {
          const auto m = static_cast<std::size_t>(layout_.memory[i]);
          std::fill_n(copy[m].begin() + (at(i, x, y) - memory_[m].data()), depth(i) > 8 ? 2 : 1,
                      kCanary);
        }
      }
    }
    int n = 0;
    for (const auto& m : copy)
      n += static_cast<int>(m.size() - std::count(m.begin(), m.end(), kCanary));
    return n;
  }

  std::vector<int> all() const {
    std::vector<int> values;
    for (int i = 0; i < 3; ++i)
      for (int y = 0; has(i) && y < rows(i); ++y)
        for (int x = 0; x < columns(i); ++x) values.push_back(get(i, x, y));
    return values;
  }

 private:
  OverlayLayout layout_;
  FrameView view_;
  std::vector<std::uint8_t> memory_[3];
};

/// Texture that is constant in 4x4 blocks, so that every subsampling sees the same picture.
inline int blocks(int component, int x, int y) {
  const unsigned n = static_cast<unsigned>(component * 7919 + (x / 4) * 104729 + (y / 4) * 1299709);
  return 40 + static_cast<int>((n * 2654435761u >> 13) % 160);
}

inline Face face_at(float x, float y, float w, float h, std::uint64_t id = 12,
                    float confidence = 0.91f) {
  Face face;
  face.id = id;
  face.confidence = confidence;
  face.box = {x, y, w, h};
  return face;
}

/// A face of 68 points on rings inside the box (no real face is needed to test lines), on multiples
/// of 1/16 px so that shifting it is exact.
inline FaceList some_faces(int width, int height, float x, float y, float side, int points = 68) {
  FaceList faces;
  faces.width = width;
  faces.height = height;
  faces.faces = {face_at(x, y, side, side * 1.125f)};
  faces.landmarks_per_face = points;
  for (int i = 0; i < points; ++i) {
    const double a = i * 0.71, r = side * (0.15 + 0.3 * ((i * 37) % 11) / 11.0);
    const double px = x + side / 2 + r * std::cos(a), py = y + side / 2 + r * std::sin(a);
    faces.landmarks.push_back({static_cast<float>(std::round(px * 16) / 16),
                               static_cast<float>(std::round(py * 16) / 16)});
  }
  return faces;
}

inline OverlayStyle style(unsigned draw, int line_width = 2) {
  OverlayStyle s;
  s.draw = draw;
  s.line_width = line_width;
  return s;
}

inline constexpr unsigned kEverything =
    kDrawBox | kDrawContour | kDrawPoints | kDrawId | kDrawConfidence | kDrawPixelate;

}  // namespace cuface::test
