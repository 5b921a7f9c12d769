#include "kernels/faces/landmark_scheme.h"

#include <algorithm>
#include <string>

namespace cuface {
namespace {

Status corrupt(const std::string& why) { return {StatusCode::kCorrupt, "landmark scheme: " + why}; }

bool is_within(const PointRange& range, int points) {
  return range.first >= 0 && range.count >= 0 && range.first + range.count <= points;
}

Point middle(std::span<const Point> shape, int first, int count) {
  Point sum;
  for (int i = first; i < first + count; ++i) {
    sum.x += shape[static_cast<std::size_t>(i)].x;
    sum.y += shape[static_cast<std::size_t>(i)].y;
  }
  return {sum.x / static_cast<float>(count), sum.y / static_cast<float>(count)};
}

}  // namespace

Status validate(const LandmarkScheme& s, int points) {
  const auto is_point = [points](int i) { return i >= 0 && i < points; };
  if (s.points == 0) return {};
  if (s.points != points) {
    return corrupt("it is of " + std::to_string(s.points) + " points, the model of " +
                   std::to_string(points));
  }
  if (!is_within({s.eyes.left, s.eyes.count}, points) ||
      !is_within({s.eyes.right, s.eyes.count}, points))
    return corrupt("an eye has points that are none");
  if (!is_within(s.mouth, points)) return corrupt("the mouth has points that are none");
  if (!is_within(s.jaw, points)) return corrupt("the jaw has points that are none");
  if (s.low.kind < LowPoint::kUnknown || s.low.kind > LowPoint::kNose || !is_point(s.low.index))
    return corrupt("the low point is none");
  if (!is_point(s.size.left) || !is_point(s.size.right) || !is_point(s.size.below))
    return corrupt("a point that measures a face is none");
  if (s.curves < 0 || s.curves > kMaxLandmarkCurves)
    return corrupt("more than " + std::to_string(kMaxLandmarkCurves) + " curves");
  int lines = 0;
  for (int c = 0; c < s.curves; ++c) {
    const LandmarkCurve& curve = s.curve[c];
    if (!is_point(curve.first) || !is_point(curve.last) || curve.first > curve.last ||
        (curve.closed != 0 && curve.closed != 1))
      return corrupt("curve " + std::to_string(c) + " goes where no points are");
    lines += curve.last - curve.first + curve.closed;
  }
  if (lines > kMaxLandmarkLines)
    return corrupt("more than " + std::to_string(kMaxLandmarkLines) + " lines");
  return {};
}

bool fits(const LandmarkScheme& s, std::span<const Point> shape) {
  if (s.points != static_cast<int>(shape.size())) return false;
  const auto [left, right] = std::ranges::minmax(shape, {}, &Point::x);
  const float width = right.x - left.x;
  if (!(width > 0)) return false;
  if (s.eyes.count > 0) {
    const Point a = middle(shape, s.eyes.left, s.eyes.count);
    const Point b = middle(shape, s.eyes.right, s.eyes.count);
    if (!(a.x < b.x)) return false;
    if (s.low.kind != LowPoint::kUnknown) {
      const Point low = shape[static_cast<std::size_t>(s.low.index)];
      if (!(a.y < low.y && b.y < low.y)) return false;
    }
  }
  for (int c = 0; c < s.curves; ++c) {
    for (int i = s.curve[c].first; i < s.curve[c].last; ++i) {
      const Point &a = shape[static_cast<std::size_t>(i)],
                  &b = shape[static_cast<std::size_t>(i) + 1];
      const float dx = b.x - a.x, dy = b.y - a.y;
      if (!(4 * (dx * dx + dy * dy) <= width * width)) return false;
    }
  }
  return true;
}

LandmarkScheme known_scheme(std::span<const Point> shape) {
  const LandmarkScheme known = known_scheme(static_cast<int>(shape.size()));
  if (fits(known, shape)) return known;
  LandmarkScheme none;
  none.points = known.points;
  return none;
}

}  // namespace cuface
