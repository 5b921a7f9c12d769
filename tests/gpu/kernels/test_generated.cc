// Generated backgrounds on CUDA against the CPU's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/generated/generated.h"
#include "kernels/generated/generated_cuda.h"
#include "tests/gpu/gpu.h"

namespace cuface {
namespace {

constexpr std::size_t kBytes = std::size_t{kGeneratedWidth} * kGeneratedHeight;

class GeneratedCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
    out_.emplace(kBytes, 0xA5);
  }

  Status generate(std::uint64_t seed, std::uint64_t picture, int height = kGeneratedHeight) {
    return cuda::generate_background(seed, picture,
                                     {out_->data(), kGeneratedWidth, height, kGeneratedWidth},
                                     cuda::Launcher(*stream_));
  }

  std::optional<test::Stream> stream_;
  std::optional<test::GuardedBytes> out_;
};

TEST_F(GeneratedCuda, EqualsTheCpu) {
  long compared = 0;
  for (std::uint64_t picture = 0; picture < (test::under_tool() ? 3u : 64u); ++picture) {
    for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{38}}) {
      ASSERT_TRUE(generate(seed, picture).ok());
      const std::vector<std::uint8_t> got = out_->get();
      const Image<std::uint8_t> expected = generate_background(seed, picture);
      for (int y = 0; y < kGeneratedHeight; ++y) {
        const std::uint8_t* row = expected.view().row(y);
        ASSERT_TRUE(std::equal(row, row + kGeneratedWidth,
                               got.begin() + std::ptrdiff_t{y} * kGeneratedWidth))
            << "picture " << picture << " of seed " << seed << ", row " << y;
      }
      compared += static_cast<long>(kBytes);
    }
  }
  test::compared("pixels", compared, 1'500'000);
}

TEST_F(GeneratedCuda, RefusesAnotherSize) {
  EXPECT_EQ(generate(1, 1, kGeneratedHeight - 1).code(), StatusCode::kInvalidArgument);
}

TEST_F(GeneratedCuda, Time) {
  std::uint64_t picture = 0;
  test::report_time("a generated background", "640x480",
                    test::median_us(*stream_, [&] { EXPECT_TRUE(generate(38, picture++).ok()); }));
}

}  // namespace
}  // namespace cuface
