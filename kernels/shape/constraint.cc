#include <algorithm>
#include <cmath>

#include "kernels/shape/steps.h"

namespace cuface::shape {
namespace {

std::size_t size_of(int n) { return static_cast<std::size_t>(n); }

/// Solves m x = v by elimination with partial pivoting, in place: x is left in `v`. False where it
/// has no solution.
bool solve(double m[4][4], double v[4]) {
  constexpr double kSmallest = 2.220446049250313e-14;
  for (int i = 0; i < 4; ++i) {
    int pivot = i;
    for (int j = i + 1; j < 4; ++j) {
      if (std::abs(m[j][i]) > std::abs(m[pivot][i])) pivot = j;
    }
    if (!(std::abs(m[pivot][i]) >= kSmallest)) return false;
    if (pivot != i) {
      for (int j = i; j < 4; ++j) std::swap(m[i][j], m[pivot][j]);
      std::swap(v[i], v[pivot]);
    }
    const double d = -1 / m[i][i];
    for (int j = i + 1; j < 4; ++j) {
      const double alpha = m[j][i] * d;
      for (int k = i + 1; k < 4; ++k) m[j][k] += alpha * m[i][k];
      v[j] += alpha * v[i];
    }
  }
  for (int i = 3; i >= 0; --i) {
    double s = v[i];
    for (int k = i + 1; k < 4; ++k) s -= m[i][k] * v[k];
    v[i] = s / m[i][i];
  }
  return true;
}

/// The rows of an affine map.
struct Affine {
  double xx, xy, x, yx, yy, y;
  ShapePoint operator()(const ShapePoint& p) const {
    return {xx * p.x + xy * p.y + x, yx * p.x + yy * p.y + y};
  }
};

Affine forward(const Pose& p) { return {p.a, -p.b, p.x, p.b, p.a, p.y}; }

/// By the adjoint of the 3 x 3 matrix.
Affine inverse(const Pose& p) {
  const double m[3][3] = {{p.a, -p.b, p.x}, {p.b, p.a, p.y}, {0, 0, 1}};
  const double determinant = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                             m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                             m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  const double d = 1 / determinant;
  return {(m[1][1] * m[2][2] - m[1][2] * m[2][1]) * d, (m[0][2] * m[2][1] - m[0][1] * m[2][2]) * d,
          (m[0][1] * m[1][2] - m[0][2] * m[1][1]) * d, (m[1][2] * m[2][0] - m[1][0] * m[2][2]) * d,
          (m[0][0] * m[2][2] - m[0][2] * m[2][0]) * d, (m[0][2] * m[1][0] - m[0][0] * m[1][2]) * d};
}

/// Row by row, each from `first` on.
double add_modes(double first, const double* row, std::span<const double> weights) {
  double sum = first;
  for (std::size_t k = 0; k < weights.size(); ++k) sum += row[k] * weights[k];
  return sum;
}

double coordinate(const ShapePoint& p, int axis) { return axis == ShapeRule::kX ? p.x : p.y; }

double sum_of(const ShapeTerm* terms, std::span<const ShapePoint> points, int axis) {
  double sum = 0;
  for (int i = 0; i < ShapeRule::kTermsOfSum; ++i) {
    if (terms[i].weight != 0)
      sum += terms[i].weight * coordinate(points[size_of(terms[i].point)], axis);
  }
  return sum;
}

}  // namespace

Constraint::Constraint(const ShapeModel& model)
    : model_(model),
      weights_(size_of(model.modes)),
      limits_(size_of(model.modes)),
      mean_(size_of(model.points)),
      modelled_(size_of(model.points)) {}

void Constraint::start_level(int level) {
  level_ = level;
  const double scale = std::ldexp(1.0, -level), squared = std::ldexp(1.0, -2 * level);
  std::fill(weights_.begin(), weights_.end(), 0.0);
  for (std::size_t k = 0; k < limits_.size(); ++k) {
    limits_[k] = model_.mode_limit * std::sqrt(model_.eigenvalues[k] * squared);
  }
  for (std::size_t i = 0; i < mean_.size(); ++i) {
    mean_[i] = {model_.mean_shape[2 * i] * scale, model_.mean_shape[2 * i + 1] * scale};
  }
  centre_ = {};
  for (const ShapePoint& p : mean_) centre_ = {centre_.x + p.x, centre_.y + p.y};
  const auto count = static_cast<double>(mean_.size());
  centre_ = {centre_.x / count, centre_.y / count};
  mean_square_ = 0;
  for (const ShapePoint& p : mean_) {
    const double x = p.x - centre_.x, y = p.y - centre_.y;
    mean_square_ += x * x + y * y;
  }
}

bool Constraint::is_missing(const ShapePoint& p) const {
  return std::abs(p.x) < model_.missing_within && std::abs(p.y) < model_.missing_within;
}

void Constraint::keep_in_place(ShapePoint& p) const {
  if (is_missing(p)) p.x = model_.missing_within;
}

Pose Constraint::fit(std::span<const ShapePoint> points) const {
  double w = 0, sx = 0, sy = 0, sx1 = 0, sy1 = 0, squares = 0, along = 0, across = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ShapePoint &from = modelled_[i], &to = points[i];
    if (is_missing(from) || is_missing(to)) continue;
    const double weight = model_.weights[i];
    w += weight;
    sx += weight * from.x;
    sy += weight * from.y;
    sx1 += weight * to.x;
    sy1 += weight * to.y;
    across += weight * (from.x * to.y - from.y * to.x);
    along += weight * (from.x * to.x + from.y * to.y);
    squares += weight * (from.x * from.x + from.y * from.y);
  }
  double m[4][4] = {{squares, 0, sx, sy}, {0, squares, -sy, sx}, {sx, -sy, w, 0}, {sy, sx, 0, w}};
  double v[4] = {along, across, sx1, sy1};
  if (!solve(m, v)) return {};
  return {v[0], v[1], v[2], v[3]};
}

