// Edges behind the published convolution (Convolution::kFull) on CUDA against the CPU's.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/edges_pair.h"

namespace cuface {
namespace {

using test::Device;
using test::Found;
using test::Grey;

class FullEdgesCuda : public testing::Test {
 protected:
  void SetUp() override { CUFACE_NEEDS_GPU(); }

  EdgeConfig random_full() {
    EdgeConfig config = test::random_config(random_);
    config.convolution = Convolution::kFull;
    return config;
  }
  void compare(const Grey& picture, const EdgeConfig& config, int lead = 0, int padding = 0) {
    const test::Stream stream;
    Device device(config, picture.width, picture.height, lead, padding);
    if (HasFailure()) return;
    device.set(picture);
    ASSERT_TRUE(device.enqueue(device.views(), stream).ok());
    const Found got = device.found(), expected = test::reference(picture, config);
    ASSERT_TRUE(got.magnitude == expected.magnitude) << picture.width << "x" << picture.height;
    ASSERT_TRUE(got.angle == expected.angle) << picture.width << "x" << picture.height;
    ASSERT_TRUE(got.map == expected.map) << picture.width << "x" << picture.height;
    ASSERT_TRUE(got.bits == expected.bits) << picture.width << "x" << picture.height;
    ++pictures_;
    edges_ += std::count(expected.map.begin(), expected.map.end(), 255);
  }

  std::mt19937 random_{5};
  long pictures_ = 0, edges_ = 0;
};

TEST_F(FullEdgesCuda, EverySizeAndSetting) {
  for (int i = 0; i < std::max(test::cases(400), 40); ++i) {
    const bool small = i % 2 == 0;
    const int w = 1 + static_cast<int>(random_() % (small ? 70 : 220));
    const int h = 1 + static_cast<int>(random_() % (small ? 12 : 120));
    const Grey picture = i % 5 ? test::noisy_grey(w, h, random_()) : test::textured(w, h, i);
    compare(picture, random_full(), static_cast<int>(random_() % 4),
            static_cast<int>(random_() % 9));
    if (HasFatalFailure()) return;
  }
  test::compared("pictures", pictures_, 400);
  test::compared("edge pixels", edges_, 50'000);
}

// A bright picture has edges along its sides, as there are zeros around it.
TEST_F(FullEdgesCuda, ExtremePictures) {
  EdgeConfig config;
  config.convolution = Convolution::kFull;
  for (const int size : {1, 3, 5, 31}) {
    config.kernel_size = size;
    for (const auto& [w, h] : {std::pair{1, 1}, {1, 90}, {300, 2}, {64, 32}, {129, 65}}) {
      compare(Grey(w, h, 0), config);
      EXPECT_EQ(edges_, 0);
      compare(Grey(w, h, 255), config);
      if (HasFatalFailure()) return;
      const bool has_sides = w > 60 && h > 30;
      EXPECT_GE(edges_, has_sides ? 1 : 0);
      edges_ = 0;
    }
  }
  test::compared("pictures", pictures_, 40);
}

TEST_F(FullEdgesCuda, SomeResultsAlone) {
  const Grey picture = test::noisy_grey(150, 90, 5);
  EdgeConfig config;
  config.convolution = Convolution::kFull;
  const Found expected = test::reference(picture, config);
  const test::Stream stream;
  for (int wanted = 0; wanted < 16; ++wanted) {
    Device device(config, picture.width, picture.height);
    device.set(picture);
    EdgeViews out = device.views();
    if (!(wanted & 1)) out.map = {};
    if (!(wanted & 2)) out.magnitude = {};
    if (!(wanted & 4)) out.angle = {};
    if (!(wanted & 8)) out.bits = {};
    ASSERT_TRUE(device.enqueue(out, stream).ok());
    const Found got = device.found();
    EXPECT_EQ(got.map == expected.map, (wanted & 1) != 0) << wanted;
    EXPECT_EQ(got.magnitude == expected.magnitude, (wanted & 2) != 0) << wanted;
    EXPECT_EQ(got.angle == expected.angle, (wanted & 4) != 0) << wanted;
    EXPECT_EQ(got.bits == expected.bits, (wanted & 8) != 0) << wanted;
  }
}

TEST_F(FullEdgesCuda, Time) {
  const test::Stream stream;
  EdgeConfig config;
  config.convolution = Convolution::kFull;
  for (const auto& [name, picture, next] : test::timed_pictures()) {
    Device device(config, picture.width, picture.height);
    device.set(picture);
    EdgeViews map;
    map.map = device.views().map;
    cuda::LaunchList list;
    ASSERT_TRUE(device.enqueue(map, cuda::Launcher(list)).ok());
    test::report_time("edges, full convolution of 5", name, test::median_us(stream, list));
  }
}

}  // namespace
}  // namespace cuface
