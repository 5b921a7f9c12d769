#include <algorithm>
#include <cmath>

#include "kernels/shape/steps.h"

namespace cuface::shape {
namespace {

std::size_t size_of(int n) { return static_cast<std::size_t>(n); }

}  // namespace

LevelNumbers::LevelNumbers(const ShapeModel& model, int level)
    : number(level), mean(size_of(model.points)), limits(size_of(model.modes)) {
  const double scale = std::ldexp(1.0, -level), squared = std::ldexp(1.0, -2 * level);
  for (std::size_t k = 0; k < limits.size(); ++k) {
    // In the unit of multiply_parts().
    limits[k] =
        model.mode_limit * std::sqrt(model.eigenvalues[k] * squared + model.noise * model.noise);
  }
  for (std::size_t i = 0; i < mean.size(); ++i) {
    mean[i] = {model.mean_shape[2 * i] * scale, model.mean_shape[2 * i + 1] * scale};
  }
  double weight = 0;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const double w = model.weights[i];
    centre = {centre.x + w * mean[i].x, centre.y + w * mean[i].y};
    weight += w;
  }
  if (weight > 0) centre = {centre.x / weight, centre.y / weight};
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const double x = mean[i].x - centre.x, y = mean[i].y - centre.y;
    mean_square += model.weights[i] * (x * x + y * y);
  }
  if (model.constraint == ShapeConstraint::kIterated) multiply_parts(model);
}

void LevelNumbers::multiply_parts(const ShapeModel& model) {
  const ConstraintTables tables = constraint_tables(model);
  const int of_all = ConstraintMemory::parts_of(model.modes);
  parts.reserve(size_of(model.points * of_all));
  // The likeliest weight is what the nearest shape has, times s = variance / (variance + noise^2).
  // Vectors times the root of s give it, both where a shape is projected and where it is made.
  std::vector<double> roots(size_of(model.modes), 1);
  for (std::size_t k = 0; k < roots.size() && model.noise > 0; ++k) {
    const double variance = std::ldexp(model.eigenvalues[k], -2 * number);
    roots[k] = std::sqrt(variance / (variance + model.noise * model.noise));
  }
  for (int i = 0; i < model.points; ++i) {
    const ShapePoint& m = mean[size_of(i)];
    parts.push_back({m.x - centre.x, m.y - centre.y});
    for (int k = 0; k < model.modes; ++k) {
      const double root = roots[size_of(k)];
      parts.push_back({root * tables.vector(2 * i, k), root * tables.vector(2 * i + 1, k)});
    }
    parts.push_back({1, 0});
    parts.resize(size_of((i + 1) * of_all));
  }
  gram.resize(size_of(of_all * of_all));
  moments.resize(size_of(ConstraintLevel::kMoments * of_all));
  const SerialLanes lanes;
  const ConstraintMemory none{};
  const Iterated<SerialLanes> iterated(lanes, tables, view(), none, nullptr);
  for (int i = 0; i < of_all * of_all; ++i)
    iterated.multiply_parts(
        i / of_all, i % of_all, [](int) { return 1.0; }, gram.data(), moments.data(), nullptr);
}

ConstraintTables constraint_tables(const ShapeModel& model) {
  return {model.points,
          model.modes,
          static_cast<int>(model.rules.size()),
          model.first_rule_level,
          model.constraint,
          model.size_left,
          model.size_right,
          model.size_below,
          model.missing_within,
          model.least_weight,
          model.eigenvectors.data(),
          model.weights.data(),
          model.rules.data(),
          model.moves.data()};
}

Constraint::Constraint(const ShapeModel& model)
    : tables_(constraint_tables(model)),
      weights_(size_of(model.modes)),
      parts_(size_of(ConstraintMemory::kParts * model.modes)),
      modelled_(size_of(model.points)) {
  if (model.constraint == ShapeConstraint::kIterated)
    products_.resize(size_of(ConstraintMemory::products_of(model.modes)));
  if (model.least_weight < 1)
    sums_of_face_.resize(size_of(ConstraintMemory::weighed_sums_of(model.modes)));
  for (int level = 0; level < kMaxShapeLevels; ++level) levels_.emplace_back(model, level);
}

void Constraint::start_level(int level) {
  level_ = level;
  std::fill(weights_.begin(), weights_.end(), 0.0);
}

void Constraint::run(std::span<ShapePoint> points, std::span<const double> costs) {
  const ConstraintLevel level = levels_[size_of(level_)].view();
  const ConstraintMemory memory{
      modelled_.data(), weights_.data(), parts_.data(),    &sums_,       sum_parts_,
      &back_,           &there_,         products_.data(), costs.data(), sums_of_face_.data()};
  Constrain<SerialLanes>{SerialLanes{}, tables_, level, memory, points.data()}.run();
}

void start_shape(const ShapeModel& model, const Box& box, std::span<ShapePoint> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] =
        start_point(box, model.start_scale, model.mean_shape[2 * i], model.mean_shape[2 * i + 1]);
  }
}

Rect start_in_window(const ShapeModel& model, const Box& box, int width, int height,
                     std::span<ShapePoint> out) {
  const Rect window = window_of(model.window, box, width, height);
  start_shape(model, box, out);
  for (ShapePoint& p : out) p = {p.x - window.x, p.y - window.y};
  return window;
}

}  // namespace cuface::shape
