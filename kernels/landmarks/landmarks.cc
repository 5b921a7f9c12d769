#include "kernels/landmarks/landmarks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/common/try.h"
#include "kernels/landmarks/regression.h"

namespace cuface {
namespace {

Status corrupt(std::string message) { return {StatusCode::kCorrupt, std::move(message)}; }

bool in_range(int value, int low, int high) { return value >= low && value <= high; }

/// Integer compare, so that it vectorises without SSE4.
bool is_bad(float value) { return (std::bit_cast<std::int32_t>(value) & 0x7fffffff) > 0x7f7fffff; }

/// The index of the first value that is not finite; the size when all are.
std::size_t first_not_finite(std::span<const float> values) {
  if (all_finite(values)) return values.size();
  return static_cast<std::size_t>(std::find_if(values.begin(), values.end(), is_bad) -
                                  values.begin());
}

/// "tree 3 of stage 2", of all trees or of all feature pixels.
std::string numbered(const char* what, std::size_t index, std::size_t per_cascade) {
  return std::string(what) + " " + std::to_string(index % per_cascade) + " of stage " +
         std::to_string(index / per_cascade);
}

/// Each size by itself, then what they make together.
Status check_sizes(const ForestModel& m) {
  if (!in_range(m.landmarks, 1, kMaxLandmarks)) {
    return corrupt("it has " + std::to_string(m.landmarks) + " landmarks, not 1 to " +
                   std::to_string(kMaxLandmarks));
  }
  const auto size = [](int value) { return static_cast<std::size_t>(value); };
  const bool each = in_range(m.stages, 1, kMaxForestStages) &&
                    in_range(m.trees, 1, kMaxForestTrees) &&
                    in_range(m.depth, 1, kMaxForestDepth) && in_range(m.pool, 1, kMaxForestPool);
  if (each && size(m.stages) * size(m.pool) <= kMaxForestPixels &&
      size(m.stages) * size(m.trees) * size(m.leaves_per_tree()) <= kMaxForestLeaves) {
    return {};
  }
  return corrupt("its sizes are out of range (" + std::to_string(m.stages) + " stages, " +
                 std::to_string(m.trees) + " trees, depth " + std::to_string(m.depth) + ", " +
                 std::to_string(m.pool) + " feature pixels)");
}

bool is_usable(const BoxMap& map) {
  const auto is_near = [](float shift) { return std::fabs(shift) <= kMaxBoxScale; };  // not NaN
  return map.scale >= 1 / kMaxBoxScale && map.scale <= kMaxBoxScale && is_near(map.shift_x) &&
         is_near(map.shift_y);
}

Status check_tables(const ForestModel& m) {
  const auto size = [](int value) { return static_cast<std::size_t>(value); };
  const std::size_t stages = size(m.stages), trees = stages * size(m.trees);
  const std::size_t leaves = size(m.leaves_per_tree()) * size(m.leaf_size());
  const bool compact = !m.compact_leaves.empty();
  const struct {
    const char* name;
    std::size_t has, needs;
  } tables[] = {{"mean_shape", m.mean_shape.size(), size(m.leaf_size())},
                {"anchors", m.anchors.size(), stages * size(m.pool)},
                {"deltas", m.deltas.size(), 2 * stages * size(m.pool)},
                {"splits", m.splits.size(), trees * size(m.splits_per_tree())},
                {"leaves", m.leaves.size(), compact ? 0 : trees * leaves},
                {"compact_leaves", m.compact_leaves.size(), compact ? trees * leaves : 0},
                {"leaf_scales", m.leaf_scales.size(), compact ? stages * size(m.leaf_size()) : 0},
                {"leaf_spreads", m.leaf_spreads.size(),
                 m.leaf_spreads.empty() ? 0 : size(m.trees) * leaves / 2}};
  for (const auto& table : tables) {
    if (table.has != table.needs) {
      return corrupt(std::string("its table ") + table.name + " has " + std::to_string(table.has) +
                     " values where its sizes ask for " + std::to_string(table.needs));
    }
  }
  return {};
}

}  // namespace

bool all_finite(std::span<const float> values) {
  std::int32_t bad = 0;
  for (const float value : values) bad |= is_bad(value) ? -1 : 0;
  return bad == 0;
}

Status validate(const ForestModel& m, bool leaves_finite) {
  CUFACE_TRY(check_sizes(m));
  CUFACE_TRY(check_tables(m));
  const std::size_t pool = static_cast<std::size_t>(m.pool);
  const std::size_t trees = static_cast<std::size_t>(m.trees);
  const std::size_t tree_splits = static_cast<std::size_t>(m.splits_per_tree());
  const std::size_t tree_leaves =
      static_cast<std::size_t>(m.leaves_per_tree()) * static_cast<std::size_t>(m.leaf_size());
  if (const std::size_t i = first_not_finite(m.mean_shape); i < m.mean_shape.size()) {
    return corrupt("landmark " + std::to_string(i / 2) + " of its mean shape is not finite");
  }
  if (const std::size_t i = first_not_finite(m.deltas); i < m.deltas.size()) {
    return corrupt(numbered("feature pixel", i / 2, pool) + " is not finite");
  }
  for (std::size_t i = 0; i < m.anchors.size(); ++i) {
    if (m.anchors[i] >= static_cast<std::uint32_t>(m.landmarks)) {
      return corrupt(numbered("feature pixel", i, pool) +
                     " hangs on a landmark that does not exist");
    }
  }
  for (std::size_t i = 0; i < m.splits.size(); ++i) {
    const ForestSplit& split = m.splits[i];
    if (split.a >= pool || split.b >= pool || !std::isfinite(split.threshold)) {
      return corrupt("a split of " + numbered("tree", i / tree_splits, trees) + " is out of range");
    }
  }
  if (const std::size_t i = leaves_finite ? m.leaves.size() : first_not_finite(m.leaves);
      i < m.leaves.size()) {
    return corrupt("a leaf of " + numbered("tree", i / tree_leaves, trees) + " is not finite");
  }
  const auto leaf_size = static_cast<std::size_t>(m.leaf_size());
  if (const std::size_t i = first_not_finite(m.leaf_scales); i < m.leaf_scales.size()) {
    return corrupt("the scale of coordinate " + std::to_string(i % leaf_size) + " of stage " +
                   std::to_string(i / leaf_size) + " is not finite");
  }
  const auto too_large = std::find_if(
      m.compact_leaves.begin(), m.compact_leaves.end(),
      [](std::int16_t value) { return !in_range(value, -kCompactLimit, kCompactLimit); });
  if (too_large != m.compact_leaves.end()) {
    const auto i = static_cast<std::size_t>(too_large - m.compact_leaves.begin());
    return corrupt("a leaf of " + numbered("tree", i / tree_leaves, trees) + " is out of range");
  }
  for (const auto& [name, map] : m.box_maps) {
    if (!is_usable(map))
      return corrupt("its box map for " + shortened(name) + " is out of range or no number");
  }
  if (!is_sound(m.confidence)) return corrupt("its table of confidences is none");
  return validate(m.scheme, m.landmarks);
}

std::vector<Point> mean_points(const ForestModel& model) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < model.mean_shape.size(); i += 2)
    points.push_back({model.mean_shape[i], model.mean_shape[i + 1]});
  return points;
}

