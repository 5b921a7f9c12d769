// Shape models of random numbers, as large or small as a test needs.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "kernels/shape/shape_model.h"

namespace cuface::test {

/// What the spans of a ShapeModel point into.
struct ShapeTables {
  std::vector<double> mean_shape, eigenvalues, eigenvectors, weights, refit_limits, numbers;
  std::vector<ShapeNeighbours> neighbours;
  std::vector<ShapeProfile> profiles;
  std::vector<ShapeRule> rules;
  std::vector<ShapeMove> moves;

  void show(ShapeModel& m) const {
    m.mean_shape = mean_shape;
    m.eigenvalues = eigenvalues;
    m.eigenvectors = eigenvectors;
    m.weights = weights;
    m.refit_limits = refit_limits;
    m.neighbours = neighbours;
    m.profiles = profiles;
    m.numbers = numbers;
    m.rules = rules;
    m.moves = moves;
  }
};

/// Points on a circle of radius 50, of which every other one has HAT descriptors, and every fourth
/// one a patch. Two rules.
inline void random_shape(ShapeModel& m, ShapeTables& t, unsigned seed, int points = 8,
                         int levels = 2) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto count = static_cast<std::size_t>(points);
  m.name = "random";
  m.points = points;
  m.modes = 3;
  m.levels = levels;
  m.iterations = 2;
  m.size_left = 0;
  m.size_right = 1;
  m.size_below = points / 2;
  m.size = 60;
  m.mode_limit = 1.5;
  m.first_rule_level = 1;
  m.missing_within = 0.1;
  m.start_scale = 0.005;
  m.window = 1;
  m.line = {5, 2, 1};
  m.hat = {3, 4, 8, 11, -3, 4, 2, 0.5, 10};
  m.patch = {5, 2, 1, PatchRule::kForward, true, 20, seed % 2 == 1 ? 3.0 : 0.0};
  m.refits = 2;
  m.rest = 0.1;
  for (std::size_t i = 0; i < count; ++i) {
    const double angle = 6.283185307179586 * static_cast<double>(i) / static_cast<double>(count);
    t.mean_shape.insert(t.mean_shape.end(), {-50 * std::sin(angle), -50 * std::cos(angle)});
    t.weights.push_back(i == 2 ? 0 : 1);
    t.refit_limits.push_back(1);
    const int p = static_cast<int>(i);
    t.neighbours.push_back({(p + points - 1) % points, (p + 1) % points, p});
  }
  for (int i = 0; i < m.modes; ++i) t.eigenvalues.push_back(40.0 / (i + 1));
  for (std::size_t i = 0; i < 2 * count * static_cast<std::size_t>(m.modes); ++i) {
    t.eigenvectors.push_back(uniform(random) / std::sqrt(2.0 * points));
  }
  for (int level = 0; level < levels; ++level) {
    for (int i = 0; i < points; ++i) {
      const ProfileKind kind = i % 2 == 1   ? ProfileKind::kHat
                               : i % 4 == 2 ? ProfileKind::kPatch
                                            : ProfileKind::kLine;
      t.profiles.push_back({kind, static_cast<std::uint32_t>(t.numbers.size())});
      int n = kind == ProfileKind::kHat ? 1 + m.hat.size() : m.line.length * (m.line.length + 1);
      if (kind == ProfileKind::kPatch) {
        const int rows = 3;
        t.numbers.insert(t.numbers.end(), {1.0 * rows, i == 2 ? 2.0 : 0.0});
        n = static_cast<int>(PatchModel::numbers(m.patch, rows)) - 2;
      }
      for (int k = 0; k < n; ++k) t.numbers.push_back(uniform(random));
    }
  }
  ShapeRule rule;
  rule.axis = ShapeRule::kY;
  rule.measure[0] = {1, 0, 1};
  rule.measure[1] = {2, 0, -1};
  rule.limit = 0.1;
  rule.shift = 0.06;
  rule.skip = 1;
  rule.moves = 2;
  t.moves = {{1, 0, 1}, {2, 0, -0.5}, {3, 0, 1}};
  t.rules.push_back(rule);
  rule.axis = ShapeRule::kX;
  rule.limit_unit = ShapeRule::kTerms;
  rule.shift_unit = ShapeRule::kTerms;
  rule.against[0] = {4, 0, 1};
  rule.limit = 2;
  rule.skip = 0;
  rule.first_move = 2;
  rule.moves = 1;
  t.rules.push_back(rule);
  t.show(m);
}

inline std::shared_ptr<const ShapeModel> random_shape_model(unsigned seed, int points = 8,
                                                            int levels = 2) {
  auto tables = std::make_shared<ShapeTables>();
  auto model = std::make_shared<ShapeModel>();
  random_shape(*model, *tables, seed, points, levels);
  model->storage = tables;
  return model;
}

/// Of patches alone: the third and the seventh point's, in turns.
inline std::shared_ptr<const ShapeModel> random_patches(unsigned seed, int points, int levels) {
  auto tables = std::make_shared<ShapeTables>();
  auto model = std::make_shared<ShapeModel>();
  random_shape(*model, *tables, seed, points, levels);
  const auto count = static_cast<std::size_t>(points);
  for (std::size_t i = 0; i < tables->profiles.size(); ++i)
    tables->profiles[i] = tables->profiles[i / count * count + (i % 3 ? 2 : 6)];
  tables->show(*model);
  model->storage = tables;
  return model;
}

/// random_shape_model() with eyes among its eight points on a circle, at the upper left and right.
inline std::shared_ptr<const ShapeModel> random_shape_model_with_eyes(unsigned seed) {
  auto model = std::make_shared<ShapeModel>(*random_shape_model(seed));
  model->scheme.points = model->points;
  model->scheme.eyes = {1, 7, 1};
  return model;
}

/// With confidences, which differ from point to point.
inline std::shared_ptr<const ShapeModel> with_confidences(const ShapeModel& of) {
  struct Costs {
    std::shared_ptr<const void> of_model;
    std::vector<shape::UsualCost> usual;
  };
  const auto points = static_cast<std::size_t>(of.points);
  const auto costs =
      std::make_shared<Costs>(of.storage, std::vector<shape::UsualCost>(points, {20, 15}));
  auto model = std::make_shared<ShapeModel>(of);
  model->storage = costs;
  model->usual_costs = costs->usual;
  model->confidence = {-8, 16, {}};
  for (int i = 0; i < 16; ++i) model->confidence.at[i] = 1 - static_cast<float>(i) / 20;
  return model;
}

}  // namespace cuface::test
