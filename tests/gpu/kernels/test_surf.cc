// cuda::SurfDetector against SurfDetector: keypoints, signs and floats, in the same order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/surf/cuda/detector.h"
#include "kernels/surf/surf.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/detector_suite.h"
#include "tests/moving_faces.h"

namespace cuface {
namespace {

using test::Grey;

/// Discs of all sizes: blobs.
Grey discs(int width, int height, std::mt19937& random, int values) {
  Grey out(width, height, 100);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int i = 0; i < width * height / 300 + 3; ++i) {
    const int r = 2 + below(i % 9 ? 9 : 40), x0 = below(width), y0 = below(height);
    const auto value = static_cast<std::uint8_t>(below(values) * (255 / std::max(values - 1, 1)));
    for (int y = std::max(0, y0 - r); y < std::min(height, y0 + r); ++y)
      for (int x = std::max(0, x0 - r); x < std::min(width, x0 + r); ++x)
        if ((x - x0) * (x - x0) + (y - y0) * (y - y0) < r * r) out.view().at(x, y) = value;
  }
  return out;
}

SurfConfig random_config(std::mt19937& random) {
  SurfConfig c;
  c.max_keypoints = random() % 3 ? 1 + static_cast<int>(random() % 200) : 1020;
  c.threshold = random() % 4 ? 100 : static_cast<float>(random() % 300) / 10;
  c.octaves = 1 + static_cast<int>(random() % 5);
  c.layers = 1 + static_cast<int>(random() % 4);
  c.upright = random() % 3 == 0;
  c.descriptor_size = random() % 2 ? 64 : 36;
  c.sampling = static_cast<SurfSampling>(random() % 3);
  c.orientation = static_cast<SurfOrientation>(random() % 3);
  c.window = static_cast<SurfWindow>(random() % 2);
  if (random() % 3 == 0) c.precision = static_cast<SurfPrecision>(random() % 8);
  return c;
}

std::string text(const SurfConfig& c, int width, int height) {
  std::string all =
      "width, height, keypoints, threshold, octaves, layers, upright, size, sampling, orientation, "
      "window, precision:";
  for (const double v : {static_cast<double>(width), static_cast<double>(height),
                         static_cast<double>(c.max_keypoints), static_cast<double>(c.threshold),
                         static_cast<double>(c.octaves), static_cast<double>(c.layers),
                         static_cast<double>(c.upright), static_cast<double>(c.descriptor_size),
                         static_cast<double>(c.sampling), static_cast<double>(c.orientation),
                         static_cast<double>(c.window), static_cast<double>(c.precision)})
    all.append(" ").append(std::to_string(v));
  return all;
}

SurfDetector reference(const SurfConfig& config) {
  auto made = SurfDetector::create(config);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made.value());
}

class Device : public test::GuardedKeypointDetector<cuda::SurfDetector> {
 public:
  Device(const SurfConfig& config, int width, int height, int lead = 0, int padding = 0,
         int most_given = 0) {
    cuda::ScratchLayout layout;
    auto made = cuda::SurfDetector::create(config, width, height, most_given, layout);
    hold(std::move(made), layout, width, height, lead, padding, [](const auto& detector) {
      return cuda::device_float_features_bytes(detector.most(), detector.floats());
    });
  }
  Status enqueue(cuda::Launcher launch) {
    return detector_->enqueue(picture_->view(), list(), launch);
  }
  Status describe(const cuda::DeviceKeypoints& given, cuda::Launcher launch) {
    return detector_->describe(picture_->view(), given, list(), launch);
  }
  FloatFeatures found() {
    std::vector<std::uint8_t> bytes = list_read();
    const cuda::DeviceFloatFeatures list{reinterpret_cast<std::byte*>(bytes.data()),
                                         detector_->floats()};
    FloatFeatures out;
    EXPECT_LE(static_cast<std::size_t>(list.count()), detector_->most());
    const auto count = static_cast<std::size_t>(list.count());
    for (std::size_t i = 0; i < count; ++i) {
      out.keypoints.push_back(list.keypoint(i).keypoint);
      out.signs.push_back(list.keypoint(i).sign);
      out.descriptors.insert(out.descriptors.end(), list.descriptor(i),
                             list.descriptor(i) + list.floats);
    }
    expect_nothing_behind(bytes, cuda::device_float_features_bytes(count, list.floats));
    return out;
  }

