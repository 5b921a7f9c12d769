// cuda::OrbDetector against OrbDetector: keypoints, values and bytes, in the same order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/orb/cuda/detector.h"
#include "kernels/orb/orb.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/detector_suite.h"
#include "tests/moving_faces.h"

namespace cuface {
namespace {

using test::Grey;

/// Spots of all sizes, so that all levels have corners.
Grey spots(int width, int height, std::mt19937& random, int values) {
  Grey out(width, height, 100);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int i = 0; i < width * height / 300; ++i) {
    const int w = 1 + below(24), h = 1 + below(24), left = below(width), top = below(height);
    const auto value = static_cast<std::uint8_t>(below(values) * (255 / std::max(values - 1, 1)));
    for (int y = top; y < std::min(top + h, height); ++y)
      std::fill_n(&out.view().at(left, y), std::min(w, width - left), value);
  }
  return out;
}

OrbConfig random_config(std::mt19937& random) {
  OrbConfig c;
  c.max_keypoints = random() % 3 ? 1 + static_cast<int>(random() % 300) : 1020;
  c.threshold = random() % 4 ? 20 : static_cast<int>(random() % 40);
  c.levels = 1 + static_cast<int>(random() % 9);
  c.scale_factor = random() % 3 ? 1.2f : 1.05f + static_cast<float>(random() % 300) / 100;
  c.edge = random() % 3 ? 31 : kLeastEdge + static_cast<int>(random() % 20);
  c.score = random() % 3 ? KeypointScore::kHarris : KeypointScore::kFast;
  c.upright = random() % 4 == 0;
  return c;
}

BinaryFeatures reference(const Grey& picture, const OrbConfig& config) {
  BinaryFeatures out;
  auto detector = OrbDetector::create(config, picture.width, picture.height);
  EXPECT_TRUE(detector.ok()) << detector.status().message();
  EXPECT_TRUE(detector.value().run(picture.view(), out).ok());
  return out;
}

class Device : public test::GuardedKeypointDetector<cuda::OrbDetector> {
 public:
  Device(const OrbConfig& config, int width, int height, int lead = 0, int padding = 0) {
    cuda::ScratchLayout layout;
    auto made = cuda::OrbDetector::create(config, width, height, layout);
    hold(std::move(made), layout, width, height, lead, padding,
         [](const auto& detector) { return cuda::device_features_bytes(detector.most()); });
  }
  Status enqueue(cuda::Launcher launch) {
    return detector_->enqueue(picture_->view(),
                              reinterpret_cast<cuda::DeviceFeatures*>(out_->data()), launch);
  }
  Status describe(test::GuardedBytes& given, int count, cuda::Launcher launch) {
    return detector_->describe(picture_->view(), reinterpret_cast<const Keypoint*>(given.data()),
                               count, reinterpret_cast<cuda::DeviceFeatures*>(out_->data()),
                               launch);
  }
  BinaryFeatures found() {
    const std::vector<std::uint8_t> bytes = list_read();
    const auto* list = reinterpret_cast<const cuda::DeviceFeatures*>(bytes.data());
    BinaryFeatures out;
    EXPECT_LE(static_cast<std::size_t>(list->count), detector_->most());
    for (int i = 0; i < list->count; ++i) {
      const cuda::DeviceFeature& f = list->all()[i];
      out.keypoints.push_back(f.keypoint);
      out.signs.push_back(f.sign);
      out.descriptors.insert(out.descriptors.end(), f.descriptor, f.descriptor + kBinaryBytes);
    }
    expect_nothing_behind(bytes,
                          cuda::device_features_bytes(static_cast<std::size_t>(list->count)));
    return out;
  }
};

class OrbCuda : public test::DetectorSuite<Device, OrbConfig, BinaryFeatures> {
 protected:
  void compare_found(const BinaryFeatures& got, const Grey& picture, const OrbConfig& c) override {
    const BinaryFeatures expected = reference(picture, c);
    std::string name = "width, height, keypoints, threshold, levels, edge, score, upright:";
    for (const int v : {picture.width, picture.height, c.max_keypoints, c.threshold, c.levels,
                        c.edge, static_cast<int>(c.score), static_cast<int>(c.upright)})
      name.append(" ").append(std::to_string(v));
    ASSERT_NO_FATAL_FAILURE(expect_same_keypoints(got.keypoints, expected.keypoints, name));
    ASSERT_TRUE(got.descriptors == expected.descriptors) << name;
    ASSERT_EQ(got.signs, expected.signs) << name;
  }
};

TEST_F(OrbCuda, EverySetting) {
  compare_settings(240, 60, 400, 250, spots, random_config);
  test::compared("keypoints", keypoints_, 20'000);
}

// Around the least in which there is a keypoint, and none.
TEST_F(OrbCuda, SmallPictures) {
  std::mt19937 random(2);
  OrbConfig c;
  c.edge = kLeastEdge;
  c.max_keypoints = 200;
  const auto noise = [&](int w, int h) {
    Grey out(w, h);
    for (auto& p : out.pixels) p = static_cast<std::uint8_t>(random());
    return out;
  };
  for (int side = 2 * kLeastEdge - 2; side < 2 * kLeastEdge + 16;
       side += test::under_tool() ? 15 : 1) {
    compare(noise(side, side + 3), c, 1, 1);
    compare(noise(100, side), c);
    if (HasFatalFailure()) return;
  }
  compare(Grey(3, 1, 7), {});
  test::compared("pictures", pictures_, 37);
  test::compared("keypoints", keypoints_, 50);
}

TEST_F(OrbCuda, KeepsAllThatEqualTheLast) {
  Grey dots(500, 300, 40);
  for (int y = 8; y < 300; y += 16)
    for (int x = 8; x < 500; x += 16) dots.view().at(x, y) = 200;
  for (const KeypointScore score : {KeypointScore::kHarris, KeypointScore::kFast}) {
    OrbConfig c;
    c.max_keypoints = 10;
    c.levels = 1;
    c.score = score;
    compare(dots, c);
    if (HasFatalFailure()) return;
  }
  test::compared("keypoints", keypoints_, 700);
}

// Ends of lines have corners, but mostly negative responses; the last one of a share is one of
// them.
TEST_F(OrbCuda, NegativeResponses) {
  Grey lines(400, 200, 20);
  std::mt19937 random(5);
  for (int y = 34; y < 165; y += 12) {
    std::fill_n(&lines.view().at(0, y), 400, std::uint8_t{180});
    for (int x = 40; x < 360; x += 20)
      lines.view().at(x, y) = static_cast<std::uint8_t>(205 + random() % 50);
  }
  OrbConfig c;
  c.levels = 1;
  c.max_keypoints = 60;
  const BinaryFeatures all = reference(lines, c);
  ASSERT_GE(all.keypoints.size(), 60u);
  const auto negative = [](const Keypoint& k) { return k.response < 0; };
  ASSERT_GE(std::count_if(all.keypoints.begin(), all.keypoints.end(), negative), 10);
  compare(lines, c);
}

// Dots alike, more than a list can have: the first ones are in it.
TEST_F(OrbCuda, ListsThatAreFull) {
  if (test::under_tool("emulator")) GTEST_SKIP() << "takes a minute";
  Grey dots(1920, 1080, 40);
  for (int y = 5; y < 1080; y += 5)
    for (int x = 5; x < 1920; x += 5) dots.view().at(x, y) = 200;
  OrbConfig c;
  c.max_keypoints = kMostKeypoints;
  c.edge = kLeastEdge;
  c.score = KeypointScore::kFast;
  compare(dots, c);
  EXPECT_EQ(keypoints_, kMostKeypoints);
}

TEST_F(OrbCuda, NaturalPictures) { compare_natural_pictures(random_config); }

TEST_F(OrbCuda, OneGraphOverChangingPictures) { compare_one_graph(301, 197, spots); }

TEST_F(OrbCuda, DescribesGivenKeypoints) {
  std::mt19937 random(6);
  const int w = 320, h = 240;
  const Grey picture = spots(w, h, random, 200);
  OrbConfig c;
  c.levels = 4;
  // More than one round of admitting them.
  for (const int count : {0, 1, test::under_tool() ? 1500 : 3000}) {
    const auto below = [&](int n) {
      return static_cast<float>(random() % static_cast<unsigned>(n));
    };
    std::vector<Keypoint> given(static_cast<std::size_t>(count));
    for (Keypoint& k : given) {
      k.x = below(8 * w) / 8;
      k.y = below(8 * h) / 8;
      k.size = below(40);
      k.angle = below(3601) / 10;
      k.response = below(9);
      k.octave = static_cast<std::int32_t>(random() % 6) - 1;
      if (random() % 30 == 0) k.angle = random() % 2 ? -1.0f : std::nanf("");
      if (random() % 30 == 0) k.x = random() % 2 ? 1e30f : std::nanf("");
    }
    auto detector = OrbDetector::create(c, w, h);
    ASSERT_TRUE(detector.ok());
    BinaryFeatures expected;
    ASSERT_TRUE(detector.value().describe(picture.view(), given, expected).ok());
    Device device(c, w, h);
    device.set(picture);
    test::GuardedBytes list(test::bytes_of(given));
    const Status enqueued = device.describe(list, count, *stream_);
    ASSERT_TRUE(enqueued.ok()) << enqueued.message();
    const BinaryFeatures got = device.found();
    ASSERT_EQ(got.keypoints, expected.keypoints);
    ASSERT_TRUE(got.descriptors == expected.descriptors);
    ASSERT_EQ(got.signs, expected.signs);
    keypoints_ += static_cast<long>(got.keypoints.size());
  }
  test::compared("keypoints", keypoints_, 900);
}

TEST_F(OrbCuda, RefusesWhatItCannotDo) {
  cuda::ScratchLayout layout;
  OrbConfig narrow;
  narrow.edge = kLeastEdge - 1;
  const auto refuses = [&](const OrbConfig& c, int w, int h) {
    return cuda::OrbDetector::create(c, w, h, layout).status().code() ==
           StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refuses(narrow, 50, 50) && refuses({}, 0, 50) && refuses({}, 50, 32769));
  auto made = cuda::OrbDetector::create({}, 50, 50, layout);
  ASSERT_TRUE(made.ok());
  test::DevicePicture other(50, 49);
  EXPECT_EQ(made.value().enqueue(other.view(), nullptr, *stream_).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(made.value().describe(other.view(), nullptr, 1, nullptr, *stream_).code(),
            StatusCode::kInvalidArgument);
  test::DevicePicture fits(50, 50);
  EXPECT_EQ(made.value().describe(fits.view(), nullptr, 65536, nullptr, *stream_).code(),
            StatusCode::kInvalidArgument);
}

// The published measure: 512 x 384, the picture goes up, or is there.
TEST_F(OrbCuda, TimeOfGivenKeypoints) {
  const int w = 512, h = 384, count = test::under_tool() ? 20 : 1020;
  std::mt19937 random(7);
  const Grey picture = spots(w, h, random, 200);
  std::vector<Keypoint> given(static_cast<std::size_t>(count));
  for (Keypoint& k : given) {
    k.octave = static_cast<std::int32_t>(random() % 4);
    k.x = static_cast<float>(60 + random() % 390);
    k.y = static_cast<float>(60 + random() % 260);
    k.angle = static_cast<float>(random() % 360);
  }
  Device device({}, w, h);
  device.set(picture);
  test::GuardedBytes list(test::bytes_of(given));
  cuda::LaunchList work;
  ASSERT_TRUE(device.describe(list, count, cuda::Launcher(work)).ok());
  test::report_time("ORB, describing 1020 given keypoints", "512x384",
                    test::median_us(*stream_, work));
  EXPECT_EQ(device.found().keypoints.size(), given.size());
}

TEST_F(OrbCuda, Time) {
  for (const auto& [name, picture, next] : test::timed_pictures()) {
    for (const bool upright : {false, true}) {
      OrbConfig c;
      c.upright = upright;
      Device device(c, picture.width, picture.height);
      device.set(picture);
      cuda::LaunchList list;
      ASSERT_TRUE(device.enqueue(cuda::Launcher(list)).ok());
      const std::string what = upright ? "ORB, 1020 keypoints, upright" : "ORB, 1020 keypoints";
      test::report_time(what, name, test::median_us(*stream_, list));
      std::printf("%zu keypoints\n", device.found().keypoints.size());
      if (upright) continue;
      test::report_parts(what, name, list, *stream_);
      auto detector = OrbDetector::create(c, picture.width, picture.height);
      ASSERT_TRUE(detector.ok());
      BinaryFeatures out;
      test::report_cpu_time(what, name,
                            [&] { EXPECT_TRUE(detector.value().run(picture.view(), out).ok()); });
    }
  }
}

}  // namespace
}  // namespace cuface
