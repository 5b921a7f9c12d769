// ORB against cv::ORB: the same keypoints by place and octave with the same values, and nearly all
// bytes of the descriptors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <opencv2/features2d.hpp>
#include <random>
#include <tuple>
#include <vector>

#include "kernels/orb/orb.h"
#include "kernels/orb/plan.h"
#include "tests/kernels/allocations.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

cv::Ptr<cv::ORB> peer(const OrbConfig& c) {
  return cv::ORB::create(
      c.max_keypoints, c.scale_factor, c.levels, c.edge, 0, 2,
      c.score == KeypointScore::kHarris ? cv::ORB::HARRIS_SCORE : cv::ORB::FAST_SCORE, orb::kPatch,
      c.threshold);
}

BinaryFeatures ours(const cv::Mat& picture, const OrbConfig& config) {
  Result<OrbDetector> detector = OrbDetector::create(config, picture.cols, picture.rows);
  BinaryFeatures out;
  out.keypoints.resize(3);  // what was there goes
  EXPECT_TRUE(detector.ok()) << detector.status().message();
  EXPECT_TRUE(detector.value().run(test::view_of(picture), out).ok());
  EXPECT_EQ(out.descriptors.size(), kBinaryBytes * out.keypoints.size());
  return out;
}

/// What was compared, and what of it is otherwise.
struct Compared {
  std::size_t keypoints = 0, bytes = 0, other_bytes = 0;
};

using Key = std::tuple<int, float, float>;

/// Keypoints and their values are equal; bytes of descriptors that are not are listed.
void compare(const BinaryFeatures& mine, const std::vector<cv::KeyPoint>& theirs,
             const cv::Mat& descriptors, Compared& sum) {
  std::map<Key, int> at;
  for (std::size_t i = 0; i < theirs.size(); ++i)
    at[{theirs[i].octave, theirs[i].pt.x, theirs[i].pt.y}] = static_cast<int>(i);
  ASSERT_EQ(at.size(), theirs.size());
  ASSERT_EQ(mine.keypoints.size(), theirs.size());
  for (std::size_t i = 0; i < mine.keypoints.size(); ++i) {
    const Keypoint& k = mine.keypoints[i];
    const auto found = at.find({k.octave, k.x, k.y});
    ASSERT_NE(found, at.end()) << k.x << "," << k.y << " of octave " << k.octave;
    const cv::KeyPoint& other = theirs[static_cast<std::size_t>(found->second)];
    ASSERT_EQ(k.size, other.size);
    ASSERT_EQ(k.response, other.response);
    ASSERT_EQ(k.angle, other.angle);
    const std::uint8_t* bytes = descriptors.ptr(found->second);
    std::size_t differ = 0;
    for (int b = 0; b < kBinaryBytes; ++b) differ += mine.descriptor(i)[b] != bytes[b];
    if (differ > 0) {
      std::printf("octave %d, %.2f,%.2f at %.3f degrees: %zu bytes\n", k.octave, k.x, k.y, k.angle,
                  differ);
    }
    sum.other_bytes += differ;
  }
  sum.keypoints += mine.keypoints.size();
  sum.bytes += mine.descriptors.size();
}

void compare(const cv::Mat& picture, const OrbConfig& config, Compared& sum) {
  std::vector<cv::KeyPoint> theirs;
  cv::Mat descriptors;
  peer(config)->detectAndCompute(picture, cv::noArray(), theirs, descriptors);
  compare(ours(picture, config), theirs, descriptors, sum);
}

/// The limit of the work order: 99.9 % of the bytes.
void expect_equal_bytes(const Compared& sum, std::size_t least_keypoints) {
  std::printf("%zu of %zu bytes differ, of %zu keypoints\n", sum.other_bytes, sum.bytes,
              sum.keypoints);
  EXPECT_GE(sum.keypoints, least_keypoints);
  EXPECT_LE(1000 * sum.other_bytes, sum.bytes);
}

class Orb : public test::EveryVersion {};
CUFACE_EVERY_VERSION(Orb);

