// A detector and a descriptor by name: each pair beside the stages themselves.
#include <gtest/gtest.h>

#include "kernels/keypoints/keypoints.h"
#include "tests/kernels/pictures.h"

namespace cuface {
namespace {

const cv::Mat& picture() {
  static const cv::Mat made = test::smooth_noise(320, 240, 6, 11);
  return made;
}

Features find(const FeatureConfig& config) {
  Features out;
  out.floats = {1, 2, 3};  // of an earlier picture
  out.signs = {1};
  FeatureFinder finder =
      std::move(FeatureFinder::create(config, picture().cols, picture().rows).value());
  EXPECT_TRUE(finder.run(test::view_of(picture()), out).ok());
  return out;
}

BinaryFeatures orb(const OrbConfig& config) {
  BinaryFeatures out;
  OrbDetector detector =
      std::move(OrbDetector::create(config, picture().cols, picture().rows).value());
  EXPECT_TRUE(detector.run(test::view_of(picture()), out).ok());
  return out;
}

TEST(Keypoints, OfFastAndOrb) {
  const OrbConfig config{.max_keypoints = 200, .levels = 3};
  const Features found = find({.orb = config});
  const BinaryFeatures wanted = orb(config);
  EXPECT_GE(found.keypoints.size(), 100u);
  EXPECT_EQ(found.keypoints, wanted.keypoints);
  EXPECT_EQ(found.descriptors, wanted.descriptors);
  EXPECT_TRUE(found.floats.empty());
  EXPECT_EQ(found.signs, wanted.signs);
  EXPECT_EQ(found.signs.size(), found.keypoints.size());
}

TEST(Keypoints, OfTheHessianAndSurf) {
  if (!has_surf()) GTEST_SKIP() << "built without SURF";
  const SurfConfig config{.max_keypoints = 150};
  const Features found = find({FeatureDetector::kHessian, FeatureDescriptor::kSurf, {}, config});
  FloatFeatures wanted;
  ASSERT_TRUE(SurfDetector::create(config).value().run(test::view_of(picture()), wanted).ok());
  EXPECT_GE(found.keypoints.size(), 100u);
  EXPECT_EQ(found.keypoints, wanted.keypoints);
  EXPECT_EQ(found.floats, wanted.descriptors);
  EXPECT_EQ(found.signs, wanted.signs);
  EXPECT_TRUE(found.descriptors.empty());
}

TEST(Keypoints, OfFastAndSurf) {
  if (!has_surf()) GTEST_SKIP() << "built without SURF";
  const OrbConfig config{.max_keypoints = 200};
  const Features found =
      find({FeatureDetector::kFast, FeatureDescriptor::kSurf, config, {.upright = true}});
  FloatFeatures wanted;
  ASSERT_TRUE(SurfDetector::create({.upright = true})
                  .value()
                  .describe(test::view_of(picture()), orb(config).keypoints, wanted)
                  .ok());
  EXPECT_GE(found.keypoints.size(), 100u);
  EXPECT_EQ(found.keypoints, wanted.keypoints);
  EXPECT_EQ(found.floats, wanted.descriptors);
  EXPECT_EQ(found.signs, std::vector<std::int8_t>(found.keypoints.size(), 0));
  EXPECT_TRUE(found.descriptors.empty());
}

TEST(Keypoints, RefuseWhatMakesNoSenseOrIsNotBuilt) {
  const auto code = [](const FeatureConfig& config, int width) {
    return FeatureFinder::create(config, width, 200).status().code();
  };
  EXPECT_EQ(code({}, 200), StatusCode::kOk);
  EXPECT_EQ(code({}, 0), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.orb = {.levels = 0}}, 200), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.detector = FeatureDetector::kHessian}, 200), StatusCode::kInvalidArgument);
  FeatureConfig surf{FeatureDetector::kHessian, FeatureDescriptor::kSurf, {}, {}};
  EXPECT_EQ(code(surf, 200), has_surf() ? StatusCode::kOk : StatusCode::kUnsupported);
  surf.surf.octaves = 0;
  EXPECT_EQ(code(surf, 200), has_surf() ? StatusCode::kInvalidArgument : StatusCode::kUnsupported);
}

}  // namespace
}  // namespace cuface
