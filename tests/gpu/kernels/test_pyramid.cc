// cuda::GaussianPyramid against GaussianPyramid: every byte of every level.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <string>

#include "kernels/pyramid/cuda/octaves.h"
#include "kernels/pyramid/pyramid.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/moving_faces.h"

namespace cuface {
namespace {

using test::Grey;

Grey noise(int width, int height, unsigned seed) {
  std::mt19937 random(seed);
  Grey out(width, height);
  for (auto& p : out.pixels) p = static_cast<std::uint8_t>(random());
  return out;
}

class PyramidCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
  }

  /// Compares what lies in `pyramid` with the reference's pyramid of `picture`.
  void compare(const cuda::GaussianPyramid& pyramid, ImageView<const std::uint8_t> picture,
               int levels, int min_side) {
    GaussianPyramid reference(picture.width, picture.height, levels, min_side);
    ASSERT_EQ(pyramid.levels(), reference.levels());
    reference.build(picture);
    for (int i = 0; i < reference.levels(); ++i) {
      const auto expected = reference.level(i).all();
      const auto got = test::download(pyramid.level(i));
      ASSERT_EQ(pyramid.level(i).width, expected.width);
      ASSERT_EQ(pyramid.level(i).height, expected.height);
      for (int y = 0; y < expected.height; ++y) {
        ASSERT_EQ(std::memcmp(got.data() + static_cast<std::ptrdiff_t>(y) * expected.width,
                              expected.row(y), static_cast<std::size_t>(expected.width)),
                  0)
            << picture.width << "x" << picture.height << " level " << i << " row " << y;
      }
      bytes_ += static_cast<long>(got.size());
      octaves_ += i > 0;
    }
  }

  void build_and_compare(const Grey& picture, int levels, int min_side, int lead, int padding) {
    auto made = cuda::GaussianPyramid::create(picture.width, picture.height, levels, min_side);
    ASSERT_TRUE(made.ok()) << made.status().message();
    test::DevicePicture device(picture.width, picture.height, lead, padding);
    device.set(picture.view());
    const cuda::GaussianPyramid& pyramid = *made.value();
    for (int i = 0; i < pyramid.levels(); ++i) {
      const auto rows = whole_rows(pyramid.level(i));
      CUFACE_CUDA_OK(cudaMemset(
          const_cast<std::uint8_t*>(rows.data), test::kCanary,
          static_cast<std::size_t>(rows.stride) * static_cast<std::size_t>(rows.height)));
    }
    CUFACE_CUDA_OK(cudaDeviceSynchronize());
    ASSERT_TRUE(made.value()->enqueue(device.view(), *stream_).ok());
    compare(pyramid, picture.view(), levels, min_side);
    for (int i = 0; i < pyramid.levels(); ++i) {
      const auto rows = whole_rows(pyramid.level(i));
      const auto all = test::download(rows);
      for (int y = 0; y < rows.height; ++y)
        for (int x = pyramid.level(i).width; x < rows.width; ++x)
          ASSERT_EQ(all[static_cast<std::size_t>(y * rows.width + x)], test::kCanary)
              << "behind row " << y << " of level " << i;
    }
  }

  /// A level with what lies between its rows.
  static ImageView<const std::uint8_t> whole_rows(ImageView<const std::uint8_t> level) {
    level.width = static_cast<int>(level.stride);
    return level;
  }

  std::optional<test::Stream> stream_;
  long bytes_ = 0, octaves_ = 0;
};

TEST_F(PyramidCuda, EverySmallSize) {
  for (int h = 1; h <= 22; ++h) {
    for (int w = 1; w <= 38; w += test::under_tool() ? 13 : 1) {
      build_and_compare(noise(w, h, static_cast<unsigned>(w * 100 + h)), 4, 0, w % 3, h % 5);
    }
  }
  test::compared("octaves", octaves_, 2000);
}

TEST_F(PyramidCuda, LargeThinAndExtremePictures) {
  const int sizes[][2] = {{1023, 5}, {64, 16}, {65, 17},   {127, 31},  {1, 999},
                          {2, 1000}, {999, 1}, {641, 359}, {640, 360}, {1280, 720}};
  for (const auto& s : sizes) {
    build_and_compare(noise(s[0], s[1], 7), 10, 5, 3, 13);
    build_and_compare(noise(s[0], s[1], 8), 10, 5, 8, 7 - (s[0] + 7) % 8);  // whole words
    build_and_compare(Grey(s[0], s[1], 255), 10, 5, 0, 0);
    build_and_compare(Grey(s[0], s[1], 0), 10, 5, 1, 1);
  }
  test::compared("bytes", bytes_, 4'000'000);
}

