// The tracker follows known motion and natural clips, exactly, in its own memory, and refuses what
// it cannot do.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <opencv2/imgproc.hpp>
#include <opencv2/objdetect.hpp>
#include <set>

#include "kernels/track/loss_rules.h"
#include "kernels/track/track.h"
#include "tests/clip.h"
#include "tests/data.h"
#include "tests/kernels/allocations.h"
#include "tests/kernels/track_world.h"

namespace cuface {
namespace {

TEST(Track, FollowsAKnownMotion) {
  const World world;
  Session session;
  float worst = 0;
  for (int f = 0; f < 40; ++f) {
    const Pose pose{120 + 1.7 * f, 100 + 12 * std::sin(0.2 * f), 1 + 0.006 * f, 0.01 * f};
    const cv::Mat frame = world.render({pose});
    const FaceList found = detections({box_of(pose)});
    const TrackOutput& out = session.step(frame, f == 0 ? &found : nullptr);
    ASSERT_EQ(out.faces.faces.size(), 1u) << f;
    const Face& face = out.faces.faces[0];
    EXPECT_EQ(face.id, 1u);
    EXPECT_EQ(face.age, f);
    EXPECT_EQ(face.origin, f == 0 ? Origin::kDetected : Origin::kTracked);
    EXPECT_EQ(face.neighbors, f == 0 ? 17 : -1);
    EXPECT_GT(face.confidence, 0.5f);
    EXPECT_LE(face.confidence, 1.0f);
    EXPECT_EQ(out.faces.detector, "haarcascade_frontalface_alt");
    worst = std::max(worst, box_error(face.box, box_of(pose)));
  }
  EXPECT_LT(worst, 1.0f);
}

TEST(Track, MovesLandmarksThatComeWithTheDetection) {
  const World world;
  Session session;
  std::vector<Point> in_face;
  for (int i = 0; i < 68; ++i) {
    in_face.push_back({-25.0f + 50.0f * static_cast<float>(i % 9) / 8,
                       -25.0f + 50.0f * static_cast<float>(i / 9) / 8});
  }
  for (int f = 0; f < 20; ++f) {
    const Pose pose{140 + 1.3 * f, 120 - 0.8 * f, 1, 0.012 * f};
    const Similarity truth{std::cos(pose.angle), std::sin(pose.angle), pose.x - 0.5, pose.y - 0.5};
    FaceList found = detections({box_of(pose)});
    found.landmarks_per_face = 68;
    for (const Point& p : in_face) found.landmarks.push_back(truth.apply(p));
    const TrackOutput& out = session.step(world.render({pose}), f == 0 ? &found : nullptr);
    ASSERT_EQ(out.faces.faces.size(), 1u);
    ASSERT_EQ(out.faces.landmarks_per_face, 68);
    ASSERT_EQ(out.faces.landmarks.size(), 68u);
    for (std::size_t i = 0; i < in_face.size(); ++i) {
      const Point expected = truth.apply(in_face[i]), got = out.faces.landmarks[i];
      EXPECT_LT(std::hypot(expected.x - got.x, expected.y - got.y), 1.0f) << f << " " << i;
    }
  }
}

TEST(Track, FollowsLandmarksThatAreFedBack) {
  const World world;
  Session session;
  FaceList fed;
  for (int f = 0; f < 25; ++f) {
    const Pose pose{140 + 1.3 * f, 120 - 0.8 * f, 1 + 0.004 * f};
    const FaceList found = detections({box_of(pose)});
    const TrackOutput& out =
        session.step(world.render({pose}), f == 0 ? &found : nullptr, f == 0 ? nullptr : &fed);
    ASSERT_EQ(out.faces.faces.size(), 1u);
    EXPECT_EQ(out.faces.landmarks_per_face, 0);
    EXPECT_LT(box_error(out.faces.faces[0].box, box_of(pose)), 1.0f);
    fed = out.faces;
    fed.landmarks_per_face = 5;
    const Box b = box_of(pose);
    fed.landmarks = {{b.x + 20, b.y + 20},
                     {b.x + 60, b.y + 22},
                     {b.x + 40, b.y + 40},
                     {b.x + 25, b.y + 60},
                     {b.x + 55, b.y + 61}};
  }
}

// What is passed on to the landmarks behind the tracker: where the picture has carried those of the
// frame before, also where a search has found the face again; nothing for a face without.
TEST(Track, SaysWhereLandmarksFedBackHaveGone) {
  const World world;
  Session session;
  const std::vector<Point> in_face = {{-20, -18}, {20, -16}, {0, 2}, {-14, 20}, {15, 21}};
  const auto points_of = [&](const Pose& pose) {
    std::vector<Point> points;
    const Similarity truth{pose.scale * std::cos(pose.angle), pose.scale * std::sin(pose.angle),
                           pose.x - 0.5, pose.y - 0.5};
    for (const Point& p : in_face) points.push_back(truth.apply(p));
    return points;
  };
  FaceList fed;
  for (int f = 0; f < 20; ++f) {
    const Pose pose{120 + 2.3 * f, 120 - 0.8 * f, 1, 0.01 * f}, other{70, 60, 0.8};
    const bool both = f >= 10, searched = f % 5 == 0;
    const cv::Mat frame = world.render(both ? std::vector{pose, other} : std::vector{pose});
    const FaceList found =
        detections(both ? std::vector{box_of(pose), box_of(other)} : std::vector{box_of(pose)});
    const FaceList& list =
        session.step(frame, searched ? &found : nullptr, f ? &fed : nullptr).faces;
    ASSERT_EQ(list.faces.size(), both ? 2u : 1u) << f;
    EXPECT_EQ(list.landmarks_per_face, 0);
    ASSERT_EQ(list.followed_per_face, f ? 5 : 0);
    ASSERT_EQ(list.followed.size(), list.faces.size() * static_cast<std::size_t>(f ? 5 : 0));
    const auto truth = points_of(pose);
    for (std::size_t i = 0; i < list.followed.size(); ++i) {
      const Point got = list.followed[i];
      if (i < 5) {
        EXPECT_LT(std::hypot(got.x - truth[i].x, got.y - truth[i].y), 0.3f) << f << " " << i;
      } else {
        EXPECT_TRUE(std::isnan(got.x) && std::isnan(got.y)) << "it has no landmarks";
      }
    }
    fed = list;
    fed.faces.resize(1);
    fed.landmarks_per_face = 5;
    fed.landmarks = truth;
  }
  EXPECT_EQ(session.step(world.render({{120 + 2.3 * 20, 104}})).faces.followed_per_face, 0)
      << "nothing was fed back";
}

TEST(Track, TwoRunsGiveTheSameBytes) {
  const World world;
  Session a, b;
  for (int f = 0; f < 40; ++f) {
    const std::vector<Pose> poses = {{60 + 3.1 * f, 100}, {220 - 1.0 * f, 150, 1 + 0.004 * f}};
    const cv::Mat frame = world.render(poses);
    const FaceList found = detections({box_of(poses[0]), box_of(poses[1])});
    const FaceList* told = f % 10 == 0 ? &found : nullptr;
    const TrackOutput& x = a.step(frame, told);
    const TrackOutput& y = b.step(frame, told);
    ASSERT_EQ(x.faces.faces.size(), y.faces.faces.size());
    for (std::size_t i = 0; i < x.faces.faces.size(); ++i) {
      EXPECT_EQ(std::memcmp(&x.faces.faces[i].box, &y.faces.faces[i].box, sizeof(Box)), 0);
      EXPECT_EQ(x.faces.faces[i].id, y.faces.faces[i].id);
      EXPECT_EQ(x.faces.faces[i].confidence, y.faces.faces[i].confidence);
    }
  }
}

TEST(Track, AllocatesNothingInSteadyState) {
  const World world;
  Session session;
  int frames = 0, counted = 0;
  for (int f = 0; f < 120; ++f) {
    // One face stays, another comes and goes and comes back.
    std::vector<Pose> poses = {{80 + 0.3 * f, 100}};
    if (f / 15 % 2 == 0) poses.push_back({240 - 0.2 * f, 150});
    const cv::Mat frame = world.render(poses);
    std::vector<Box> boxes;
    for (const Pose& p : poses) boxes.push_back(box_of(p));
    const FaceList found = detections(boxes);
    const long before = test::allocations;
    session.step(frame, f % 5 == 0 ? &found : nullptr);
    if (f < 60) continue;
    counted += test::allocations - before;
    ++frames;
  }
  EXPECT_EQ(counted, 0);
  EXPECT_EQ(frames, 60);
  EXPECT_GT(test::allocations, 100);  // the counter works
}

TEST(Track, BadNumbersLoseTheFaceAndNothingElse) {
  const World world;
  const Pose pose{160, 120};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Session session;
  settle(session, world, pose);
  FaceList fed = session.out.faces;
  fed.landmarks_per_face = 5;
  fed.landmarks.assign(5, Point{nan, nan});
  EXPECT_TRUE(session.step(world.render({pose}), nullptr, &fed).faces.faces.empty());

  const float inf = std::numeric_limits<float>::infinity();
  const FaceList found = detections({{nan, 10, 50, 50},
                                     {10, 10, 0, 50},
                                     {10, 10, 50, -5},
                                     {inf, 10, 50, 50},
                                     {10, 10, inf, 50},
                                     {10, 10, 50, nan}});
  EXPECT_TRUE(session.step(world.render({pose}), &found).faces.faces.empty());
  const FaceList far_away = detections({{1e9f, 1e9f, 50, 50}, {-5000, 10, 60, 60}});
  EXPECT_TRUE(session.step(world.render({pose}), &far_away).faces.faces.empty());
  // Some bad points among good ones do not matter.
  Session other;
  settle(other, world, pose);
  fed = other.out.faces;
  fed.landmarks_per_face = 20;
  for (int i = 0; i < 20; ++i) {
    fed.landmarks.push_back(
        i < 6 ? Point{nan, 1e30f}
              : Point{130 + 3.0f * static_cast<float>(i), 100 + static_cast<float>(i % 5) * 9});
  }
  EXPECT_EQ(other.step(world.render({pose}), nullptr, &fed).faces.faces.size(), 1u);
}

TEST(Track, RefusesWhatItCannotDo) {
  EXPECT_EQ(Tracker::create(Backend::kCuda, {}, 64, 64).status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(Tracker::create(Backend::kCpu, {}, 0, 64).status().code(),
            StatusCode::kInvalidArgument);
  TrackConfig bad;
  bad.min_points = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Tracker::create(Backend::kCpu, bad, 64, 64).status().code(),
            StatusCode::kInvalidArgument);
  bad = {};
  bad.max_faces = 65;
  EXPECT_FALSE(validate(bad).ok());
  bad = {};
  bad.flow.window = 20;
  EXPECT_FALSE(validate(bad).ok());
  EXPECT_TRUE(validate(TrackConfig{}).ok());

  auto tracker = Tracker::create(Backend::kCpu, {}, 64, 48);
  ASSERT_TRUE(tracker.ok());
  TrackOutput out;
  TrackInput input;
  input.pyramid = std::make_shared<GaussianPyramid>(64, 47);
  EXPECT_EQ(tracker.value()->enqueue(input, out).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(tracker.value()->enqueue({}, out).code(), StatusCode::kInvalidArgument);
}

TEST(Track, ConfigureWhileRunningKeepsTheTracks) {
  const World world;
  const Pose pose{160, 120};
  Session session;
  settle(session, world, pose);
  TrackConfig config;
  config.flow.window = 15;
  config.flow.levels = 4;
  config.forward_backward = 0.7f;
  ASSERT_TRUE(session.tracker->configure(config).ok());
  const Pose next{162.5, 121};
  const TrackOutput& out = session.step(world.render({next}));
  ASSERT_EQ(out.faces.faces.size(), 1u);
  EXPECT_EQ(out.faces.faces[0].id, 1u);
  EXPECT_LT(box_error(out.faces.faces[0].box, box_of(next)), 0.5f);
  config.flow.window = 4;
  EXPECT_FALSE(session.tracker->configure(config).ok());
  EXPECT_EQ(session.step(world.render({next})).faces.faces.size(), 1u);
}

TEST(Track, KeepsThePyramidUntilTheNextFrame) {
  const World world;
  Session session;
  std::shared_ptr<GaussianPyramid> previous;
  int followed = 0;
  for (int f = 0; f < 20; ++f) {
    const Pose pose{120 + 1.7 * f, 100.0 + f, 1, 0.01 * f};
    const auto pyramid = pyramid_of(world.render({pose}));
    const FaceList found = detections({box_of(pose)});
    session.step(pyramid, f == 0 ? &found : nullptr);
    ASSERT_EQ(session.out.faces.faces.size(), 1u);
    followed += session.out.faces.faces[0].origin == Origin::kTracked;
    EXPECT_EQ(pyramid.use_count(), 2) << "held for the next frame";
    if (previous) {
      EXPECT_EQ(previous.use_count(), 1) << "and no longer";
    }
    previous = pyramid;
  }
  EXPECT_EQ(followed, 19);
  const auto flat = pyramid_of(cv::Mat(kHeight, kWidth, CV_8U, cv::Scalar(90)));
  EXPECT_EQ(session.step(flat).lost, 1);
  EXPECT_EQ(previous.use_count(), 1);
  EXPECT_EQ(flat.use_count(), 1) << "nothing is held for no track";
}

// A second tracker reads the pyramid that the first has read, and nothing of it is made again.
TEST(Track, TrackersShareAPyramid) {
  const World world;
  Session first, second;
  for (int f = 0; f < 10; ++f) {
    const Pose pose{120 + 1.7 * f, 100.0 + f};
    const auto pyramid = pyramid_of(world.render({pose}));
    const FaceList found = detections({box_of(pose)});
    const Box box = first.step(pyramid, f == 0 ? &found : nullptr).faces.faces.at(0).box;
    const int made = pyramid->tiles_made();
    EXPECT_EQ(made > 0, f > 0) << "a picture without a track is not looked at";
    const TrackOutput& out = second.step(pyramid, f == 0 ? &found : nullptr);
    EXPECT_EQ(pyramid->tiles_made(), made);
    EXPECT_EQ(std::memcmp(&out.faces.faces.at(0).box, &box, sizeof box), 0);
  }
}

TEST(Track, TinyPicturesAreNoCrash) {
  for (const auto& [w, h] : {std::pair{1, 1}, {2, 90}, {30, 9}}) {
    auto tracker = Tracker::create(Backend::kCpu, {}, w, h);
    ASSERT_TRUE(tracker.ok());
    Image<std::uint8_t> picture(w, h);
    for (int y = 0; y < h; ++y)
      std::memset(picture.view().row(y), y * 37, static_cast<std::size_t>(w));
    FaceList found = detections({{0, 0, static_cast<float>(w), static_cast<float>(h)}});
    TrackOutput out;
    for (int f = 0; f < 5; ++f) {
      TrackInput input;
      input.pyramid = std::make_shared<GaussianPyramid>(w, h);
      input.pyramid->build(picture.view());
      input.faces = f % 2 ? nullptr : &found;
      EXPECT_TRUE(tracker.value()->enqueue(input, out).ok());
    }
  }
}

/// What a detector sees on the first frame of a clip.
std::vector<Box> find_faces(cv::CascadeClassifier& cascade, const cv::Mat& frame) {
  std::vector<cv::Rect> boxes;
  cascade.detectMultiScale(frame, boxes, 1.1, 3);
  std::vector<Box> faces;
  for (const cv::Rect& b : boxes) {
    faces.push_back({static_cast<float>(b.x), static_cast<float>(b.y), static_cast<float>(b.width),
                     static_cast<float>(b.height)});
  }
  return faces;
}

TEST(Track, CutsBetweenNaturalClipsAreLosses) {
  CUFACE_NEEDS_DATA();
  cv::CascadeClassifier cascade(std::string(test::kCascadeDir) +
                                "/haarcascade_frontalface_alt.xml");
  ASSERT_FALSE(cascade.empty());
  const std::string folder = test::data_dir() + "/videos/";
  const std::vector<cv::Mat> one = test::read_clip(folder + "book.mkv", 640, 480, 40);
  const std::vector<cv::Mat> two = test::read_clip(folder + "sister.mkv", 640, 480, 40);
  ASSERT_GE(std::min(one.size(), two.size()), 40u);
  int cuts = 0;
  for (const auto& [from, to] : {std::pair{one, two}, std::pair{two, one}}) {
    for (std::size_t f = 0; f + 1 < from.size(); f += 13) {
      const FaceList found = detections(find_faces(cascade, from[f]));
      ASSERT_EQ(found.faces.size(), 1u);
      for (std::size_t t = 0; t < to.size(); t += 6) {
        Session session({}, 640, 480);
        session.step(from[f], &found);
        ASSERT_EQ(session.step(from[f + 1]).faces.faces.size(), 1u);
        EXPECT_EQ(session.step(to[t]).faces.faces.size(), 0u) << f << " " << t;
        ++cuts;
      }
    }
  }
  EXPECT_GE(cuts, 40);
}

/// The sample clip with a search every 10 frames, the tracker's own points.
TEST(Track, TheSampleClipIsOneFaceWithoutABlink) {
  CUFACE_NEEDS_DATA();
  cv::CascadeClassifier cascade(std::string(test::kCascadeDir) +
                                "/haarcascade_frontalface_alt.xml");
  ASSERT_FALSE(cascade.empty());
  const auto frames =
      test::read_clip(test::data_dir() + "/videos/WolfgangLanger_Pexels.mp4", 640, 360, 1000);
  ASSERT_EQ(frames.size(), 472u);
  Session session({}, 640, 360);
  std::set<std::uint64_t> ids;
  int with_face = 0, appearances = 0;
  bool nothing_found = false, before = false;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const bool search = f % 10 == 0 || nothing_found || session.out.search_wanted;
    FaceList found;
    if (search) {
      found = detections(find_faces(cascade, frames[f]));
      nothing_found = found.faces.empty();
    }
    const TrackOutput& out = session.step(frames[f], &found, nullptr, 1 / 23.976);
    for (const Face& face : out.faces.faces) ids.insert(face.id);
    const bool here = !out.faces.faces.empty();
    with_face += here;
    appearances += here && !before;
    before = here;
  }
  EXPECT_GE(with_face, 453);  // 95.8 %, the trial's
  EXPECT_EQ(appearances, 1);  // so no blink either
  EXPECT_EQ(ids.size(), 1u);
}

}  // namespace
}  // namespace cuface
