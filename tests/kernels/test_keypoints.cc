// A detector and a descriptor by name: each pair beside the stages themselves.
#include <gtest/gtest.h>

#include <opencv2/imgproc.hpp>

#include "kernels/keypoints/keypoints.h"
#include "kernels/keypoints/reference.h"
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

Features in_reference(const FeatureConfig& config, const cv::Mat& grey) {
  Features out;
  EXPECT_TRUE(find_in_reference(config, test::view_of(grey), out).ok());
  return out;
}

Features in_frame(const FeatureConfig& config, const cv::Mat& grey) {
  Features out;
  EXPECT_TRUE(find_keypoints(config, test::view_of(grey), out).ok());
  return out;
}

TEST(Keypoints, OfALargeReferenceAreThoseOfAFrame) {
  const FeatureConfig config;
  const cv::Mat large = test::smooth_noise(300, kEdgesOfSmallPicture * config.orb.edge, 6, 3);
  const Features found = in_reference(config, large), wanted = in_frame(config, large);
  EXPECT_GE(found.keypoints.size(), 100u);
  EXPECT_EQ(found.keypoints, wanted.keypoints);
  EXPECT_EQ(found.descriptors, wanted.descriptors);
}

TEST(Keypoints, OfASmallReferenceAreThoseOfItAndOfItEnlarged) {
  for (const FeatureDescriptor descriptor : {FeatureDescriptor::kOrb, FeatureDescriptor::kSurf}) {
    if (descriptor == FeatureDescriptor::kSurf && !has_surf()) continue;
    const FeatureConfig config{.descriptor = descriptor};
    const cv::Mat small = test::smooth_noise(180, 90, 6, 3);
    cv::Mat twice;
    cv::resize(small, twice, {}, 2, 2, cv::INTER_LINEAR_EXACT);
    const Features own = in_frame(config, small);
    const std::size_t n = own.keypoints.size();
    FeatureConfig rest = config;
    rest.orb.max_keypoints -= static_cast<int>(n);
    const Features found = in_reference(config, small), more = in_frame(rest, twice);
    ASSERT_GE(n, 10u);
    ASSERT_GE(more.keypoints.size(), 50u);
    ASSERT_EQ(found.keypoints.size(), n + more.keypoints.size());
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(found.keypoints[i], own.keypoints[i]) << i;
    for (std::size_t i = 0; i < more.keypoints.size(); ++i) {
      const Keypoint &of = more.keypoints[i], &k = found.keypoints[n + i];
      EXPECT_FLOAT_EQ(2 * k.x + 0.5f, of.x) << i;
      EXPECT_FLOAT_EQ(2 * k.y + 0.5f, of.y) << i;
      EXPECT_EQ(2 * k.size, of.size) << i;
      EXPECT_EQ(k.angle, of.angle) << i;
    }
    const auto joined = [](auto first, const auto& second) {
      first.insert(first.end(), second.begin(), second.end());
      return first;
    };
    EXPECT_EQ(found.descriptors, joined(own.descriptors, more.descriptors));
    EXPECT_EQ(found.floats, joined(own.floats, more.floats));
    EXPECT_EQ(found.signs, joined(own.signs, more.signs));
  }
}

TEST(Keypoints, OfAReferenceAsLowAsTheBorderIsWide) {
  const cv::Mat low = test::smooth_noise(300, 62, 6, 3);
  EXPECT_TRUE(in_frame({}, low).keypoints.empty());
  EXPECT_GE(in_reference({}, low).keypoints.size(), 50u);
  const FeatureConfig few{.orb = {.max_keypoints = 20}};
  EXPECT_LE(in_reference(few, low).keypoints.size(), 20u);
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
