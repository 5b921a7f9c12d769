// The flow of points by ours and by OpenCV's, and how far apart they are.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <opencv2/video/tracking.hpp>
#include <string>
#include <vector>

#include "kernels/flow/flow.h"
#include "tests/mat_view.h"

namespace cuface::test {

struct TrackedPoints {
  std::vector<Point> points;
  std::vector<std::uint8_t> status;
};

/// `made`: all levels beforehand, not only what is read of them.
inline TrackedPoints our_flow(const cv::Mat& a, const cv::Mat& b, const std::vector<Point>& points,
                              const FlowConfig& config, bool made = false) {
  GaussianPyramid prev(a.cols, a.rows, config.levels, config.window);
  GaussianPyramid next(a.cols, a.rows, config.levels, config.window);
  prev.build(view_of(a));
  next.build(view_of(b));
  for (int i = 0; made && i < prev.levels(); ++i) {
    prev.level(i).all();
    next.level(i).all();
  }
  FlowScratch scratch(config);
  TrackedPoints out{std::vector<Point>(points.size()), std::vector<std::uint8_t>(points.size(), 9)};
  flow(prev, next, points, out.points, out.status, config, scratch);
  return out;
}

inline TrackedPoints opencv_flow(const cv::Mat& a, const cv::Mat& b,
                                 const std::vector<Point>& points, const FlowConfig& config) {
  std::vector<cv::Point2f> from, to;
  for (const Point& p : points) from.emplace_back(p.x, p.y);
  TrackedPoints out;
  std::vector<float> error;
  cv::calcOpticalFlowPyrLK(a, b, from, to, out.status, error, {config.window, config.window},
                           config.levels - 1,
                           cv::TermCriteria(cv::TermCriteria::COUNT | cv::TermCriteria::EPS,
                                            config.max_iterations, config.epsilon),
                           0, config.min_eigen);
  for (const cv::Point2f& p : to) out.points.push_back({p.x, p.y});
  return out;
}

/// What was compared, and how far apart it was.
struct FlowComparison {
  std::vector<float> distances;  // of points both follow
  std::size_t points = 0, same_status = 0, lost = 0;

  void add(const TrackedPoints& a, const TrackedPoints& b) {
    ASSERT_EQ(a.points.size(), b.points.size());
    for (std::size_t i = 0; i < a.points.size(); ++i) {
      ASSERT_LE(a.status[i], 1);
      ++points;
      same_status += a.status[i] == b.status[i];
      lost += b.status[i] == 0;
      if (a.status[i] && b.status[i]) {
        distances.push_back(
            std::hypot(a.points[i].x - b.points[i].x, a.points[i].y - b.points[i].y));
      }
    }
  }
  float quantile(double q) {
    const auto k = static_cast<std::ptrdiff_t>(q * static_cast<double>(distances.size() - 1));
    std::nth_element(distances.begin(), distances.begin() + k, distances.end());
    return distances[static_cast<std::size_t>(k)];
  }
  /// The figures the design asks for.
  void expect_equal(const std::string& what) {
    ASSERT_FALSE(distances.empty());
    EXPECT_LE(quantile(0.5), 0.01f) << what;
    EXPECT_LE(quantile(0.99), 0.05f) << what;
    EXPECT_GE(static_cast<double>(same_status), 0.995 * static_cast<double>(points)) << what;
  }
};

}  // namespace cuface::test
