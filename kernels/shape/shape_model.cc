#include "kernels/shape/shape_model.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/common/try.h"
#include "kernels/shape/constrain.h"
#include "kernels/shape/search_work.h"

namespace cuface {
namespace {

std::size_t size_of(int n) { return static_cast<std::size_t>(n); }

Status corrupt(const std::string& what) { return {StatusCode::kCorrupt, what}; }

/// NaN is outside of everything.
bool is_within(double v, double low, double high) { return v >= low && v <= high; }

/// None, or one that the iterated constraint can divide by.
bool is_usable_noise(const ShapeModel& m) {
  return m.noise == 0 ||
         (is_within(m.noise, 1e-3, 100) && m.constraint == ShapeConstraint::kIterated);
}

Status check_sizes(const ShapeModel& m) {
  const auto in = [](int v, int low, int high) { return v >= low && v <= high; };
  if (!in(m.points, 3, kMaxShapePoints) || !in(m.modes, 1, kMaxShapeModes) ||
      !in(m.levels, 1, kMaxShapeLevels) || !in(m.iterations, 1, kMaxShapeIterations) ||
      m.modes > 2 * m.points) {
    return corrupt("its sizes: " + std::to_string(m.points) + " points, " +
                   std::to_string(m.modes) + " modes, " + std::to_string(m.levels) + " levels of " +
                   std::to_string(m.iterations) + " iterations");
  }
  if (!is_within(m.size, 8, 1024)) return corrupt("the header's size of a face is out of range");
  if (!is_within(m.mode_limit, 0, 100) || !is_usable_noise(m) ||
      !is_within(m.missing_within, 0, 1) || !is_within(m.start_scale, 1e-6, 1e3) ||
      !is_within(m.window, 0.25, 4) || !in(m.first_rule_level, 0, kMaxShapeLevels)) {
    return corrupt("its header has a constant out of range");
  }
  for (const int point : {m.size_left, m.size_right, m.size_below}) {
    if (!in(point, 0, m.points - 1)) return corrupt("its header measures a face by no point");
  }
  if (!in(m.line.length, 3, kMaxLineLength) || m.line.length % 2 == 0 ||
      !in(m.line.reach, 0, kMaxLineReach) || !in(m.line.step, 1, kMaxLineReach)) {
    return corrupt("its header has no usable line profile");
  }
  if (!is_within(m.rest, 0, kMaxShapeWindow) || !in(m.refits, 0, kMaxShapeRefits) ||
      (m.constraint != ShapeConstraint::kOnePass && m.constraint != ShapeConstraint::kIterated) ||
      (m.pyramid != ShapePyramid::kLinear && m.pyramid != ShapePyramid::kGaussian)) {
    return corrupt("its header asks for an unknown way to search");
  }
  const HatRule& hat = m.hat;
  if (!in(hat.rows, 1, kMaxHatGrid) || !in(hat.columns, 1, kMaxHatGrid) ||
      !in(hat.bins, 2, kMaxHatBins) || !in(hat.reach, 0, kMaxHatReach) ||
      !in(hat.step, 1, kMaxHatReach) || !in(hat.patch, 1, kMaxHatPatch) ||
      !in(hat.patch_change, -kMaxHatPatch, kMaxHatPatch) || hat.patch % 2 == 0 ||
      !is_within(hat.sigma, 1e-3, 1e3) || !is_within(hat.length, 1e-3, 1e6)) {
    return corrupt("its header has no usable HAT descriptor");
  }
  const PatchRule& patch = m.patch;
  if (patch.side != 0 &&
      (!in(patch.side, 1, kMaxPatchSide) || patch.side % 2 == 0 ||
       !in(patch.reach, 0, kMaxPatchReach) || !in(patch.step, 1, kMaxPatchReach) ||
       !in(patch.gradient, PatchRule::kForward, PatchRule::kTurns) ||
       !is_within(patch.q, 1e-3, 1e6) || !is_within(patch.likelihood, 0, kMaxPatchLikelihood))) {
    return corrupt("its header has no usable patch");
  }
  return {};
}

template <typename T>
Status check_count(std::span<const T> block, std::size_t count, const char* name) {
  if (block.size() == count) return {};
  return corrupt(std::string("its table ") + name + " has " + std::to_string(block.size()) +
                 " entries, not " + std::to_string(count));
}

Status check_numbers(std::span<const double> block, double low, double high, const char* name) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (!is_within(block[i], low, high)) {
      return corrupt(std::string("its table ") + name + " has a number out of range at " +
                     std::to_string(i));
    }
  }
  return {};
}

