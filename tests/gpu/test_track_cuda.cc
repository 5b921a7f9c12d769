// cuda::Tracker against the CPU's over the same sequences with the same detections and feedback:
// every field of every frame, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kernels/track/track.h"
#include "kernels/track/track_cuda.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/moving_faces.h"

namespace cuface {
namespace {

using test::Grey;
using test::MovingFaces;
using test::Pose;

constexpr int kCapacity = 68;
const float kNan = std::numeric_limits<float>::quiet_NaN();

FaceList detections(const std::vector<Box>& boxes) {
  FaceList list;
  list.searched = true;
  for (const Box& b : boxes) {
    Face f;
    f.box = b;
    f.neighbors = 4 + static_cast<int>(list.faces.size()) % 20;
    f.confidence = detection_confidence(f.neighbors);
    list.faces.push_back(f);
  }
  return list;
}

/// What all comparisons of one test have seen.
struct Seen {
  int frames = 0, faces = 0, tracked = 0, moved_far = 0, landmarks = 0, wanted = 0, revived = 0;
  std::array<int, kLossCount> lost{};
  std::size_t most = 0;
};

/// Both trackers, told the same.
class Pair {
 public:
  Pair(const TrackConfig& config, int width, int height, Seen& seen, int capacity = kCapacity)
      : picture(width, height, 1, 5),
        faces(cuda::device_faces_bytes(capacity), test::kCanary),
        feedback(cuda::device_faces_bytes(capacity), test::kCanary),
        out(cuda::device_faces_bytes(capacity), test::kCanary),
        capacity_(capacity),
        seen_(seen) {
    auto host = Tracker::create(Backend::kCpu, config, width, height);
    auto device = cuda::Tracker::create(config, width, height, capacity);
    EXPECT_TRUE(host.ok() && device.ok()) << device.status().message();
    cpu = std::move(host.value());
    gpu = std::move(device.value());
  }

  /// What the reference makes of a frame, into `expected`; and the device's inputs for it.
  void tell(const Grey& frame, const FaceList* found, const FaceList* fed, std::uint64_t number,
            double elapsed) {
    TrackInput input;
    input.luma = frame.view();
    input.faces = found;
    input.feedback = fed;
    input.frame = number;
    input.elapsed = elapsed;
    ASSERT_TRUE(cpu->enqueue(input, expected).ok());
    picture.set(frame.view());
    if (found) faces.set(test::pack_faces(*found, capacity_));
    if (fed) feedback.set(test::pack_faces(*fed, capacity_));
    out.set(std::vector<std::uint8_t>(out.size(), test::kCanary));
  }

  cuda::TrackerInputs inputs(bool with_faces, bool with_feedback, std::uint64_t number,
                             double elapsed) {
    cuda::TrackerInputs in;
    in.luma = picture.view();
    if (with_faces) in.faces = reinterpret_cast<const cuda::DeviceFaces*>(faces.data());
    if (with_feedback) in.feedback = reinterpret_cast<const cuda::DeviceFaces*>(feedback.data());
    in.frame = number;
    in.elapsed = elapsed;
    return in;
  }
  cuda::DeviceFaces* device_out() { return reinterpret_cast<cuda::DeviceFaces*>(out.data()); }

