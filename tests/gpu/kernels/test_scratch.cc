// The memory that detectors share: how much it is, and that they use it in turn.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/common/cuda/scratch.h"
#include "kernels/detect/cuda/detector.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/detect_pair.h"
#include "tests/gpu/spin.h"

namespace cuface::test {
namespace {

using cuda::DeviceFaces;
using cuda::Launcher;

Model made(CascadeModel model) { return std::make_shared<const CascadeModel>(std::move(model)); }

class ScratchCuda : public testing::Test {
 protected:
  void SetUp() override { CUFACE_NEEDS_GPU(); }
};

TEST_F(ScratchCuda, DetectorsOfOneScratchTakeTurns) {
  const std::size_t kRounds = test::under_tool() ? 6 : 40;
  const int small = test::under_tool() ? 4 : 1;
  DetectConfig config;
  config.min_neighbors = 1;
  const Model model = made(random_cascade(20, 18, 37, 5, true));
  std::shared_ptr<cuda::Scratch> scratch;
  const auto shared_scratch = [&](std::size_t bytes) -> Result<std::shared_ptr<cuda::Scratch>> {
    if (!scratch) {
      auto made = cuda::Scratch::create(bytes);
      if (!made.ok()) return made.status();
      scratch = made.value();
    }
    EXPECT_GE(scratch->size(), bytes);
    return scratch;
  };
  struct Chain {
    const std::shared_ptr<Stream> stream = std::make_shared<Stream>();
    Submitter submit;
    std::unique_ptr<cuda::Detector> gpu;
    std::vector<Picture> pictures;
    std::vector<std::unique_ptr<GuardedBytes>> memory;
    std::vector<DetectResult> expected;
    std::vector<std::unique_ptr<GuardedBytes>> outs;
  };
  std::array<Chain, 3> chains;
  long faces = 0;
  for (std::size_t c = 0; c < chains.size(); ++c) {
    Chain& chain = chains[c];
    const int width = (640 - 100 * static_cast<int>(c)) / small;
    const int height = (480 - 70 * static_cast<int>(c)) / small;
    auto gpu = cuda::Detector::create(model, config, width, height, shared_scratch);
    ASSERT_TRUE(gpu.ok()) << gpu.status().message();
    chain.gpu = std::move(gpu.value());
    const auto cpu =
        std::move(Detector::create(Backend::kCpu, model, config, width, height).value());
    for (unsigned i = 0; i < 3; ++i) {
      const auto seed = static_cast<unsigned>(10 * c) + i;
      const Picture& picture =
          chain.pictures.emplace_back(smooth(width, height, 2 + static_cast<int>(i), seed));
      chain.memory.push_back(std::make_unique<GuardedBytes>(picture.bytes));
      ASSERT_TRUE(cpu->enqueue(picture.view(), chain.expected.emplace_back()).ok());
      faces += static_cast<long>(chain.expected.back().faces.size());
    }
    for (std::size_t i = 0; i < kRounds; ++i)
      chain.outs.push_back(std::make_unique<GuardedBytes>(cuda::device_faces_bytes(0), kCanary));
  }
  test::compared("faces", faces, 20);
  for (std::size_t round = 0; round < kRounds; ++round)
    for (Chain& chain : chains) {
      const auto luma = chain.pictures[round % 3].at(chain.memory[round % 3]->data());
      const Status submitted = scratch->take_turn(*chain.stream, chain.stream, [&] {
        return chain.submit(*chain.stream, [&](Launcher launch) {
          return chain.gpu->enqueue(
              luma, nullptr, reinterpret_cast<DeviceFaces*>(chain.outs[round]->data()), launch);
        });
      });
      ASSERT_TRUE(submitted.ok()) << submitted.message();
    }
  for (std::size_t round = 0; round < kRounds; ++round)
    for (Chain& chain : chains) {
      DeviceFaces got;
      std::memcpy(static_cast<void*>(&got), chain.outs[round]->get().data(), sizeof got);
      const auto& expected = chain.expected[round % 3].faces;
      ASSERT_EQ(got.count, static_cast<int>(expected.size())) << "round " << round;
      for (int i = 0; i < got.count; ++i) {
        const Detection& e = expected[static_cast<std::size_t>(i)];
        EXPECT_EQ(got.faces[i].neighbors, e.neighbors);
        EXPECT_EQ(got.faces[i].box,
                  (Box{static_cast<float>(e.box.x), static_cast<float>(e.box.y),
                       static_cast<float>(e.box.w), static_cast<float>(e.box.h)}));
      }
    }
  for (Chain& chain : chains) EXPECT_EQ(chain.submit.built().graphs, 1);
}

/// The first stream's turn takes a while. Nobody may wait for it but the second stream, which reads
/// what it has written at its end; by then whoever had the first stream may be gone.
TEST_F(ScratchCuda, TheFirstTurnOfASecondStreamWaitsOnTheGpuOnly) {
  constexpr int kBusyUs = 100'000;
  const std::size_t kBytes = 4096;
  auto made = cuda::Scratch::create(kBytes);
  ASSERT_TRUE(made.ok()) << made.status().message();
  cuda::Scratch& scratch = *made.value();
  GuardedBytes read(kBytes, kCanary);
  auto first = std::make_shared<Stream>();
  const auto second = std::make_shared<Stream>(), third = std::make_shared<Stream>();
  ASSERT_EQ(spin(1, *first), cudaSuccess);  // the first launch of a kernel loads it
  CUFACE_CUDA_OK(cudaMemset(scratch.data(), 1, kBytes));
  CUFACE_CUDA_OK(cudaDeviceSynchronize());
  const auto begin = std::chrono::steady_clock::now();
  const auto write = [&](const std::shared_ptr<Stream>& stream, int value) {
    return scratch.take_turn(*stream, stream, [&]() -> Status {
      EXPECT_EQ(spin(kBusyUs, *stream), cudaSuccess);
      return cuda::check(cudaMemsetAsync(scratch.data(), value, kBytes, *stream), "setting");
    });
  };
  ASSERT_TRUE(write(first, 2).ok());
  ASSERT_TRUE(write(first, 3).ok());
  const std::weak_ptr<Stream> kept = first;
  first.reset();
  EXPECT_FALSE(kept.expired()) << "its work can no longer be waited for";
  std::thread([&] {
    EXPECT_TRUE(scratch
                    .take_turn(*second, second,
                               [&] {
                                 return cuda::check(
                                     cudaMemcpyAsync(read.data(), scratch.data(), kBytes,
                                                     cudaMemcpyDeviceToDevice, *second),
                                     "copying");
                               })
                    .ok());
    // What was given to the last turn is not read by the turns before.
    EXPECT_TRUE(write(third, 4).ok());
  }).join();
  const double us =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_LT(us, under_tool() ? 1e9 : kBusyUs / 2) << "the host has waited";
  EXPECT_EQ(read.get(), std::vector<std::uint8_t>(kBytes, 3)) << "the streams have no order";
}

TEST_F(ScratchCuda, TheSearchScratchIsWithinItsLimits) {
  struct Case {
    int width, height;
    bool tilted;
    double most;
  };
  for (const Case& c :
       {Case{1920, 1080, false, 20}, Case{3840, 2160, false, 60}, Case{1920, 1080, true, 20}}) {
    std::size_t bytes = 0;
    const auto none = [&](std::size_t asked) {
      bytes = asked;
      return cuda::Scratch::create(256);  // nothing is searched
    };
    const auto detector = cuda::Detector::create(made(random_cascade(3, 20, 20, 3, c.tilted)), {},
                                                 c.width, c.height, none);
    ASSERT_TRUE(detector.ok()) << detector.status().message();
    const double mib = static_cast<double>(bytes) / (1 << 20);
    std::printf("search scratch for %dx%d%s: %.1f MiB\n", c.width, c.height,
                c.tilted ? " with tilted features" : "", mib);
    EXPECT_EQ(bytes, detector.value()->scratch_bytes());
    EXPECT_LT(mib, c.most);
    EXPECT_GT(mib, c.most / 2);
  }
}

}  // namespace
}  // namespace cuface::test
