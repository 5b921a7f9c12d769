// eyes: the mean shape of a model where OpenCV's cascade of eyes sees them, beside what people have
// marked. tests/gpu/kernels/test_eyes.cc holds the CUDA version against this one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <opencv2/core.hpp>
#include <vector>

#include "kernels/eyes/eyes.h"
#include "models/models.h"
#include "tests/data.h"
#include "tests/kernels/shape_models.h"
#include "tests/models/landmark_rows.h"

namespace cuface::test {
namespace {

TEST(EyeStart, FindsTheEyesOfLabelledFaces) {
  CUFACE_NEEDS_DATA();
  const auto path = find_eye_cascade();
  if (!path.ok()) GTEST_SKIP() << path.status().message();
  const auto model = random_shape_model_with_eyes(3);
  const StopFlag stop;
  auto start = EyeStart::create(load_cascade(path.value()).value(), *model, stop);
  ASSERT_TRUE(start.ok()) << start.status().message();
  std::size_t faces = 0;
  int found = 0, near = 0;
  std::vector<Point> points(8);
  for (const LandmarkRow& row : landmark_rows()) {
    if (!row.human) continue;
    ++faces;
    const cv::Mat picture = row.picture();
    const auto is_found = start.value()->find(view(picture), box_around(row.truth), points);
    ASSERT_TRUE(is_found.ok());
    if (!is_found.value()) continue;
    ++found;
    // Of the mean shape's points 1 and 7 are the eyes: they are where the cascade saw them.
    Point eyes[2];
    for (int side = 0; side < 2; ++side)
      for (std::size_t i = 0; i < 6; ++i) {
        const Point& p = row.truth[36 + 6 * static_cast<std::size_t>(side) + i];
        eyes[side] = {eyes[side].x + p.x / 6, eyes[side].y + p.y / 6};
      }
    const float apart = std::hypot(eyes[0].x - eyes[1].x, eyes[0].y - eyes[1].y);
    near += std::hypot(points[1].x - eyes[0].x, points[1].y - eyes[0].y) < 0.15f * apart &&
            std::hypot(points[7].x - eyes[1].x, points[7].y - eyes[1].y) < 0.15f * apart;
  }
  EXPECT_EQ(faces, kHumanRows);
  EXPECT_GE(found, 120);
  EXPECT_GE(near, found * 9 / 10);
  RecordProperty("found", found);
  std::printf("eyes of %d of %zu faces found, %d of them within 15 %%\n", found, faces, near);
}

TEST(EyeStart, WhatIsNoFace) {
  const auto path = find_eye_cascade();
  if (!path.ok()) GTEST_SKIP() << path.status().message();
  const StopFlag stop;
  const auto cascade = load_cascade(path.value()).value();
  auto start = EyeStart::create(cascade, *random_shape_model_with_eyes(3), stop);
  ASSERT_TRUE(start.ok());
  const cv::Mat plain(120, 160, CV_8UC1, cv::Scalar(90));
  std::vector<Point> points(8, {7, 7});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Box& box : {Box{20, 20, 80, 80},
                         {-500, 0, 40, 40},
                         {150, 110, 900, 900},
                         {3, 3, 1, 1},
                         {0, 0, 0, 0},
                         {nan, 0, 9, 9},
                         {1e30f, 0, 1e30f, 1},
                         {5, 5, 1e5f, 1e5f}}) {
    const auto found = start.value()->find(view(plain), box, points);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_FALSE(found.value());
  }
  EXPECT_EQ(points, std::vector<Point>(8, Point{7, 7}));
  const auto blind = EyeStart::create(cascade, *random_shape_model(3), stop);
  EXPECT_EQ(blind.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(blind.status().message().find("start=box"), std::string::npos);
}

}  // namespace
}  // namespace cuface::test
