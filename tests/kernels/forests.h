// Forests made from a seed, to run and to damage.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <utility>
#include <vector>

#include "kernels/landmarks/landmarks.h"

namespace cuface::test {

struct ForestSize {
  int landmarks, cascades, trees, depth, pool;
};

inline std::unique_ptr<Landmarker> landmarker_of(const std::shared_ptr<const ForestModel>& model,
                                                 int iterations = 0) {
  auto landmarker = Landmarker::create(Backend::kCpu, model, iterations);
  EXPECT_TRUE(landmarker.ok()) << landmarker.status().message();
  return std::move(landmarker.value());
}

inline cv::Mat noise_picture(int width, int height, unsigned seed) {
  cv::Mat picture(height, width, CV_8UC1);
  cv::RNG rng(seed);
  rng.fill(picture, cv::RNG::UNIFORM, 0, 256);
  cv::GaussianBlur(picture, picture, cv::Size(5, 5), 2);
  return picture;
}

/// A model whose tables can be changed.
struct ForestCopy : ForestModel {
  explicit ForestCopy(const ForestModel& m)
      : ForestModel(m),
        shape(m.mean_shape.begin(), m.mean_shape.end()),
        offsets(m.deltas.begin(), m.deltas.end()),
        values(m.leaves.begin(), m.leaves.end()),
        landmarks_of(m.anchors.begin(), m.anchors.end()),
        nodes(m.splits.begin(), m.splits.end()) {
    mean_shape = shape;
    deltas = offsets;
    leaves = values;
    anchors = landmarks_of;
    splits = nodes;
  }
  std::vector<float> shape, offsets, values;
  std::vector<std::uint32_t> landmarks_of;
  std::vector<ForestSplit> nodes;
};

}  // namespace cuface::test
