// What the tables of a cascade for CUDA are tried on: cascades with all kinds of nodes, and
// pictures whose sums are laid out as there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <opencv2/imgproc.hpp>
#include <utility>
#include <vector>

#include "kernels/cascade/cascade.h"
#include "kernels/cascade/cuda/plan.h"
#include "kernels/cascade/evaluate.h"
#include "kernels/integral/tilted_lanes.h"
#include "tests/gpu/kernels/random_cascade.h"
#include "tests/kernels/brute_cascade.h"
#include "tests/kernels/table_reader.h"

namespace cuface::test {

using cuda::kTileColumns;
inline constexpr std::size_t kBlockShared = std::size_t{226} << 10;  ///< as on sm_90

/// Shapes that random_cascade() does not make, in place of some features: three stripes, middle
/// halves, halves that have the weight of a third, and squares along the other diagonal.
inline void add_shapes(CascadeModel& model) {
  constexpr int kLongest = 20;  // so that pairs can be taken through all
  const int side = std::min(model.window_width, model.window_height);
  int n = 0;
  for (HaarFeature& f : model.features) {
    ++n;
    if (f.rect_count == 3 && n % 2 == 0) std::swap(f.rects[1].x, f.rects[2].x);
    if (f.tilted || f.rect_count == 3) continue;
    if (n % 9 == 0) f.rects[1].weight = 3;
    if (n % 3 == 0) continue;
    const int parts = 3 + n % 2, part = 1 + n * 5 % (side / parts);
    const int length = 1 + n * 7 % std::min(side, kLongest), from = n % (side - parts * part + 1);
    f.rects[0] = {from, 0, parts * part, length, -1};
    f.rects[1] = {from + part, 0, (parts - 2) * part, length, parts == 3 ? 3.0f : 2.0f};
    if (n % 4 < 2)
      for (HaarRect& r : f.rects) r = {r.y, r.x, r.h, r.w, r.weight};
  }
}

/// Makes one stage of each so many.
inline void join_stages(CascadeModel& model, int count) {
  std::vector<HaarStage> joined;
  for (std::size_t s = 0; s < model.stages.size(); ++s) {
    const HaarStage& stage = model.stages[s];
    if (s % static_cast<std::size_t>(count) == 0) {
      joined.push_back(stage);
    } else {
      joined.back().tree_count += stage.tree_count;
      joined.back().threshold += stage.threshold;
    }
  }
  model.stages = joined;
}

/// Stages of few trees, or fewer of many. Some leaves are no whole number of units.
inline CascadeModel table_cascade(unsigned seed, int side, int most_nodes, bool tilted,
                                  bool many_trees = false) {
  constexpr int kFew = 18, kMany = 4, kJoined = 40;
  CascadeModel model =
      random_cascade(seed, side, side, many_trees ? kMany * kJoined : kFew, tilted, most_nodes);
  if (many_trees) join_stages(model, kJoined);
  add_shapes(model);
  for (std::size_t t = 0; t < model.trees.size(); t += 3)
    model.leaves[static_cast<std::size_t>(model.trees[t].first_leaf + 1)] = 0x1p-20f / 3;
  return model;
}

/// As a search plans it whose blocks may have so much shared memory.
inline Result<cuda::TilePlan> plan_of(const CascadeModel& model, std::size_t shared = kBlockShared,
                                      int most_step = 2) {
  cuda::PairNodes pairs;
  std::vector<uint4> nodes;
  const auto make_pairs = [&](const cuda::SearchLayouts& layouts,
                              int most) -> const cuda::PairNodes& {
    return pairs = cuda::pair_nodes(model, {layouts[0], layouts[1]}, most, nodes);
  };
  return cuda::plan_tiles(model, make_pairs, most_step, shared);
}

/// How a search lays out upright sums: a tile's, those of a window alone.
inline SumLayout tile_layout(const CascadeModel& model, int step) {
  const int words = (kTileColumns - 1) * step + model.window_width + 1;
  return {words + words % step, 0, step};
}
inline SumLayout alone_layout(const CascadeModel& model) { return {model.window_width + 1}; }
/// All that a search reads; tilted features are not read in a window alone.
inline std::vector<SumLayout> layouts_of(const CascadeModel& model) {
  const cuda::SearchLayouts layouts = plan_of(model).value().layouts;
  return {layouts.begin(), layouts.end() - (model.has_tilted() ? 1 : 0)};
}

/// Blobs, with every fourth seed black and white, their sums in plain rows, and the definition
/// there.
class Scene {
 public:
  Scene(const CascadeModel& model, unsigned seed)
      : model_(model),
        picture_(picture_of(model, seed)),
        brute_(model, picture_),
        definition_(model) {
    cv::Mat squared, tilted;
    cv::integral(picture_, sums_, squared, tilted, CV_32S, CV_64F);
    rows_ = sums_.rows;
    cv::vconcat(sums_, tilted, sums_);
    definition_.bind({sums_.cols, std::ptrdiff_t{rows_} * sums_.cols});
  }