void Constraint::run(std::span<ShapePoint> points) {
  model_.constraint == ShapeConstraint::kOnePass ? run_once(points) : run_until_rest(points);
  if (level_ >= model_.first_rule_level) apply_rules(points);
}

/// The weight of a mode in `modelled_`, which is less the mean.
void Constraint::project(std::size_t k, double& weight) const {
  const std::size_t modes = weights_.size(), rows = 2 * modelled_.size();
  double sums[4] = {};
  const auto add = [&](std::size_t r, std::size_t to) {
    const ShapePoint& p = modelled_[r / 2];
    sums[to] += model_.eigenvectors[r * modes + k] * (r % 2 == 0 ? p.x : p.y);
  };
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) add(r + lane, lane);
  for (; r < rows; ++r) add(r, 0);
  weight = sums[0] + sums[1] + sums[2] + sums[3];
}

void Constraint::run_once(std::span<ShapePoint> points) {
  const std::size_t modes = weights_.size();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double* const row = model_.eigenvectors.data() + 2 * i * modes;
    modelled_[i] = {add_modes(mean_[i].x, row, weights_),
                    add_modes(mean_[i].y, row + modes, weights_)};
  }
  const Pose pose = fit(points);
  const Affine back = inverse(pose), there = forward(pose);
  for (std::size_t i = 0; i < points.size(); ++i) {
    ShapePoint p = points[i];
    if (!is_missing(p)) {
      p = back(p);
      keep_in_place(p);
    }
    modelled_[i] = {p.x - mean_[i].x, p.y - mean_[i].y};
  }
  for (std::size_t k = 0; k < modes; ++k) {
    project(k, weights_[k]);
    weights_[k] = std::clamp(weights_[k], -limits_[k], limits_[k]);
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double* const row = model_.eigenvectors.data() + 2 * i * modes;
    ShapePoint p{mean_[i].x + add_modes(0, row, weights_),
                 mean_[i].y + add_modes(0, row + modes, weights_)};
    if (!is_missing(p)) p = there(p);
    keep_in_place(p);
    points[i] = p;
  }
}