 private:
  std::byte* list() { return reinterpret_cast<std::byte*>(out_->data()); }
};

class SurfCuda : public test::DetectorSuite<Device, SurfConfig, FloatFeatures> {
 protected:
  void compare_found(const FloatFeatures& got, const Grey& picture, const SurfConfig& c) override {
    FloatFeatures expected;
    ASSERT_TRUE(reference(c).run(picture.view(), expected).ok());
    ASSERT_NO_FATAL_FAILURE(expect_same(got, expected, text(c, picture.width, picture.height)));
  }
  void expect_same(const FloatFeatures& got, const FloatFeatures& expected,
                   const std::string& name) {
    ASSERT_NO_FATAL_FAILURE(expect_same_keypoints(got.keypoints, expected.keypoints, name));
    for (std::size_t i = 0; i < expected.keypoints.size(); ++i) {
      const Keypoint& k = expected.keypoints[i];
      ASSERT_EQ(got.signs[i], expected.signs[i]) << name << ": keypoint " << i;
      const std::size_t floats = expected.floats_each();
      for (std::size_t v = 0; v < floats; ++v)
        ASSERT_TRUE(test::same_bits(got.descriptor(i)[v], expected.descriptor(i)[v]))
            << name << ": float " << v << " of keypoint " << i << " at " << k.x << "," << k.y
            << " of size " << k.size << ", angle " << k.angle << ": " << got.descriptor(i)[v]
            << ", not " << expected.descriptor(i)[v];
    }
  }
};

