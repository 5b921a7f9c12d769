// The levels of the scale pyramid and their sums on CUDA against the reference: every pixel and
// every word, and nothing beside them.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/integral/cuda/level_sums.h"
#include "kernels/integral/integral.h"
#include "kernels/luma/luma_cuda.h"
#include "kernels/pyramid/cuda/resize.h"
#include "kernels/pyramid/pyramid.h"
#include "tests/gpu/detect_pair.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/random_cascade.h"

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

/// Stripes as wide as `period`: sums and squares as uneven as they get.
Picture stripes(int width, int height, int period) {
  Picture p = flat(width, height, 0);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      p.bytes[static_cast<std::size_t>(y * p.stride + x)] = x / period % 2 ? 255 : 0;
  return p;
}

class IntegralCuda : public testing::Test {
 protected:
  void SetUp() override { CUFACE_NEEDS_GPU(); }

  /// What a search leaves of the picture's levels, all memory around them included.
  void compare(const Model& model, const Picture& picture) {
    SCOPED_TRACE(std::to_string(picture.width) + "x" + std::to_string(picture.height));
    DetectConfig config;
    config.min_neighbors = 0;
    Pair pair(model, config, picture.width, picture.height);
    const ImageView<const std::uint8_t> pixels = pair.gpu().pixels();
    const cuda::SumPlanes planes = pair.gpu().planes();
    const auto bytes = static_cast<std::size_t>(pixels.stride * pixels.height);
    // A search without tilted features makes its sums itself, and leaves none.
    const int planes_made = model->has_tilted() ? 3 : 0;
    const auto words =
        planes_made > 0 ? static_cast<std::size_t>(planes.stride * pixels.height) : 0;
    Pair::fill(pixels.data, bytes);
    Pair::fill(planes.data, words);
    ASSERT_NO_FATAL_FAILURE(pair.check(picture));

    // Compared parts become canaries again: what is none in the end was written by mistake.
    auto all_pixels = download(pixels.data, bytes);
    auto all_words = download(planes.data, words);
    for (const AtlasSlot& slot : pair.gpu().slots()) {
      Image<std::uint8_t> level(slot.width, slot.height);
      resize_linear_exact(picture.view(), level.view());
      Image<std::uint32_t> sums[3];
      for (auto& s : sums) s = Image<std::uint32_t>(slot.width + 1, slot.height + 1);
      integral_squared(level.view(), sums[0].view(), sums[1].view());
      integral_tilted(level.view(), sums[2].view());
      const std::ptrdiff_t plane[3] = {0, planes.squared, planes.tilted};
      const auto width = static_cast<std::size_t>(slot.width);
      for (int y = 0; y <= slot.height; ++y) {
        if (y < slot.height) {
          std::uint8_t* got = all_pixels.data() + (slot.y + y) * pixels.stride + slot.x;
          ASSERT_EQ(std::memcmp(level.view().row(y), got, width), 0)
              << "pixels of row " << y << " of " << slot.width << "x" << slot.height;
          std::memset(got, kCanary, width);
        }
        for (int p = 0; p < planes_made; ++p) {
          std::uint32_t* got = all_words.data() + (slot.y + y) * planes.stride + slot.x + plane[p];
          ASSERT_EQ(std::memcmp(sums[p].view().row(y), got, sizeof *got * (width + 1)), 0)
              << "plane " << p << " row " << y << " of " << slot.width << "x" << slot.height;
          std::memset(got, kCanary, sizeof *got * (width + 1));
        }
        words_ += planes_made * (slot.width + 1);
      }
      ++levels_;
    }
    for (const std::uint8_t b : all_pixels) ASSERT_EQ(b, kCanary) << "a pixel of no level";
    for (const std::uint32_t w : all_words) ASSERT_EQ(w, 0xA5A5A5A5u) << "a sum of no level";
    beside_ += static_cast<long>(bytes + words);
  }

  const Model upright_ = test::shared(test::random_cascade(11, 20, 20, 3, false));
  const Model tilted_ = test::shared(test::random_cascade(36, 24, 16, 3, true));
  long words_ = 0, levels_ = 0, beside_ = 0;
};