std::vector<forest::Lever> forest::levers_of(std::span<const Point> mean) {
  const double n = static_cast<double>(mean.size());
  double x = 0, y = 0, extent = 0;
  for (const Point p : mean) {
    x += p.x;
    y += p.y;
  }
  std::vector<Lever> levers;
  for (const Point p : mean) {
    const Lever from_centre{p.x - x / n, p.y - y / n};
    extent += from_centre.x * from_centre.x + from_centre.y * from_centre.y;
    levers.push_back(from_centre);
  }
  if (!(extent > 0)) extent = std::numeric_limits<double>::quiet_NaN();
  for (Lever& lever : levers) lever = {lever.x / extent, lever.y / extent};
  return levers;
}

Box box_from_landmarks(const ForestModel& model, std::span<const Point> landmarks) {
  const std::size_t n = static_cast<std::size_t>(model.landmarks);
  if (landmarks.size() != n) return {};
  const std::span<const float> mean = model.mean_shape;
  double mx = 0, my = 0, px = 0, py = 0;
  for (std::size_t i = 0; i < n; ++i) {
    mx += mean[2 * i];
    my += mean[2 * i + 1];
    px += landmarks[i].x;
    py += landmarks[i].y;
  }
  const double count = static_cast<double>(n);
  mx /= count;
  my /= count;
  px /= count;
  py /= count;
  double dot = 0, extent = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double ux = mean[2 * i] - mx, uy = mean[2 * i + 1] - my;
    dot += ux * (landmarks[i].x - px) + uy * (landmarks[i].y - py);
    extent += ux * ux + uy * uy;
  }
  const double size = dot / extent;  // dlib's inclusive size: one less than the edges'
  if (!(size > 0) || !std::isfinite(size)) return {};
  const float side = static_cast<float>(size + 1.0);
  return {static_cast<float>(px - size * mx), static_cast<float>(py - size * my), side, side};
}

}  // namespace cuface
