// A flat object that is found, followed, covered, lost and found again, beside the truth of made
// views; and what is found of OpenCV's box in its scene.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <utility>
#include <vector>

#include "kernels/planar/followed.h"
#include "kernels/planar/objects.h"
#include "kernels/planar/view.h"
#include "tests/planar_video.h"

namespace cuface {
namespace {

using test::features_of;
using test::view_of;
using Video = test::PlanarVideo;

cv::Mat scene(const cv::Mat& object, const test::View& view, unsigned seed) {
  cv::Mat frame = test::poster(77, test::kSceneWidth, test::kSceneHeight);
  test::lay(frame, object, test::map_of(view, object.size()));
  test::expose(frame, 1, 0, 0.5, 2, seed);
  return frame;
}

/// The largest distance of a corner from where it is.
double error_of(const PlanarPose& pose, const test::View& view, const cv::Mat& object) {
  const cv::Matx33d map = test::map_of(view, object.size());
  double most = 0;
  for (int k = 0; k < 4; ++k) {
    const cv::Point2d is = test::carried(map, k == 1 || k == 2 ? object.cols - 0.5 : -0.5,
                                         k >= 2 ? object.rows - 0.5 : -0.5);
    most = std::max(most, cv::norm(is - cv::Point2d(pose.corners[k].x, pose.corners[k].y)));
  }
  return most;
}

TEST(Planar, IsFoundThenFollowed) {
  const cv::Mat object = test::poster(3);
  Video video(std::vector{object});
  int followed = 0;
  for (int n = 0; n < 40; ++n) {
    test::View view;
    view.scale = 0.8 + 0.005 * n;
    view.roll = 20 + n;
    view.tilt = 25;
    view.towards = 40;
    view.x += 4 * n - 80;
    const PlanarPose& pose = video.next(scene(object, view, static_cast<unsigned>(n)));
    ASSERT_TRUE(pose.visible) << n;
    EXPECT_EQ(pose.found, n == 0);
    EXPECT_LT(error_of(pose, view, object), 1.5) << n;
    EXPECT_GE(pose.inliers, 20);
    EXPECT_EQ(pose.map.m[8], 1);
    followed += !pose.found;
  }
  EXPECT_EQ(followed, 39);
  EXPECT_EQ(video.id(0), 1u);
}

TEST(Planar, IsFoundAgainWithItsId) {
  const cv::Mat object = test::poster(3), other = test::poster(4);
  const cv::Mat empty = test::poster(77, test::kSceneWidth, test::kSceneHeight);
  Video video({other, object});
  test::View view;
  view.scale = 0.9;
  const cv::Mat there = scene(object, view, 1);
  EXPECT_FALSE(video.next(there).visible) << "the other one is not there";
  ASSERT_TRUE(video.pose(1).visible);
  EXPECT_EQ(video.id(1), 1u) << "the first that is found";
  video.next(empty);
  EXPECT_FALSE(video.pose(1).visible);
  view.x = 200;
  view.roll = 100;
  video.next(scene(object, view, 2));
  ASSERT_TRUE(video.pose(1).visible);
  EXPECT_TRUE(video.pose(1).found);
  EXPECT_EQ(video.id(1), 1u);
  EXPECT_LT(error_of(video.pose(1), view, object), 0.7);
  EXPECT_EQ(video.id(0), 0u);
  // Now both are there.
  cv::Mat both = there.clone();
  test::View small;
  small.scale = 0.7;
  small.x = 120;
  small.y = 390;
  test::lay(both, other, test::map_of(small, other.size()));
  video.next(both);
  ASSERT_TRUE(video.pose(0).visible);
  EXPECT_EQ(video.id(0), 2u);
}

TEST(Planar, KnowsItByTheFortyPercentThatAreNotCovered) {
  const cv::Mat object = test::poster(5), cover = test::poster(6, 192, 300);
  Video video(std::vector{object});
  test::View view;
  for (int n = 0; n < 30; ++n) {
    cv::Mat frame = scene(object, view, static_cast<unsigned>(n));
    const cv::Matx33d map = test::map_of(view, object.size());
    const double until = std::min(0.6, 0.03 * n) * object.cols;
    test::lay(frame, cover, map * cv::Matx33d(1, 0, until - cover.cols, 0, 1, -30, 0, 0, 1));
    const PlanarPose& pose = video.next(frame);
    ASSERT_TRUE(pose.visible) << n;
    EXPECT_EQ(pose.found, n == 0) << n;
  }
}

/// At rest the corners stay: no error adds up, and noise moves them little.
TEST(Planar, RestsWhereTheObjectRests) {
  const cv::Mat object = test::poster(8);
  test::View view;
  view.scale = 0.7;
  view.tilt = 20;
  Video video(std::vector{object});
  std::vector<cv::Point2d> corners;
  for (unsigned n = 0; n < 60; ++n) {
    const PlanarPose& pose = video.next(scene(object, view, n));
    ASSERT_TRUE(pose.visible);
    corners.emplace_back(pose.corners[0].x, pose.corners[0].y);
  }
  cv::Point2d mean, early, late;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    mean += corners[i] / 60;
    if (i < 20) early += corners[i] / 20;
    if (i >= 40) late += corners[i] / 20;
  }
  double squares = 0;
  for (const cv::Point2d& c : corners) squares += (c - mean).dot(c - mean) / 60;
  EXPECT_LT(std::sqrt(squares), 0.1);
  EXPECT_GT(squares, 0) << "there is noise";
  EXPECT_LT(cv::norm(early - late), 0.05);
}

TEST(Planar, LightDoesNotMatter) {
  const cv::Mat object = test::poster(9);
  test::View view;
  view.tilt = 15;
  Video video(std::vector{object});
  for (int n = 0; n < 24; ++n) {
    cv::Mat frame = scene(object, view, static_cast<unsigned>(n));
    const double gain = 0.6 + 0.03 * n;
    test::expose(frame, gain, 20 - n, 0, 0, 0);
    const PlanarPose& pose = video.next(frame);
    ASSERT_TRUE(pose.visible) << n;
    EXPECT_LT(error_of(pose, view, object), 0.5) << n;
  }
}

TEST(Planar, NothingIsFoundWhereItIsNot) {
  Video video({test::poster(10), cv::Mat(200, 300, CV_8U, cv::Scalar(128))});
  for (unsigned seed = 300; seed < 330; ++seed) {
    video.next(test::poster(seed, test::kSceneWidth, test::kSceneHeight));
    EXPECT_FALSE(video.pose(0).visible) << seed;
    EXPECT_FALSE(video.pose(1).visible) << "without keypoints it is never found";
  }
}

/// Seen from behind, a picture is another one.
TEST(Planar, AMirroredPictureIsNotIt) {
  const cv::Mat object = test::poster(11);
  cv::Mat mirrored;
  cv::flip(object, mirrored, 1);
  Video video(std::vector{object});
  EXPECT_FALSE(video.next(scene(mirrored, {}, 1)).visible);
  EXPECT_TRUE(video.next(scene(object, {}, 2)).visible);
}

TEST(Planar, TwoAlikeAreBothFound) {
  const cv::Mat object = test::poster(12);
  Video video({object, object});
  ASSERT_TRUE(video.next(scene(object, {}, 1)).visible);
  ASSERT_TRUE(video.pose(1).visible);
  EXPECT_EQ(video.id(0), 1u);
  EXPECT_EQ(video.id(1), 2u);
  EXPECT_LT(cv::norm(cv::Point2f(video.pose(0).corners[2].x, video.pose(0).corners[2].y) -
                     cv::Point2f(video.pose(1).corners[2].x, video.pose(1).corners[2].y)),
            0.5);
}

TEST(Planar, APictureLargerThanTheFrameIsFound) {
  const cv::Mat object = test::poster(13, 1280, 960);
  test::View view;
  view.scale = 0.35;
  view.tilt = 10;
  Video video(std::vector{object});
  const PlanarPose& pose = video.next(scene(object, view, 1));
  ASSERT_TRUE(pose.visible);
  EXPECT_LT(error_of(pose, view, object), 1);
}

TEST(Planar, GivesTheSameBytesTwice) {
  const test::PlanarClip clip(1);
  Video a(clip.objects), b(clip.objects);
  for (int n = test::PlanarClip::kRest - 1; n < test::PlanarClip::kRest + 20; ++n) {
    const cv::Mat frame = clip.frame(n);
    a.next(frame);
    b.next(frame);
    for (std::size_t i = 0; i < 3; ++i)
      ASSERT_EQ(std::memcmp(&a.pose(i).map, &b.pose(i).map, sizeof(Homography)), 0);
  }
}

TEST(Planar, KeypointsOfOthersAreTaken) {
  const cv::Mat object = test::poster(14), frame = scene(object, {}, 1);
  const Features none, some = features_of(frame);
  Video video(std::vector{object});
  EXPECT_FALSE(video.next(frame, &none).visible);
  EXPECT_TRUE(video.next(frame, &some).visible);
}

// The border of 31 pixels that ORB leaves out is as wide as the picture is high.
TEST(Planar, FindsALowPicture) {
  const cv::Mat low = test::poster(14)(cv::Rect(0, 40, 320, 62)).clone();
  Video video(std::vector{low});
  const PlanarPose& pose = video.next(scene(low, {}, 1));
  ASSERT_TRUE(pose.visible);
  EXPECT_LT(error_of(pose, {}, low), 1);
}

TEST(Planar, SearchesAsOftenAsAsked) {
  const cv::Mat object = test::poster(14);
  const cv::Mat empty = test::poster(77, test::kSceneWidth, test::kSceneHeight);
  PlanarSearchConfig config;
  config.interval = 5;
  Video video(std::vector{object}, config);
  EXPECT_FALSE(video.next(empty).visible);
  for (unsigned n = 1; n < 8; ++n) EXPECT_EQ(video.next(scene(object, {}, n)).visible, n >= 5) << n;
}

TEST(PlanarView, DrawsWhatOpenCvDraws) {
  const cv::Mat object = test::poster(15);
  GaussianPyramid picture(object.cols, object.rows);
  picture.build(view_of(object));
  int compared = 0;
  for (const double tilt : {0.0, 30.0, 50.0}) {
    test::View view;
    view.tilt = tilt;
    view.roll = 33;
    const cv::Matx33d map = test::map_of(view, object.size());
    cv::Mat theirs;
    cv::warpPerspective(object, theirs, cv::Mat(map), {640, 480}, cv::INTER_LINEAR);
    Homography h;
    std::memcpy(h.m, map.val, sizeof h.m);
    Image<std::uint8_t> seen(640, 480);
    for (int x = 240; x < 400; x += 20) {
      const planar::Square square = planar::square_around({static_cast<float>(x), 240}, 15);
      ASSERT_TRUE(planar::draw(picture, planar::inverse(h), square, 0, seen.view()));
      for (int v = square.y; v < square.y + 15; ++v) {
        for (int u = square.x; u < square.x + 15; ++u) {
          // OpenCV's places have steps of 1/32 pixel.
          ASSERT_NEAR(seen.view().at(u, v), theirs.at<std::uint8_t>(v, u), 12) << u << " " << v;
          ++compared;
        }
      }
    }
    EXPECT_FALSE(planar::draw(picture, planar::inverse(h), {5, 5, 15}, 0, seen.view()));
  }
  EXPECT_GT(compared, 5'000);
}

TEST(PlanarView, LikenessIsTheCorrelationCoefficient) {
  const cv::Mat a = test::poster(16, 64, 64), b = test::poster(17, 64, 64);
  int alike = 0;
  for (int round = 0; round < 200; ++round) {
    const cv::Rect part(round % 45, round / 5, 19, 19);
    cv::Mat mixed;
    cv::addWeighted(a, 0.02 * (round % 50), b, 1 - 0.02 * (round % 50), 3, mixed);
    cv::Mat r;
    cv::matchTemplate(a(part), mixed(part), r, cv::TM_CCOEFF_NORMED);
    const planar::Likeness like =
        planar::compare(view_of(a), view_of(mixed), {part.x, part.y, 19}, 0);
    if (std::abs(r.at<float>(0) - 0.8) < 1e-4 || like.var_a() == 0 || like.var_b() == 0) continue;
    EXPECT_EQ(like.at_least(0.8), r.at<float>(0) >= 0.8) << round;
    alike += like.at_least(0.8);
  }
  EXPECT_GT(alike, 20);
  EXPECT_LT(alike, 180);
}

TEST(PlanarPoints, AreSpread) {
  std::vector<Keypoint> keypoints;
  for (int i = 0; i < 600; ++i)  // most of them, and the strongest, in one corner
    keypoints.push_back({.x = i < 500 ? static_cast<float>(i % 40) : static_cast<float>(i - 300),
                         .y = i < 500 ? static_cast<float>(i / 13) : static_cast<float>(i % 97) * 2,
                         .response = i < 500 ? 100.0f : 1.0f});
  const auto points = planar::spread_points(keypoints, 320, 200, 40);
  ASSERT_EQ(points.size(), 40u);
  EXPECT_GT(std::ranges::count_if(points, [](Point p) { return p.x > 190; }), 10);
  EXPECT_TRUE(planar::spread_points({}, 320, 200, 40).empty());
}

TEST(PlanarSettings, ThatMakeNoSenseAreRefused) {
  const auto code = [](auto change) {
    PlanarSearchConfig c;
    change(c);
    return validate(c).code();
  };
  EXPECT_EQ(code([](PlanarSearchConfig&) {}), StatusCode::kOk);
  EXPECT_EQ(code([](auto& c) { c.planar.points = 7; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](auto& c) { c.planar.least_matches = 4; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](auto& c) { c.planar.least_found = 513; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](auto& c) { c.planar.least_followed = 0; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](auto& c) { c.planar.flow.window = 4; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](auto& c) { c.planar.homography.trials = 0; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](auto& c) { c.features.orb.levels = 0; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](auto& c) { c.match.ratio = 2; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](auto& c) { c.interval = 0; }), StatusCode::kInvalidArgument);
  const cv::Mat tiny(15, 200, CV_8U, cv::Scalar(9));
  EXPECT_EQ(PlanarTracker::create(view_of(tiny), {}, {}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(Planar, AStopEndsIt) {
  const cv::Mat object = test::poster(3), frame = scene(object, {}, 1);
  const Features ours = features_of(object), theirs = features_of(frame);
  GaussianPyramid pyramid(frame.cols, frame.rows);
  pyramid.build(view_of(frame));
  auto objects = PlanarObjects::create({{view_of(object), &ours}}, {});
  ASSERT_TRUE(objects.value().resize(frame.cols, frame.rows).ok());
  StopFlag stop;
  stop.raise();
  EXPECT_EQ(objects.value().step(nullptr, pyramid, &theirs, 0, &stop).code(),
            StatusCode::kCancelled);
  EXPECT_FALSE(objects.value().objects()[0].tracker.pose().visible);
  stop.lower();
  EXPECT_TRUE(objects.value().step(nullptr, pyramid, &theirs, 0, &stop).ok());
  EXPECT_TRUE(objects.value().objects()[0].tracker.pose().visible);
}

/// Debian's opencv-doc has the pictures, in $CUFACE_OPENCV_DOC or where it is installed.
TEST(Planar, FindsOpenCvsBoxInItsScene) {
  const char* set = std::getenv("CUFACE_OPENCV_DOC");
  const std::string folder =
      std::string(set ? set : "/usr/share/doc/opencv-doc") + "/examples/data/";
  if (!std::filesystem::exists(folder + "box.png"))
    GTEST_SKIP() << folder << "box.png is missing: apt-get install opencv-doc";
  const cv::Mat box = cv::imread(folder + "box.png", cv::IMREAD_GRAYSCALE);
  const cv::Mat frame = cv::imread(folder + "box_in_scene.png", cv::IMREAD_GRAYSCALE);
  Video video(std::vector{box}, {}, frame.size());
  const PlanarPose& pose = video.next(frame);
  ASSERT_TRUE(pose.visible);
  // Read from the picture by hand: a corner, and points of its edges. The rest is covered.
  const auto corner = [&](int k) { return cv::Point2d(pose.corners[k].x, pose.corners[k].y); };
  const auto from_edge = [](cv::Point2d a, cv::Point2d b, cv::Point2d p) {
    return std::abs((b - a).cross(p - a)) / cv::norm(b - a);
  };
  EXPECT_LT(cv::norm(corner(0) - cv::Point2d(119, 162)), 4);
  EXPECT_LT(from_edge(corner(0), corner(1), {265, 176}), 4);
  EXPECT_LT(from_edge(corner(0), corner(3), {96, 260}), 4);
  EXPECT_LT(from_edge(corner(2), corner(3), {245, 292}), 6);
  std::printf("box: %d points agree\n", pose.inliers);
}

}  // namespace
}  // namespace cuface