  const BoundCascade& definition() const { return definition_; }
  float norm(int x, int y) const {
    return brute_.inverse_norm(x + 1, y + 1, model_.window_width - 2, model_.window_height - 2);
  }
  double sum(std::size_t s, int x, int y) const {
    const BoundCascade::Stage& stage = definition_.stages()[s];
    const auto* window = sums_.ptr<std::uint32_t>(y) + x;
    double sum = 0;
    for (int t = 0; t < stage.tree_count; ++t)
      sum += static_cast<double>(
          tree_value(stage.trees[t].nodes, stage.trees[t].leaves, window, norm(x, y)));
    return sum;
  }

  /// What a window reads, from column x of the picture on; in pairs with the sums `below` it.
  /// Tilted sums are those of the pixels there, as a tile makes them.
  WindowSums words(const SumLayout& layout, int x, int column, int below = 0) const {
    WindowSums out;
    const int rows = model_.window_height + 1;
    out.first = static_cast<std::uint32_t>(column);
    out.words.resize(static_cast<std::size_t>(rows * layout.stride));
    const int columns =
        std::min(layout.tilted > 0 ? layout.stride / 2 : layout.stride, sums_.cols - x);
    for (int y = 0; y < rows; ++y)
      for (int i = 0; i < columns; ++i) {
        const auto sum = [&](int at) { return sums_.at<std::int32_t>(at, x + i); };
        const auto lower = below > 0 ? static_cast<std::uint32_t>(sum(y + below)) << 16 : 0;
        out.words[static_cast<std::size_t>(layout.offset(i, y))] =
            static_cast<std::uint32_t>(sum(y)) + lower;
      }
    if (layout.tilted == 0) return out;
    const cv::Mat tile = picture_(cv::Rect(x, 0, columns - 1, rows - 1));
    integral_tilted(SerialLanes(),
                    {tile.ptr(), tile.cols, tile.rows, static_cast<std::ptrdiff_t>(tile.step)},
                    {layout.step == 2 ? layout.stride / 2 : 0}, out.words.data() + layout.tilted,
                    layout.stride);
    return out;
  }

 private:
  static cv::Mat picture_of(const CascadeModel& model, unsigned seed) {
    const int w = 2 * kTileColumns + model.window_width, h = model.window_height + 2;
    auto pixels = smooth_pixels(w, h, 1 + static_cast<int>(seed % 4), seed);
    cv::Mat out = cv::Mat(h, w, CV_8U, pixels.data()).clone();
    return seed % 4 == 3 ? cv::Mat(out > 128) : out;
  }

  const CascadeModel& model_;
  cv::Mat picture_, sums_;
  int rows_ = 0;
  BruteCascade brute_;
  BoundCascade definition_;
};

}  // namespace cuface::test
