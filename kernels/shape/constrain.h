// The nearest legal shape, by lanes (lanes.h): the bits of one lane that does all in turn. A
// model's numbers and the memory that lanes share are told apart, for each processor has its own.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/common/host_device.h"
#include "kernels/common/lanes.h"
#include "kernels/common/ordered_sums.h"
#include "kernels/shape/confidence.h"
#include "kernels/shape/shape_model.h"

namespace cuface::shape {

/// Turns by atan2(b, a), and scales by its length, then shifts.
struct Pose {
  double a = 1, b = 0, x = 0, y = 0;
};

/// The rows of an affine map.
struct Affine {
  double xx = 1, xy = 0, x = 0, yx = 0, yy = 1, y = 0;
  CUFACE_HD ShapePoint operator()(const ShapePoint& p) const {
    return {xx * p.x + xy * p.y + x, yx * p.x + yy * p.y + y};
  }
};

/// What the constraint reads of a model.
struct ConstraintTables {
  int points, modes, rules, first_rule_level;
  ShapeConstraint kind;
  int size_left, size_right, size_below;
  double missing_within;
  double least_weight;
  const double* eigenvectors;  ///< [points][2][modes]
  /// The same by modes where lanes read side by side: [modes][points][2]; or null.
  const double* by_modes;
  const double* weights;  ///< [points]
  const ShapeRule* rule;  ///< [rules]
  const ShapeMove* moves;

