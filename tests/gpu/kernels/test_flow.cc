// cuda flow against flow(): positions and status of every point, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/flow/cuda/lucas_kanade.h"
#include "kernels/flow/flow.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/flow_points.h"
#include "tests/gpu/launch_time.h"
#include "tests/moving_faces.h"

namespace cuface {
namespace {

using test::Answers;
using test::DevicePoints;
using test::Grey;
using test::random_points;
using test::reference;

Grey noise(int width, int height, unsigned seed) {
  std::mt19937 random(seed);
  Grey out(width, height);
  for (auto& p : out.pixels) p = static_cast<std::uint8_t>(random());
  return out;
}

bool untouched(const std::vector<std::uint8_t>& bytes, std::size_t point) {
  const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(point * sizeof(Point));
  return std::count(first, first + sizeof(Point), test::kCanary) == sizeof(Point);
}

class FlowCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
  }

  std::unique_ptr<cuda::GaussianPyramid> pyramid_of(const Grey& picture, int levels, int min_side) {
    auto made = cuda::GaussianPyramid::create(picture.width, picture.height, levels, min_side);
    EXPECT_TRUE(made.ok());
    test::DevicePicture device(picture.width, picture.height, 0, 0);
    device.set(picture.view());
    EXPECT_TRUE(made.value()->enqueue(device.view(), *stream_).ok());
    EXPECT_EQ(cudaStreamSynchronize(*stream_), cudaSuccess);
    return std::move(made.value());
  }

  /// The first `count` points have the reference's answers, the others none.
  void expect_answers(DevicePoints& device, const std::vector<Point>& points,
                      const Answers& answers, std::size_t count, bool round_trip) {
    const auto to_bytes = device.to.get(), back_bytes = device.back.get();
    const auto to = test::values_of<Point>(to_bytes), back = test::values_of<Point>(back_bytes);
    const auto status = device.status.get();
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i >= count) {
        ASSERT_EQ(status[i], test::kCanary);
        ASSERT_TRUE(untouched(to_bytes, i) && untouched(back_bytes, i)) << i;
        continue;
      }
      ASSERT_EQ(status[i], round_trip ? answers.both[i] : answers.forward[i])
          << i << ": " << points[i].x << ", " << points[i].y;
      ASSERT_TRUE(test::same_bits(to[i], answers.to[i]))
          << i << ": " << to[i].x << ", " << to[i].y << " / " << answers.to[i].x << ", "
          << answers.to[i].y;
      if (round_trip) {
        ASSERT_TRUE(test::same_bits(back[i], answers.back[i])) << i;
      } else {
        ASSERT_TRUE(untouched(back_bytes, i)) << i;
      }
      ++points_;
      lost_ += !answers.forward[i];
      one_way_ += answers.forward[i] && !answers.both[i];
      far_ += answers.forward[i] &&
              std::hypot(answers.to[i].x - points[i].x, answers.to[i].y - points[i].y) > 5;
    }
  }

  void compare(const Grey& a, const Grey& b, const std::vector<Point>& points,
               const FlowConfig& config) {
    const Answers answers = reference(a, b, points, config);
    // More levels than asked for, too: they must not be used.
    const auto prev = pyramid_of(a, 10, 5), next = pyramid_of(b, 10, 5);
    const auto n = static_cast<int>(points.size());
    for (bool round_trip : {true, false}) {
      DevicePoints device(points, n, n);
      if (!round_trip) device.arrays.back = nullptr;
      ASSERT_TRUE(cuda::enqueue_flow(*prev, *next, device.arrays, config, *stream_).ok());
      expect_answers(device, points, answers, points.size(), round_trip);
    }
  }

  std::optional<test::Stream> stream_;
  int points_ = 0, lost_ = 0, one_way_ = 0, far_ = 0;
};

TEST_F(FlowCuda, EveryWindowAndLevelAtAndBeyondTheBorder) {
  for (int window : {5, 9, 21, 31, 63}) {
    for (int levels : {1, 3, 10}) {
      for (const auto& [w, h] : {std::pair{200, 150}, {64, 300}, {37, 41}}) {
        FlowConfig config;
        config.window = window;
        config.levels = levels;
        compare(test::textured(w, h, 0), test::textured(w, h, 0, 5.7, -4.2),
                random_points(test::cases(150), 80, w, h, static_cast<unsigned>(window)), config);
      }
    }
  }
  test::compared("points", points_, 10000);
  test::compared("lost points", lost_, 500);
  test::compared("points that moved over 5 px", far_, 500);
}

