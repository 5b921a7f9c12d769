// The part of a face in which eyes are searched, and the choice among the finds: one source for
// both processors.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/similarity/fit.h"
#include "kernels/similarity/similarity.h"

namespace cuface::eyes {

/// The part of a box in which the eyes are, in its sides, and what it is scaled to: a face of 160
/// pixels, whose eyes fill the cascade's window of 20 one and a half times.
inline constexpr float kHigh = 0.6f;
inline constexpr int kWidth = 160, kHeight = 96;
/// How far eyes are apart, in the box's width, and how much one may be above the other.
inline constexpr float kLeastApart = 0.25f, kMostApart = 0.65f, kMostTilt = 0.2f;

/// Whole pixels of the picture; without any where there are too few to be scaled.
CUFACE_HD inline Rect upper_part(const Box& box, int width, int height) {
  const auto whole = [](float v) { return static_cast<int>(std::lrintf(v)); };
  constexpr float kFar = 1e6f;
  if (!(std::abs(box.x) < kFar && std::abs(box.y) < kFar && box.w < kFar && box.h < kFar))
    return {};
  const int left = std::max(whole(box.x), 0), right = std::min(whole(box.x + box.w), width);
  const int top = std::max(whole(box.y), 0);
  const int bottom = std::min(whole(box.y + kHigh * box.h), height);
  if (right - left < 2 || bottom - top < 2) return {};
  return {left, top, right - left, bottom - top};
}

/// The middles of a shape's eyes, the picture's left one first.
struct EyePair {
  Point at[2];
};

/// How the eyes of a shape come to be those of the face in `box`. box_of(k) are the `count` finds
/// in what `part` is scaled to, most neighbours first. False, and `out` untouched, where they are
/// no pair.
template <typename BoxOf>
CUFACE_HD bool onto_eyes(const EyePair& shape, const Box& box, const Rect& part, int count,
                         const BoxOf& box_of, Similarity& out) {
  const float sx = static_cast<float>(part.w) / kWidth, sy = static_cast<float>(part.h) / kHeight;
  const float centre = box.x + box.w / 2;
  EyePair eyes;
  bool has[2] = {};
  for (int k = 0; k < count; ++k) {
    const Box found = box_of(k);
    const Point at{static_cast<float>(part.x) + (found.x + found.w / 2) * sx - 0.5f,
                   static_cast<float>(part.y) + (found.y + found.h / 2) * sy - 0.5f};
    const int side = at.x < centre ? 0 : 1;
    if (has[side]) continue;
    eyes.at[side] = at;
    has[side] = true;
  }
  if (!has[0] || !has[1]) return false;
  const float across = eyes.at[1].x - eyes.at[0].x, tilt = std::abs(eyes.at[1].y - eyes.at[0].y);
  if (!(across >= kLeastApart * box.w && across <= kMostApart * box.w && tilt <= kMostTilt * box.w))
    return false;
  return similarity::fit(std::span<const Point>(shape.at, 2), std::span<const Point>(eyes.at, 2),
                         nullptr, out);
}

}  // namespace cuface::eyes
