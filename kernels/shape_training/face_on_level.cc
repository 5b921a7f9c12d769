#include "kernels/shape_training/face_on_level.h"

#include <algorithm>
#include <cmath>

#include "kernels/faces/landmark_scheme.h"

namespace cuface::shape {

std::vector<ShapePoint> points_of(const ShapeFaces& faces, std::size_t face) {
  const auto landmarks = static_cast<std::size_t>(faces.landmarks);
  std::vector<ShapePoint> out;
  for (const Point& p : faces.points.subspan(face * landmarks, landmarks))
    out.push_back({static_cast<double>(p.x), static_cast<double>(p.y)});
  return out;
}

namespace {

/// How far around its landmarks a face's picture is needed, in their larger extent.
constexpr double kAround = 0.75;

/// How much of the square of `side` pixels of a level around each landmark is in the picture; 0 of
/// a landmark that is missing.
std::vector<double> shares_inside(const ShapeFaces& faces, std::size_t face,
                                  const ShapeModel& model, int level, double side) {
  const std::vector<ShapePoint> points = points_of(faces, face);
  const ImageView<const std::uint8_t> picture = faces.pictures[faces.picture_of[face]];
  const auto present = faces.present.subspan(face * points.size(), points.size());
  const double square = std::ldexp(side, level) * shape_size(model, points) / model.size;
  const auto overlap = [&](double v, int size) {
    const double low = std::max(v - square / 2, -0.5), high = std::min(v + square / 2, size - 0.5);
    return std::max(0.0, high - low) / square;
  };
  std::vector<double> out;
  for (std::size_t i = 0; i < points.size(); ++i)
    out.push_back(present[i] && square > 0
                      ? overlap(points[i].x, picture.width) * overlap(points[i].y, picture.height)
                      : 0);
  return out;
}

}  // namespace

bool FaceOnLevel::make(const ShapeFaces& faces, std::size_t face, const ShapeModel& model,
                       int level) {
  points_ = points_of(faces, face);
  level_ = level;
  const ImageView<const std::uint8_t> all = faces.pictures[faces.picture_of[face]];
  ShapePoint low = points_[0], high = low;
  for (const ShapePoint& p : points_) {
    low = {std::min(low.x, p.x), std::min(low.y, p.y)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y)};
  }
  const double around = kAround * std::max(high.x - low.x, high.y - low.y);
  const auto within = [](double v, int most) {
    return static_cast<int>(std::lrint(std::clamp(v, 0.0, static_cast<double>(most))));
  };
  const int left = within(low.x - around, all.width), top = within(low.y - around, all.height);
  const ImageView<const std::uint8_t> part{all.row(std::min(top, all.height - 1)) + left,
                                           within(high.x + around, all.width) - left,
                                           within(high.y + around, all.height) - top, all.stride};
  const double factor = model.size / shape_size(model, points_);
  if (!pyramid_.make(part, factor, model.levels, model.pyramid).ok()) return false;
  const double scale = factor * std::ldexp(1.0, -level);
  for (ShapePoint& p : points_) p = {(p.x - left) * scale, (p.y - top) * scale};
  return true;
}

std::vector<ShapeNeighbours> neighbours_of(int landmarks) {
  const LandmarkScheme scheme = known_scheme(landmarks);
  std::vector<ShapeNeighbours> out;
  for (int i = 0; i < landmarks; ++i) {
    const int mirrored = mirrored_landmark(landmarks, i);
    ShapeNeighbours n{std::max(i - 1, 0), std::min(i + 1, landmarks - 1),
                      mirrored < 0 ? i : mirrored};
    for (int c = 0; c < scheme.curves; ++c) {
      const LandmarkCurve& curve = scheme.curve[c];
      if (i < curve.first || i > curve.last) continue;
      n.previous = i > curve.first ? i - 1 : curve.closed ? curve.last : i + 1;
      n.next = i < curve.last ? i + 1 : curve.closed ? curve.first : i - 1;
      // At an end the neighbour counts twice: the normal is that of one side.
      if (!curve.closed && i == curve.first) n.previous = i, n.next = i + 1;
      if (!curve.closed && i == curve.last) n.previous = i - 1, n.next = i;
    }
    out.push_back(n);
  }
  return out;
}

std::vector<std::uint8_t> used_landmarks(const ShapeFaces& faces, const ShapeModel& model,
                                         int level, double side, double share) {
  const auto landmarks = static_cast<std::size_t>(faces.landmarks);
  std::vector<double> inside;
  for (std::size_t face = 0; face < faces.boxes.size(); ++face)
    for (const double one : shares_inside(faces, face, model, level, side)) inside.push_back(one);
  std::vector<std::uint8_t> used(inside.size());
  for (std::size_t i = 0; i < landmarks; ++i) {
    const auto take = [&](double least) {
      std::size_t count = 0;
      for (std::size_t k = i; k < inside.size(); k += landmarks)
        if ((used[k] = inside[k] > 0 && inside[k] >= least)) ++count;
      return count;
    };
    if (take(share) < ShapeOptions::kFewestSamples) take(0);
  }
  return used;
}

}  // namespace cuface::shape