TEST_F(IntegralCuda, RandomAndExtremePictures) {
  ASSERT_FALSE(upright_->has_tilted());
  ASSERT_TRUE(tilted_->has_tilted());
  for (const Model& model : {upright_, tilted_}) {
    // One row of threads less and more, several blocks, thin, and the smallest there is.
    for (const Picture& picture :
         {smooth(301, 211, 3, 9, 5, 11), smooth(301, 200, 3, 16, 4, 3), smooth(255, 40, 2, 12),
          smooth(256, 33, 0, 13, 1, 2), smooth(257, 64, 1, 14), smooth(24, 20, 1, 10),
          smooth(1030, 40, 0, 11), smooth(26, 700, 2, 15, 0, 9), flat(600, 300, 255),
          flat(90, 70, 0), stripes(320, 200, 1), stripes(301, 203, 7)})
      ASSERT_NO_FATAL_FAILURE(compare(model, picture));
  }
  test::compared("words of sums", words_, 3'000'000);
  test::compared("levels", levels_, 200);
}

TEST_F(IntegralCuda, NaturalPictures) {
  const auto pictures = test::load_gray_pictures();
  if (pictures.empty()) GTEST_SKIP() << "no pictures: set CUFACE_GPU_DATA";
  for (const test::GrayPicture& p : pictures) {
    ASSERT_NO_FATAL_FAILURE(compare(tilted_, part_of(p, p.width, p.height)));
    ASSERT_NO_FATAL_FAILURE(compare(upright_, part_of(p, 401, 303)));
  }
  test::compared("words of sums", words_, static_cast<long>(pictures.size()) * 200'000);
}

/// Luma, all levels and their sums, as a search would read them that does not make its sums itself.
TEST_F(IntegralCuda, Times) {
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
      cuda::ScratchLayout layout;
      auto integrals =
          cuda::LevelIntegrals::create(picture.width, picture.height, slots, false, layout);
      cuda::SumPlanes planes = pair.gpu().planes();
      ImageView<const std::uint8_t> atlas = pair.gpu().pixels();
      auto sums = cuda::DeviceBuffer<std::uint32_t>::create(
          static_cast<std::size_t>(planes.stride * atlas.height));
      auto scratch = cuda::DeviceBuffer<std::byte>::create(layout.bytes());
      auto luma = cuda::DeviceImage<std::uint8_t>::create(picture.width, picture.height);
      ASSERT_TRUE(resize.ok() && integrals.ok() && sums.ok() && scratch.ok() && luma.ok());
      integrals.value().bind(scratch.value().data());
      planes.data = sums.value().data();
      test::GuardedBytes in(picture.pixels);
      FrameView frame;
      frame.width = picture.width;
      frame.height = picture.height;
      frame.component[0] = {in.data(), picture.width};
      const ImageView<std::uint8_t> levels = {const_cast<std::uint8_t*>(atlas.data), atlas.width,
                                              atlas.height, atlas.stride};
      const test::Stream stream;
      test::Submitter submit;
      for (const bool with_sums : {false, true}) {
        const auto enqueue = [&](cuda::Launcher launch) {
          if (Status s = cuda::luma(frame, luma.value().view(), launch); !s.ok()) return s;
          const ImageView<const std::uint8_t> grey = std::as_const(luma.value()).view();
          if (!with_sums) return resize.value().enqueue(grey, levels, nullptr, launch);
          return integrals.value().enqueue(grey, levels, planes, nullptr, launch);
        };
        std::string what = "luma and levels";
        if (with_sums) what += " and both integrals";
        what += " of " + model->name + " 1.1 min 24";
        test::report_time(what, picture.name, test::median_us(stream, [&] {
                            EXPECT_TRUE(submit(stream, enqueue).ok());
                          }));
        cuda::LaunchList list;
        ASSERT_TRUE(enqueue(cuda::Launcher(list)).ok());
        if (with_sums) test::report_parts(what, picture.name, list, stream);
      }
    }
}

}  // namespace
}  // namespace cuface