Status check_tables(const ShapeModel& m) {
  const std::size_t points = size_of(m.points), modes = size_of(m.modes);
  CUFACE_TRY(check_count(m.mean_shape, 2 * points, "mean_shape"));
  CUFACE_TRY(check_count(m.eigenvalues, modes, "eigenvalues"));
  CUFACE_TRY(check_count(m.eigenvectors, 2 * points * modes, "eigenvectors"));
  CUFACE_TRY(check_count(m.weights, points, "weights"));
  CUFACE_TRY(check_count(m.neighbours, points, "neighbours"));
  CUFACE_TRY(check_count(m.profiles, size_of(m.levels) * points, "profiles"));
  constexpr double kMost = kMaxShapeNumber;
  CUFACE_TRY(check_numbers(m.mean_shape, -kMost, kMost, "mean_shape"));
  CUFACE_TRY(check_numbers(m.eigenvalues, 0, kMost * kMost, "eigenvalues"));
  CUFACE_TRY(check_numbers(m.eigenvectors, -kMost, kMost, "eigenvectors"));
  CUFACE_TRY(check_numbers(m.weights, 0, kMost, "weights"));
  CUFACE_TRY(check_count(m.refit_limits, m.refits > 0 ? points : 0, "refit_limits"));
  CUFACE_TRY(check_numbers(m.refit_limits, -kMost, kMost, "refit_limits"));
  if (m.numbers.size() > kMaxShapeNumbers) return corrupt("its profiles have too many numbers");
  CUFACE_TRY(check_numbers(m.numbers, -kMost, kMost, "numbers"));
  for (int i = 0; i < m.points; ++i) {
    const ShapeNeighbours& n = m.neighbours[size_of(i)];
    for (const int other : {n.previous, n.next, n.mirrored}) {
      if (other < 0 || other >= m.points) {
        return corrupt("landmark " + std::to_string(i) + " has a neighbour that is none");
      }
    }
  }
  return {};
}

double offsets(int reach, int step) { return 1.0 + 2 * (reach / step); }

/// Whether a patch's numbers can be a PatchModel, and how many they are.
Status check_patch(const ShapeModel& m, std::size_t first, std::size_t& count) {
  if (m.patch.side == 0) return corrupt("a patch, but the header has no rule for it");
  if (first >= m.numbers.size() || m.numbers.size() - first < 2) return {};  // count says it
  const double rows = m.numbers[first], edge = m.numbers[first + 1];
  if (!is_within(rows, 1, m.patch.size()) || rows != std::floor(rows) ||
      !(edge == 0 || is_within(edge, 1, 100))) {
    return corrupt("a patch of no usable size or weight");
  }
  count = PatchModel::numbers(m.patch, static_cast<int>(rows));
  return {};
}

Status check_profile(const ShapeModel& m, int level, const ShapeProfile& p) {
  std::size_t count = 2;
  if (p.kind == ProfileKind::kLine) {
    count = size_of(m.line.length) * (1 + size_of(m.line.length));
  } else if (p.kind == ProfileKind::kHat) {
    const int patch = m.hat.patch_at(level);
    if (patch < 3 || patch > kMaxHatPatch) {
      return corrupt("the header's patch has " + std::to_string(patch) + " pixels there");
    }
    count = 1 + size_of(m.hat.size());
  } else if (p.kind == ProfileKind::kPatch) {
    CUFACE_TRY(check_patch(m, p.first_number, count));
  } else {
    return corrupt("a profile of an unknown kind");
  }
  if (p.first_number > m.numbers.size() || m.numbers.size() - p.first_number < count) {
    return corrupt("a profile's numbers are not in the file");
  }
  return {};
}

