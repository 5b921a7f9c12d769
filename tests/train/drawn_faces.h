// Drawn heads as faces to train with, and a forest that takes seconds.
#pragma once

#include "models/train/face_set.h"
#include "models/train/heads.h"
#include "models/train/picture.h"

namespace cuface::train {

inline FaceSet drawn_faces(std::uint64_t count, std::uint64_t first = 0) {
  FaceSet set;
  set.landmarks = kHeadPoints;
  HeadOptions options;
  options.width = options.height = 128;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Head head = random_head(options, first + i);
    set.pictures.push_back(draw(head));
    set.hashes.push_back(hash_of(set.pictures.back().view()));
    set.picture_of.push_back(static_cast<std::uint32_t>(i));
    const auto points = points_of(head);
    set.boxes.push_back(box_of_landmarks(points));
    set.points.insert(set.points.end(), points.begin(), points.end());
    set.present.insert(set.present.end(), points.size(), 1);
    set.weights.push_back(1);
    set.where.push_back("head " + std::to_string(first + i));
  }
  return set;
}

inline ForestOptions drawn_forest_options() {
  ForestOptions options;
  options.cascade_depth = 4;
  options.num_trees_per_cascade_level = 15;
  options.oversampling_amount = 5;
  options.feature_pool_size = 200;
  options.num_test_splits = 10;
  options.random_seed = "39";
  return options;
}

}  // namespace cuface::train
