// Videos of motion and what is made of them, for the tests of kernels/motion.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "kernels/common/draw_bits.h"
#include "kernels/motion/motion.h"
#include "tests/kernels/pictures.h"

namespace cuface::test {

inline constexpr std::int64_t kFrame = 40'000'000;

inline MotionConfig with(MotionMethod method, std::int64_t interval = 0) {
  MotionConfig config;
  config.method = method;
  config.interval = interval;
  return config;
}

inline MotionDetector made(const MotionConfig& config, int width, int height) {
  auto motion = MotionDetector::create(config, width, height);
  EXPECT_TRUE(motion.ok()) << motion.status().message();
  return std::move(motion.value());
}

inline const MotionResult& look(MotionDetector& motion, const cv::Mat& picture, std::int64_t time) {
  const auto result = motion.look(view_of(picture), time);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return *result.value();
}

inline cv::Mat mask_of(const MotionDetector& motion) {
  cv::Mat out(motion.plan().height, motion.plan().width, CV_8U);
  draw_bits(motion.mask(), {out.data, out.cols, out.rows, static_cast<std::ptrdiff_t>(out.step)});
  return out;
}

inline int unlike(const cv::Mat& a, const cv::Mat& b) { return cv::countNonZero(a != b); }

/// Bytes that are 255 in `percent` of a hundred, else 0.
inline cv::Mat specks(int width, int height, int percent, unsigned seed) {
  return noise(width, height, seed) < percent * 256 / 100;
}

/// Edge maps with a full square of edges at a place, of 200 x 120: cells of 20 x 20.
inline cv::Mat square(int x, int y, int side = 20) {
  cv::Mat out = cv::Mat::zeros(120, 200, CV_8U);
  if (side > 0) cv::rectangle(out, cv::Rect(x, y, side, side), cv::Scalar(255), cv::FILLED);
  return out;
}
inline cv::Mat nothing() { return square(0, 0, 0); }

}  // namespace cuface::test