  /// The device's output against `expected`.
  void check(std::uint64_t number) {
    const auto bytes = out.get();
    ASSERT_TRUE(test::holds_faces(bytes, expected.faces)) << "frame " << number;
    const auto* got = reinterpret_cast<const cuda::DeviceFaces*>(bytes.data());
    ASSERT_EQ(got->lost, expected.lost) << "frame " << number;
    ASSERT_EQ(got->search_wanted, expected.search_wanted ? 1 : 0) << "frame " << number;
    ASSERT_EQ(got->frame, number);
    ASSERT_EQ(got->overflow, 0);
    ++seen_.frames;
    seen_.wanted += expected.search_wanted;
    seen_.faces += got->count;
    seen_.landmarks += got->count * got->landmarks_per_face;
    seen_.most = std::max(seen_.most, expected.faces.faces.size());
    for (int i = 0; i < kLossCount; ++i) {
      seen_.lost[static_cast<std::size_t>(i)] += expected.lost_by[static_cast<std::size_t>(i)];
    }
    std::set<std::uint64_t> now;
    for (const Face& f : expected.faces.faces) {
      now.insert(f.id);
      seen_.tracked += f.origin == Origin::kTracked;
      for (const Face& b : before_) {
        seen_.moved_far += f.id == b.id && f.origin == Origin::kTracked &&
                           std::hypot(f.box.x - b.box.x, f.box.y - b.box.y) > 5;
      }
      seen_.revived += ever_.count(f.id) && !ids_.count(f.id);
    }
    ever_.insert(now.begin(), now.end());
    ids_ = now;
    before_ = expected.faces.faces;
  }

  void step(cudaStream_t stream, const Grey& frame, const FaceList* found = nullptr,
            const FaceList* fed = nullptr, double elapsed = 0.04) {
    const std::uint64_t number = count++;
    tell(frame, found, fed, number, elapsed);
    ASSERT_TRUE(gpu->enqueue(inputs(found, fed, number, elapsed), device_out(), stream).ok());
    check(number);
  }

  std::unique_ptr<Tracker> cpu;
  std::unique_ptr<cuda::Tracker> gpu;
  TrackOutput expected;
  std::uint64_t count = 0;
  test::DevicePicture picture;
  test::GuardedBytes faces, feedback, out;

 private:
  int capacity_;
  Seen& seen_;
  std::set<std::uint64_t> ids_, ever_;
  std::vector<Face> before_;
};

class TrackCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
  }
  std::optional<test::Stream> stream_;
  Seen seen_;
};

#define STEP(...) ASSERT_NO_FATAL_FAILURE(__VA_ARGS__)

/// Landmarks spread over a face.
void add_landmarks(FaceList& list, const MovingFaces& world, const Pose& pose, int n) {
  list.landmarks_per_face = n;
  for (int i = 0; i < n; ++i) {
    list.landmarks.push_back(
        world.point_of(pose, -0.3 + 0.6 * (i % 9) / 8, -0.3 + 0.6 * (i / 9) / 8));
  }
}

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
  EXPECT_GE(seen_.tracked, 50);
  EXPECT_GE(seen_.moved_far, 10);
}

TEST_F(TrackCuda, MovesLandmarksThatComeWithTheDetection) {
  const MovingFaces world;
  for (int n : {2, 5, 68, 200}) {
    Pair pair({}, world.width, world.height, seen_, std::max(n, kCapacity));
    for (int f = 0; f < 25; ++f) {
      const Pose pose{140 + 1.3 * f, 120 - 0.8 * f, 1, 0.012 * f};
      FaceList found = detections({world.box_of(pose)});
      add_landmarks(found, world, pose, n);
      if (f == 12) found.landmarks[1] = {kNan, 3};
      STEP(pair.step(*stream_, world.render({pose}), f % 12 == 0 ? &found : nullptr));
    }
  }
  EXPECT_GE(seen_.landmarks, 2000);
  EXPECT_GE(seen_.tracked, 60);
}

TEST_F(TrackCuda, MoreLandmarksThanThereIsRoomForAreNone) {
  const MovingFaces world;
  const Pose pose{160, 120};
  const Grey frame = world.render({pose});
  FaceList plain = detections({world.box_of(pose)}), found = plain;
  add_landmarks(found, world, pose, 9);
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

/// The main order: landmarks regressed in the box of the previous frame are followed.
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
        for (std::size_t i = 0; i < fed.faces.size(); ++i) add_landmarks(fed, world, pose, n);
        if (f == 15 && !fed.landmarks.empty()) {
          fed.landmarks[1].x += static_cast<float>(bend * world.side * n / 5);
        }
      }
    }
  }
  EXPECT_GE(seen_.tracked, 60);
  EXPECT_GE(seen_.lost[static_cast<std::size_t>(Loss::kShape)], 2);
}