TEST_F(PyramidCuda, NaturalPictures) {
  const auto pictures = test::load_gray_pictures();
  if (pictures.empty()) GTEST_SKIP() << "no natural pictures: set CUFACE_GPU_DATA";
  for (const auto& p : pictures) {
    Grey grey(p.width, p.height);
    grey.pixels = p.pixels;
    build_and_compare(grey, 6, 21, 5, 7);
    build_and_compare(grey, 6, 21, 0, 7 - (p.width + 7) % 8);
  }
  test::compared("octaves", octaves_, static_cast<long>(pictures.size()));
}

TEST_F(PyramidCuda, OneGraphOverChangingPictures) {
  auto made = cuda::GaussianPyramid::create(173, 131, 4, 5);
  ASSERT_TRUE(made.ok());
  test::DevicePicture device(173, 131, 1, 6);
  cudaGraphExec_t graph = test::capture(
      *stream_, [&] { EXPECT_TRUE(made.value()->enqueue(device.view(), *stream_).ok()); });
  for (unsigned round = 0; round < 5; ++round) {
    const Grey picture = noise(173, 131, round);
    device.set(picture.view());
    CUFACE_CUDA_OK(cudaGraphLaunch(graph, *stream_));
    compare(*made.value(), picture.view(), 4, 5);
  }
  cudaGraphExecDestroy(graph);
  EXPECT_EQ(octaves_, 15);
}

TEST_F(PyramidCuda, LevelsCanBeBuiltLater) {
  const Grey picture = noise(300, 200, 3), other = noise(300, 200, 4);
  auto made = cuda::GaussianPyramid::create(300, 200, 5, 5);
  ASSERT_TRUE(made.ok());
  test::DevicePicture device(300, 200, 0, 0), device_other(300, 200, 0, 0);
  device.set(picture.view());
  device_other.set(other.view());
  ASSERT_TRUE(made.value()->enqueue(device_other.view(), *stream_).ok());
  for (int first : {1, 2, 4}) {
    ASSERT_TRUE(made.value()->begin(device.view()).ok());
    int most = 0;
    for (const int levels : {first, first, 5, 5, 2}) {
      ASSERT_TRUE(made.value()->enqueue(levels, *stream_).ok());
      most = std::max(most, levels);
      ASSERT_EQ(made.value()->built(), most);
    }
    compare(*made.value(), picture.view(), 5, 5);
  }
}

TEST_F(PyramidCuda, RefusesWhatItCannotDo) {
  EXPECT_FALSE(cuda::GaussianPyramid::create(0, 5, 1, 5).ok());
  EXPECT_FALSE(cuda::GaussianPyramid::create(5, 5, 0, 5).ok());
  EXPECT_FALSE(cuda::GaussianPyramid::create(5, 5, 11, 5).ok());
  auto made = cuda::GaussianPyramid::create(20, 20, 2, 5);
  ASSERT_TRUE(made.ok());
  test::DevicePicture wrong(20, 19, 0, 0);
  EXPECT_EQ(made.value()->enqueue(wrong.view(), *stream_).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(made.value()->enqueue(ImageView<const std::uint8_t>{}, *stream_).code(),
            StatusCode::kInvalidArgument);
}

TEST_F(PyramidCuda, Time) {
  for (const auto& [name, picture, next] : test::timed_pictures()) {
    auto made = cuda::GaussianPyramid::create(picture.width, picture.height, 3, 21);
    ASSERT_TRUE(made.ok());
    test::DevicePicture device(picture.width, picture.height);
    device.set(picture.view());
    const double us = test::median_us(
        *stream_, [&] { EXPECT_TRUE(made.value()->enqueue(device.view(), *stream_).ok()); });
    const char* what = "gaussian pyramid, 3 levels";
    test::report_time(what, name, us);
    GaussianPyramid reference(picture.width, picture.height, 3, 21);
    test::report_cpu_time(what, name, [&, &picture = picture] {
      reference.build(picture.view());
      for (int i = 0; i < reference.levels(); ++i)
        reference.level(i).all();  // made when it is read
    });
  }
}

}  // namespace
}  // namespace cuface
