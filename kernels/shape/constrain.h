// The nearest legal shape, by lanes (lanes.h): the bits of one lane that does all in turn. A
// model's numbers and the memory that lanes share are told apart, for each processor has its own.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/common/host_device.h"
#include "kernels/common/lanes.h"
#include "kernels/common/ordered_sums.h"
#include "kernels/shape/constraint_tables.h"
#include "kernels/shape/iterated.h"

namespace cuface::shape {

CUFACE_HD inline double size_between(const ShapePoint& left, const ShapePoint& right,
                                     const ShapePoint& below) {
  const double dx = (left.x + right.x) / 2 - below.x, dy = (left.y + right.y) / 2 - below.y;
  return std::sqrt(dx * dx + dy * dy);
}

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
    if (model.kind == ShapeConstraint::kOnePass)
      run_once();
    else
      Iterated<Lanes>(lanes, model, level, memory, points).run();
    if (level.number >= model.first_rule_level) lanes.once([&] { apply_rules(); });
  }

 private:
  CUFACE_HD bool is_missing(const ShapePoint& p) const {
    return std::abs(p.x) < model.missing_within && std::abs(p.y) < model.missing_within;
  }
  CUFACE_HD ShapePoint kept_in_place(const ShapePoint& p) const {
    return is_missing(p) ? ShapePoint{model.missing_within, p.y} : p;
  }
  CUFACE_HD static double& coordinate(ShapePoint& p, int axis) { return axis == 0 ? p.x : p.y; }

  /// memory.modelled: f(row, first + the modes' weights) is coordinate `row` of it.
  CUFACE_HD_GENERIC
  template <typename First, typename F>
  CUFACE_HD void add_modes(First first, F f) const {
    lanes.each(2 * model.points, [&](int row) {
      double sum = first(row);
      for (int k = 0; k < model.modes; ++k) sum += model.vector(row, k) * memory.weights[k];
      coordinate(memory.modelled[row / 2], row % 2) = f(row, sum);
    });
  }
  /// The pose of weighted least squares from fit()'s sums.
  CUFACE_HD static Pose pose_of(const double* sum) {
    const double w = sum[0], sx = sum[1], sy = sum[2], sx1 = sum[3], sy1 = sum[4];
    const double along = sum[5], across = sum[6], squares = sum[7];
    double m[4][4] = {{squares, 0, sx, sy}, {0, squares, -sy, sx}, {sx, -sy, w, 0}, {sy, sx, 0, w}};
    double v[4] = {along, across, sx1, sy1};
    return solve(m, v) ? Pose{v[0], v[1], v[2], v[3]} : Pose{};
  }

  /// The pose that brings memory.modelled nearest to the points.
  CUFACE_HD_GENERIC
  CUFACE_HD void fit() const {
    const auto terms = [&](int i, double* term) {
      const ShapePoint &from = memory.modelled[i], &to = points[i];
      if (is_missing(from) || is_missing(to)) {
        for (int s = 0; s < ConstraintMemory::kSums; ++s) term[s] = 0;
        return;
      }
      const double weight = model.weights[i];
      term[0] = weight;
      term[1] = weight * from.x;
      term[2] = weight * from.y;
      term[3] = weight * to.x;
      term[4] = weight * to.y;
      term[5] = weight * (from.x * to.x + from.y * to.y);
      term[6] = weight * (from.x * to.y - from.y * to.x);
      term[7] = weight * (from.x * from.x + from.y * from.y);
    };
    add_up<ConstraintMemory::kSums>(lanes, model.points, terms, *memory.sums);
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
  CUFACE_HD void run_once() const {
    const auto mean = [&](int row) {
      return row % 2 == 0 ? level.mean[row / 2].x : level.mean[row / 2].y;
    };
    add_modes(mean, [](int, double sum) { return sum; });
    fit();
    const Affine back = *memory.back, there = *memory.there;
    lanes.each(model.points, [&](int i) {
      ShapePoint p = points[i];
      if (!is_missing(p)) p = kept_in_place(back(p));
      memory.modelled[i] = {p.x - level.mean[i].x, p.y - level.mean[i].y};
    });
    project();
    lanes.each(model.modes, [&](int k) { memory.weights[k] = level.cut(memory.parts[k], k); });
    add_modes([](int) { return 0.0; }, [&](int row, double sum) { return mean(row) + sum; });
    lanes.each(model.points, [&](int i) {
      ShapePoint p = memory.modelled[i];
      if (!is_missing(p)) p = there(p);
      points[i] = kept_in_place(p);
    });
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
