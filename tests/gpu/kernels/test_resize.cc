// The levels of the scale pyramid on CUDA against the reference: every pixel, and nothing beside
// them.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/luma/luma_cuda.h"
#include "kernels/pyramid/cuda/resize.h"
#include "kernels/pyramid/pyramid.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/detect_pair.h"
#include "tests/gpu/kernels/random_cascade.h"

namespace cuface {
namespace {

using test::download;
using test::flat;
using test::kCanary;
using test::Model;
using test::Pair;
using test::part_of;
using test::Picture;
using test::smooth;

/// Stripes as wide as `period`.
Picture stripes(int width, int height, int period) {
  Picture p = flat(width, height, 0);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      p.bytes[static_cast<std::size_t>(y * p.stride + x)] = x / period % 2 ? 255 : 0;
  return p;
}

class ResizeCuda : public testing::Test {
 protected:
  void SetUp() override { CUFACE_NEEDS_GPU(); }

  /// What a search leaves of the picture's levels, all memory around them included.
  void compare(const Picture& picture) {
    SCOPED_TRACE(std::to_string(picture.width) + "x" + std::to_string(picture.height));
    DetectConfig config;
    config.min_neighbors = 0;
    Pair pair(model_, config, picture.width, picture.height);
    const ImageView<const std::uint8_t> pixels = pair.gpu().pixels();
    const auto bytes = static_cast<std::size_t>(pixels.stride * pixels.height);
    Pair::fill(pixels.data, bytes);
    ASSERT_NO_FATAL_FAILURE(pair.check(picture));

    // Compared parts become canaries again: what is none in the end was written by mistake.
    auto all = download(pixels.data, bytes);
    for (const AtlasSlot& slot : pair.gpu().slots()) {
      Image<std::uint8_t> level(slot.width, slot.height);
      resize_linear_exact(picture.view(), level.view());
      const auto width = static_cast<std::size_t>(slot.width);
      for (int y = 0; y < slot.height; ++y) {
        std::uint8_t* got = all.data() + (slot.y + y) * pixels.stride + slot.x;
        ASSERT_EQ(std::memcmp(level.view().row(y), got, width), 0)
            << "row " << y << " of " << slot.width << "x" << slot.height;
        std::memset(got, kCanary, width);
        pixels_ += slot.width;
      }
      ++levels_;
    }
    for (const std::uint8_t b : all) ASSERT_EQ(b, kCanary) << "a pixel of no level";
  }

  const Model model_ = test::shared(test::random_cascade(11, 20, 20, 3, false));
  long pixels_ = 0, levels_ = 0;
};

TEST_F(ResizeCuda, RandomAndExtremePictures) {
  // One row of threads less and more, several blocks, thin, and the smallest there is.
  for (const Picture& picture :
       {smooth(301, 211, 3, 9, 5, 11), smooth(301, 200, 3, 16, 4, 3), smooth(255, 40, 2, 12),
        smooth(256, 33, 0, 13, 1, 2), smooth(257, 64, 1, 14), smooth(24, 20, 1, 10),
        smooth(1030, 40, 0, 11), smooth(26, 700, 2, 15, 0, 9), flat(600, 300, 255), flat(90, 70, 0),
        stripes(320, 200, 1), stripes(301, 203, 7)})
    ASSERT_NO_FATAL_FAILURE(compare(picture));
  test::compared("pixels", pixels_, 1'000'000);
  test::compared("levels", levels_, 100);
}

TEST_F(ResizeCuda, NaturalPictures) {
  const auto pictures = test::load_gray_pictures();
  if (pictures.empty()) GTEST_SKIP() << "no pictures: set CUFACE_GPU_DATA";
  for (const test::GrayPicture& p : pictures) {
    ASSERT_NO_FATAL_FAILURE(compare(part_of(p, p.width, p.height)));
    ASSERT_NO_FATAL_FAILURE(compare(part_of(p, 401, 303)));
  }
  test::compared("pixels", pixels_, static_cast<long>(pictures.size()) * 200'000);
}

/// Luma and all levels.
TEST_F(ResizeCuda, Times) {
  const auto pictures = test::load_gray_pictures();
  const auto models = test::real_cascades();
  if (pictures.empty() || models.empty())
    GTEST_SKIP() << "no pictures or cascades: set CUFACE_GPU_DATA and CUFACE_MODEL_PATH";
  for (const test::GrayPicture& picture : pictures)
    for (const Model& model : models) {
      if (!picture.name.starts_with("mosaic") || model->name != "haarcascade_frontalface_default")
        continue;
      DetectConfig config;
      config.min_size = 24;
      Pair pair(model, config, picture.width, picture.height);
      const std::vector<AtlasSlot>& slots = pair.gpu().slots();
      auto resize = cuda::LevelResize::create(picture.width, picture.height, slots);
      ImageView<const std::uint8_t> atlas = pair.gpu().pixels();
      auto luma = cuda::DeviceImage<std::uint8_t>::create(picture.width, picture.height);
      ASSERT_TRUE(resize.ok() && luma.ok());
      test::GuardedBytes in(picture.pixels);
      FrameView frame;
      frame.width = picture.width;
      frame.height = picture.height;
      frame.component[0] = {in.data(), picture.width};
      const ImageView<std::uint8_t> levels = {const_cast<std::uint8_t*>(atlas.data), atlas.width,
                                              atlas.height, atlas.stride};
      const test::Stream stream;
      test::Submitter submit;
      const auto enqueue = [&](cuda::Launcher launch) {
        if (Status s = cuda::luma(frame, luma.value().view(), launch); !s.ok()) return s;
        return resize.value().enqueue(std::as_const(luma.value()).view(), levels, nullptr, launch);
      };
      test::report_time(
          "luma and levels of " + model->name + " 1.1 min 24", picture.name,
          test::median_us(stream, [&] { EXPECT_TRUE(submit(stream, enqueue).ok()); }));
    }
}

}  // namespace
}  // namespace cuface
