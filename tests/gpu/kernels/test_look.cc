// A long search on the GPU looks between its launches whether to stop.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/common/cuda/runtime.h"
#include "kernels/common/stop_flag.h"
#include "kernels/detect/cuda/detector.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/detect_pair.h"

namespace cuface::test {
namespace {

using cuda::DeviceFaces;
using std::chrono::milliseconds;

class LookCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    if (under_tool()) GTEST_SKIP() << "long searches take minutes under a tool";
    auto word = cuda::PinnedBuffer<std::uint32_t>::create(1);
    ASSERT_TRUE(word.ok()) << word.status().message();
    word_ = std::move(word.value());
    *word_.data() = 7;
    auto run = cuda::DeviceBuffer<std::int32_t>::create(1);
    ASSERT_TRUE(run.ok()) << run.status().message();
    run_ = std::move(run.value());
    stop_.mirror_to(word_.data());
    ASSERT_EQ(*word_.data(), 0u);
  }
  void TearDown() override { stop_.mirror_to(nullptr); }

  std::unique_ptr<cuda::Detector> make(const DetectConfig& config, int width, int height) {
    auto made = cuda::Detector::create(model_, config, width, height);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? std::move(made.value()) : nullptr;
  }
  std::int32_t* run() { return run_.data(); }
  void set_run(std::int32_t value) {
    ASSERT_EQ(cudaMemcpy(run(), &value, sizeof value, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  std::int32_t get_run() const {
    std::int32_t value = -1;
    EXPECT_EQ(cudaMemcpy(&value, run_.data(), sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
    return value;
  }

  const Model model_ = std::make_shared<const CascadeModel>(random_cascade(20, 20, 20, 8, false));
  StopFlag stop_;
  cuda::PinnedBuffer<std::uint32_t> word_;
  cuda::DeviceBuffer<std::int32_t> run_;
};

double ms_since(std::chrono::steady_clock::time_point begin) {
  return 1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST_F(LookCuda, AStoppedSearchIsOverSoon) {
  DetectConfig config;
  config.scale_factor = 1.002;
  config.step = 1;
  config.roll = 90;
  const auto detector = make(config, 1920, 1080);
  ASSERT_TRUE(detector);
  ASSERT_TRUE(detector->is_long());
  detector->stop_by({word_.data(), run()});
  Picture picture = smooth(1920, 1080, 3, 5);
  GuardedBytes memory(picture.bytes), out(cuda::device_faces_bytes(0), kCanary);
  const Stream stream;
  const auto search = [&] {
    set_run(1);
    const Status status = detector->enqueue(picture.at(memory.data()), run(),
                                            reinterpret_cast<DeviceFaces*>(out.data()),
                                            cuda::Launcher(static_cast<cudaStream_t>(stream)));
    ASSERT_TRUE(status.ok()) << status.message();
  };
  search();  // loads the kernels
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  auto begin = std::chrono::steady_clock::now();
  search();
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const double whole = ms_since(begin);
  EXPECT_EQ(get_run(), 1) << "nobody has stopped it";

  search();
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(whole / 10));
  begin = std::chrono::steady_clock::now();
  stop_.raise();
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const double stopped = ms_since(begin);
  std::printf(
      "{\"what\":\"a long search stopped\",\"windows\":%lld,\"whole ms\":%.1f,"
      "\"after the flag ms\":%.1f}\n",
      detector->windows(), whole, stopped);
  EXPECT_EQ(get_run(), 0);
  EXPECT_LT(stopped, 500);
  EXPECT_LT(stopped, whole / 2) << "or it was not stopped at all";
  // end_search() looks at `run`: what the list holds counts for nothing.
}

TEST_F(LookCuda, LooksChangeNothingOfWhatIsFound) {
  for (const bool active : {false, true})
    for (const int roll : {0, 30}) {
      if (active && roll > 0) continue;
      DetectConfig config;
      config.scale_factor = 1.004;
      config.step = 1;
      config.roll = roll;
      config.active_parts = active;
      const Picture picture = smooth(1280, 720, 9, 7);
      GuardedBytes memory(picture.bytes);
      std::vector<std::uint8_t> found[2];
      for (const bool looks : {false, true}) {
        const auto detector = make(config, 1280, 720);
        ASSERT_TRUE(detector);
        ASSERT_TRUE(detector->is_long()) << detector->windows();
        if (looks) detector->stop_by({word_.data(), run()});
        set_run(1);
        GuardedBytes out(cuda::device_faces_bytes(0), kCanary);
        const Stream stream;
        const Status status = detector->enqueue(picture.at(memory.data()), run(),
                                                reinterpret_cast<DeviceFaces*>(out.data()),
                                                cuda::Launcher(static_cast<cudaStream_t>(stream)));
        ASSERT_TRUE(status.ok()) << status.message();
        found[looks] = out.get();
      }
      EXPECT_EQ(found[0], found[1]) << "roll " << roll << (active ? ", active parts" : "");
      DeviceFaces faces;
      std::memcpy(static_cast<void*>(&faces), found[1].data(), sizeof faces);
      EXPECT_EQ(faces.searched, 1);
      std::printf("%d faces\n", faces.count);
    }
}

TEST_F(LookCuda, SearchesThatPlacesCannotCountAreRefused) {
  DetectConfig config;
  config.scale_factor = 1.001;
  const Status status = cuda::Detector::create(model_, config, 3840, 2160).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported) << status.message();
  StopFlag raised;
  raised.raise();
  EXPECT_EQ(cuda::Detector::create(model_, {}, 1920, 1080, cuda::Scratch::create, &raised)
                .status()
                .code(),
            StatusCode::kCancelled);
}

}  // namespace
}  // namespace cuface::test
