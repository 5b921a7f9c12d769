// SURF beside what OpenCV's own finds in one picture: keypoints bit by bit, directions,
// descriptors; pictures that have none; vectors beside the reference. tests/full/surf_parity
// compares it on any picture.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <opencv2/imgproc.hpp>

#include "kernels/surf/surf.h"
#include "tests/kernels/dlib_surf.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/surf_golden.h"
#include "tests/kernels/versions.h"

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
  const Status status = SurfDetector::create(config).value().run(test::view_of(grey), out);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(out.signs.size(), out.keypoints.size());
  EXPECT_EQ(out.descriptors.size(),
            static_cast<std::size_t>(config.descriptor_size) * out.keypoints.size());
  return out;
}

void expect_same(const FloatFeatures& a, const FloatFeatures& b, const std::string& what) {
  ASSERT_EQ(a.keypoints.size(), b.keypoints.size()) << what;
  for (std::size_t i = 0; i < a.keypoints.size(); ++i)
    ASSERT_EQ(a.keypoints[i], b.keypoints[i]) << what << ", " << i;
  ASSERT_EQ(a.signs, b.signs) << what;
  ASSERT_EQ(a.descriptors, b.descriptors) << what;
}

class Surf : public test::EveryVersion {};
CUFACE_EVERY_VERSION(Surf);