TEST_F(TrackCuda, EveryWayToLoseAFace) {
  const MovingFaces world;
  MovingFaces elsewhere;
  elsewhere.seed = 50;
  const Pose pose{160, 120};
  const Grey start = world.render({pose});
  Grey covered = start;
  for (int y = 70; y < 170; ++y) {
    for (int x = 110; x < 210; ++x) covered.view().at(x, y) = 90;
  }
  const std::vector<Grey> endings = {Grey(world.width, world.height, 128),
                                     Grey(world.width, world.height, 0),
                                     elsewhere.render({pose}),
                                     world.render({}),
                                     covered,
                                     world.render({{160, 120, 1.3}}),
                                     world.render({{160, 120, 0.75}}),
                                     world.render({{160, 120, 1, 3.0}})};
  const FaceList found = detections({world.box_of(pose)}), nothing = detections({});
  for (const Grey& ending : endings) {
    Pair pair({}, world.width, world.height, seen_);
    for (int f = 0; f < 4; ++f) STEP(pair.step(*stream_, start, f % 2 ? nullptr : &found));
    for (int f = 0; f < 3; ++f) STEP(pair.step(*stream_, ending, f == 1 ? &nothing : nullptr));
    STEP(pair.step(*stream_, start, &found));  // with its id again
    STEP(pair.step(*stream_, start));
  }
  {  // Out of the picture.
    Pair pair({}, world.width, world.height, seen_);
    for (int f = 0; f < 40; ++f) {
      const Pose p{240 + 3.0 * f, 120};
      const FaceList first = detections({world.box_of(p)});
      STEP(pair.step(*stream_, world.render({p}), f == 0 ? &first : nullptr));
    }
  }
  {  // Not found any more, and held for a while before.
    for (int confirmations : {1, 4}) {
      Pair pair({}, world.width, world.height, seen_);
      for (int f = 0; f < confirmations; ++f) STEP(pair.step(*stream_, start, &found));
      for (int f = 0; f < 35; ++f) STEP(pair.step(*stream_, start, &nothing));
    }
  }
  const auto lost = [&](Loss reason) { return seen_.lost[static_cast<std::size_t>(reason)]; };
  EXPECT_GE(lost(Loss::kPoints) + lost(Loss::kResidual), 3);
  EXPECT_GE(lost(Loss::kScale), 1);
  EXPECT_GE(lost(Loss::kFrame), 1);
  EXPECT_GE(lost(Loss::kMissed), 2);
  EXPECT_GE(seen_.revived, 3);
  EXPECT_GE(seen_.wanted, 5);
}

TEST_F(TrackCuda, NewIdsAfterAWhileAndAfterTheEnd) {
  const MovingFaces world;
  Pair pair({}, world.width, world.height, seen_);
  const Grey empty = world.render({});
  for (int round = 0; round < 8; ++round) {
    const Pose pose{round % 2 ? 80.0 : 240.0, 120};
    const FaceList found = detections({world.box_of(pose)});
    const Grey frame = world.render({pose});
    STEP(pair.step(*stream_, frame, &found));
    STEP(pair.step(*stream_, frame));
    if (round % 3 == 0) {
      pair.cpu->end_tracks();
      pair.gpu->end_tracks();
      STEP(pair.step(*stream_, frame));
    } else {
      for (int f = 0; f < 12; ++f) STEP(pair.step(*stream_, empty, nullptr, nullptr, 0.1 * round));
    }
  }
  EXPECT_GE(seen_.frames, 60);
}

