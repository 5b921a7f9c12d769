// cuda::Tracker against the CPU's over the same sequences: points, landmarks and boxes that are
// followed, settings, graphs, times.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/gpu/kernels/track_pair.h"

namespace cuface {
namespace {

using test::detections;
using test::Grey;
using test::MovingFaces;
using test::Pose;
using Pair = test::TrackPair;

class TrackCuda : public test::TrackCudaTest {};

TEST_F(TrackCuda, FollowsAKnownMotion) {
  const MovingFaces world;
  Pair pair({}, world.width, world.height, seen_);
  for (int f = 0; f < 40; ++f) {
    const std::vector<Pose> poses = {
        {60 + 5.5 * f, 100 + 12 * std::sin(0.2 * f), 1 + 0.006 * f, 0.01 * f},
        {250 - 2.2 * f, 180, 0.8}};
    const FaceList found = detections({world.box_of(poses[0]), world.box_of(poses[1])});
    STEP(pair.step(*stream_, world.render(poses), f % 10 == 0 ? &found : nullptr));
  }
  test::compared("tracked faces", seen_.tracked, 50);
  test::compared("faces that moved over 5 px", seen_.moved_far, 10);
}

TEST_F(TrackCuda, MovesLandmarksThatComeWithTheDetection) {
  const MovingFaces world;
  for (int n : {2, 5, 68, 200}) {
    Pair pair({}, world.width, world.height, seen_, std::max(n, test::kTrackCapacity));
    for (int f = 0; f < 25; ++f) {
      const Pose pose{140 + 1.3 * f, 120 - 0.8 * f, 1, 0.012 * f};
      FaceList found = detections({world.box_of(pose)});
      test::add_landmarks(found, world, pose, n);
      if (f == 12) found.landmarks[1] = {test::kNan, 3};
      STEP(pair.step(*stream_, world.render({pose}), f % 12 == 0 ? &found : nullptr));
    }
  }
  test::compared("landmarks", seen_.landmarks, 2000);
  test::compared("tracked faces", seen_.tracked, 60);
}

TEST_F(TrackCuda, MoreLandmarksThanThereIsRoomForAreNone) {
  const MovingFaces world;
  const Pose pose{160, 120};
  const Grey frame = world.render({pose});
  FaceList plain = detections({world.box_of(pose)}), found = plain;
  test::add_landmarks(found, world, pose, 9);
  Pair pair({}, world.width, world.height, seen_, 5);
  pair.tell(frame, &plain, nullptr, 0, 0.04);
  test::GuardedBytes wide(test::pack_faces(found, 9));
  cuda::TrackerInputs in = pair.inputs(true, false, 0, 0.04);
  in.faces = reinterpret_cast<const cuda::DeviceFaces*>(wide.data());
  ASSERT_TRUE(pair.gpu->enqueue(in, pair.device_out(), *stream_).ok());
  STEP(pair.check(0));
  pair.count = 1;
  STEP(pair.step(*stream_, frame));
}

TEST_F(TrackCuda, FollowsLandmarksThatAreFedBack) {
  const MovingFaces world;
  for (int n : {5, 68}) {
    for (double bend : {0.0, 0.3}) {
      Pair pair({}, world.width, world.height, seen_);
      FaceList fed;
      for (int f = 0; f < 25; ++f) {
        const Pose pose{140 + 1.3 * f, 120 - 0.8 * f, 1 + 0.004 * f};
        const FaceList found = detections({world.box_of(pose)});
        STEP(pair.step(*stream_, world.render({pose}), f % 10 == 0 ? &found : nullptr,
                       f % 7 == 3 ? nullptr : &fed));
        fed = pair.expected.faces;
        fed.landmarks.clear();
        for (std::size_t i = 0; i < fed.faces.size(); ++i) test::add_landmarks(fed, world, pose, n);
        if (f == 15 && !fed.landmarks.empty()) {
          fed.landmarks[1].x += static_cast<float>(bend * world.side * n / 5);
        }
      }
    }
  }
  test::compared("tracked faces", seen_.tracked, 60);
  test::compared("tracks lost by their shape", seen_.lost[static_cast<std::size_t>(Loss::kShape)],
                 2);
}

TEST_F(TrackCuda, TinyPictures) {
  for (const auto& [w, h] : {std::pair{1, 1}, {2, 90}, {30, 9}, {23, 45}}) {
    Pair pair({}, w, h, seen_);
    const FaceList found = detections({{0, 0, static_cast<float>(w), static_cast<float>(h)}});
    for (int f = 0; f < 6; ++f) {
      STEP(pair.step(*stream_, test::textured(w, h, 1, 0.2 * f), f % 2 ? nullptr : &found));
    }
  }
  EXPECT_EQ(seen_.frames, 24);
}

/// One graph for each of the two pyramids, over other pictures, detections and feedback elsewhere.
TEST_F(TrackCuda, AGraphOverPicturesAndAddresses) {
  const MovingFaces world;
  Pair pair({}, world.width, world.height, seen_);
  std::vector<test::DevicePicture> pictures;
  std::vector<test::GuardedBytes> faces, feedback, outs;
  for (int i = 0; i < 3; ++i) {
    pictures.emplace_back(world.width, world.height, i, 5 * i);
    for (auto* list : {&faces, &feedback, &outs})
      list->emplace_back(cuda::device_faces_bytes(test::kTrackCapacity), test::kCanary);
  }
  test::Submitter submit;
  FaceList fed;
  for (int f = 0; f < 40; ++f) {
    const std::uint64_t n = static_cast<std::uint64_t>(f);
    std::swap(pair.picture, pictures[static_cast<std::size_t>(f % 3)]);
    std::swap(pair.faces, faces[static_cast<std::size_t>(f % 3)]);
    std::swap(pair.feedback, feedback[static_cast<std::size_t>(f * 5 % 3)]);
    std::swap(pair.out, outs[static_cast<std::size_t>(f * 2 % 3)]);
    // All faces are lost on a flat picture; before the first detection there are none.
    std::vector<Pose> poses = {{100 + 2.1 * f, 100}};
    if (f / 10 % 2 == 0) poses.push_back({250 - 1.1 * f, 160, 0.9});
    FaceList found;
    if (f % 5 == 2) {
      std::vector<Box> boxes;
      for (const Pose& p : poses) boxes.push_back(world.box_of(p));
      found = detections(boxes);
    }
    ASSERT_NO_FATAL_FAILURE(
        pair.tell(f == 33 ? Grey(world.width, world.height, 9) : world.render(poses), &found,
                  f % 4 != 3 ? &fed : nullptr, n, 0.04));
    const Status submitted = submit(*stream_, [&](cuda::Launcher launch) {
      launch.set_variant(pair.turn());
      return pair.gpu->enqueue(pair.inputs(true, f % 4 != 3, n, 0.04), pair.device_out(), launch);
    });
    ASSERT_TRUE(submitted.ok()) << submitted.message();
    STEP(pair.check(n));
    fed = pair.expected.faces;
    fed.landmarks.clear();
    fed.landmarks_per_face = 0;
    if (f % 3 == 0) {
      for (const Face& face : fed.faces) {
        const Box& b = face.box;
        test::add_landmarks(fed, world, {b.x + b.w / 2.0, b.y + b.h / 2.0, b.w / 80.0}, 68);
      }
    }
  }
  EXPECT_EQ(submit.built().graphs, 2) << "one for each of the two pyramids";
  test::compared("tracked faces", seen_.tracked, 30);
  EXPECT_EQ(seen_.most, 2u);
}

TEST_F(TrackCuda, RefusesWhatItCannotDo) {
  TrackConfig bad;
  bad.max_faces = 65;
  EXPECT_FALSE(cuda::Tracker::create(bad, 64, 48).ok());
  EXPECT_FALSE(cuda::Tracker::create({}, 0, 48).ok());
  const MovingFaces world;
  Pair pair({}, world.width, world.height, seen_);
  const Pose pose{160, 120};
  const FaceList found = detections({world.box_of(pose)});
  STEP(pair.step(*stream_, world.render({pose}), &found));
  cuda::TrackerInputs wrong;
  EXPECT_EQ(pair.gpu->enqueue(wrong, pair.device_out(), *stream_).code(),
            StatusCode::kInvalidArgument);
  wrong.pyramid = std::move(cuda::GaussianPyramid::create(world.width, world.height - 1).value());
  EXPECT_EQ(pair.gpu->enqueue(wrong, pair.device_out(), *stream_).code(),
            StatusCode::kInvalidArgument);
  STEP(pair.step(*stream_, world.render({{163, 121}})));  // as if nothing had been
  EXPECT_EQ(seen_.tracked, 1);
}

TEST_F(TrackCuda, NaturalPictures) {
  const auto pictures = test::load_gray_pictures();
  if (pictures.empty()) GTEST_SKIP() << "no natural pictures: set CUFACE_GPU_DATA";
  std::mt19937 random(5);
  for (const auto& p : pictures) {
    const int w = std::min(p.width - 40, 640), h = std::min(p.height - 40, 480);
    if (w < 60 || h < 60) continue;
    Pair pair({}, w, h, seen_);
    const auto side = static_cast<float>(std::min(w, h)) / 3;
    const FaceList found = detections(
        {{10, 10, side, side}, {static_cast<float>(w) / 2, static_cast<float>(h) / 2, side, side}});
    int x = 20, y = 20;
    for (int f = 0; f < 8; ++f) {
      Grey cut(w, h);
      for (int row = 0; row < h; ++row) {
        std::memcpy(cut.view().row(row), p.view().row(y + row) + x, static_cast<std::size_t>(w));
      }
      STEP(pair.step(*stream_, cut, f % 4 == 0 ? &found : nullptr));
      x = std::clamp(x + static_cast<int>(random() % 15) - 7, 0, 40);
      y = std::clamp(y + static_cast<int>(random() % 15) - 7, 0, 40);
    }
  }
  test::compared("tracked faces", seen_.tracked, 4 * static_cast<int>(pictures.size()));
}

// Before the first picture, with faces, with some in doubt, after the end of all, and with points
// fed back that the frame before has carried.
TEST_F(TrackCuda, FramesWithoutAPicture) {
  const MovingFaces world;
  for (const int landmarks : {0, 5, 68}) {
    Pair pair({}, world.width, world.height, seen_);
    STEP(pair.pass_gap(*stream_));
    FaceList fed;
    for (int f = 0; f < 24; ++f) {
      const std::vector<Pose> poses = {{100 + 2.0 * f, 100}, {230, 150, 0.8}};
      FaceList found = detections({world.box_of(poses[0])});
      if (f >= 8) {  // a weak one, so that a search is wanted
        found = detections({world.box_of(poses[0]), world.box_of(poses[1])});
        found.faces[1].confidence = detection_confidence(4);
      }
      if (f == 16) {
        pair.cpu->end_tracks();
        pair.gpu->end_tracks();
        STEP(pair.pass_gap(*stream_));
        EXPECT_TRUE(pair.expected.faces.faces.empty());
      }
      STEP(pair.step(*stream_, world.render(poses), f % 8 == 0 ? &found : nullptr,
                     landmarks && f > 0 ? &fed : nullptr, 0.04 * (1 + f % 3)));
      fed = pair.expected.faces;
      fed.followed.clear();
      fed.followed_per_face = 0;
      fed.landmarks.clear();
      for (const Face& face : fed.faces)
        if (landmarks) test::add_landmarks(fed, world, poses[face.box.x < 150 ? 0 : 1], landmarks);
      for (int gap = 0; gap < f % 3; ++gap) STEP(pair.pass_gap(*stream_));
    }
  }
  test::compared("frames without a picture", seen_.held, 70);
  test::compared("landmarks carried", seen_.followed, 100);
  test::compared("frames with a face in doubt", seen_.tentative, 3);
}

TEST_F(TrackCuda, Time) {
  for (const auto& [name, now, then] : test::timed_pictures()) {
    const int w = now.width, h = now.height;
    for (int faces : {1, 16}) {
      Pair pair({}, w, h, seen_);
      std::vector<Box> boxes;
      for (int i = 0; i < faces; ++i) {
        boxes.push_back({static_cast<float>(w * (i % 4) / 5 + 40),
                         static_cast<float>(h * (i / 4) / 5 + 20), 100, 100});
      }
      const FaceList found = detections(boxes);
      STEP(pair.step(*stream_, now, &found));
      test::DevicePicture other(w, h);
      other.set(then.view());
      std::uint64_t n = 0;  // forth and back between two pictures
      const auto next = [&](cuda::Launcher launch) {
        pair.take_turns();
        cuda::TrackerInputs in = pair.inputs(false, false, ++n, 0.04);
        if (n % 2 == 1) in.pyramid = pair.begun(other);
        EXPECT_TRUE(pair.gpu->enqueue(in, pair.device_out(), launch).ok());
      };
      const double us = test::median_us(*stream_, [&] { next(*stream_); });
      const auto bytes = pair.out.get();
      const int left = reinterpret_cast<const cuda::DeviceFaces*>(bytes.data())->count;
      const std::string what = "track, " + std::to_string(left) + " of " + std::to_string(faces) +
                               " faces, 64 points each";
      test::report_time(what, name, us);
      cuda::LaunchList forth_and_back;
      for (int frame = 0; frame < 2; ++frame) next(cuda::Launcher(forth_and_back));
      test::report_parts(what, name, forth_and_back, *stream_);
      TrackInput input;
      test::report_cpu_time(what, name, [&, &now = now, &then = then] {
        pair.take_turns();
        input.pyramid = pair.host_pyramid();
        input.pyramid->build(++input.frame % 2 == 1 ? then.view() : now.view());
        input.elapsed = 0.04;
        EXPECT_TRUE(pair.cpu->enqueue(input, pair.expected).ok());
      });
    }
  }
}

}  // namespace
}  // namespace cuface