/// Patches of two points are the same or apart: together they are no larger than the file.
Status check_patches_apart(const ShapeModel& m) {
  std::vector<std::pair<std::size_t, std::size_t>> patches;  // from and to
  for (const ShapeProfile& p : m.profiles) {
    if (p.kind != ProfileKind::kPatch) continue;
    const int rows = static_cast<int>(m.numbers[p.first_number]);
    patches.emplace_back(p.first_number, p.first_number + PatchModel::numbers(m.patch, rows));
  }
  std::sort(patches.begin(), patches.end());
  for (std::size_t i = 1; i < patches.size(); ++i) {
    const auto &before = patches[i - 1], &patch = patches[i];
    if (patch.first != before.first && patch.first < before.second)
      return corrupt("two patches have some of their numbers in common");
  }
  return {};
}

Status check_profiles(const ShapeModel& m) {
  for (int level = 0; level < m.levels; ++level) {
    for (int i = 0; i < m.points; ++i) {
      if (const Status status = check_profile(m, level, m.profile(level, i)); !status.ok()) {
        return corrupt("level " + std::to_string(level) + ", landmark " + std::to_string(i) + ": " +
                       status.message());
      }
    }
  }
  if (!(search_work(m) <= kMaxShapeWork))
    return corrupt("its header asks for more work than is allowed");
  return check_patches_apart(m);
}

Status check_terms(const ShapeModel& m, const ShapeTerm* terms) {
  for (int i = 0; i < ShapeRule::kTermsOfSum; ++i) {
    if (terms[i].point < 0 || terms[i].point >= m.points ||
        !is_within(terms[i].weight, -kMaxShapeNumber, kMaxShapeNumber)) {
      return corrupt("measures what is no point");
    }
  }
  return {};
}

Status check_rule(const ShapeModel& m, const ShapeRule& r) {
  constexpr double kMost = kMaxShapeNumber;
  if ((r.axis != ShapeRule::kX && r.axis != ShapeRule::kY) ||
      (r.limit_unit != ShapeRule::kSize && r.limit_unit != ShapeRule::kTerms) ||
      (r.shift_unit != ShapeRule::kSize && r.shift_unit != ShapeRule::kTerms)) {
    return corrupt("is of an unknown kind");
  }
  CUFACE_TRY(check_terms(m, r.measure));
  CUFACE_TRY(check_terms(m, r.against));
  if (!is_within(r.limit, -kMost, kMost) || !is_within(r.shift, -kMost, kMost) || r.skip < 0 ||
      r.skip > kMaxShapeRules) {
    return corrupt("has a number out of range");
  }
  if (r.first_move > m.moves.size() || m.moves.size() - r.first_move < r.moves) {
    return corrupt("moves points that are not in the file");
  }
  return {};
}

Status check_rules(const ShapeModel& m) {
  if (m.rules.size() > kMaxShapeRules || m.moves.size() > kMaxShapeMoves) {
    return corrupt("its table rules has " + std::to_string(m.rules.size()) + " entries with " +
                   std::to_string(m.moves.size()) + " moves");
  }
  for (std::size_t i = 0; i < m.rules.size(); ++i) {
    if (const Status status = check_rule(m, m.rules[i]); !status.ok()) {
      return corrupt("its table rules, entry " + std::to_string(i) + ": " + status.message());
    }
  }
  for (const ShapeMove& move : m.moves) {
    if (move.point < 0 || move.point >= m.points ||
        !is_within(move.factor, -kMaxShapeNumber, kMaxShapeNumber)) {
      return corrupt("its table moves has a point that is none, or a factor out of range");
    }
  }
  return {};
}

Status check_weights(const ShapeModel& m) {
  if (!is_within(m.least_weight, kLeastShapeWeight, 1))
    return corrupt("its header's least weight is out of range");
  const auto is_hat = [](const ShapeProfile& p) { return p.kind == ProfileKind::kHat; };
  if (m.least_weight < 1 && (m.constraint != ShapeConstraint::kIterated ||
                             !std::all_of(m.profiles.begin(), m.profiles.end(), is_hat)))
    return corrupt("only HAT descriptors of an iterated constraint weigh points");
  return {};
}

