// The time of a search for faces, beside OpenCV's.
#pragma once

#include <opencv2/objdetect.hpp>

#include "kernels/detect/detect.h"
#include "tests/eval/curves.h"

namespace cuface::eval {

inline Json search_point(const Program& program, double x, const cv::Mat& picture,
                         const std::string& cascade, const DetectConfig& config,
                         bool beside_opencv) {
  auto detector = made(
      Detector::create(Backend::kCpu, bench::cascade(cascade), config, picture.cols, picture.rows));
  cv::CascadeClassifier classifier(test::cascade_path(cascade));
  DetectResult result;
  std::vector<cv::Rect> rects;
  const Run peer = [&] {
    classifier.detectMultiScale(picture, rects, config.scale_factor, config.min_neighbors, 0,
                                {config.min_size, config.min_size});
  };
  return program.measure(
      x, [&] { (void)detector->enqueue(test::view_of(picture), result); },
      beside_opencv ? peer : Run());
}

}  // namespace cuface::eval
