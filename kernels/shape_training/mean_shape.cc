#include "kernels/shape_training/mean_shape.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "kernels/common/try.h"
#include "kernels/faces/landmark_scheme.h"
#include "kernels/shape_training/face_on_level.h"

namespace cuface::shape {
namespace {

std::size_t size_of(int n) { return static_cast<std::size_t>(n); }

Status invalid(std::string why) { return {StatusCode::kInvalidArgument, std::move(why)}; }

/// Points whose distances are a face's size.
void set_size_points(const ShapeOptions& options, int landmarks, ShapeModel& model) {
  const SizePoints known = known_scheme(landmarks).size;
  const bool use = known.is_known() && options.size_left < 0;
  model.size_left = use ? known.left : options.size_left;
  model.size_right = use ? known.right : options.size_right;
  model.size_below = use ? known.below : options.size_below;
}

Status check_window(const ShapeModel& model) {
  const double side = window_side(model);
  if (side >= kLeastShapeWindow && side <= kMaxShapeWindow) return {};
  return invalid(
      "with --size " + std::to_string(std::lround(model.size)) + " a face's window has " +
      (std::abs(side) < 1e6 ? std::to_string(std::lround(side)) + " pixels a side"
                            : "no usable size") +
      ", and " + std::to_string(kLeastShapeWindow) + " to " + std::to_string(kMaxShapeWindow) +
      " are allowed; change --size or --window, or the boxes");
}

/// Where the mean shape lies in boxes, by least squares of all faces: its origin becomes their
/// middle.
void place_in_box(const ShapeFaces& faces, std::span<const std::size_t> whole,
                  const std::vector<ShapePoint>& mean, ShapeModel& model, MeanShapeTables& t) {
  const std::size_t landmarks = size_of(faces.landmarks);
  std::vector<ShapePoint> average(landmarks);
  ShapePoint middle;
  for (const std::size_t face : whole) {
    const Box& box = faces.boxes[face];
    const auto w = static_cast<double>(box.w), h = static_cast<double>(box.h);
    const double x = static_cast<double>(box.x) + w / 2, y = static_cast<double>(box.y) + h / 2;
    const std::vector<ShapePoint> points = points_of(faces, face);
    for (std::size_t i = 0; i < landmarks; ++i)
      average[i] = {average[i].x + (points[i].x - x) / w, average[i].y + (points[i].y - y) / h};
  }
  const double count = static_cast<double>(whole.size());
  for (ShapePoint& p : average) {
    p = {p.x / count, p.y / count};
    middle = {middle.x + p.x / static_cast<double>(landmarks),
              middle.y + p.y / static_cast<double>(landmarks)};
  }
  double along = 0, squares = 0;
  for (std::size_t i = 0; i < landmarks; ++i) {
    along += average[i].x * mean[i].x + average[i].y * mean[i].y;
    squares += mean[i].x * mean[i].x + mean[i].y * mean[i].y;
  }
  model.start_scale = along / squares;
  for (const ShapePoint& p : mean) {
    t.mean_shape.push_back(p.x + middle.x / model.start_scale);
    t.mean_shape.push_back(p.y + middle.y / model.start_scale);
  }
}

}  // namespace

Status make_shape(const ShapeFaces& faces, std::span<const std::size_t> whole,
                  const ShapeOptions& options, ShapeModel& model, MeanShapeTables& t) {
  const std::size_t landmarks = size_of(faces.landmarks), n = 2 * landmarks;
  model.points = faces.landmarks;
  model.levels = options.levels;
  model.iterations = iterations_of(options);
  model.rest = options.rest;
  model.refits = options.refits;
  model.constraint = ShapeConstraint::kIterated;
  model.pyramid = ShapePyramid::kGaussian;
  set_size_points(options, faces.landmarks, model);
  model.size = options.size;
  model.mode_limit = options.mode_limit;
  model.noise = options.noise;
  model.least_weight = options.least_weight;
  model.first_rule_level = kMaxShapeLevels;
  model.window = options.window;
  model.line = options.line;
  model.hat =
      options.profiles == ProfileKind::kHat ? options.hat : HatRule{1, 1, 2, 3, 0, 0, 1, 1, 1};
  if (options.profiles == ProfileKind::kPatch) model.patch = patch_rule(options);
  std::vector<double> shapes;
  for (const std::size_t face : whole) {
    const std::vector<ShapePoint> points = points_of(faces, face);
    if (!(shape_size(model, points) > 1))
      return invalid((faces.where.empty() ? "" : faces.where[face] + ": ") +
                     "a face whose landmarks have no size; correct it or leave it out");
    for (const ShapePoint& p : points) shapes.insert(shapes.end(), {p.x, p.y});
  }
  const shape::AlignedShapes aligned = shape::align_shapes(shapes, landmarks);
  const std::size_t modes = std::min(
      {shape::kept_modes(aligned.eigenvalues, options.variance), size_of(kMaxShapeModes), n});
  std::vector<ShapePoint> mean;
  for (std::size_t i = 0; i < landmarks; ++i)
    mean.push_back({aligned.mean[2 * i], aligned.mean[2 * i + 1]});
  const double unit = options.size / shape_size(model, mean);
  model.modes = static_cast<int>(modes);
  for (std::size_t k = 0; k < modes; ++k)
    t.eigenvalues.push_back(std::max(aligned.eigenvalues[k], 0.0) * unit * unit);
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t k = 0; k < modes; ++k)
      t.eigenvectors.push_back(aligned.eigenvectors[r * n + k]);
  for (ShapePoint& p : mean) p = {p.x * unit, p.y * unit};
  place_in_box(faces, whole, mean, model, t);
  model.mean_shape = t.mean_shape;
  CUFACE_TRY(check_window(model));
  return {};
}

}  // namespace cuface::shape
