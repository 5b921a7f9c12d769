// The arithmetic is OpenCV 4.6's, operation by operation: docs/design/numeric-contract.md.
#include <algorithm>
#include <cmath>

#include "kernels/cascade/cascade.h"

namespace cuface {
namespace {

// OpenCV subtracts this from every stage's threshold, in fp32.
constexpr float kStageSlack = 1e-5f;

struct Corners {
  int x[4], y[4];
};

Corners upright_corners(int left, int top, int right, int bottom) {
  return {{left, right, left, right}, {top, top, bottom, bottom}};
}

// (x,y) is the topmost corner; w runs down to the right, h down to the left.
Corners tilted_corners(int x, int y, int w, int h) {
  return {{x, x - h, x + w, x + w - h}, {y, y + h, y + w, y + w + h}};
}

void bind_rect(const Corners& corners, bool tilted, const SumLayout& layout, std::int32_t* out) {
  for (int i = 0; i < 4; ++i) {
    const std::ptrdiff_t offset = layout.offset(corners.x[i], corners.y[i]);
    out[i] = static_cast<std::int32_t>(tilted ? layout.tilted + offset : offset);
  }
}

int scaled(int v, float scale) {
  return static_cast<int>(std::lrintf(static_cast<float>(v) * scale));
}

std::uint32_t box_sum(const std::uint32_t* plane, const std::int32_t* c) {
  return plane[c[0]] - plane[c[1]] - plane[c[2]] + plane[c[3]];
}

}  // namespace

BoundFeature bind(const HaarFeature& feature, const SumLayout& layout) {
  BoundFeature bound = {};
  for (int i = 0; i < feature.rect_count; ++i) {
    const HaarRect& r = feature.rects[i];
    const Corners corners = feature.tilted ? tilted_corners(r.x, r.y, r.w, r.h)
                                           : upright_corners(r.x, r.y, r.x + r.w, r.y + r.h);
    bind_rect(corners, feature.tilted, layout, bound.corner[i]);
    bound.weight[i] = r.weight;
  }
  return bound;
}

BoundFeature bind_scaled(const HaarFeature& feature, float scale, int window_width,
                         int window_height, const SumLayout& layout) {
  BoundFeature bound = {};
  int area[3] = {};
  for (int i = 0; i < feature.rect_count; ++i) {
    const HaarRect& r = feature.rects[i];
    Corners corners;
    if (feature.tilted) {
      // Rounding may push a corner out of the window by a pixel: the sides give way.
      const int x = std::min(scaled(r.x, scale), window_width);
      const int y = scaled(r.y, scale);
      const int w = std::min(scaled(r.w, scale), window_width - x);
      const int h = std::min({scaled(r.h, scale), x, window_height - y - w});
      corners = tilted_corners(x, y, w, h);
      area[i] = w * h;
    } else {
      const int left = scaled(r.x, scale), right = scaled(r.x + r.w, scale);
      const int top = scaled(r.y, scale), bottom = scaled(r.y + r.h, scale);
      corners = upright_corners(left, top, right, bottom);
      area[i] = (right - left) * (bottom - top);
    }
    bind_rect(corners, feature.tilted, layout, bound.corner[i]);
    bound.weight[i] = r.weight;
  }
  const float rest =
      bound.weight[1] * static_cast<float>(area[1]) + bound.weight[2] * static_cast<float>(area[2]);
  bound.weight[0] = area[0] > 0 ? -rest / static_cast<float>(area[0]) : 0.0f;
  return bound;
}

float inverse_norm(std::uint64_t pixels, std::uint64_t sum, std::uint64_t squares) {
  const std::uint64_t n = pixels * squares, s = sum * sum;
  if (n <= s) return 0.0f;
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(n - s)));
}

int first_rejecting_stage(const CascadeModel& model, const BoundFeature* features, int stage,
                          const std::uint32_t* window, float inverse_norm) {
  const int stages = static_cast<int>(model.stages.size());
  for (; stage < stages; ++stage) {
    const HaarStage& s = model.stages[static_cast<std::size_t>(stage)];
    const HaarTree* tree = model.trees.data() + s.first_tree;
    double sum = 0;
    for (const HaarTree* end = tree + s.tree_count; tree != end; ++tree) {
      const HaarNode* nodes = model.nodes.data() + tree->first_node;
      int child = 0;
      do {
        const HaarNode& node = nodes[child];
        const float value = features[node.feature].value(window) * inverse_norm;
        child = value < node.threshold ? node.left : node.right;
      } while (child > 0);
      sum += static_cast<double>(model.leaves[static_cast<std::size_t>(tree->first_leaf - child)]);
    }
    if (sum < static_cast<double>(s.threshold - kStageSlack)) break;
  }
  return stage;
}

CascadeSearch::CascadeSearch(const CascadeModel& model, const SumLayout& layout)
    : model_(model), layout_(layout) {
  features_.reserve(model.features.size());
  for (const HaarFeature& f : model.features) features_.push_back(bind(f, layout));
}

bool CascadeSearch::run(const LevelSums& sums, const SearchGrid& grid, int level, std::size_t limit,
                        std::vector<RawWindow>& out) const {
  const int right = model_.window_width - 1, bottom = model_.window_height - 1;
  const std::uint64_t area =
      static_cast<std::uint64_t>(right - 1) * static_cast<std::uint64_t>(bottom - 1);
  std::int32_t inner[4];
  bind_rect(upright_corners(1, 1, right, bottom), false, layout_, inner);
  const int stages = static_cast<int>(model_.stages.size());

  for (int y = 0; y < grid.rows; y += grid.step) {
    for (int x = 0; x < grid.columns; x += grid.step) {
      const std::ptrdiff_t at = layout_.offset(x, y);
      const float v =
          inverse_norm(area, box_sum(sums.sum + at, inner), box_sum(sums.squared + at, inner));
      if (v == 0.0f || !(static_cast<double>(area) * static_cast<double>(v) < 0.1)) continue;
      const int failed = first_rejecting_stage(model_, features_.data(), 0, sums.sum + at, v);
      if (failed == stages) {
        if (out.size() >= limit) return false;
        out.push_back({level, x, y});
      } else if (failed == 0) {
        x += grid.step;
      }
    }
  }
  return true;
}

}  // namespace cuface