Status check_confidence(const ShapeModel& m) {
  if (!is_sound(m.confidence)) return corrupt("its table of confidences is none");
  const std::size_t costs = size_of(m.points) + (m.score_parts.shape > 0 ? 1 : 0);
  if (m.usual_costs.size() != (m.confidence.is_known() ? costs : 0))
    return corrupt("its table of confidences has not one usual cost for each point");
  for (const shape::UsualCost& usual : m.usual_costs)
    if (!is_within(usual.middle, -kMaxShapeNumber, kMaxShapeNumber) ||
        !is_within(usual.spread, 1e-9, kMaxShapeNumber))
      return corrupt("a usual cost is out of range");
  const shape::ScoreParts& parts = m.score_parts;
  for (const double part : {parts.own, parts.around, parts.face, parts.shape})
    if (!is_within(part, 0, shape::kMostScorePart))
      return corrupt("a part of its scores is out of range");
  if (!is_within(parts.least, -shape::kMostScorePart, 0) ||
      !is_within(parts.most, 0, shape::kMostScorePart))
    return corrupt("the cut of its scores is out of range");
  if (!is_within(parts.reach, shape::kLeastScoreReach, shape::kMostScoreReach))
    return corrupt("the reach of its scores is out of range");
  if (!m.score_offsets.empty())
    CUFACE_TRY(check_count(m.score_offsets, m.confidence.is_known() ? size_of(m.points) : 0,
                           "score_offsets"));
  CUFACE_TRY(check_numbers(m.score_offsets, -shape::kMostScorePart, shape::kMostScorePart,
                           "score_offsets"));
  return {};
}

}  // namespace

double work_of(const LineRule& rule) {
  const double length = rule.length;
  return offsets(rule.reach, rule.step) * length * length;
}

double work_of(const HatRule& rule, int level) {
  const double around = offsets(rule.reach, rule.step), patch = rule.patch_at(level);
  return around * around * (8 * patch * patch + rule.size());
}

double work_of(const PatchRule& rule, double rows) {
  const double around = offsets(rule.reach, rule.step);
  return around * around * rule.size() * (1 + rows);
}

double search_work(const ShapeModel& m) {
  return shape::search_work(m.levels, m.points, m.iterations, m.refits, [&](int level, int i) {
    const ShapeProfile& p = m.profile(level, i);
    return p.kind == ProfileKind::kLine  ? work_of(m.line)
           : p.kind == ProfileKind::kHat ? work_of(m.hat, level)
                                         : work_of(m.patch, m.numbers[p.first_number]);
  });
}

double window_side(const ShapeModel& model) {
  const auto at = [&](int i) {
    return ShapePoint{model.mean_shape[2 * size_of(i)], model.mean_shape[2 * size_of(i) + 1]};
  };
  const double mean_size =
      shape::size_between(at(model.size_left), at(model.size_right), at(model.size_below));
  return 2 * model.window * model.size / (model.start_scale * mean_size);
}

std::vector<Point> mean_points(const ShapeModel& model) {
  std::vector<Point> out;
  for (std::size_t i = 0; i + 1 < model.mean_shape.size(); i += 2)
    out.push_back(
        {static_cast<float>(model.mean_shape[i]), static_cast<float>(model.mean_shape[i + 1])});
  return out;
}

double shape_size(const ShapeModel& model, std::span<const ShapePoint> shape) {
  return shape::size_between(shape[size_of(model.size_left)], shape[size_of(model.size_right)],
                             shape[size_of(model.size_below)]);
}

Status validate(const ShapeModel& model) {
  CUFACE_TRY(check_sizes(model));
  CUFACE_TRY(check_tables(model));
  CUFACE_TRY(check_profiles(model));
  CUFACE_TRY(check_rules(model));
  CUFACE_TRY(validate(model.scheme, model.points));
  CUFACE_TRY(check_confidence(model));
  CUFACE_TRY(check_weights(model));
  if (!is_within(window_side(model), kLeastShapeWindow, kMaxShapeWindow))
    return corrupt("the header's window is too large, or has no pixels");
  return {};
}

}  // namespace cuface
