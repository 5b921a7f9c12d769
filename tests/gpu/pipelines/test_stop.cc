// Neither NULL nor a flush waits for a long search on the GPU, of which several are in flight.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "tests/gpu/pipelines/pipeline.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 1920, kHeight = 1080;
constexpr double kMostSeconds = 0.5;

class StopCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = missing_for_pipelines(); !missing.empty()) GTEST_SKIP() << missing;
  }

  static std::string description(const std::string& settings) {
    return "appsrc name=source format=time caps=video/x-raw,format=GRAY8,framerate=25/1,width=" +
           std::to_string(kWidth) + ",height=" + std::to_string(kHeight) +
           " ! cufacedetect name=detect backend=cuda " + settings +
           " ! culktrack name=track ! fakesink name=sink sync=false async=false";
  }

  /// Noise, so that no search is over early, frame after frame.
  static void feed(Pipeline& pipeline) {
    pipeline.feed("source", [number = 0]() mutable {
      const std::size_t size = std::size_t{kWidth} * kHeight;
      std::vector<std::uint8_t> pixels(size);
      std::uint32_t random = 1u + static_cast<std::uint32_t>(number);
      for (auto& p : pixels)
        p = static_cast<std::uint8_t>((random = random * 1664525u + 1013904223u) >> 24);
      GstBuffer* buffer = gst_buffer_new_memdup(pixels.data(), size);
      GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(number++) * 40 * GST_MSECOND;
      GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
      return buffer;
    });
  }

  /// Returns once the detector has worked for a while on frames that wait for the GPU.
  static void play_until_busy(Pipeline& pipeline, std::atomic<int>& frames) {
    pipeline.on_buffer("detect", "sink", [&](GstBuffer*) { ++frames; });
    feed(pipeline);
    pipeline.set_state(GST_STATE_PLAYING);
    const auto begin = std::chrono::steady_clock::now();
    while (frames < 2 && seconds_since(begin) < 60)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_GE(frames, 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }

 private:
  const TimeLimit limit_{200};
};

const char* const kSettings[] = {
    "scale-factor=1.002 step=1 roll=90",
    "scale-factor=1.001 step=1",
    "scale-factor=1.002 step=1 search=smart verify=true",
    "scale-factor=1.002 step=1 roll=90 redetect-interval=1",
};

TEST_F(StopCuda, NullDoesNotWaitForSearches) {
  for (const char* settings : kSettings) {
    Pipeline pipeline(description(settings));
    std::atomic<int> frames{0};
    play_until_busy(pipeline, frames);
    const auto begin = std::chrono::steady_clock::now();
    pipeline.set_state(GST_STATE_NULL);
    const double took = seconds_since(begin);
    std::printf("{\"what\":\"NULL in long searches\",\"settings\":\"%s\",\"ms\":%.0f}\n", settings,
                1000 * took);
    EXPECT_LT(took, kMostSeconds) << settings;
  }
}

TEST_F(StopCuda, AFlushDoesNotWaitForSearches) {
  Pipeline pipeline(description(kSettings[0]));
  std::atomic<int> frames{0};
  play_until_busy(pipeline, frames);
  const auto begin = std::chrono::steady_clock::now();
  pipeline.push_event("source", gst_event_new_flush_start());
  pipeline.push_event("source", gst_event_new_flush_stop(TRUE));  // waits for the streaming thread
  const double took = seconds_since(begin);
  std::printf("{\"what\":\"flush in long searches\",\"ms\":%.0f}\n", 1000 * took);
  EXPECT_LT(took, kMostSeconds);
  const auto end = std::chrono::steady_clock::now();
  pipeline.set_state(GST_STATE_NULL);
  EXPECT_LT(seconds_since(end), kMostSeconds);
}

TEST_F(StopCuda, NullDoesNotWaitForThePlanning) {
  Pipeline pipeline(description("scale-factor=1.001 step=1 roll=90 verify=true"));
  feed(pipeline);
  pipeline.set_state(GST_STATE_PLAYING);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto begin = std::chrono::steady_clock::now();
  pipeline.set_state(GST_STATE_NULL);
  const double took = seconds_since(begin);
  std::printf("{\"what\":\"NULL while a long search is planned\",\"ms\":%.0f}\n", 1000 * took);
  EXPECT_LT(took, kMostSeconds);
}

}  // namespace
}  // namespace cuface::test
