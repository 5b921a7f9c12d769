// The tracker on made-up video whose motion is known: a textured face moves over a textured
// background by sub-pixel similarities, is covered, cut away, leaves and comes back.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <opencv2/imgproc.hpp>
#include <opencv2/objdetect.hpp>
#include <random>
#include <set>

#include "kernels/track/rules.h"
#include "kernels/track/track.h"
#include "tests/clip.h"
#include "tests/data.h"

namespace {
std::atomic<int> allocations{0};
}  // namespace

// Counts what the tracker allocates.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace cuface {
namespace {

constexpr int kWidth = 320, kHeight = 240;

/// Texture with structure of several sizes.
cv::Mat texture(int width, int height, int seed) {
  cv::Mat sum = cv::Mat::zeros(height, width, CV_32F);
  cv::RNG random(static_cast<std::uint64_t>(seed) + 1);
  for (double sigma : {1.2, 3.0, 8.0}) {
    cv::Mat layer(height, width, CV_32F);
    random.fill(layer, cv::RNG::NORMAL, 0, 40 * sigma);
    cv::GaussianBlur(layer, layer, {}, sigma);
    sum += layer;
  }
  cv::Mat out;
  sum.convertTo(out, CV_8U, 1, 128);
  return out;
}

/// Where a face of side `side` is: its centre, scale and turn.
struct Pose {
  double x, y, scale = 1, angle = 0;
};

constexpr int kSide = 80;

Box box_of(const Pose& p) {
  const double side = kSide * p.scale;
  return {static_cast<float>(p.x - side / 2), static_cast<float>(p.y - side / 2),
          static_cast<float>(side), static_cast<float>(side)};
}

/// A world with any number of faces over a background.
struct World {
  cv::Mat background = texture(kWidth, kHeight, 100);
  std::vector<cv::Mat> faces = {texture(kSide, kSide, 1), texture(kSide, kSide, 2),
                                texture(kSide, kSide, 3)};