TEST_F(FlowCuda, NoiseAndFullContrast) {
  for (int window : {7, 21, 63}) {
    FlowConfig config;
    config.window = window;
    Grey checks(180, 140);
    for (int y = 0; y < 140; ++y) {
      for (int x = 0; x < 180; ++x) checks.view().at(x, y) = (x / 3 + y / 3) % 2 ? 255 : 0;
    }
    Grey inverse = checks;
    for (auto& p : inverse.pixels) p = static_cast<std::uint8_t>(255 - p);
    const auto points = random_points(test::cases(150), 20, 180, 140, 3);
    compare(noise(180, 140, 1), noise(180, 140, 2), points, config);
    compare(checks, inverse, points, config);
    compare(checks, noise(180, 140, 4), points, config);
    compare(Grey(180, 140, 255), Grey(180, 140, 0), points, config);
  }
  test::compared("points", points_, 3000);
  test::compared("lost points", lost_, 500);
  test::compared("points lost on the way back", one_way_, 20);
}

TEST_F(FlowCuda, TinyPictures) {
  for (const auto& [w, h] : {std::pair{1, 1}, {2, 9}, {9, 1}, {12, 15}, {22, 22}, {43, 42}}) {
    compare(test::textured(w, h, 0), test::textured(w, h, 0, 0.3, 0.2),
            random_points(test::cases(100), 30, w, h, 5), {});
  }
  test::compared("points", points_, 1000);
}

TEST_F(FlowCuda, OtherSettings) {
  const Grey a = test::textured(240, 180, 2), b = test::textured(240, 180, 2, 7.3, 3.1);
  const auto points = random_points(test::cases(120), 10, 240, 180, 9);
  FlowConfig config;
  config.max_iterations = 1;
  compare(a, b, points, config);
  config.max_iterations = 100;
  config.epsilon = 0;
  compare(a, b, points, config);
  config.min_eigen = 0.05f;
  compare(a, b, points, config);
  config = {};
  config.epsilon = 3;
  compare(a, b, points, config);
  test::compared("points", points_, 900);
  test::compared("points that moved over 5 px", far_, 300);
}

TEST_F(FlowCuda, BadPointsFail) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<Point> points = {{nan, 50},   {50, nan},     {inf, 50},     {50, -inf}, {1e30f, 50},
                               {50, -1e9f}, {-3e9f, 3e9f}, {-0.0f, 0.0f}, {1e-40f, 7}};
  const Grey a = test::textured(160, 120, 1);
  compare(a, test::textured(160, 120, 1, 1.25, 0.5), points, {});
  test::compared("lost points", lost_, 14);
}

TEST_F(FlowCuda, TheCountIsTheDevices) {
  const Grey a = test::textured(200, 150, 1), b = test::textured(200, 150, 1, -6.5, 2.5);
  const auto prev = pyramid_of(a, 3, 21), next = pyramid_of(b, 3, 21);
  const auto points = random_points(5000, 5, 200, 150, 2);
  const Answers answers = reference(a, b, points, {});
  for (int count : {0, 1, 2, 127, 2048, 2049, 5000}) {
    if (test::under_tool() && count > 2049) continue;
    DevicePoints device(points, count, 5000);
    ASSERT_TRUE(cuda::enqueue_flow(*prev, *next, device.arrays, {}, *stream_).ok());
    expect_answers(device, points, answers, static_cast<std::size_t>(count), true);
  }
  DevicePoints device(points, 5000, 30);  // never more than was planned for
  ASSERT_TRUE(cuda::enqueue_flow(*prev, *next, device.arrays, {}, *stream_).ok());
  expect_answers(device, points, answers, 30, true);
  test::compared("points that moved over 5 px", far_, 5000);
}

