// How even the frames of a chain are on the GPU, with whole searches and with spread ones
// (docs/design/pace.md).
#include <gst/gst.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/gpu/pipelines/pipeline.h"

namespace cuface::test {
namespace {

constexpr char kClip[] = "pexels720";
/// Between frames, as from a camera: the GPU is through with one before the next comes.
constexpr int kPaceUs = 2000;
/// An element knows a frame's time when it begins the fourth one after it, and the first frames
/// make graphs.
constexpr std::size_t kLate = 4, kWarmUp = 50;

double ratio(const std::vector<double>& values) {
  return quantile(values, 0.99) / quantile(values, 0.5);
}

/// Of the frames behind the warm-up: microseconds on the GPU, of all elements of kChain. `network`:
/// the file of one that searches, or none.
std::vector<double> pace_of(const std::string& spread, const std::string& network = "") {
  const TempFolder folder;
  Pipeline pipeline(decoded_on_gpu(bench_clip(kClip)) + " ! " + kChain +
                    " ! cufacepublish name=publish location=" + folder.file("faces.jsonl") +
                    " ! fakesink sync=false");
  pipeline.set("detect", "redetect-interval", "10");
  pipeline.set("detect", "spread", spread);
  if (!network.empty()) pipeline.set("detect", "model", network);
  std::vector<std::uint64_t> totals;  // who asks on every frame gets every frame's time
  pipeline.on_buffer("detect", "sink", [](GstBuffer*) { usleep(kPaceUs); });
  pipeline.on_buffer("publish", "sink",
                     [&](GstBuffer*) { totals.push_back(pipeline.sum_of("device-time-ns")); });
  const Ending ending = pipeline.play();
  EXPECT_TRUE(ending.eos) << ending.error;
  pipeline.set_state(GST_STATE_NULL);
  const auto lines = lines_of(folder.file("faces.jsonl"));
  EXPECT_EQ(lines.size(), totals.size());
  EXPECT_GE(faces_in(lines), 900);
  std::vector<double> us;
  for (std::size_t i = kWarmUp; i + kLate < totals.size(); ++i)
    us.push_back(static_cast<double>(totals[i + kLate] - totals[i + kLate - 1]) / 1e3);
  std::printf(
      "{\"what\":\"pace of a frame%s\",\"size\":\"1280x720\",\"spread\":\"%s\",\"frames\":%zu,"
      "\"us median\":%.0f,\"us of 99 %%\":%.0f,\"ratio\":%.2f}\n",
      network.empty() ? "" : ", a network", spread.c_str(), us.size(), quantile(us, 0.5),
      quantile(us, 0.99), ratio(us));
  return us;
}

TEST(PaceCuda, SpreadSearchesMakeFramesEven) {
  CUFACE_NEEDS_CHAINS();
  CUFACE_NEEDS_BENCH_CLIP(kClip);
  const TimeLimit limit(60);
  const auto whole = pace_of("false"), spread = pace_of("true");
  ASSERT_GE(whole.size(), 900u);
  ASSERT_GE(spread.size(), 900u);
  for (const auto& us : {whole, spread})
    EXPECT_GT(quantile(us, 0), 10) << "a frame without its time";
  EXPECT_LT(ratio(spread), ratio(whole));
}

/// Its searches are whole: `spread` means nothing to it. One frame in ten has one.
TEST(PaceCuda, OfANetwork) {
  CUFACE_NEEDS_CHAINS();
  CUFACE_NEEDS_NETWORK();
  CUFACE_NEEDS_BENCH_CLIP(kClip);
  const TimeLimit limit(60);
  const auto us = pace_of("auto", network_file());
  ASSERT_GE(us.size(), 900u);
  EXPECT_GT(quantile(us, 0), 10) << "a frame without its time";
  EXPECT_GT(ratio(us), 1.05) << "the searched frames are not seen";
}

}  // namespace
}  // namespace cuface::test
