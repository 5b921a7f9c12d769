// The sums of whole pictures on CUDA against the reference's, bit for bit.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "kernels/integral/integral_cuda.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/integral_pair.h"
#include "tests/gpu/kernels/random_cascade.h"

namespace cuface {
namespace {

using test::GuardedBytes;

class IntegralCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();  // without a GPU it would fail, and a test that has failed is not skipped
  }

  /// Of a picture on the GPU; `run` as in IntegralImages::enqueue.
  void enqueue(const cuda::IntegralImages& integrals, ImageView<const std::uint8_t> picture,
               const std::int32_t* run = nullptr) {
    GuardedBytes zeroed(sizeof(uint4), test::kCanary);
    ASSERT_TRUE(
        integrals.enqueue(picture, run, {reinterpret_cast<uint4*>(zeroed.data()), 1}, *stream_)
            .ok());
    EXPECT_EQ(zeroed.get(), Bytes(sizeof(uint4), 0));
  }

  void check(ImageView<const std::uint8_t> picture, bool tilted, int lead, int padding) {
    SCOPED_TRACE(std::to_string(picture.width) + "x" + std::to_string(picture.height));
    cuda::ScratchLayout layout;
    cuda::IntegralImages integrals;
    integrals.plan(picture.width, picture.height, tilted, layout);
    GuardedBytes scratch(layout.bytes(), test::kCanary);
    integrals.bind(reinterpret_cast<std::byte*>(scratch.data()));
    test::DevicePicture device(picture.width, picture.height, lead, padding);
    device.set(picture);
    enqueue(integrals, device.view());
    (void)scratch.get();  // wrote outside of it?
    EXPECT_EQ(integrals.tilted() > 0, tilted);
    test::compare_integrals(integrals, picture, compared_);
  }

  using Bytes = std::vector<std::uint8_t>;

  std::optional<test::Stream> stream_;
  long compared_ = 0;
};

TEST_F(IntegralCuda, EqualsTheReference) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<std::pair<int, int>> sizes = {{1, 1},   {1, 70},    {70, 1},   {31, 32},  {32, 31},
                                            {33, 65}, {255, 257}, {256, 64}, {300, 96}, {257, 33}};
  for (int i = 0; i < test::cases(200); ++i) sizes.emplace_back(1 + below(400), 1 + below(300));
  for (const auto& [width, height] : sizes) {
    test::Grey picture(width, height);
    picture.pixels = test::smooth_pixels(width, height, below(3), random());
    check(picture.view(), below(2) == 0, below(9), below(9));
    if (HasFatalFailure()) return;
  }
  test::compared("sums", compared_, 5'000'000);
}

/// Sums beyond 32 bits, and the most pixels of a picture.
TEST_F(IntegralCuda, WhitePicturesAsLargeAsTheyGet) {
  std::vector<std::pair<int, int>> sizes = {{4096, 4096}, {16384, 1024}, {1024, 16384}};
  if (test::under_tool()) sizes = {{400, 300}};
  for (const auto& [width, height] : sizes) {
    const test::Grey white(width, height, 255);
    check(white.view(), true, 0, 0);
    if (HasFatalFailure()) return;
  }
  test::compared("sums", compared_, 10'000'000);
}

TEST_F(IntegralCuda, TheRunFlagDecidesOnTheDevice) {
  cuda::ScratchLayout layout;
  cuda::IntegralImages integrals;
  integrals.plan(90, 70, true, layout);
  GuardedBytes scratch(layout.bytes(), test::kCanary), flag(sizeof(std::int32_t), 0);
  integrals.bind(reinterpret_cast<std::byte*>(scratch.data()));
  test::DevicePicture device(90, 70);
  device.set(test::Grey(90, 70, 9).view());
  const auto* run = reinterpret_cast<const std::int32_t*>(flag.data());
  enqueue(integrals, device.view(), run);
  EXPECT_EQ(scratch.get(), Bytes(layout.bytes(), test::kCanary)) << "was written with *run 0";
  flag.set({1, 0, 0, 0});
  enqueue(integrals, device.view(), run);
  EXPECT_NE(scratch.get(), Bytes(layout.bytes(), test::kCanary));
}

}  // namespace
}  // namespace cuface