TEST_F(FlowCuda, OneGraphOverChangingPicturesAndPoints) {
  const int w = 200, h = 150;
  auto prev = cuda::GaussianPyramid::create(w, h, 3, 21);
  auto next = cuda::GaussianPyramid::create(w, h, 3, 21);
  ASSERT_TRUE(prev.ok() && next.ok());
  test::DevicePicture picture_a(w, h, 3, 5), picture_b(w, h, 0, 1);
  const auto none = random_points(200, 5, w, h, 0);
  DevicePoints device(none, 200, 200);
  cudaGraphExec_t graph = test::capture(*stream_, [&] {
    EXPECT_TRUE(prev.value()->enqueue(picture_a.view(), *stream_).ok());
    EXPECT_TRUE(next.value()->enqueue(picture_b.view(), *stream_).ok());
    EXPECT_TRUE(cuda::enqueue_flow(*prev.value(), *next.value(), device.arrays, {}, *stream_).ok());
  });
  std::vector<std::uint8_t> first;
  for (int round = 0; round < 6; ++round) {
    const int kind = round % 3;
    const Grey a = test::textured(w, h, kind), b = test::textured(w, h, kind, kind * 3, -kind);
    const auto points = random_points(200, 5, w, h, static_cast<unsigned>(kind));
    const int count = kind == 2 ? 0 : 200;
    picture_a.set(a.view());
    picture_b.set(b.view());
    device.from.set(test::bytes_of(points));
    device.counted.set(test::bytes_of(std::vector<std::int32_t>{count}));
    for (auto* out : {&device.to, &device.back, &device.status}) {
      out->set(std::vector<std::uint8_t>(out->size(), test::kCanary));
    }
    CUFACE_CUDA_OK(cudaGraphLaunch(graph, *stream_));
    expect_answers(device, points, reference(a, b, points, {}), static_cast<std::size_t>(count),
                   true);
    if (round == 0) first = device.to.get();
    if (round == 3) {
      EXPECT_EQ(first, device.to.get()) << "two runs differ";
    }
  }
  cudaGraphExecDestroy(graph);
  test::compared("points", points_, 800);
}

TEST_F(FlowCuda, NaturalPictures) {
  const auto pictures = test::load_gray_pictures();
  if (pictures.empty()) GTEST_SKIP() << "no natural pictures: set CUFACE_GPU_DATA";
  for (const auto& p : pictures) {
    // A moving cut-out, as of a camera that pans.
    const int w = std::min(p.width - 12, 640), h = std::min(p.height - 9, 480);
    if (w < 30 || h < 30) continue;
    Grey a(w, h), b(w, h);
    for (int y = 0; y < h; ++y) {
      for (int x = 0; x < w; ++x) {
        a.view().at(x, y) = p.view().at(x, y);
        b.view().at(x, y) = p.view().at(x + 7, y + 4);
      }
    }
    compare(a, b, random_points(300, 10, w, h, 1), {});
  }
  test::compared("points that moved over 5 px", far_, 50 * static_cast<int>(pictures.size()));
}

TEST_F(FlowCuda, Time) {
  for (const auto& [name, now, then] : test::timed_pictures()) {
    const int w = now.width, h = now.height;
    const auto prev = pyramid_of(now, 3, 21), next = pyramid_of(then, 3, 21);
    test::DevicePicture picture(w, h);
    picture.set(then.view());
    for (int n : {68, 1088}) {
      const auto points = random_points(n, -40, w, h, 4);
      DevicePoints device(points, n, n);
      Point* const back = device.arrays.back;
      for (bool round_trip : {false, true}) {
        device.arrays.back = round_trip ? back : nullptr;
        const auto enqueue = [&](cuda::Launcher launch) {
          const Status s = next->enqueue(picture.view(), launch);
          return s.ok() ? cuda::enqueue_flow(*prev, *next, device.arrays, {}, launch) : s;
        };
        const std::string what = "pyramid and flow, " + std::to_string(n) + " points" +
                                 (round_trip ? ", forward and back" : "");
        test::report_time(what, name,
                          test::median_us(*stream_, [&] { EXPECT_TRUE(enqueue(*stream_).ok()); }));
        GaussianPyramid first(w, h, 3, 21), second(w, h, 3, 21);
        FlowScratch scratch{FlowConfig{}};
        std::vector<Point> to(points.size()), from(points.size());
        std::vector<std::uint8_t> good(points.size());
        first.build(now.view());
        test::report_cpu_time(what, name, [&, &then = then] {
          second.build(then.view());
          flow(first, second, points, to, good, {}, scratch);
          if (round_trip) flow(second, first, to, from, good, {}, scratch);
        });
        cuda::LaunchList list;
        EXPECT_TRUE(enqueue(cuda::Launcher(list)).ok());
        test::report_time(what + " graph", name, test::launch_us(*stream_, list));
      }
    }
  }
}

}  // namespace
}  // namespace cuface
