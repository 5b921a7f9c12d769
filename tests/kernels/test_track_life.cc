// When a track is lost, held, found again or ended, and which id it has.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "kernels/track/loss_rules.h"
#include "kernels/track/track.h"
#include "tests/kernels/track_world.h"

namespace cuface {
namespace {

TEST(Track, IsLostWithinOneFrame) {
  const World world;
  const Pose pose{160, 120};
  World elsewhere;
  elsewhere.background = texture(kWidth, kHeight, 555);
  elsewhere.faces[0] = texture(kSide, kSide, 77);
  cv::Mat covered = world.render({pose});
  cv::rectangle(covered, {110, 70, 100, 100}, cv::Scalar(90), cv::FILLED);
  const std::pair<const char*, cv::Mat> endings[] = {
      {"blank", cv::Mat(kHeight, kWidth, CV_8U, cv::Scalar(128))},
      {"black", cv::Mat(kHeight, kWidth, CV_8U, cv::Scalar(0))},
      {"cut", elsewhere.render({pose})},
      {"gone", world.render({})},
      {"covered", covered}};
  for (const auto& [name, frame] : endings) {
    Session session;
    settle(session, world, pose);
    const TrackOutput& out = session.step(frame);
    EXPECT_EQ(out.faces.faces.size(), 0u) << name;
    EXPECT_EQ(out.lost, 1) << name;
    EXPECT_TRUE(out.search_wanted) << name;
    EXPECT_FALSE(session.step(frame).search_wanted) << name;
  }
}

TEST(Track, IsLostWhenItLeavesTheFrame) {
  const World world;
  Session session;
  int gone_at = -1;
  for (int f = 0; f < 60; ++f) {
    const Pose pose{240 + 3.0 * f, 120};
    const FaceList found = detections({box_of(pose)});
    const TrackOutput& out = session.step(world.render({pose}), f == 0 ? &found : nullptr);
    const float visible = track::visible_fraction(box_of(pose), kWidth, kHeight);
    if (out.faces.faces.empty()) {
      if (gone_at < 0) gone_at = f;
      EXPECT_LT(visible, 0.8f);
    } else {
      EXPECT_EQ(gone_at, -1) << "came back by itself";
      EXPECT_GT(visible, 0.45f);
    }
  }
  EXPECT_GT(gone_at, 15);
}

TEST(Track, ComesBackWithItsIdForAWhile) {
  const World world;
  const Pose pose{160, 120}, near{176, 112, 1.1}, far{60, 60};
  const cv::Mat empty = world.render({});
  struct Case {
    const char* name;
    Pose back;
    int frames_away;
    std::uint64_t id;
  };
  for (const Case& c : {Case{"same place", pose, 10, 1}, Case{"near", near, 60, 1},
                        Case{"far", far, 10, 2}, Case{"late", pose, 100, 2}}) {
    Session session;
    settle(session, world, pose);
    for (int f = 0; f < c.frames_away; ++f) {
      ASSERT_TRUE(session.step(empty, f % 3 == 0 ? &kNothing : nullptr).faces.faces.empty());
    }
    const FaceList found = detections({box_of(c.back)});
    const TrackOutput& out = session.step(world.render({c.back}), &found);
    ASSERT_EQ(out.faces.faces.size(), 1u);
    EXPECT_EQ(out.faces.faces[0].id, c.id) << c.name;
  }
}

// Two trackers see the same pictures; one has frames without a picture between them, and says there
// what it said before.
TEST(Track, WaitsOverFramesWithoutAPicture) {
  const World world;
  Session plain, held;
  int tracked = 0, held_frames = 0, came_back = 0;
  for (int f = 0; f < 40; ++f) {
    // Away for a while; lost with one frame, so that a picture is compared with that before.
    const bool away = f >= 14 && f < 18;
    const Pose pose{100 + 2.0 * f, 120};
    const cv::Mat picture = away ? world.render({}) : world.render({pose});
    const FaceList found = away ? kNothing : detections({box_of(pose)});
    const FaceList* told = f % 4 == 2 || f == 0 ? &found : nullptr;
    FaceList fed = plain.out.faces;
    fed.landmarks_per_face = 1 + f % 2;
    fed.landmarks.clear();
    for (const Face& face : fed.faces)
      for (int i = 0; i < fed.landmarks_per_face; ++i)
        fed.landmarks.push_back({face.box.x + 30, face.box.y + 20 + 20 * static_cast<float>(i)});
    const int gaps = f % 3;
    held.count = plain.count;
    const auto& expected = plain.step(picture, told, &fed, 0.04 * (1 + gaps)).faces;
    const auto& got = held.step(picture, told, &fed, 0.04 * (1 + gaps)).faces;
    EXPECT_EQ(plain.out.lost_by, held.out.lost_by) << f;
    EXPECT_EQ(plain.out.search_wanted, held.out.search_wanted) << f;
    ASSERT_EQ(expected.faces.size(), got.faces.size()) << f;
    EXPECT_EQ(expected.followed.size(), got.followed.size()) << f;
    for (std::size_t i = 0; i < got.faces.size(); ++i) {
      EXPECT_EQ(expected.faces[i].id, got.faces[i].id) << f;
      EXPECT_EQ(expected.faces[i].box, got.faces[i].box) << f;
      EXPECT_EQ(expected.faces[i].confidence, got.faces[i].confidence) << f;
      EXPECT_GE(got.faces[i].age, expected.faces[i].age) << f;
      tracked += got.faces[i].origin == Origin::kTracked;
      came_back += f >= 18 && got.faces[i].id == 1;
    }
    for (int gap = 1; gap <= f % 3; ++gap, ++held_frames) {
      const FaceList before = held.out.faces;
      const TrackOutput& out = held.pass_gap();
      EXPECT_EQ(out.lost, 0);
      EXPECT_FALSE(out.search_wanted);
      EXPECT_FALSE(out.faces.searched);
      ASSERT_EQ(out.faces.faces.size(), before.faces.size());
      for (std::size_t i = 0; i < before.faces.size(); ++i) {
        const Face &was = before.faces[i], &is = out.faces.faces[i];
        EXPECT_EQ(is.id, was.id);
        EXPECT_EQ(is.box, was.box);
        EXPECT_EQ(is.confidence, was.confidence);
        EXPECT_EQ(is.age, was.age + 1);
        EXPECT_EQ(is.neighbors, -1);
        EXPECT_EQ(is.origin, Origin::kTracked);
      }
    }
  }
  EXPECT_GE(tracked, 20);
  EXPECT_GE(held_frames, 30);
  EXPECT_GE(came_back, 10);
}

/// A face that walked to the right at `kSpeed` and was found on every tenth frame.
constexpr double kSpeed = 4;
Pose walked(int frame) { return {60 + kSpeed * frame, 120}; }
void walk(Session& session, const World& world) {
  for (int f = 0; f <= 20; ++f) {
    const FaceList found = detections({box_of(walked(f))});
    const auto& faces = session.step(world.render({walked(f)}), f % 10 ? nullptr : &found).faces;
    ASSERT_EQ(faces.faces.size(), 1u) << f;
  }
}

TEST(Track, IsFoundAgainWhereItsMotionHasTakenIt) {
  const World world;
  const cv::Mat empty = world.render({});
  struct Case {
    const char* name;
    Pose back;
    float revive_motion;
    std::uint64_t id;
  };
  const Pose there = walked(20);
  for (const Case& c :
       {Case{"behind something", walked(45), 3, 1},
        Case{"behind something, but it stays", walked(45), 0, 2}, Case{"turned back", there, 3, 1},
        Case{"gone the other way", walked(-5), 3, 2},
        Case{"went on for a moment only", walked(45), 0.3f, 2},
        Case{"stopped after a moment", walked(31), 0.3f, 1}}) {
    TrackConfig config;
    config.revive_motion = c.revive_motion;
    Session session(config);
    ASSERT_NO_FATAL_FAILURE(walk(session, world));
    for (int f = 21; f < 45; ++f) ASSERT_TRUE(session.step(empty, &kNothing).faces.faces.empty());
    const FaceList found = detections({box_of(c.back)});
    const TrackOutput& out = session.step(world.render({c.back}), &found);
    ASSERT_EQ(out.faces.faces.size(), 1u);
    EXPECT_EQ(out.faces.faces[0].id, c.id) << c.name;
  }
}

// Who passes in front takes the points along: the track is still there, but beside its face.
TEST(Track, WhatCoversAFaceMayDragItsTrackAlong) {
  const World world;
  for (const float revive_motion : {3.0f, 0.0f}) {
    TrackConfig config;
    config.revive_motion = revive_motion;
    Session session(config);
    ASSERT_NO_FATAL_FAILURE(walk(session, world));
    for (int f = 21; f < 40; ++f) {
      const FaceList& faces =
          session.step(world.render({walked(40 - f)}), f == 30 ? &kNothing : nullptr).faces;
      ASSERT_EQ(faces.faces.size(), 1u) << "it follows what it sees";
    }
    const FaceList found = detections({box_of(walked(40))});
    const FaceList& faces = session.step(world.render({walked(40)}), &found).faces;
    ASSERT_FALSE(faces.faces.empty());
    const Face& face = faces.faces.back();
    EXPECT_EQ(face.origin, Origin::kDetected);
    EXPECT_EQ(face.id, revive_motion > 0 ? 1u : 2u);
    if (revive_motion > 0) {
      EXPECT_EQ(faces.faces.size(), 1u);
    }
  }
}

TEST(Track, ADetectionOnTheFrameOfTheLossKeepsTheTrack) {
  const World world;
  World other;  // the face looks wholly different all at once, and nobody asks how it looks
  other.faces[0] = texture(kSide, kSide, 88);
  const Pose pose{160, 120};
  TrackConfig config;
  config.min_correlation = 0;
  Session session(config);
  settle(session, world, pose);
  const FaceList found = detections({box_of(pose)});
  const TrackOutput& out = session.step(other.render({pose}), &found);
  ASSERT_EQ(out.faces.faces.size(), 1u);
  EXPECT_EQ(out.faces.faces[0].id, 1u);
  EXPECT_EQ(out.lost, 0);
}

TEST(Track, IdsNeverRepeat) {
  const World world;
  Session session;
  std::set<std::uint64_t> seen;
  std::uint64_t last = 0;
  for (int round = 0; round < 30; ++round) {
    const Pose pose{round % 2 ? 80.0 : 240.0, 120};
    const FaceList found = detections({box_of(pose)});
    const TrackOutput& out = session.step(world.render({pose}), &found);
    ASSERT_EQ(out.faces.faces.size(), 1u);
    const std::uint64_t id = out.faces.faces[0].id;
    EXPECT_TRUE(seen.insert(id).second) << id;
    EXPECT_GT(id, last);
    last = id;
    if (round % 3 == 0) {
      session.tracker->end_tracks();
    } else {
      for (int f = 0; f < 40; ++f) session.step(world.render({}));
    }
  }
  EXPECT_EQ(seen.size(), 30u);
}

TEST(Track, EndTracksForgetsThePast) {
  const World world;
  const Pose pose{160, 120};
  Session session;
  settle(session, world, pose);
  session.tracker->end_tracks();
  EXPECT_TRUE(session.step(world.render({pose})).faces.faces.empty());
  const FaceList found = detections({box_of(pose)});
  EXPECT_EQ(session.step(world.render({pose}), &found).faces.faces.at(0).id, 2u);
}

TEST(Track, OneMissedSearchIsNoBlinkAndTheNextIsALoss) {
  const World world;
  const Pose pose{160, 120};
  const cv::Mat frame = world.render({pose});
  Session session;
  settle(session, world, pose);
  const TrackOutput& out = session.step(frame, &kNothing);
  ASSERT_EQ(out.faces.faces.size(), 1u);
  EXPECT_EQ(out.faces.faces[0].origin, Origin::kTracked);
  for (int f = 0; f < 20; ++f) ASSERT_EQ(session.step(frame).faces.faces.size(), 1u);
  EXPECT_EQ(session.step(frame, &kNothing).faces.faces.size(), 0u);
  EXPECT_EQ(out.lost_by[static_cast<std::size_t>(Loss::kMissed)], 1);
}

TEST(Track, AConfirmedTrackIsHeldForItsHoldTimeAndNoLonger) {
  const World world;
  const Pose pose{160, 120};
  const cv::Mat frame = world.render({pose});
  for (float hold : {0.5f, 1.0f, 2.0f}) {
    TrackConfig config;
    config.hold_time = hold;
    Session session(config);
    settle(session, world, pose);
    const FaceList found = detections({box_of(pose)});
    session.step(frame, &found);
    int frames = 0;  // 0.04 s each; searched one after the other, because nothing is found
    while (!session.step(frame, &kNothing).faces.faces.empty()) ASSERT_LT(++frames, 200);
    EXPECT_NEAR(static_cast<float>(frames) * 0.04f, hold, 0.041f);
    EXPECT_EQ(session.out.lost_by[static_cast<std::size_t>(Loss::kMissed)], 1);
  }
}

TEST(Track, NothingIsLostWhileNobodySearches) {
  const World world;
  const Pose pose{160, 120};
  Session session;
  settle(session, world, pose);
  for (int f = 0; f < 200; ++f) {
    ASSERT_EQ(session.step(world.render({pose})).faces.faces.size(), 1u);
  }
  EXPECT_EQ(session.out.faces.faces[0].age, 204);
}

/// Regressed landmarks whose shape becomes another one.
TEST(Track, AnImplausibleShapeIsALoss) {
  const World world;
  const Pose pose{160, 120};
  const cv::Mat frame = world.render({pose});
  const Box b = box_of(pose);
  for (float bend : {0.0f, 4.0f, 30.0f}) {
    Session session;
    FaceList found = detections({b});
    session.step(frame, &found);
    FaceList fed = session.out.faces;
    fed.landmarks_per_face = 9;
    for (int i = 0; i < 9; ++i) {
      fed.landmarks.push_back(
          {b.x + 20 + 20 * static_cast<float>(i % 3), b.y + 20 + 20 * static_cast<float>(i / 3)});
    }
    ASSERT_EQ(session.step(frame, nullptr, &fed).faces.faces.size(), 1u);
    fed.faces = session.out.faces.faces;
    for (int i : {1, 4, 7}) fed.landmarks[static_cast<std::size_t>(i)].x += bend;
    const TrackOutput& out = session.step(frame, nullptr, &fed);
    EXPECT_EQ(out.faces.faces.empty(), bend > 10) << bend;
    EXPECT_EQ(out.lost_by[static_cast<std::size_t>(Loss::kShape)], bend > 10);
  }
}

TEST(Track, AJumpInScaleIsALoss) {
  const World world;
  for (double scale : {1.05, 0.95, 1.3, 0.75}) {
    Session session;
    settle(session, world, {160, 120});
    const TrackOutput& out = session.step(world.render({{160, 120, scale}}));
    const bool jump = scale > 1.15 || scale < 1 / 1.15;
    EXPECT_EQ(out.faces.faces.empty(), jump) << scale;
    EXPECT_EQ(out.lost, jump);
  }
}

TEST(Track, FacesCrossingNearEachOtherKeepTheirIds) {
  const World world;
  Session session;
  for (int f = 0; f < 60; ++f) {
    // They pass with a gap of a few pixels between their boxes.
    const std::vector<Pose> poses = {{60 + 3.3 * f, 70}, {260 - 3.3 * f, 155}};
    const FaceList found = detections({box_of(poses[f % 2]), box_of(poses[1 - f % 2])});
    const TrackOutput& out = session.step(world.render(poses), f % 10 == 0 ? &found : nullptr);
    ASSERT_EQ(out.faces.faces.size(), 2u) << f;
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(out.faces.faces[i].id, i + 1);
      EXPECT_LT(box_error(out.faces.faces[i].box, box_of(poses[i])), 2.0f) << f;
    }
  }
}

TEST(Track, ATrackOverAConfirmedOneIsTheSameFace) {
  const World world;
  const Pose pose{160, 120};
  Session session;
  const Box box = box_of(pose);
  const FaceList two = detections({box, {box.x + 25, box.y, box.w, box.h}});
  const FaceList one = detections({box});
  EXPECT_EQ(session.step(world.render({pose}), &two).faces.faces.size(), 2u);
  EXPECT_EQ(session.step(world.render({pose}), &one).faces.faces.size(), 1u);
}

TEST(Track, MaxFacesHoldsAndThereAreNeverMoreThanSixtyFour) {
  const World world;
  const cv::Mat frame = world.render({});
  std::vector<Box> boxes;
  for (int i = 0; i < 100; ++i) {
    boxes.push_back({static_cast<float>(i % 10) * 30, static_cast<float>(i / 10) * 22, 20, 20});
  }
  const FaceList found = detections(boxes);
  TrackConfig config;
  for (int max : {1, 3, 64}) {
    config.max_faces = max;
    Session session(config);
    EXPECT_EQ(session.step(frame, &found).faces.faces.size(), static_cast<std::size_t>(max));
    const TrackOutput& out = session.step(frame, &found);
    EXPECT_EQ(out.faces.faces.size(), static_cast<std::size_t>(max));
    EXPECT_EQ(out.faces.faces.back().id, static_cast<std::uint64_t>(max));
  }
}

}  // namespace
}  // namespace cuface