/// Everything at once: many faces, detections that come, go, overlap and are broken, feedback for
/// some ids and for unknown ones, ends, new settings, gaps in time.
TEST_F(TrackCuda, AStorm) {
  std::mt19937 random(77);
  const auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
  const auto uniform = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  constexpr int kWide = 400, kHigh = 300;
  for (int crowd : {1, 6, 64}) {
    TrackConfig config;
    if (crowd == 6) config.max_faces = 4;
    Pair pair(config, kWide, kHigh, seen_);
    std::vector<Box> boxes;
    for (int i = 0; i < crowd; ++i) {
      const float side = uniform(16, crowd == 64 ? 60 : 120);
      boxes.push_back({uniform(-10, kWide - side), uniform(-10, kHigh - side), side, side});
    }
    float x = 0, y = 0;
    FaceList fed;
    for (int f = 0; f < (crowd == 64 ? 50 : 80); ++f) {
      const float dx = uniform(-7, 7), dy = uniform(-4, 4);
      x += dx;
      y += dy;
      for (Box& b : boxes) b = {b.x + dx, b.y + dy, b.w, b.h};
      const Grey frame = chance(4) ? Grey(kWide, kHigh, 60)
                                   : test::textured(kWide, kHigh, chance(3) ? 9 : 1, x, y);
      std::vector<Box> some;
      for (const Box& b : boxes) {
        if (f == 0 || chance(75))
          some.push_back({b.x + uniform(-3, 3), b.y + uniform(-3, 3), b.w, b.h});
      }
      if (chance(20) && some.size() < 60) {
        some.push_back({kNan, 10, 50, 50});
        some.push_back({10, 10, 0, 50});
        some.push_back({1e9f, 10, 50, 50});
        if (some.size() > 4) some.push_back(some[0]);
      }
      some.resize(std::min<std::size_t>(some.size(), 64));
      FaceList found = detections(some);
      found.searched = !chance(10);
      if (chance(30)) {
        found.landmarks_per_face = chance(50) ? 68 : 5;
        for (const Box& b : some) {
          for (int i = 0; i < found.landmarks_per_face; ++i) {
            found.landmarks.push_back({b.x + uniform(0, 1) * b.w, b.y + uniform(0, 1) * b.h});
          }
        }
      }
      if (f == 40) {
        config.flow.window = 15;
        config.flow.levels = 5;
        config.min_overlap = 0.4f;
      } else if (f == 55) {
        config.flow.levels = 2;
        config.max_missed = 0;
      }
      if (f == 40 || f == 55) {
        ASSERT_TRUE(pair.cpu->configure(config).ok());
        ASSERT_TRUE(pair.gpu->configure(config).ok());
      }
      if (f == 30 && crowd != 1) {
        pair.cpu->end_tracks();
        pair.gpu->end_tracks();
      }
      const bool with_feedback = chance(60);
      STEP(pair.step(*stream_, frame, f == 0 || chance(25) ? &found : nullptr,
                     with_feedback ? &fed : nullptr, chance(10) ? 0 : uniform(0.01f, 0.3f)));
      fed = pair.expected.faces;
      fed.landmarks.clear();
      fed.landmarks_per_face = 5;
      for (Face& face : fed.faces) {
        const Box& b = face.box;
        for (int i = 0; i < 5; ++i) {
          fed.landmarks.push_back({b.x + b.w * (0.2f + 0.15f * static_cast<float>(i)),
                                   b.y + b.h * (i % 2 ? 0.3f : 0.7f)});
        }
        if (chance(5)) fed.landmarks.back() = {kNan, 4};
        if (chance(5)) fed.landmarks.back().x += b.w;
        if (chance(5)) face.id += 1000;
      }
    }
  }
  EXPECT_EQ(seen_.most, 64u);
  EXPECT_GE(seen_.tracked, 500);
  EXPECT_GE(seen_.moved_far, 100);
  EXPECT_GE(seen_.landmarks, 1000);
  EXPECT_GE(seen_.revived, 20);
  EXPECT_GE(seen_.wanted, 3);
  for (Loss reason : {Loss::kPoints, Loss::kShape, Loss::kMissed}) {
    EXPECT_GE(seen_.lost[static_cast<std::size_t>(reason)], 3) << static_cast<int>(reason);
  }
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

TEST_F(TrackCuda, ConfigureWhileRunningKeepsTheTracks) {
  const MovingFaces world;
  Pair pair({}, world.width, world.height, seen_);
  TrackConfig config;
  int f = 0;
  for (const auto& [window, levels] :
       {std::pair{21, 3}, {15, 4}, {9, 10}, {31, 1}, {5, 6}, {63, 2}, {21, 3}}) {
    config.flow.window = window;
    config.flow.levels = levels;
    ASSERT_TRUE(pair.cpu->configure(config).ok());
    ASSERT_TRUE(pair.gpu->configure(config).ok());
    for (int i = 0; i < 3; ++i, ++f) {
      const Pose pose{160 + 1.5 * f, 120};
      const FaceList found = detections({world.box_of(pose)});
      // A track is there when the settings change.
      STEP(pair.step(*stream_, world.render({pose}), f == 0 || i == 2 ? &found : nullptr));
    }
  }
  config.flow.window = 4;
  EXPECT_FALSE(pair.gpu->configure(config).ok());
  STEP(pair.step(*stream_, world.render({{160 + 1.5 * f, 120}})));
  EXPECT_GE(seen_.tracked, 10);
}

/// Two captured frames, replayed over other pictures, detections and feedback.
TEST_F(TrackCuda, AGraphOverPicturesAndAddresses) {
  const MovingFaces world;
  Pair pair({}, world.width, world.height, seen_);
  std::vector<test::DevicePicture> pictures;
  std::vector<test::GuardedBytes> faces, feedback, outs;
  for (int i = 0; i < 3; ++i) {
    pictures.emplace_back(world.width, world.height, i, 5 * i);
    for (auto* list : {&faces, &feedback, &outs})
      list->emplace_back(cuda::device_faces_bytes(kCapacity), test::kCanary);
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
        add_landmarks(fed, world, {b.x + b.w / 2.0, b.y + b.h / 2.0, b.w / 80.0}, 68);
      }
    }
  }
  EXPECT_EQ(submit.built().graphs, 2) << "one for each of the two pyramids";
  EXPECT_GE(seen_.tracked, 30);
  EXPECT_EQ(seen_.most, 2u);
}