TEST_P(Orb, EqualsOpenCvOnDrawnPicturesAndSettings) {
  std::mt19937 random(4);
  Compared sum;
  for (int round = 0; round < 24; ++round) {
    const int w = 90 + static_cast<int>(random() % 400), h = 80 + static_cast<int>(random() % 250);
    const unsigned seed = random();
    cv::Mat picture = round % 2 ? test::smooth_noise(w, h, 4, seed) : test::drawn_faces(w, h, seed);
    if (round % 5 == 0) picture = picture / 64 * 64;  // many responses alike
    OrbConfig c;
    c.max_keypoints = round % 3 ? 1 + static_cast<int>(random() % 300) : 1020;
    c.threshold = round % 4 ? 20 : 5;
    c.levels = 1 + static_cast<int>(random() % 9);
    c.scale_factor = round % 3 ? 1.2f : 1.1f + static_cast<float>(random() % 100) / 100;
    c.edge = round % 3 ? 31 : kLeastEdge + static_cast<int>(random() % 20);
    c.score = round % 3 == 2 ? KeypointScore::kFast : KeypointScore::kHarris;
    compare(picture, c, sum);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
  expect_equal_bytes(sum, 3'000);
}

TEST_P(Orb, EqualsOpenCvOnNaturalPictures) {
  CUFACE_NEEDS_DATA();
  Compared sum;
  for (const char* name : {"scenes/astronaut.png", "scenes/multi_face.jpg", "dlib/2007_007763.jpg",
                           "dlib/2009_004587.jpg", "helen/296814969_3_0.jpg"}) {
    const cv::Mat picture = test::natural(name, 1280);
    ASSERT_FALSE(picture.empty()) << name;
    compare(picture, {}, sum);
    if (HasFatalFailure()) FAIL() << name;
  }
  expect_equal_bytes(sum, 4'000);
}

// A regular pattern: all corners of a level are equal, and all of them stay.
TEST_P(Orb, KeepsAllThatEqualTheLast) {
  cv::Mat dots(400, 500, CV_8U, cv::Scalar(40));
  for (int y = 8; y < 400; y += 16) {
    for (int x = 8; x < 500; x += 16) dots.at<std::uint8_t>(y, x) = 200;
  }
  for (const KeypointScore score : {KeypointScore::kHarris, KeypointScore::kFast}) {
    OrbConfig c;
    c.max_keypoints = 10;
    c.levels = 1;
    c.score = score;
    Compared sum;
    compare(dots, c, sum);
    EXPECT_GT(sum.keypoints, 100u);
  }
}

TEST_P(Orb, DescribesGivenKeypointsAsOpenCv) {
  const cv::Mat picture = test::smooth_noise(320, 240, 5, 3);
  std::mt19937 random(7);
  std::vector<Keypoint> given;
  std::vector<cv::KeyPoint> theirs;
  for (int i = 0; i < 400; ++i) {
    const auto at = [&](int n) { return static_cast<float>(random() % static_cast<unsigned>(n)); };
    Keypoint k;
    k.octave = static_cast<int>(random() % 3);
    k.x = 60 + at(200 * 8) / 8;
    k.y = 60 + at(120 * 8) / 8;
    k.angle = at(3600) / 10;
    k.size = 31;
    given.push_back(k);
    theirs.emplace_back(k.x, k.y, k.size, k.angle, 0.0f, k.octave);
  }
  OrbConfig c;
  c.levels = 3;
  cv::Mat descriptors;
  peer(c)->compute(picture, theirs, descriptors);
  ASSERT_EQ(theirs.size(), given.size());
  Result<OrbDetector> detector = OrbDetector::create(c, picture.cols, picture.rows);
  BinaryFeatures out;
  ASSERT_TRUE(detector.value().describe(test::view_of(picture), given, out).ok());
  ASSERT_EQ(out.keypoints, given);
  Compared sum;
  compare(out, theirs, descriptors, sum);
  expect_equal_bytes(sum, 400);
}

TEST_P(Orb, DescribesItsOwnKeypointsAsItFoundThem) {
  const cv::Mat picture = test::drawn_faces(400, 300, 5);
  const BinaryFeatures found = ours(picture, {});
  Result<OrbDetector> detector = OrbDetector::create({}, picture.cols, picture.rows);
  BinaryFeatures out;
  ASSERT_TRUE(detector.value().describe(test::view_of(picture), found.keypoints, out).ok());
  EXPECT_GT(found.keypoints.size(), 100u);
  EXPECT_EQ(out.keypoints, found.keypoints);
  EXPECT_EQ(out.descriptors, found.descriptors);
}

// Beside FAST's own test: nine neighbours on the circle that are all brighter, or all darker.
TEST_P(Orb, SignsAreThoseOfTheArcs) {
  OrbConfig c;
  c.levels = 1;
  c.max_keypoints = 400;
  const cv::Mat picture = test::smooth_noise(320, 240, 4, 9);
  const BinaryFeatures found = ours(picture, c);
  std::vector<cv::Point> circle;
  for (int y = -3; y <= 3; ++y)
    for (int x = -3; x <= 3; ++x)
      if (std::lround(std::hypot(x, y)) == 3) circle.emplace_back(x, y);
  ASSERT_EQ(circle.size(), 16u);
  std::sort(circle.begin(), circle.end(), [](const cv::Point& a, const cv::Point& b) {
    return std::atan2(a.y, a.x) < std::atan2(b.y, b.x);
  });
  int of_sign[3] = {};
  ASSERT_EQ(found.signs.size(), found.keypoints.size());
  for (std::size_t i = 0; i < found.signs.size(); ++i) {
    const cv::Point at(static_cast<int>(found.keypoints[i].x),
                       static_cast<int>(found.keypoints[i].y));
    const auto has_arc = [&](int side) {
      int run = 0, longest = 0;
      for (std::size_t k = 0; k < 2 * circle.size(); ++k) {
        const int apart =
            picture.at<std::uint8_t>(at + circle[k % circle.size()]) - picture.at<std::uint8_t>(at);
        run = side * apart > c.threshold ? run + 1 : 0;
        longest = std::max(longest, run);
      }
      return longest >= 9;
    };
    ASSERT_EQ(found.signs[i], has_arc(1) ? 1 : -1) << i;
    ASSERT_NE(has_arc(1), has_arc(-1)) << i;
    ++of_sign[found.signs[i] + 1];
  }
  EXPECT_GE(of_sign[0], 50);
  EXPECT_GE(of_sign[2], 50);

  const std::vector<Keypoint> flat = {{.x = 160, .y = 120, .size = 31}};
  BinaryFeatures described;
  auto detector = OrbDetector::create(c, 320, 240);
  const cv::Mat grey(240, 320, CV_8U, cv::Scalar(90));
  ASSERT_TRUE(detector.value().describe(test::view_of(grey), flat, described).ok());
  EXPECT_EQ(described.signs, std::vector<std::int8_t>{0});
}

TEST_P(Orb, LeavesOutGivenKeypointsThatCannotBeDescribed) {
  const cv::Mat picture = test::noise(100, 100, 5);
  Result<OrbDetector> detector = OrbDetector::create({}, 100, 100);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<Keypoint> given(9);
  for (Keypoint& k : given) k.x = k.y = 50;
  given[0].x = 21;  // too near to a side
  given[1].y = 78;
  given[2].octave = 8;  // no such level
  given[3].octave = -1;
  given[4].x = nan;
  given[5].angle = nan;
  given[6].y = 1e30f;
  given[7].angle = 400;
  BinaryFeatures out;
  ASSERT_TRUE(detector.value().describe(test::view_of(picture), given, out).ok());
  EXPECT_EQ(out.keypoints, std::vector<Keypoint>{given[8]});
  EXPECT_EQ(out.descriptors.size(), std::size_t{kBinaryBytes});
  given.resize(kMostKeypoints + 1);
  EXPECT_EQ(detector.value().describe(test::view_of(picture), given, out).code(),
            StatusCode::kInvalidArgument);
}

TEST_P(Orb, UprightKeypointsAreTheSameOnesUnturned) {
  const cv::Mat picture = test::drawn_faces(400, 300, 5);
  OrbConfig c;
  c.upright = true;
  const BinaryFeatures upright = ours(picture, c);
  BinaryFeatures turned = ours(picture, {});
  for (Keypoint& k : turned.keypoints) k.angle = 0;
  EXPECT_EQ(upright.keypoints, turned.keypoints);
  EXPECT_NE(upright.descriptors, turned.descriptors);
  std::vector<cv::KeyPoint> theirs;
  for (const Keypoint& k : upright.keypoints)
    theirs.emplace_back(k.x, k.y, k.size, 0.0f, k.response, k.octave);
  cv::Mat descriptors;
  peer(c)->compute(picture, theirs, descriptors);
  Compared sum;
  compare(upright, theirs, descriptors, sum);
  expect_equal_bytes(sum, 100);
}

TEST_P(Orb, PicturesWithoutCornersHaveNoKeypoints) {
  for (const int side : {1, 44, 62, 63, 300}) {
    for (const int grey : {0, 255})
      EXPECT_TRUE(ours(cv::Mat(side, side, CV_8U, cv::Scalar(grey)), {}).keypoints.empty());
  }
  EXPECT_TRUE(ours(test::noise(62, 400, 3), {}).keypoints.empty()) << "all within the edge";
  EXPECT_FALSE(ours(test::noise(70, 400, 3), {}).keypoints.empty());
}

TEST_P(Orb, AllocatesNothingForLaterPictures) {
  const cv::Mat first = test::noise(400, 300, 3), second = test::drawn_faces(400, 300, 4);
  OrbConfig c;
  c.max_keypoints = 100;  // noise has more than that, so the other picture's fit too
  Result<OrbDetector> detector = OrbDetector::create(c, 400, 300);
  BinaryFeatures out;
  ASSERT_TRUE(detector.value().run(test::view_of(first), out).ok());
  EXPECT_GE(out.keypoints.size(), 90u);
  const long before = test::allocations;
  for (const cv::Mat& picture : {second, first, second})
    EXPECT_TRUE(detector.value().run(test::view_of(picture), out).ok());
  EXPECT_EQ(test::allocations, before);
}

TEST_P(Orb, StopsWhenItIsTold) {
  const cv::Mat picture = test::noise(100, 100, 1);
  Result<OrbDetector> detector = OrbDetector::create({}, 100, 100);
  StopFlag stop;
  stop.raise();
  BinaryFeatures out;
  EXPECT_EQ(detector.value().run(test::view_of(picture), out, &stop).code(),
            StatusCode::kCancelled);
  EXPECT_EQ(detector.value().describe(test::view_of(picture), {}, out, &stop).code(),
            StatusCode::kCancelled);
}

class OrbVectors : public test::EveryVersion {};
CUFACE_EVERY_VECTOR_VERSION(OrbVectors);

TEST_P(OrbVectors, HaveTheReferencesBits) {
  std::size_t keypoints = 0;
  for (int round = 0; round < 6; ++round) {
    const cv::Mat whole = round % 2 ? test::noise(350 + round, 200, round)
                                    : test::drawn_faces(300, 190 + round, round);
    const cv::Mat picture = whole.colRange(3, whole.cols - round);  // rows with a pitch
    OrbConfig c;
    c.edge = kLeastEdge;
    c.max_keypoints = 400;
    const BinaryFeatures vectors = ours(picture, c);
    const BinaryFeatures plain = test::plainly([&] { return ours(picture, c); });
    ASSERT_EQ(vectors.keypoints, plain.keypoints);
    ASSERT_EQ(vectors.descriptors, plain.descriptors);
    keypoints += plain.keypoints.size();
  }
  EXPECT_GT(keypoints, 1'500u);
}

TEST_P(OrbVectors, HaveRoomForTheMostKeypoints) {
  OrbConfig c;
  c.max_keypoints = kMostKeypoints;
  c.threshold = 0;
  c.levels = 2;
  const cv::Mat picture = test::noise(1500, 900, 3);
  const BinaryFeatures out = ours(picture, c);
  EXPECT_EQ(out.keypoints.size(), std::size_t{kMostKeypoints});
  c.levels = 1;
  c.max_keypoints = 1;
  c.score = KeypointScore::kFast;  // hundreds of corners have the highest score
  const BinaryFeatures few = ours(picture, c);
  for (const Keypoint& k : few.keypoints) EXPECT_EQ(k.response, few.keypoints[0].response);
}

TEST(OrbConfigs, ThatMakeNoSenseAreRefused) {
  const auto code = [](auto change, int width = 64, int height = 64) {
    OrbConfig c;
    change(c);
    return OrbDetector::create(c, width, height).status().code();
  };
  const auto none = [](OrbConfig&) {};
  EXPECT_EQ(code(none), StatusCode::kOk);
  EXPECT_EQ(code(none, 1, 1), StatusCode::kOk);
  EXPECT_EQ(code(none, 0, 1), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(none, 1, 32769), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](OrbConfig& c) { c.max_keypoints = 0; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](OrbConfig& c) { c.max_keypoints = 65536; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](OrbConfig& c) { c.threshold = 256; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](OrbConfig& c) { c.levels = 0; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](OrbConfig& c) { c.levels = 33; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](OrbConfig& c) { c.scale_factor = 1; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](OrbConfig& c) { c.scale_factor = std::nanf(""); }),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](OrbConfig& c) { c.edge = 21; }), StatusCode::kInvalidArgument);

  Result<OrbDetector> detector = OrbDetector::create({}, 100, 100);
  BinaryFeatures out;
  const cv::Mat other = test::noise(99, 100, 1);
  EXPECT_EQ(detector.value().run(test::view_of(other), out).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
