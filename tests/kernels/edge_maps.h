// Edge maps of ours and of OpenCV, by the same settings.
#pragma once

#include <gtest/gtest.h>

#include <opencv2/imgproc.hpp>
#include <sstream>
#include <string>

#include "kernels/edges/edges.h"
#include "tests/kernels/pictures.h"

namespace cuface::test::edges {

struct Maps {
  cv::Mat map, magnitude, angle;
};

inline ImageView<std::uint8_t> view_into(cv::Mat& m) {
  return {m.data, m.cols, m.rows, static_cast<std::ptrdiff_t>(m.step)};
}

inline Maps ours(const cv::Mat& picture, const EdgeConfig& config) {
  Maps out;
  for (cv::Mat* m : {&out.map, &out.magnitude, &out.angle})
    *m = cv::Mat(picture.size(), CV_8U, cv::Scalar(77));
  Result<EdgeDetector> detector = EdgeDetector::create(config, picture.cols, picture.rows);
  EXPECT_TRUE(detector.ok()) << detector.status().message();
  if (!detector.ok()) return out;
  const Status status = detector.value().run(
      test::view_of(picture), {view_into(out.map), view_into(out.magnitude), view_into(out.angle)});
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

inline cv::Mat blur(const cv::Mat& picture, const EdgeConfig& config) {
  if (config.kernel_size == 1) return picture;
  cv::Mat out;
  cv::GaussianBlur(picture, out, {config.kernel_size, config.kernel_size}, config.sigma);
  return out;
}

struct Gradients {
  cv::Mat dx, dy;  // 16 bit
};

/// OpenCV's gradients as its Canny has them.
inline Gradients gradients(const cv::Mat& picture, const EdgeConfig& config) {
  const cv::Mat blurred = blur(picture, config);
  Gradients g;
  const double scale = config.aperture == 7 ? 1 / 16.0 : 1;
  switch (config.op) {
    case GradientOperator::kSobel:
      cv::Sobel(blurred, g.dx, CV_16S, 1, 0, config.aperture, scale, 0, cv::BORDER_REPLICATE);
      cv::Sobel(blurred, g.dy, CV_16S, 0, 1, config.aperture, scale, 0, cv::BORDER_REPLICATE);
      break;
    case GradientOperator::kScharr:
      cv::Scharr(blurred, g.dx, CV_16S, 1, 0, 1, 0, cv::BORDER_REPLICATE);
      cv::Scharr(blurred, g.dy, CV_16S, 0, 1, 1, 0, cv::BORDER_REPLICATE);
      break;
    case GradientOperator::kPrewitt: {
      const cv::Mat smooth = cv::Mat::ones(1, 3, CV_32F);
      const cv::Mat slope = (cv::Mat_<float>(1, 3) << -1, 0, 1);
      cv::sepFilter2D(blurred, g.dx, CV_16S, slope, smooth, {-1, -1}, 0, cv::BORDER_REPLICATE);
      cv::sepFilter2D(blurred, g.dy, CV_16S, smooth, slope, {-1, -1}, 0, cv::BORDER_REPLICATE);
    }
  }
  return g;
}

inline cv::Mat opencv(const cv::Mat& picture, const EdgeConfig& config) {
  cv::Mat out;
  const bool l2 = config.norm == GradientNorm::kL2;
  if (config.op == GradientOperator::kSobel) {
    cv::Canny(blur(picture, config), out, config.low, config.high, config.aperture, l2);
  } else {
    const Gradients g = gradients(picture, config);
    cv::Canny(g.dx, g.dy, out, config.low, config.high, l2);
  }
  return out;
}

inline std::string described(const EdgeConfig& c) {
  std::ostringstream out;
  out << "kernel " << c.kernel_size << " sigma " << c.sigma << " operator "
      << static_cast<int>(c.op) << " aperture " << c.aperture << " norm "
      << static_cast<int>(c.norm) << " low " << c.low << " high " << c.high;
  return out.str();
}

}  // namespace cuface::test::edges