TEST_P(Surf, KeypointsAreOpenCvs) {
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

// dlib's filters, borders and thresholds are others: a loose oracle, but one that shares no line.
TEST_P(Surf, FindsHalfOfWhatDlibFinds) {
  CUFACE_NEEDS_DATA();
  for (const char* name : {"scenes/astronaut.png", "scenes/multi_face.jpg"}) {
    const cv::Mat picture = test::natural(name, 640);
    ASSERT_FALSE(picture.empty());
    SurfConfig config;
    config.max_keypoints = 4000;
    const FloatFeatures ours = surf(picture, config);
    const std::vector<Keypoint> theirs = test::dlib_surf(test::view_of(picture), 500);
    ASSERT_GE(theirs.size(), 300u) << "dlib leaves out those at the border";
    const auto is_near = [](const Keypoint& a, const Keypoint& b) {
      return std::hypot(a.x - b.x, a.y - b.y) <= 2 &&
             std::max(a.size, b.size) <= 1.5f * std::min(a.size, b.size);
    };
    const auto found = std::ranges::count_if(theirs, [&](const Keypoint& k) {
      return std::ranges::any_of(ours.keypoints,
                                 [&](const Keypoint& own) { return is_near(k, own); });
    });
    std::printf("%s: %ld of %zu, of %zu of ours\n", name, static_cast<long>(found), theirs.size(),
                ours.keypoints.size());
    EXPECT_GE(2 * found, static_cast<std::ptrdiff_t>(theirs.size())) << name;
  }
}

TEST_P(Surf, DescriptorsAreOpenCvs) {
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

TEST_P(Surf, TheStrongestStay) {
  SurfConfig config = config_of_golden();
  const FloatFeatures all = surf(test::blobs(), config);
  config.max_keypoints = 20;
  const FloatFeatures some = surf(test::blobs(), config);
  ASSERT_EQ(some.keypoints.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(some.keypoints[i], all.keypoints[i]);
}

TEST_P(Surf, DescriptorsHaveUnitLength) {
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
TEST_P(Surf, TurnWithThePicture) {
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

TEST_P(Surf, PicturesWithoutBlobsHaveNone) {
  for (const auto& [width, height] : {std::pair{1, 1}, {8, 300}, {64, 48}, {300, 8}}) {
    for (const int value : {0, 255}) {
      const FloatFeatures found = surf(cv::Mat(height, width, CV_8U, cv::Scalar(value)), {});
      EXPECT_TRUE(found.keypoints.empty()) << width << "x" << height;
    }
  }
}

// What was found is described alike when it is given; what cannot be described is left out.
TEST_P(Surf, DescribesGivenKeypoints) {
  const cv::Mat grey = test::blobs();
  for (const bool upright : {false, true}) {
    SurfConfig config = config_of_golden();
    config.upright = upright;
    FloatFeatures found = surf(grey, config), described;
    SurfDetector detector = std::move(SurfDetector::create(config).value());
    std::vector<Keypoint> given = found.keypoints;
    for (Keypoint& k : given) k.angle = 17;
    const float nan = std::nanf("");
    for (const Keypoint& bad :
         {Keypoint{-1, 20, 20}, Keypoint{20, 143.5f, 20}, Keypoint{nan, 20, 20},
          Keypoint{20, 20, 7.4f}, Keypoint{20, 20, 145}, Keypoint{20, 20, nan}})
      given.insert(given.begin() + 3, bad);
    ASSERT_TRUE(detector.describe(test::view_of(grey), given, described).ok());
    EXPECT_EQ(described.signs, std::vector<std::int8_t>(found.keypoints.size(), 0));
    described.signs = found.signs;
    expect_same(described, found, upright ? "upright" : "turned");
    given.resize(kMostKeypoints + 1);
    EXPECT_EQ(detector.describe(test::view_of(grey), given, described).code(),
              StatusCode::kInvalidArgument);
  }
}

class SurfVectors : public test::EveryVersion {
 protected:
  /// Compares with the reference; the number of keypoints.
  std::size_t compare(const cv::Mat& grey, const SurfConfig& config, const std::string& what) {
    const FloatFeatures ours = surf(grey, config);
    expect_same(ours, test::plainly([&] { return surf(grey, config); }), what);
    return ours.keypoints.size();
  }
};
CUFACE_EVERY_VECTOR_VERSION(SurfVectors);

TEST_P(SurfVectors, EqualTheReferenceOnDrawnPicturesAndSettings) {
  std::mt19937 random(5);
  std::size_t compared = 0;
  for (int round = 0; round < 24; ++round) {
    const int w = 30 + static_cast<int>(random() % 300), h = 30 + static_cast<int>(random() % 200);
    const unsigned seed = random();
    cv::Mat picture = round % 3 == 0   ? test::noise(w, h, seed)
                      : round % 3 == 1 ? test::smooth_noise(w, h, 5, seed)
                                       : test::drawn_faces(w, h, seed);
    if (round % 5 == 0) picture = picture / 64 * 64;  // many responses alike
    SurfConfig c;
    c.max_keypoints = round % 4 ? 1020 : 1 + static_cast<int>(random() % 30);
    c.threshold = round % 4 == 1 ? 3 : 100;
    c.octaves = 1 + static_cast<int>(random() % 5);
    c.layers = 1 + static_cast<int>(random() % 5);
    c.upright = round % 2 == 0;
    c.descriptor_size = round % 3 ? 64 : 36;
    c.sampling = round % 4 == 2   ? SurfSampling::kIntegral
                 : round % 8 == 3 ? SurfSampling::kMipmap
                                  : SurfSampling::kPatch;
    compared += compare(picture, c, "round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(compared, 2'000u);
}

// Equal blobs, in which determinants and places tie; of thirds of the sizes of wavelets and others.
TEST_P(SurfVectors, EqualTheReferenceOnRegularPatterns) {
  std::size_t compared = 0;
  for (const int size : {4, 7, 12, 30}) {
    cv::Mat dots(160, 200, CV_8U, cv::Scalar(40));
    for (int y = 0; y < dots.rows; y += 2 * size)
      for (int x = 0; x < dots.cols; x += 2 * size)
        cv::rectangle(dots, {x, y, size, size}, cv::Scalar(230), cv::FILLED);
    compared += compare(dots, {}, "dots of " + std::to_string(size));
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(compared, 200u);
}

TEST_P(SurfVectors, EqualTheReferenceOnANaturalPicture) {
  CUFACE_NEEDS_DATA();
  const cv::Mat picture = test::natural("scenes/multi_face.jpg", 640);
  ASSERT_FALSE(picture.empty());
  EXPECT_GE(compare(picture, {}, "natural"), 500u);
}

// A threshold below which determinants are compared without a tolerance; and pictures whose rows
// are apart.
TEST_P(SurfVectors, EqualTheReferenceAtTheirLimits) {
  const cv::Mat large = test::smooth_noise(260, 190, 6, 3);
  SurfConfig config;
  EXPECT_GE(compare(large(cv::Rect(31, 17, 201, 150)), config, "a part"), 20u);
  config.threshold = 0;
  EXPECT_GE(compare(large(cv::Rect(0, 0, 90, 70)), config, "threshold 0"), 20u);
  config = {};
  config.octaves = kMostSurfOctaves;
  config.layers = kMostSurfLayers;
  EXPECT_GE(compare(large, config, "the most layers"), 20u);
  for (const auto& [w, h] : {std::pair{1, 1}, {2, 60}, {60, 2}, {28, 28}, {3, 3}, {17, 300}})
    compare(test::smooth_noise(w, h, 3, 8), {}, std::to_string(w) + "x" + std::to_string(h));
}

TEST_P(Surf, RefusesWhatMakesNoSense) {
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
  EXPECT_EQ(code([](SurfConfig& c) { c.descriptor_size = 36; }), StatusCode::kOk);
  EXPECT_EQ(code([](SurfConfig& c) { c.descriptor_size = 128; }), StatusCode::kInvalidArgument);
  SurfDetector detector = std::move(SurfDetector::create({}).value());
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
