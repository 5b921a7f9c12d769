// The time of what comes before landmarks, beside OpenCV's: the grey, and a search for faces.
#pragma once

#include <opencv2/objdetect.hpp>

#include "kernels/detect/detect.h"
#include "kernels/luma/luma.h"
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

inline constexpr const char* kGreyPeer = "cv::cvtColor, RGB";

/// Of a picture of colours as a picture of grey has them.
inline Json grey_point(const Program& program, double x, const cv::Mat& picture) {
  cv::Mat rgb, grey;
  cv::cvtColor(picture, rgb, cv::COLOR_GRAY2RGB);
  FrameView frame{rgb.cols, rgb.rows, true, true, {}};
  for (int c = 0; c < 3; ++c)
    frame.component[c] = {rgb.data + c, static_cast<std::ptrdiff_t>(rgb.step), 3};
  Image<std::uint8_t> out(rgb.cols, rgb.rows);
  return program.measure(
      x, [&] { luma(frame, out.view()); }, [&] { cv::cvtColor(rgb, grey, cv::COLOR_RGB2GRAY); });
}

}  // namespace cuface::eval
