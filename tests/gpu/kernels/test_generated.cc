// Generated backgrounds on CUDA against the CPU's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "kernels/generated/generated.h"
#include "kernels/generated/generated_cuda.h"
#include "tests/gpu/gpu.h"

namespace cuface {
namespace {

constexpr std::size_t kBytes = std::size_t{kGeneratedWidth} * kGeneratedHeight;
constexpr std::size_t kAtOnce = 3, kApart = kBytes + 256;

class GeneratedCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
    scenes_.emplace(kAtOnce * sizeof(GeneratedScene), 0xA5);
    out_.emplace((kAtOnce - 1) * kApart + kBytes, 0xA5);
  }

  /// Pictures from number `picture` on.
  Status generate(std::uint64_t seed, std::uint64_t picture, int height = kGeneratedHeight) {
    std::vector<GeneratedScene> scenes;
    for (std::uint64_t i = 0; i < kAtOnce; ++i)
      scenes.push_back(generated_scene(seed, picture + i));
    std::vector<std::uint8_t> bytes(scenes_->size());
    std::memcpy(bytes.data(), scenes.data(), bytes.size());
    scenes_->set(bytes);
    return launch(height);
  }
  Status launch(int height = kGeneratedHeight) {
    return cuda::generate_backgrounds(
        reinterpret_cast<const GeneratedScene*>(scenes_->data()), kAtOnce,
        {out_->data(), kGeneratedWidth, height, kGeneratedWidth}, kApart, cuda::Launcher(*stream_));
  }

  std::optional<test::Stream> stream_;
  std::optional<test::GuardedBytes> scenes_, out_;
};

TEST_F(GeneratedCuda, EqualsTheCpu) {
  long compared = 0;
  for (std::uint64_t first = 0; first < (test::under_tool() ? 3u : 64u); first += kAtOnce) {
    for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{38}}) {
      ASSERT_TRUE(generate(seed, first).ok());
      const std::vector<std::uint8_t> got = out_->get();
      for (std::size_t i = 0; i < kAtOnce; ++i) {
        const std::uint64_t picture = first + i;
        const Image<std::uint8_t> expected = generate_background(seed, picture);
        const auto at = got.begin() + static_cast<std::ptrdiff_t>(i * kApart);
        for (int y = 0; y < kGeneratedHeight; ++y) {
          const std::uint8_t* row = expected.view().row(y);
          ASSERT_TRUE(
              std::equal(row, row + kGeneratedWidth, at + std::ptrdiff_t{y} * kGeneratedWidth))
              << "picture " << picture << " of seed " << seed << ", row " << y;
        }
        compared += static_cast<long>(kBytes);
      }
    }
  }
  test::compared("pixels", compared, 1'500'000);
}

TEST_F(GeneratedCuda, RefusesAnotherSize) {
  EXPECT_EQ(generate(1, 1, kGeneratedHeight - 1).code(), StatusCode::kInvalidArgument);
}

TEST_F(GeneratedCuda, Time) {
  ASSERT_TRUE(generate(38, 0).ok());
  test::report_time("three generated backgrounds", "640x480",
                    test::median_us(*stream_, [&] { EXPECT_TRUE(launch().ok()); }));
}

}  // namespace
}  // namespace cuface