  CUFACE_HD double vector(int row, int mode) const { return eigenvectors[row * modes + mode]; }
};

/// What of it a level scales.
struct ConstraintLevel {
  const ShapePoint* mean;  ///< [points]
  const double* limits;    ///< [modes]
  ShapePoint centre;       ///< of the mean shape
  double mean_square;      ///< of its points' distances from that, all in all
  int number;
};

/// What lanes share.
struct ConstraintMemory {
  static constexpr int kSums = 8, kParts = 4, kPointParts = 16;
  ShapePoint* modelled;  ///< [points]
  double* weights;       ///< [modes], kept from one iteration of a level to the next
  double* parts;         ///< [kParts][modes]
  OrderedSums<kSums>* sums;
  double* point_parts;   ///< [kPointParts][kSums]
  Affine *back, *there;  ///< from the face to the model, and from the model to the face
  const double* costs;   ///< [points], of what was found; read where the model weighs by them
};

CUFACE_HD inline double size_between(const ShapePoint& left, const ShapePoint& right,
                                     const ShapePoint& below) {
  const double dx = (left.x + right.x) / 2 - below.x, dy = (left.y + right.y) / 2 - below.y;
  return std::sqrt(dx * dx + dy * dy);
}

inline constexpr double kSmallestPivot = 2.220446049250313e-14;

/// Solves m x = v by elimination with partial pivoting, in place: x is left in `v`. False where it
/// has no solution.
CUFACE_HD inline bool solve(double m[4][4], double v[4]) {
  const auto exchange = [](double& a, double& b) {
    const double kept = a;
    a = b;
    b = kept;
  };
  for (int i = 0; i < 4; ++i) {
    int pivot = i;
    for (int j = i + 1; j < 4; ++j) {
      if (std::abs(m[j][i]) > std::abs(m[pivot][i])) pivot = j;
    }
    if (!(std::abs(m[pivot][i]) >= kSmallestPivot)) return false;
    if (pivot != i) {
      for (int j = i; j < 4; ++j) exchange(m[i][j], m[pivot][j]);
      exchange(v[i], v[pivot]);
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

CUFACE_HD inline Affine forward(const Pose& p) { return {p.a, -p.b, p.x, p.b, p.a, p.y}; }

/// By the adjoint of the 3 x 3 matrix.
CUFACE_HD inline Affine inverse(const Pose& p) {
  const double m[3][3] = {{p.a, -p.b, p.x}, {p.b, p.a, p.y}, {0, 0, 1}};
  const double determinant = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                             m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                             m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  const double d = 1 / determinant;
  return {(m[1][1] * m[2][2] - m[1][2] * m[2][1]) * d, (m[0][2] * m[2][1] - m[0][1] * m[2][2]) * d,
          (m[0][1] * m[1][2] - m[0][2] * m[1][1]) * d, (m[1][2] * m[2][0] - m[1][0] * m[2][2]) * d,
          (m[0][0] * m[2][2] - m[0][2] * m[2][0]) * d, (m[0][2] * m[1][0] - m[0][0] * m[1][2]) * d};
}

/// The constraint of one face's points on one level.
template <typename Lanes>
struct Constrain {
  const Lanes& lanes;
  const ConstraintTables& model;
  const ConstraintLevel& level;
  const ConstraintMemory& memory;
  ShapePoint* points;

  /// As Constraint::run().
  CUFACE_HD_GENERIC
  CUFACE_HD void run() const {
    model.kind == ShapeConstraint::kOnePass ? run_once() : run_until_rest();
    if (level.number >= model.first_rule_level) lanes.once([&] { apply_rules(); });
  }

 private:
  CUFACE_HD bool is_missing(const ShapePoint& p) const {
    return std::abs(p.x) < model.missing_within && std::abs(p.y) < model.missing_within;
  }
  CUFACE_HD ShapePoint kept_in_place(const ShapePoint& p) const {
    return is_missing(p) ? ShapePoint{model.missing_within, p.y} : p;
  }
  CUFACE_HD bool weighs() const { return model.least_weight < 1; }
  CUFACE_HD double weight(int i) const {
    return weighs() ? weight_of_cost(memory.costs[i], model.least_weight) : 1;
  }
  CUFACE_HD static double& coordinate(ShapePoint& p, int axis) { return axis == 0 ? p.x : p.y; }

  /// memory.modelled: f(row, first + the modes' weights) is coordinate `row` of it.
  CUFACE_HD_GENERIC
  template <typename First, typename F>
  CUFACE_HD void add_modes(First first, F f) const {
    lanes.each(2 * model.points, [&](int row) {
      double sum = first(row);
      if (model.by_modes) {
        for (int k = 0; k < model.modes; ++k)
          sum += model.by_modes[k * 2 * model.points + row] * memory.weights[k];
      } else {
        for (int k = 0; k < model.modes; ++k) sum += model.vector(row, k) * memory.weights[k];
      }
      coordinate(memory.modelled[row / 2], row % 2) = f(row, sum);
    });
  }
  /// What the weights give, less `centre`.
  CUFACE_HD_GENERIC
  CUFACE_HD void model_shape(const ShapePoint& centre) const {
    add_modes(
        [&](int row) {
          return row % 2 == 0 ? level.mean[row / 2].x - centre.x : level.mean[row / 2].y - centre.y;
        },
        [](int, double sum) { return sum; });
  }

  /// memory.sums->sum[s] is the sum over all points of what terms(i, term) puts into term[s]. In
  /// their order, as Stasm has it; of the iterated constraint in kPointParts parts: part k is of
  /// points k, k + kPointParts ... in turn, and then the parts are added in their order.
  CUFACE_HD_GENERIC
  template <int kCount, typename Terms>
  CUFACE_HD void add_points(Terms terms) const {
    constexpr int kPointParts = ConstraintMemory::kPointParts;
    OrderedSums<ConstraintMemory::kSums>& sums = *memory.sums;
    if (model.kind == ShapeConstraint::kOnePass)
      return add_up<kCount>(lanes, model.points, terms, sums);
    constexpr int kAtOnce = OrderedSums<ConstraintMemory::kSums>::kAtOnce;
    static_assert(kAtOnce % kPointParts == 0);
    for (int first = 0; first < model.points; first += kAtOnce) {
      const int left = model.points - first, some = left < kAtOnce ? left : kAtOnce;
      lanes.each(some, [&](int i) { terms(first + i, sums.term[i]); });
      lanes.each(kPointParts * kCount, [&](int j) {
        double sum = first > 0 ? memory.point_parts[j] : 0;
        for (int i = j / kCount; i < some; i += kPointParts) sum += sums.term[i][j % kCount];
        memory.point_parts[j] = sum;
      });
    }
    lanes.each(kCount, [&](int s) {
      double sum = memory.point_parts[s];
      for (int part = 1; part < kPointParts; ++part) sum += memory.point_parts[part * kCount + s];
      sums.sum[s] = sum;
    });
  }

  /// The pose of weighted least squares from fit()'s sums: by elimination, as Stasm has it; of the
  /// iterated constraint as the quotients that it comes to.
  CUFACE_HD Pose pose_of(const double* sum) const {
    const double w = sum[0], sx = sum[1], sy = sum[2], sx1 = sum[3], sy1 = sum[4];
    const double along = sum[5], across = sum[6], squares = sum[7];
    if (model.kind == ShapeConstraint::kOnePass) {
      double m[4][4] = {
          {squares, 0, sx, sy}, {0, squares, -sy, sx}, {sx, -sy, w, 0}, {sy, sx, 0, w}};
      double v[4] = {along, across, sx1, sy1};
      return solve(m, v) ? Pose{v[0], v[1], v[2], v[3]} : Pose{};
    }
    const double determinant = w * squares - (sx * sx + sy * sy);
    if (!(w >= kSmallestPivot && determinant >= kSmallestPivot)) return {};
    const double by_determinant = 1 / determinant, by_weight = 1 / w;
    const double a = (w * along - (sx * sx1 + sy * sy1)) * by_determinant;
    const double b = (w * across - (sx * sy1 - sy * sx1)) * by_determinant;
    return {a, b, (sx1 - (sx * a - sy * b)) * by_weight, (sy1 - (sy * a + sx * b)) * by_weight};
  }

  /// The pose that brings memory.modelled nearest to the points.
  CUFACE_HD_GENERIC
  CUFACE_HD void fit() const {
    add_points<ConstraintMemory::kSums>([&](int i, double* term) {
      const ShapePoint &from = memory.modelled[i], &to = points[i];
      if (is_missing(from) || is_missing(to)) {
        for (int s = 0; s < ConstraintMemory::kSums; ++s) term[s] = 0;
        return;
      }
      const double weight = model.weights[i] * this->weight(i);
      term[0] = weight;
      term[1] = weight * from.x;
      term[2] = weight * from.y;
      term[3] = weight * to.x;
      term[4] = weight * to.y;
      term[5] = weight * (from.x * to.x + from.y * to.y);
      term[6] = weight * (from.x * to.y - from.y * to.x);
      term[7] = weight * (from.x * from.x + from.y * from.y);
    });
    lanes.once([&] {
      const Pose pose = pose_of(memory.sums->sum);
      *memory.back = inverse(pose);
      *memory.there = forward(pose);
    });
  }

  /// Of each mode, memory.parts[mode] is its weight in memory.modelled, which is less the mean.
  CUFACE_HD_GENERIC
  CUFACE_HD void project() const {
    const int modes = model.modes, rows = 2 * model.points, whole = rows / 4 * 4;
    const auto term = [&](int row, int k) {
      const ShapePoint& p = memory.modelled[row / 2];
      return model.vector(row, k) * (row % 2 == 0 ? p.x : p.y);
    };
    lanes.each(ConstraintMemory::kParts * modes, [&](int i) {
      const int k = i % modes, part = i / modes;
      double sum = 0;
      for (int row = part; row < whole; row += ConstraintMemory::kParts) sum += term(row, k);
      for (int row = whole; part == 0 && row < rows; ++row) sum += term(row, k);
      memory.parts[i] = sum;
    });
    lanes.each(modes, [&](int k) {
      const double* const part = memory.parts + k;
      memory.parts[k] = part[0] + part[modes] + part[2 * modes] + part[3 * modes];
    });
  }
  CUFACE_HD_GENERIC
  CUFACE_HD void cut_weights(const double* from) const {
    lanes.each(model.modes, [&](int k) {
      memory.weights[k] = std::clamp(from[k], -level.limits[k], level.limits[k]);
    });
  }

  CUFACE_HD_GENERIC
  CUFACE_HD void run_once() const {
    model_shape({});
    fit();
    const Affine back = *memory.back, there = *memory.there;
    lanes.each(model.points, [&](int i) {
      ShapePoint p = points[i];
      if (!is_missing(p)) p = kept_in_place(back(p));
      memory.modelled[i] = {p.x - level.mean[i].x, p.y - level.mean[i].y};
    });
    project();
    cut_weights(memory.parts);
    add_modes([](int) { return 0.0; },
              [&](int row, double sum) {
                return (row % 2 == 0 ? level.mean[row / 2].x : level.mean[row / 2].y) + sum;
              });
    lanes.each(model.points, [&](int i) {
      ShapePoint p = memory.modelled[i];
      if (!is_missing(p)) p = there(p);
      points[i] = kept_in_place(p);
    });
  }

  CUFACE_HD_GENERIC
  CUFACE_HD void run_until_rest() const {
    // A handful of rounds where points have equal weights; of few points, many.
    constexpr int kMostRounds = 100;
    constexpr double kRest = 1e-5;  // pixels
    const auto mean = [&](int i) {
      return ShapePoint{level.mean[i].x - level.centre.x, level.mean[i].y - level.centre.y};
    };
    lanes.each(model.modes, [&](int k) { memory.weights[k] = 0; });
    bool moves = true;
    for (int round = 0; moves && round < kMostRounds; ++round) {
      model_shape(level.centre);
      fit();
      const Affine back = *memory.back;
      add_points<1>([&](int i, double* term) {
        ShapePoint p = is_missing(points[i]) ? mean(i) : back(points[i]);
        // A point of weight w asks for w of its way from where the modes have put it: they rest
        // where the weighted squares are least.
        if (weighs()) {
          const ShapePoint& from = memory.modelled[i];
          const double w = weight(i);
          p = {from.x + w * (p.x - from.x), from.y + w * (p.y - from.y)};
        }
        memory.modelled[i] = p;
        term[0] = p.x * mean(i).x + p.y * mean(i).y;
      });
      // The tangent projection y / (y . mean) presumes a mean of length 1.
      const double along = memory.sums->sum[0], factor = along > 0 ? level.mean_square / along : 1;
      lanes.each(model.points, [&](int i) {
        ShapePoint& p = memory.modelled[i];
        p = {p.x * factor - mean(i).x, p.y * factor - mean(i).y};
      });
      project();
      moves = lanes.largest(model.modes, [&](int k) {
        return std::abs(memory.parts[k] - memory.weights[k]) > kRest ? 1 : 0;
      }) > 0;
      lanes.each(model.modes, [&](int k) { memory.weights[k] = memory.parts[k]; });
    }
    cut_weights(memory.weights);
    // The pose of the legal shape, whose weights may have been cut.
    model_shape(level.centre);
    fit();
    const Affine there = *memory.there;
    lanes.each(model.points, [&](int i) { points[i] = kept_in_place(there(memory.modelled[i])); });
  }

  CUFACE_HD double sum_of(const ShapeTerm* terms, int axis) const {
    double sum = 0;
    for (int i = 0; i < ShapeRule::kTermsOfSum; ++i) {
      if (terms[i].weight != 0) sum += terms[i].weight * coordinate(points[terms[i].point], axis);
    }
    return sum;
  }
  CUFACE_HD void apply_rules() const {
    const double size =
        size_between(points[model.size_left], points[model.size_right], points[model.size_below]);
    int skipped = 0;
    for (int r = 0; r < model.rules; ++r) {
      if (skipped > 0) {
        --skipped;
        continue;
      }
      const ShapeRule& rule = model.rule[r];
      const double measure = sum_of(rule.measure, rule.axis);
      const double against = rule.limit_unit == ShapeRule::kSize
                                 ? size
                                 : std::max(0.0, sum_of(rule.against, rule.axis));
      if (!(measure < rule.limit * against)) continue;
      const double shift =
          rule.shift * (rule.shift_unit == ShapeRule::kSize ? size : std::abs(measure));
      for (std::uint32_t i = 0; i < rule.moves; ++i) {
        const ShapeMove& move = model.moves[rule.first_move + i];
        coordinate(points[move.point], rule.axis) += move.factor * shift;
      }
      skipped = rule.skip;
    }
  }
};

}  // namespace cuface::shape