TEST_F(TrackCuda, RefusesWhatItCannotDo) {
  TrackConfig bad;
  bad.max_faces = 65;
  EXPECT_FALSE(cuda::Tracker::create(bad, 64, 48, 68).ok());
  EXPECT_FALSE(cuda::Tracker::create({}, 0, 48, 68).ok());
  EXPECT_FALSE(cuda::Tracker::create({}, 64, 48, -1).ok());
  const MovingFaces world;
  Pair pair({}, world.width, world.height, seen_);
  const Pose pose{160, 120};
  const FaceList found = detections({world.box_of(pose)});
  STEP(pair.step(*stream_, world.render({pose}), &found));
  cuda::TrackerInputs wrong = pair.inputs(false, false, 1, 0);
  wrong.luma.height -= 1;
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
  EXPECT_GE(seen_.tracked, 4 * static_cast<int>(pictures.size()));
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
      const double us = test::median_us(*stream_, [&] {
        cuda::TrackerInputs in = pair.inputs(false, false, ++n, 0.04);
        if (n % 2 == 1) in.luma = other.view();
        EXPECT_TRUE(pair.gpu->enqueue(in, pair.device_out(), *stream_).ok());
      });
      const auto bytes = pair.out.get();
      const int left = reinterpret_cast<const cuda::DeviceFaces*>(bytes.data())->count;
      test::report_time("track, " + std::to_string(left) + " of " + std::to_string(faces) +
                            " faces, 64 points each",
                        name, us);
    }
  }
}

}  // namespace
}  // namespace cuface
