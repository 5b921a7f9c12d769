#include "kernels/levels/levels.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cuface {
namespace {

// The scales 1, f, f^2, ... whose window fits the picture.
std::vector<float> possible_scales(const LevelQuery& q) {
  std::vector<float> scales;
  if (q.picture_width < q.window_width || q.picture_height < q.window_height) return scales;
  for (double factor = 1;; factor *= q.scale_factor) {
    if (std::rint(q.window_width * factor) > q.picture_width ||
        std::rint(q.window_height * factor) > q.picture_height) {
      return scales;
    }
    scales.push_back(static_cast<float>(factor));
  }
}

double squared(double v) { return v * v; }

}  // namespace

std::vector<float> search_scales(const LevelQuery& q) {
  const std::vector<float> possible = possible_scales(q);
  std::vector<float> scales;
  for (const float s : possible) {
    const int w = scaled_side(q.window_width, s), h = scaled_side(q.window_height, s);
    if (q.max_size > 0 && (w > q.max_size || h > q.max_size)) break;
    if (w >= q.min_size && h >= q.min_size) scales.push_back(s);
  }
  if (!scales.empty() || possible.empty()) return scales;
  const auto distance = [&](float s) {
    return squared(q.min_size - scaled_side(q.window_width, s)) +
           squared(q.min_size - scaled_side(q.window_height, s));
  };
  return {*std::min_element(possible.begin(), possible.end(),
                            [&](float a, float b) { return distance(a) < distance(b); })};
}

std::vector<Level> pyramid_levels(const LevelQuery& q, const std::vector<float>& scales, int step) {
  std::vector<Level> levels;
  int stripes = 0;
  for (const float s : scales) {
    Level level;
    level.scale = s;
    level.width = static_cast<int>(std::lrintf(static_cast<float>(q.picture_width) / s));
    level.height = static_cast<int>(std::lrintf(static_cast<float>(q.picture_height) / s));
    SearchGrid& grid = level.grid;
    grid.step = step > 0 ? step : s >= 2 ? 1 : 2;
    grid.columns = std::max(level.width - q.window_width + 1, 0);
    grid.rows = std::max(level.height - q.window_height + 1, 0);
    if (levels.empty()) stripes = std::max((grid.columns + 31) / 32, 1);
    const int stripe = std::max((grid.rows / grid.step + stripes - 1) / stripes, 1) * grid.step;
    grid.rows = std::min(grid.rows, stripes * stripe);
    levels.push_back(level);
  }
  return levels;
}

long long count_windows(const std::vector<Level>& levels) {
  long long windows = 0;
  for (const Level& level : levels) {
    const SearchGrid& grid = level.grid;
    windows += static_cast<long long>(grid.columns / grid.step) * (grid.rows / grid.step);
  }
  return windows;
}

Result<Atlas> level_atlas(const std::vector<Level>& levels) {
  constexpr int kColumns = 16;
  const auto area = [](int width, int height) {
    return static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
  };
  const Status too_large(StatusCode::kUnsupported,
                         "the scaled pictures of this search take more than 4 GiB: a larger scale "
                         "factor, a larger least size or a smaller picture takes less");
  std::vector<AtlasSlot> slots;
  std::uint64_t bytes = 0;
  for (const Level& level : levels) {
    slots.push_back({0, 0, (level.width / kColumns + 1) * kColumns, level.height + 1});
    bytes += area(slots.back().width, slots.back().height);
    // Here too: to find places for very many takes long.
    if (bytes > kMaxAtlasBytes) return too_large;
  }
  Atlas atlas = make_atlas(std::move(slots));
  if (area(atlas.width, atlas.height) > kMaxAtlasBytes) return too_large;
  return atlas;
}

}  // namespace cuface
