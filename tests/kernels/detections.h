// What our detector finds and what cv::CascadeClassifier finds, with the same settings.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <opencv2/objdetect.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/detect/detect.h"
#include "models/models.h"
#include "tests/mat_view.h"

namespace cuface::test {

inline std::shared_ptr<const CascadeModel> cascade_of(const std::string& path) {
  const auto loaded = load_cascade(path);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? loaded.value() : nullptr;
}

inline DetectConfig config_with(double scale_factor, int min_neighbors, int min_size,
                                int max_size = 0) {
  DetectConfig config;
  config.scale_factor = scale_factor;
  config.min_neighbors = min_neighbors;
  config.min_size = min_size;
  config.max_size = max_size;
  config.max_faces = 1 << 20;
  return config;
}

inline DetectResult detect(const std::shared_ptr<const CascadeModel>& model,
                           const DetectConfig& config, const cv::Mat& picture) {
  auto detector = Detector::create(Backend::kCpu, model, config, picture.cols, picture.rows);
  EXPECT_TRUE(detector.ok()) << detector.status().message();
  DetectResult result;
  EXPECT_TRUE(detector.value()->enqueue(view_of(picture), result).ok());
  return result;
}

inline std::vector<Detection> opencv_detections(cv::CascadeClassifier& classifier,
                                                const DetectConfig& config,
                                                const cv::Mat& picture) {
  std::vector<cv::Rect> rects;
  std::vector<int> neighbors;
  classifier.detectMultiScale(picture, rects, neighbors, config.scale_factor, config.min_neighbors,
                              0, {config.min_size, config.min_size},
                              {config.max_size, config.max_size});
  std::vector<Detection> out;
  for (std::size_t i = 0; i < rects.size(); ++i) {
    const cv::Rect& r = rects[i];
    out.push_back({{r.x, r.y, r.width, r.height}, neighbors[i]});
  }
  return out;
}

/// What was found, in any order: box, neighbours, how often.
using Multiset = std::map<std::tuple<int, int, int, int, int>, int>;

inline Multiset multiset(const std::vector<Detection>& detections) {
  Multiset out;
  for (const Detection& d : detections) {
    ++out[{d.box.x, d.box.y, d.box.w, d.box.h, d.neighbors}];
  }
  return out;
}

}  // namespace cuface::test