/// What the weights give, about the mean shape's centre.
void Constraint::model_shape(const ShapePoint& centre) {
  const std::size_t modes = weights_.size();
  for (std::size_t i = 0; i < modelled_.size(); ++i) {
    const double* const row = model_.eigenvectors.data() + 2 * i * modes;
    modelled_[i] = {add_modes(mean_[i].x - centre.x, row, weights_),
                    add_modes(mean_[i].y - centre.y, row + modes, weights_)};
  }
}

void Constraint::run_until_rest(std::span<ShapePoint> points) {
  // A handful of rounds where points have equal weights; of few points, many.
  constexpr int kMostRounds = 100;
  constexpr double kRest = 1e-5;  // pixels
  std::fill(weights_.begin(), weights_.end(), 0.0);
  bool moves = true;
  for (int round = 0; moves && round < kMostRounds; ++round) {
    model_shape(centre_);
    const Affine back = inverse(fit(points));
    double along = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      modelled_[i] = is_missing(points[i])
                         ? ShapePoint{mean_[i].x - centre_.x, mean_[i].y - centre_.y}
                         : back(points[i]);
      along +=
          modelled_[i].x * (mean_[i].x - centre_.x) + modelled_[i].y * (mean_[i].y - centre_.y);
    }
    // The tangent projection y / (y . mean) presumes a mean of length 1.
    const double factor = along > 0 ? mean_square_ / along : 1;
    for (std::size_t i = 0; i < points.size(); ++i) {
      modelled_[i] = {modelled_[i].x * factor - (mean_[i].x - centre_.x),
                      modelled_[i].y * factor - (mean_[i].y - centre_.y)};
    }
    moves = false;
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      double weight = 0;
      project(k, weight);
      moves |= std::abs(weight - weights_[k]) > kRest;
      weights_[k] = weight;
    }
  }
  for (std::size_t k = 0; k < weights_.size(); ++k)
    weights_[k] = std::clamp(weights_[k], -limits_[k], limits_[k]);
  // The pose of the legal shape, whose weights may have been cut.
  model_shape(centre_);
  const Affine there = forward(fit(points));
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i] = there(modelled_[i]);
    keep_in_place(points[i]);
  }
}

void Constraint::apply_rules(std::span<ShapePoint> points) const {
  const double size = shape_size(model_, points);
  int skipped = 0;
  for (const ShapeRule& rule : model_.rules) {
    if (skipped > 0) {
      --skipped;
      continue;
    }
    const double measure = sum_of(rule.measure, points, rule.axis);
    const double against = rule.limit_unit == ShapeRule::kSize
                               ? size
                               : std::max(0.0, sum_of(rule.against, points, rule.axis));
    if (!(measure < rule.limit * against)) continue;
    const double shift =
        rule.shift * (rule.shift_unit == ShapeRule::kSize ? size : std::abs(measure));
    for (const ShapeMove& move : model_.moves.subspan(rule.first_move, rule.moves)) {
      ShapePoint& p = points[size_of(move.point)];
      (rule.axis == ShapeRule::kX ? p.x : p.y) += move.factor * shift;
    }
    skipped = rule.skip;
  }
}

void start_shape(const ShapeModel& model, const Box& box, std::span<ShapePoint> out) {
  // Half a pixel right of and below the centre, as Stasm has it.
  const double x = box.x + box.w / 2.0, y = box.y + box.h / 2.0;
  const double scale_x = box.w * model.start_scale, scale_y = box.h * model.start_scale;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = {scale_x * model.mean_shape[2 * i] + x, scale_y * model.mean_shape[2 * i + 1] + y};
  }
}

}  // namespace cuface::shape