  cv::Mat render(const std::vector<Pose>& poses) const {
    cv::Mat frame = background.clone();
    for (std::size_t i = 0; i < poses.size(); ++i) {
      const Pose& p = poses[i];
      const double a = p.scale * std::cos(p.angle), b = p.scale * std::sin(p.angle);
      const double c = (kSide - 1) / 2.0;
      // Centre of the texture to the centre of the box, in pixel centres.
      const cv::Matx23d m(a, -b, p.x - 0.5 - (a * c - b * c), b, a, p.y - 0.5 - (b * c + a * c));
      cv::Mat warped, mask;
      cv::warpAffine(faces[i], warped, m, frame.size(), cv::INTER_CUBIC);
      cv::warpAffine(cv::Mat(kSide, kSide, CV_8U, cv::Scalar(255)), mask, m, frame.size());
      warped.copyTo(frame, mask > 127);
    }
    return frame;
  }
};

FaceList detections(const std::vector<Box>& boxes) {
  FaceList list;
  list.width = kWidth;
  list.height = kHeight;
  list.searched = true;
  list.detector = "haarcascade_frontalface_alt";
  for (const Box& b : boxes) {
    Face f;
    f.box = b;
    f.neighbors = 12;
    f.confidence = detection_confidence(12);
    list.faces.push_back(f);
  }
  return list;
}

/// A tracker that is told frames one by one.
struct Session {
  explicit Session(const TrackConfig& config = {}, int width = kWidth, int height = kHeight) {
    auto made = Tracker::create(Backend::kCpu, config, width, height);
    EXPECT_TRUE(made.ok());
    tracker = std::move(made.value());
  }
  const TrackOutput& step(const cv::Mat& frame, const FaceList* faces = nullptr,
                          const FaceList* feedback = nullptr, double elapsed = 0.04,
                          std::shared_ptr<const void> owner = nullptr) {
    TrackInput input;
    input.luma_owner = std::move(owner);
    input.luma = {frame.data, frame.cols, frame.rows, static_cast<std::ptrdiff_t>(frame.step)};
    input.faces = faces;
    input.feedback = feedback;
    input.frame = count++;
    input.elapsed = elapsed;
    EXPECT_TRUE(tracker->enqueue(input, out).ok());
    int lost = 0;
    for (int n : out.lost_by) lost += n;
    EXPECT_EQ(lost, out.lost);
    return out;
  }
  std::unique_ptr<Tracker> tracker;
  TrackOutput out;
  std::uint64_t count = 0;
};

float box_error(const Box& a, const Box& b) {
  return std::max({std::abs(a.x - b.x), std::abs(a.y - b.y), std::abs(a.x + a.w - b.x - b.w),
                   std::abs(a.y + a.h - b.y - b.h)});
}

const FaceList kNothing = [] {
  FaceList l = detections({});
  return l;
}();

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
    EXPECT_EQ(face.neighbors, f == 0 ? 12 : -1);
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

/// Tracks a still face for some frames.
void settle(Session& session, const World& world, const Pose& pose) {
  const FaceList found = detections({box_of(pose)});
  for (int f = 0; f < 5; ++f) {
    ASSERT_EQ(session.step(world.render({pose}), f == 0 ? &found : nullptr).faces.faces.size(), 1u);
  }
}

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

TEST(Track, ComesBackWithItsIdWithinASecond) {
  const World world;
  const Pose pose{160, 120}, near{176, 112, 1.1}, far{60, 60};
  const cv::Mat empty = world.render({});
  struct Case {
    const char* name;
    Pose back;
    int frames_away;
    std::uint64_t id;
  };
  for (const Case& c : {Case{"same place", pose, 10, 1}, Case{"near", near, 20, 1},
                        Case{"far", far, 10, 2}, Case{"late", pose, 40, 2}}) {
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

TEST(Track, ADetectionOnTheFrameOfTheLossKeepsTheTrack) {
  const World world;
  World other;  // the face looks wholly different all at once, as behind a flash
  other.faces[0] = texture(kSide, kSide, 88);
  const Pose pose{160, 120};
  Session session;
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
    const int before = allocations;
    session.step(frame, f % 5 == 0 ? &found : nullptr);
    if (f < 60) continue;
    counted += allocations - before;
    ++frames;
  }
  EXPECT_EQ(counted, 0);
  EXPECT_EQ(frames, 60);
  EXPECT_GT(allocations, 100);  // the counter works
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
  Image<std::uint8_t> wrong(64, 47);
  TrackOutput out;
  TrackInput input;
  input.luma = wrong.view();
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

TEST(Track, KeepsAnOwnedPictureUntilTheNextFrameAndFindsTheSame) {
  const World world;
  Session copying, keeping;
  std::shared_ptr<cv::Mat> previous;
  int followed = 0;
  for (int f = 0; f < 20; ++f) {
    const Pose pose{120 + 1.7 * f, 100.0 + f, 1, 0.01 * f};
    const auto picture = std::make_shared<cv::Mat>(world.render({pose}));
    const FaceList found = detections({box_of(pose)});
    const FaceList* faces = f == 0 ? &found : nullptr;
    copying.step(*picture, faces);
    keeping.step(*picture, faces, nullptr, 0.04, picture);
    ASSERT_EQ(keeping.out.faces.faces.size(), 1u);
    const Face &a = copying.out.faces.faces[0], &b = keeping.out.faces.faces[0];
    EXPECT_EQ(std::memcmp(&a.box, &b.box, sizeof a.box), 0);
    EXPECT_EQ(a.confidence, b.confidence);
    followed += b.origin == Origin::kTracked;
    EXPECT_EQ(picture.use_count(), 2) << "held for the next frame";
    if (previous) {
      EXPECT_EQ(previous.use_count(), 1) << "and no longer";
      previous->setTo(0);
    }
    previous = picture;
  }
  EXPECT_EQ(followed, 19);
  const auto flat = std::make_shared<cv::Mat>(kHeight, kWidth, CV_8U, cv::Scalar(90));
  EXPECT_EQ(keeping.step(*flat, nullptr, nullptr, 0.04, flat).lost, 1);
  EXPECT_EQ(previous.use_count(), 1);
  EXPECT_EQ(flat.use_count(), 1) << "nothing is held for no track";
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
      input.luma = picture.view();
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

TEST(TrackRules, OverlapIsIntersectionOverUnion) {
  EXPECT_FLOAT_EQ(track::overlap({0, 0, 10, 10}, {0, 0, 10, 10}), 1.0f);
  EXPECT_FLOAT_EQ(track::overlap({0, 0, 10, 10}, {5, 0, 10, 10}), 50.0f / 150);
  EXPECT_EQ(track::overlap({0, 0, 10, 10}, {10, 0, 10, 10}), 0.0f);
  EXPECT_EQ(track::overlap({0, 0, 0, 0}, {0, 0, 0, 0}), 0.0f);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(track::overlap({nan, 0, 10, 10}, {0, 0, 10, 10}), 0.0f);
}

/// Greedy matching from its definition: sort all pairs, take what is free.
std::vector<int> brute_force(const std::vector<Box>& tracks, const std::vector<Box>& found,
                             float min_overlap) {
  std::vector<std::tuple<float, int, int>> pairs;
  for (int t = 0; t < static_cast<int>(tracks.size()); ++t) {
    for (int d = 0; d < static_cast<int>(found.size()); ++d) {
      const float o =
          track::overlap(tracks[static_cast<std::size_t>(t)], found[static_cast<std::size_t>(d)]);
      if (o >= min_overlap) pairs.emplace_back(-o, t, d);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  std::vector<int> match(tracks.size(), -1);
  std::set<int> taken;
  for (const auto& [o, t, d] : pairs) {
    if (match[static_cast<std::size_t>(t)] >= 0 || taken.count(d)) continue;
    match[static_cast<std::size_t>(t)] = d;
    taken.insert(d);
  }
  return match;
}

TEST(TrackRules, AssociationEqualsItsDefinition) {
  std::mt19937 random(4);
  int matched = 0;
  for (int round = 0; round < 400; ++round) {
    // Few places and whole numbers, so that ties are common.
    const auto boxes = [&](std::size_t n) {
      std::vector<Box> list;
      for (std::size_t i = 0; i < n; ++i) {
        list.push_back({static_cast<float>(random() % 12) * 4, static_cast<float>(random() % 6) * 4,
                        static_cast<float>(8 + random() % 2 * 4), 12});
      }
      return list;
    };
    const std::vector<Box> tracks = boxes(random() % 65), found = boxes(random() % 65);
    std::vector<int> match(tracks.size(), 99);
    track::associate(tracks, found, 0.3f, match);
    EXPECT_EQ(match, brute_force(tracks, found, 0.3f));
    for (int m : match) matched += m >= 0;
  }
  EXPECT_GT(matched, 1000);
}

TEST(TrackRules, DroppingTheRotationDoesNotThrowTheBox) {
  // 5 degrees about the centre of a face far from the origin: the box must stay.
  const Box box{600, 400, 100, 100};
  const double a = std::cos(0.0873), b = std::sin(0.0873);
  const double cx = 649.5, cy = 449.5;
  const Similarity turn{a, b, cx - (a * cx - b * cy), cy - (b * cx + a * cy)};
  std::vector<Point> points;
  for (int i = 0; i < 16; ++i) {
    points.push_back(
        {620 + static_cast<float>(i % 4) * 59 / 3, 420 + static_cast<float>(i / 4) * 59 / 3});
  }
  const std::vector<std::uint8_t> all(points.size(), 1);
  EXPECT_LT(box_error(track::move_box(box, turn, points, all), box), 0.01f);
  const Similarity grow{1.1, 0, cx - 1.1 * cx, cy - 1.1 * cy};
  EXPECT_LT(box_error(track::move_box(box, grow, points, all), {595, 395, 110, 110}), 0.01f);
}

TEST(TrackRules, ShapeDistanceIgnoresPlaceSizeAndTurn) {
  const std::vector<Point> shape = {{0, 0}, {10, 0}, {10, 20}, {0, 20}, {5, 9}};
  const Similarity s{1.2, 0.5, 30, -7};
  std::vector<Point> moved;
  for (const Point& p : shape) moved.push_back(s.apply(p));
  EXPECT_NEAR(track::shape_distance(shape, moved), 0, 1e-3);
  moved[4].x += 5;
  EXPECT_GT(track::shape_distance(shape, moved), 1.0f);
  EXPECT_LT(track::shape_distance(std::vector<Point>(5), moved), 0.0f);
}

}  // namespace
}  // namespace cuface
