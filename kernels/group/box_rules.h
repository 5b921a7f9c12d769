// The rules of grouping on single boxes: small functions over plain values, for the host and for a
// device alike.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/group/group.h"

namespace cuface {

/// OpenCV compares a distance with 0.2 * sides * 0.5 in double precision. In integers that is
/// 10 * distance <= sides: where `sides` is a multiple of 5 the product is rounded to the exact
/// fifth, elsewhere no integer is nearer than a fifth (test_group.cc). For |distance| below 2^27.
CUFACE_HD inline bool within_tolerance(int distance, int sides) {
  return 10 * std::abs(distance) <= sides;
}

/// OpenCV: all four edges within the tolerance of the smaller sides.
CUFACE_HD inline bool similar(const Rect& a, const Rect& b) {
  const int sides = std::min(a.w, b.w) + std::min(a.h, b.h);
  return within_tolerance(a.x - b.x, sides) && within_tolerance(a.y - b.y, sides) &&
         within_tolerance(a.x + a.w - b.x - b.w, sides) &&
         within_tolerance(a.y + a.h - b.y - b.h, sides);
}

/// The published rule: the boxes share at least one pixel.
CUFACE_HD inline bool shares_pixel(const Rect& a, const Rect& b) {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

CUFACE_HD inline bool related(const Rect& a, const Rect& b, Grouping rule) {
  return rule == Grouping::kOpenCv ? similar(a, b) : shares_pixel(a, b);
}

/// Is a group of `neighbors` windows kept?
CUFACE_HD inline bool enough(int neighbors, Grouping rule, int min_neighbors) {
  return rule == Grouping::kOpenCv ? neighbors > min_neighbors : neighbors >= min_neighbors;
}

/// The mean of n values from their sum, in fp32, ties to even.
CUFACE_HD inline int rounded_mean(int sum, int n) {
  return static_cast<int>(std::lrintf(static_cast<float>(sum) * (1.0f / static_cast<float>(n))));
}

/// The box of a group from the sums of its boxes.
CUFACE_HD inline Detection mean_of(const Detection& sum) {
  const int n = sum.neighbors;
  return {{rounded_mean(sum.box.x, n), rounded_mean(sum.box.y, n), rounded_mean(sum.box.w, n),
           rounded_mean(sum.box.h, n)},
          n};
}

/// A fifth of a length, rounded: OpenCV's cvRound(0.2 * length), which never meets a tie.
CUFACE_HD inline int fifth(int length) { return (length + 2) / 5; }

/// OpenCV: `inner` lies inside `outer` widened by a fifth, and fewer windows agree on it.
CUFACE_HD inline bool is_inner_box(const Detection& inner, const Detection& outer) {
  const int dx = fifth(outer.box.w), dy = fifth(outer.box.h);
  const Rect& a = inner.box;
  const Rect& b = outer.box;
  return a.x >= b.x - dx && a.y >= b.y - dy && a.x + a.w <= b.x + b.w + dx &&
         a.y + a.h <= b.y + b.h + dy &&
         (outer.neighbors > std::max(3, inner.neighbors) || inner.neighbors < 3);
}

/// The order of results: most neighbours first, then by y, x, height, width.
CUFACE_HD inline bool comes_before(const Detection& a, const Detection& b) {
  if (a.neighbors != b.neighbors) return a.neighbors > b.neighbors;
  if (a.box.y != b.box.y) return a.box.y < b.box.y;
  if (a.box.x != b.box.x) return a.box.x < b.box.x;
  if (a.box.h != b.box.h) return a.box.h < b.box.h;
  return a.box.w < b.box.w;
}

}  // namespace cuface
