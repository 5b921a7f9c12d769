// Points and boxes, in pixels of one picture.
//
// Points have OpenCV's and dlib's meaning: an integer coordinate is the CENTRE of a pixel.
// Boxes are edges: a box covering all of a picture w pixels wide has x = 0 and w = the width.
// (dlib's inclusive rectangle of a box has right = x + w - 1.)
#pragma once

#include <algorithm>

#include "kernels/common/host_device.h"

namespace cuface {

struct Point {
  float x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

/// A point counted from pixel centres, in a picture so many times as wide and high.
CUFACE_HD inline Point scaled_point(const Point& p, float scale_x, float scale_y) {
  return {(p.x + 0.5f) * scale_x - 0.5f, (p.y + 0.5f) * scale_y - 0.5f};
}

struct Box {
  float x = 0, y = 0, w = 0, h = 0;
  friend bool operator==(const Box&, const Box&) = default;
};

/// A turn in the picture, clockwise, as y points down.
struct Roll {
  float cos = 1, sin = 0;
  friend bool operator==(const Roll&, const Roll&) = default;
};

CUFACE_HD inline float area(const Box& b) { return b.w * b.h; }

/// Of what both boxes cover; 0 where that is nothing.
CUFACE_HD inline float intersection_area(const Box& a, const Box& b) {
  const float w = std::min(a.x + a.w, b.x + b.w) - std::max(a.x, b.x);
  const float h = std::min(a.y + a.h, b.y + b.h) - std::max(a.y, b.y);
  return w > 0 && h > 0 ? w * h : 0.0f;
}

/// 0 when either box is empty or not finite.
CUFACE_HD inline float intersection_over_union(const Box& a, const Box& b) {
  const float common = intersection_area(a, b);
  const float all = area(a) + area(b) - common;
  return common > 0 && all > 0 ? common / all : 0.0f;
}

/// A box on whole pixels, as OpenCV's cv::Rect.
struct Rect {
  int x = 0, y = 0, w = 0, h = 0;
  friend bool operator==(const Rect&, const Rect&) = default;
};

}  // namespace cuface
