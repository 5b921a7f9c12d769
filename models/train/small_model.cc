#include "models/train/small_model.h"

#include <algorithm>
#include <utility>

namespace cuface::train {

FaceSet with_five_points(FaceSet& set) {
  const auto landmarks = static_cast<std::size_t>(set.landmarks);
  FaceSet small;
  small.landmarks = static_cast<int>(std::size(kFiveOfSixtyEight));
  small.pictures = std::move(set.pictures);
  small.hashes = set.hashes;
  small.picture_of = set.picture_of;
  small.boxes = set.boxes;
  small.weights = set.weights;
  small.where = set.where;
  for (std::size_t face = 0; face < set.boxes.size(); ++face) {
    for (const int point : kFiveOfSixtyEight) {
      const std::size_t at = face * landmarks + static_cast<std::size_t>(point);
      small.points.push_back(set.points[at]);
      small.present.push_back(set.present[at]);
    }
  }
  return small;
}

ForestOptions small_options(ForestOptions options) {
  constexpr std::size_t kHeader = 8192, kPoints = std::size(kFiveOfSixtyEight);
  const auto stages = static_cast<std::size_t>(options.cascade_depth);
  const std::size_t leaves = std::size_t{1} << options.tree_depth;
  const std::size_t pixels = stages * static_cast<std::size_t>(options.feature_pool_size) * 12;
  const std::size_t tree =
      (leaves - 1) * sizeof(ForestSplit) + leaves * 2 * kPoints * sizeof(float);
  const std::size_t spreads = leaves * kPoints * sizeof(std::uint16_t);  // of the last stage
  const std::size_t room = kMostSmallBytes - std::min(kMostSmallBytes, kHeader + pixels);
  const auto fitting = static_cast<int>(room / (stages * tree + spreads));
  options.num_trees_per_cascade_level = std::clamp(fitting, 1, options.num_trees_per_cascade_level);
  return options;
}

}  // namespace cuface::train