TEST_F(SurfCuda, EverySetting) {
  compare_settings(300, 40, 300, 200, discs, random_config);
  test::compared("keypoints", keypoints_, 12'000);
}

TEST_F(SurfCuda, EveryDirectionAndPrecision) {
  std::mt19937 random(10);
  const Grey picture = discs(140, 100, random, 200);
  for (const SurfOrientation orientation :
       {SurfOrientation::kHaar, SurfOrientation::kSliding, SurfOrientation::kCentroid})
    for (int precision = 0; precision < 8; ++precision) {
      SurfConfig c;
      c.orientation = orientation;
      c.precision = static_cast<SurfPrecision>(precision);
      c.window = precision % 2 ? SurfWindow::kOverlap : SurfWindow::kGrid;
      c.max_keypoints = 30;
      compare(picture, c);
      if (HasFatalFailure()) return;
    }
  test::compared("pictures", pictures_, 24);
  test::compared("keypoints", keypoints_, 480);
}

/// Each sampling with each size and window, turned and upright.
TEST_F(SurfCuda, EverySampling) {
  std::mt19937 random(8);
  const Grey picture = discs(130, 110, random, 200);
  for (const SurfSampling sampling :
       {SurfSampling::kPatch, SurfSampling::kIntegral, SurfSampling::kMipmap})
    for (const int size : {64, 36})
      for (const bool upright : {false, true}) {
        SurfConfig c;
        c.sampling = sampling;
        c.descriptor_size = size;
        c.upright = upright;
        c.max_keypoints = 40;
        for (const SurfWindow window : {SurfWindow::kGrid, SurfWindow::kOverlap}) {
          c.window = window;
          compare(picture, c);
          if (HasFatalFailure()) return;
        }
      }
  test::compared("pictures", pictures_, 24);
  test::compared("keypoints", keypoints_, 480);
}

// Around the least in which there is a keypoint, and none; rows, columns, a pixel.
TEST_F(SurfCuda, SmallPictures) {
  std::mt19937 random(2);
  SurfConfig c;
  c.threshold = 0;
  const auto noise = [&](int w, int h) {
    Grey out(w, h);
    for (auto& p : out.pixels) p = static_cast<std::uint8_t>(random());
    return out;
  };
  for (int side = 1; side < 42; side += test::under_tool() ? 20 : 1) {
    c.sampling = static_cast<SurfSampling>(side % 3);
    compare(noise(side, side), c, 1, 1);
    compare(noise(90, side), c);
    compare(noise(side, 70), c);
    if (HasFatalFailure()) return;
  }
  // Of a grey picture all places may be maxima, which is more than a tile lists.
  Grey squares(100, 60, 90);
  for (int y = 20; y < 34; ++y)
    for (int x = 0; x < 100; ++x)
      if (x % 40 >= 20 && x % 40 < 34) squares.view().at(x, y) = 120;
  compare(squares, c);
  compare(Grey(1, 1, 255), {});
  compare(Grey(33, 40, 255), {});
  test::compared("pictures", pictures_, 125);
  test::compared("keypoints", keypoints_, 300);
}

// Equal blobs: the list ends among keypoints of one response.
TEST_F(SurfCuda, TiesAtTheEndOfTheList) {
  for (const int size : {4, 7, 12}) {
    Grey dots(200, 160, 40);
    for (int y = 0; y < dots.height; ++y)
      for (int x = 0; x < dots.width; ++x)
        if (x / size % 2 == 0 && y / size % 2 == 0) dots.view().at(x, y) = 230;
    for (const int most : {1, 7, 50}) {
      SurfConfig c;
      c.max_keypoints = most;
      compare(dots, c);
      if (HasFatalFailure()) return;
    }
  }
  test::compared("keypoints", keypoints_, 50);
}

// Lines of a window begin where their sums in double depend on their order: at the left side, and
// where cosines are small.
TEST_F(SurfCuda, DirectionsAlongTheAxes) {
  SurfConfig c;
  c.threshold = 5;
  long along = 0;
  for (const int apart : {14, 22, 30}) {
    Grey bars(150, 140, 30);
    for (int y = 0; y < bars.height; ++y)
      for (int x = 0; x < bars.width; ++x)
        if (x % apart < 8 && y % (2 * apart) < 17) bars.view().at(x, y) = 200;
    compare(bars, c);
    if (HasFatalFailure()) return;
    FloatFeatures found;
    ASSERT_TRUE(reference(c).run(bars.view(), found).ok());
    for (const Keypoint& k : found.keypoints) along += std::fmod(k.angle, 90.0f) < 0.01f;
  }
  test::compared("keypoints along the axes", along, 5);
  test::compared("keypoints", keypoints_, 60);
}

// More than a list can have: the strongest are in it.
TEST_F(SurfCuda, ListsThatAreFull) {
  if (test::under_tool("emulator")) GTEST_SKIP() << "takes minutes";
  std::mt19937 random(9);
  Grey noise(1920, 1080);
  for (auto& p : noise.pixels) p = static_cast<std::uint8_t>(random());
  SurfConfig c;
  c.max_keypoints = kMostKeypoints;
  c.threshold = 0;
  c.octaves = 2;
  c.sampling = SurfSampling::kIntegral;
  compare(noise, c);
  EXPECT_EQ(keypoints_, kMostKeypoints);
}

TEST_F(SurfCuda, NaturalPictures) { compare_natural_pictures(random_config); }

TEST_F(SurfCuda, OneGraphOverChangingPictures) { compare_one_graph(161, 127, discs); }

TEST_F(SurfCuda, DescribesGivenKeypoints) {
  std::mt19937 random(6);
  const int w = 200, h = 150;
  const Grey picture = discs(w, h, random, 200);
  for (const int count : {0, 1, test::under_tool() ? 70 : 2500}) {
    const auto below = [&](int n) {
      return static_cast<float>(random() % static_cast<unsigned>(n));
    };
    std::vector<Keypoint> given(static_cast<std::size_t>(count));
    for (Keypoint& k : given) {
      k.x = below(8 * w + 40) / 8;
      k.y = below(8 * h) / 8;
      k.size = random() % 5 ? 5 + below(40) : 5 + below(2 * h);
      k.angle = below(3601) / 10;
      k.response = below(9);
      if (random() % 30 == 0) k.x = random() % 2 ? 1e30f : std::nanf("");
      if (random() % 30 == 0) k.size = random() % 2 ? -1.0f : std::nanf("");
    }
    SurfConfig c;
    c.sampling = count == 1 ? SurfSampling::kMipmap : SurfSampling::kPatch;
    FloatFeatures expected;
    ASSERT_TRUE(reference(c).describe(picture.view(), given, expected).ok());
    Device device(c, w, h, 0, 0, count + 2);
    device.set(picture);
    test::GuardedBytes list(test::bytes_of(given)), known(test::bytes_of(std::vector{count}));
    // How many there are is told here, or on the device.
    const cuda::DeviceKeypoints keypoints{
        reinterpret_cast<const std::byte*>(list.data()), sizeof(Keypoint),
        count == 1 ? nullptr : reinterpret_cast<const std::int32_t*>(known.data()),
        count == 1 ? 1 : count + 2};
    const Status enqueued = device.describe(keypoints, *stream_);
    ASSERT_TRUE(enqueued.ok()) << enqueued.message();
    ASSERT_NO_FATAL_FAILURE(expect_same(device.found(), expected, "given"));
  }
  test::compared("keypoints", keypoints_, 900);
}

TEST_F(SurfCuda, RefusesWhatItCannotDo) {
  cuda::ScratchLayout layout;
  const auto refuses = [&](const SurfConfig& c, int w, int h, int given = 0) {
    return cuda::SurfDetector::create(c, w, h, given, layout).status().code() ==
           StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refuses({.octaves = 0}, 50, 50) && refuses({}, 0, 50) && refuses({}, 5000, 5000));
  EXPECT_TRUE(refuses({}, 50, 50, -1) && refuses({}, 50, 50, kMostKeypoints + 1));
  auto made = cuda::SurfDetector::create({}, 50, 50, 0, layout),
       of_given = cuda::SurfDetector::create({}, 50, 50, 9, layout);
  ASSERT_TRUE(made.ok() && of_given.ok());
  test::DevicePicture other(50, 49), fits(50, 50);
  const auto code = [](const Status& status) { return status.code(); };
  EXPECT_EQ(code(made.value().enqueue(other.view(), nullptr, *stream_)),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code(of_given.value().enqueue(fits.view(), nullptr, *stream_)),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(
      code(of_given.value().describe(fits.view(), {nullptr, 24, nullptr, 10}, nullptr, *stream_)),
      StatusCode::kInvalidArgument);
  EXPECT_EQ(
      code(of_given.value().describe(other.view(), {nullptr, 24, nullptr, 9}, nullptr, *stream_)),
      StatusCode::kInvalidArgument);
}

// The published measure: 512 x 384, the picture is there.
TEST_F(SurfCuda, TimeOfGivenKeypoints) {
  const int w = 512, h = 384, count = test::under_tool() ? 20 : 1020;
  std::mt19937 random(7);
  const Grey picture = discs(w, h, random, 200);
  std::vector<Keypoint> given(static_cast<std::size_t>(count));
  for (Keypoint& k : given) {
    k.size = static_cast<float>(15 + random() % 30);
    k.x = static_cast<float>(60 + random() % 390);
    k.y = static_cast<float>(60 + random() % 260);
  }
  for (const auto& [what, config] :
       {std::pair<std::string, SurfConfig>{"SURF, describing 1020 given keypoints", {}},
        {"SURF, describing 1020 given keypoints, upright", {.upright = true}}}) {
    Device device(config, w, h, 0, 0, count);
    device.set(picture);
    test::GuardedBytes list(test::bytes_of(given));
    cuda::LaunchList work;
    ASSERT_TRUE(device
                    .describe({reinterpret_cast<const std::byte*>(list.data()), sizeof(Keypoint),
                               nullptr, count},
                              cuda::Launcher(work))
                    .ok());
    test::report_time(what, "512x384", test::median_us(*stream_, work));
    EXPECT_EQ(device.found().keypoints.size(), given.size());
  }
}

TEST_F(SurfCuda, Time) {
  for (const auto& [name, picture, next] : test::timed_pictures()) {
    for (const auto& [what, c] :
         {std::pair<std::string, SurfConfig>{"SURF, 1020 keypoints", {}},
          {"SURF, 1020 keypoints, upright", {.upright = true}},
          {"SURF, 1020 keypoints, integral", {.sampling = SurfSampling::kIntegral}},
          {"SURF, 1020 keypoints, mipmap", {.sampling = SurfSampling::kMipmap}}}) {
      Device device(c, picture.width, picture.height);
      device.set(picture);
      cuda::LaunchList list;
      ASSERT_TRUE(device.enqueue(cuda::Launcher(list)).ok());
      test::report_time(what, name, test::median_us(*stream_, list));
      std::printf("%zu keypoints\n", device.found().keypoints.size());
      test::report_parts(what, name, list, *stream_);
      if (c.upright || c.sampling != SurfSampling::kPatch) continue;
      SurfDetector detector = reference(c);
      FloatFeatures out;
      test::report_cpu_time(what, name,
                            [&] { EXPECT_TRUE(detector.run(picture.view(), out).ok()); });
    }
  }
}

}  // namespace
}  // namespace cuface
