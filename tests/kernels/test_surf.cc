// SURF beside what OpenCV's own finds in one picture: keypoints bit by bit, directions,
// descriptors; pictures that have none. tests/full/surf_parity compares it on any picture.
#include <gtest/gtest.h>

#include <cmath>
#include <opencv2/imgproc.hpp>

#include "kernels/surf/surf.h"
#include "tests/kernels/surf_golden.h"

namespace cuface {
namespace {

SurfConfig config_of_golden() {
  SurfConfig config;
  config.threshold = 800;
  config.octaves = 3;
  return config;
}

FloatFeatures surf(const cv::Mat& grey, const SurfConfig& config) {
  FloatFeatures out;
  const Status status = SurfDetector::create(config).value().run(
      {grey.data, grey.cols, grey.rows, static_cast<std::ptrdiff_t>(grey.step)}, out);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(out.signs.size(), out.keypoints.size());
  EXPECT_EQ(out.descriptors.size(), 64 * out.keypoints.size());
  return out;
}

TEST(Surf, KeypointsAreOpenCvs) {
  const FloatFeatures found = surf(test::blobs(), config_of_golden());
  ASSERT_EQ(found.keypoints.size(), std::size(test::kSurfGolden));
  for (std::size_t i = 0; i < found.keypoints.size(); ++i) {
    const Keypoint& k = found.keypoints[i];
    const test::SurfGolden& wanted = test::kSurfGolden[i];
    EXPECT_EQ(k.x, wanted.x) << i;
    EXPECT_EQ(k.y, wanted.y) << i;
    EXPECT_EQ(k.size, wanted.size) << i;
    EXPECT_EQ(k.response, wanted.response) << i;
    EXPECT_EQ(k.octave, wanted.octave) << i;
    EXPECT_EQ(found.signs[i], wanted.sign) << i;
    EXPECT_NEAR(k.angle, wanted.angle, 1e-3) << i;
  }
}

TEST(Surf, DescriptorsAreOpenCvs) {
  for (const bool upright : {false, true}) {
    SurfConfig config = config_of_golden();
    config.upright = upright;
    const FloatFeatures found = surf(test::blobs(), config);
    const auto& golden = upright ? test::kSurfUpright : test::kSurfTurned;
    ASSERT_GE(found.keypoints.size(), std::size(golden));
    int near = 0, all = 0;
    for (std::size_t i = 0; i < std::size(golden); ++i) {
      EXPECT_EQ(found.keypoints[i].angle == 270, upright);
      for (std::size_t v = 0; v < 64; ++v, ++all) {
        const float apart = std::abs(found.descriptor(i)[v] - golden[i][v]);
        EXPECT_LT(apart, 5e-3f) << i << ", " << v;
        near += apart < 1e-5f;
      }
    }
    // Sines of another library may move a pixel of a window.
    EXPECT_GE(near, all * 0.995) << "of " << all;
  }
}

TEST(Surf, TheStrongestStay) {
  SurfConfig config = config_of_golden();
  const FloatFeatures all = surf(test::blobs(), config);
  config.max_keypoints = 20;
  const FloatFeatures some = surf(test::blobs(), config);
  ASSERT_EQ(some.keypoints.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(some.keypoints[i], all.keypoints[i]);
}

TEST(Surf, DescriptorsHaveUnitLength) {
  const FloatFeatures found = surf(test::blobs(), config_of_golden());
  for (std::size_t i = 0; i < found.keypoints.size(); ++i) {
    double length = 0;
    for (int v = 0; v < 64; ++v)
      length +=
          static_cast<double>(found.descriptor(i)[v]) * static_cast<double>(found.descriptor(i)[v]);
    EXPECT_NEAR(length, 1, 1e-4);
  }
}

// A picture that is turned by a quarter has the same places, turned.
TEST(Surf, TurnWithThePicture) {
  const cv::Mat grey = test::blobs();
  cv::Mat turned;
  cv::rotate(grey, turned, cv::ROTATE_90_CLOCKWISE);
  const FloatFeatures a = surf(grey, config_of_golden()), b = surf(turned, config_of_golden());
  int found = 0;
  for (const Keypoint& k : a.keypoints)
    for (const Keypoint& other : b.keypoints)
      found += std::abs(static_cast<float>(grey.rows - 1) - k.y - other.x) < 0.6f &&
               std::abs(k.x - other.y) < 0.6f && k.octave == other.octave;
  EXPECT_GE(found, static_cast<int>(a.keypoints.size() * 8 / 10));
}

TEST(Surf, PicturesWithoutBlobsHaveNone) {
  for (const auto& [width, height] : {std::pair{1, 1}, {8, 300}, {64, 48}, {300, 8}}) {
    for (const int value : {0, 255}) {
      const FloatFeatures found = surf(cv::Mat(height, width, CV_8U, cv::Scalar(value)), {});
      EXPECT_TRUE(found.keypoints.empty()) << width << "x" << height;
    }
  }
}

TEST(Surf, RefusesWhatMakesNoSense) {
  const auto code = [](auto change) {
    SurfConfig c;
    change(c);
    return SurfDetector::create(c).status().code();
  };
  EXPECT_EQ(code([](SurfConfig&) {}), StatusCode::kOk);
  EXPECT_EQ(code([](SurfConfig& c) { c.max_keypoints = 0; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](SurfConfig& c) { c.threshold = std::nanf(""); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](SurfConfig& c) { c.octaves = 9; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](SurfConfig& c) { c.layers = 0; }), StatusCode::kInvalidArgument);
  SurfDetector detector = SurfDetector::create({}).value();
  FloatFeatures out;
  EXPECT_EQ(detector.run({nullptr, 4, 4, 4}, out).code(), StatusCode::kInvalidArgument);
  const cv::Mat grey = test::blobs();
  StopFlag stop;
  stop.raise();
  EXPECT_EQ(detector
                .run({grey.data, grey.cols, grey.rows, static_cast<std::ptrdiff_t>(grey.step)}, out,
                     &stop)
                .code(),
            StatusCode::kCancelled);
  EXPECT_TRUE(out.keypoints.empty());
}

}  // namespace
}  // namespace cuface
