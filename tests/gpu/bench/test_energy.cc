// Energy a picture of SURF's descriptors, as published [S2.E9]: 1,020 of a picture of 1024 x 1024,
// the idle draw subtracted.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/surf/cuda/detector.h"
#include "tests/described_places.h"
#include "tests/gpu/bench/curve.h"
#include "tests/gpu/bench/energy_counter.h"
#include "tests/gpu/compare.h"

namespace cuface {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSide = 1024, kKeypoints = 1020;
constexpr double kIdleSeconds = 2, kSeconds = 1.5;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Span {
  double seconds, joules;
  long pictures;
  double watts() const { return joules / seconds; }
};

/// Calls work(), which says how many pictures it did, for so long; from one step of the counter to
/// another.
template <typename Work>
Span measure(const test::EnergyCounter& counter, double seconds, const Work& work) {
  constexpr double kMostSeconds = 10;
  double joules = counter.joules();
  const auto next_step = [&] {
    const Clock::time_point begin = Clock::now();
    long pictures = 0;
    for (const double before = joules; joules == before; joules = counter.joules()) {
      pictures += work();
      if (seconds_since(begin) < kMostSeconds) continue;
      ADD_FAILURE() << "the counter stands still";
      break;
    }
    return pictures;
  };
  next_step();
  const Clock::time_point begin = Clock::now();
  const double first = joules;
  long pictures = 0;
  do pictures += next_step();
  while (seconds_since(begin) < seconds && !testing::Test::HasFailure());
  return {seconds_since(begin), joules - first, pictures};
}

TEST(EnergyCuda, DescriptorsAsPublished) {
  CUFACE_NEEDS_GPU();
  if (test::under_tool()) GTEST_SKIP() << "energy under a tool says nothing";
  const test::Grey mosaic = test::natural("mosaic1080");
  if (mosaic.width == 0) GTEST_SKIP() << "no natural pictures: set CUFACE_GPU_DATA";
  const test::EnergyCounter counter;
  if (!counter.why().empty())
    GTEST_SKIP() << "the driver does not tell the energy: " << counter.why();
  const test::Grey picture = test::resized(mosaic, kSide, kSide);
  const std::vector<Keypoint> places = test::described_places(picture.view(), kKeypoints, 1);
  ASSERT_EQ(places.size(), static_cast<std::size_t>(kKeypoints));
  test::GuardedBytes given(test::bytes_of(places));
  test::DevicePicture grey(kSide, kSide);
  grey.set(picture.view());
  test::Stream stream;

  const auto nap = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return 0;
  };
  measure(counter, 1, nap);  // clocks fall
  const double idle = measure(counter, kIdleSeconds, nap).watts();
  std::printf("{\"what\":\"energy, idle\",\"W\":%.1f}\n", idle);

  for (const auto& [what, config] :
       {std::pair<std::string, SurfConfig>{"SURF of a mipmap, upright",
                                           {.upright = true, .sampling = SurfSampling::kMipmap}},
        {"SURF, upright", {.upright = true}},
        {"SURF, turned", {}}}) {
    cuda::ScratchLayout layout;
    auto made = cuda::SurfDetector::create(config, kSide, kSide, kKeypoints, layout);
    ASSERT_TRUE(made.ok()) << made.status().message();
    test::GuardedBytes scratch(layout.bytes(), test::kCanary),
        out(cuda::device_float_features_bytes(made.value().most(), made.value().floats()),
            test::kCanary);
    made.value().bind(reinterpret_cast<std::byte*>(scratch.data()));
    cuda::LaunchList list;
    ASSERT_TRUE(made.value()
                    .describe(grey.view(),
                              {reinterpret_cast<const std::byte*>(given.data()), sizeof(Keypoint),
                               nullptr, kKeypoints},
                              reinterpret_cast<std::byte*>(out.data()), cuda::Launcher(list))
                    .ok());
    cuda::GraphSet graphs;
    const auto batch = [&] {
      constexpr int kBatch = 32;
      for (int i = 0; i < kBatch; ++i) EXPECT_TRUE(graphs.submit(list, stream).ok());
      EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      return kBatch;
    };
    // Twice: a figure that the second turn does not repeat is none.
    double each[2] = {0, 0};
    Span span{};
    for (double& millijoules : each) {
      span = measure(counter, kSeconds, batch);
      millijoules = 1e3 * (span.joules - idle * span.seconds) / static_cast<double>(span.pictures);
      EXPECT_GE(span.pictures, 1000) << "as many as are published";
      EXPECT_GT(millijoules, 0) << "no more than idle";
    }
    EXPECT_NEAR(each[0], each[1], 0.25 * each[0]) << what;
    std::printf(
        "{\"what\":\"energy\",\"of\":\"%s\",\"mJ\":%.2f,\"W\":%.1f,\"us\":%.2f,\"pictures\":%ld}\n",
        what.c_str(), (each[0] + each[1]) / 2, span.watts(),
        1e6 * span.seconds / static_cast<double>(span.pictures), span.pictures);
  }
}

}  // namespace
}  // namespace cuface
