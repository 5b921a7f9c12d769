// How even the frames of a chain are on the GPU, with whole searches and with spread ones
// (docs/design/pace.md).
#include <gst/gst.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <numeric>
#include <string>
#include <utility>
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

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double ratio(const std::vector<double>& values) {
  return quantile(values, 0.99) / quantile(values, 0.5);
}

/// Of the frames behind the warm-up: microseconds on the GPU, of all elements of kChain.
/// `settings`: names and values of the detector's. At least so many `faces` are in all lines.
std::vector<double> times_of(const std::string& clip,
                             const std::vector<std::pair<const char*, std::string>>& settings,
                             long faces) {
  const TempFolder folder;
  Pipeline pipeline(decoded_on_gpu(bench_clip(clip)) + " ! " + kChain +
                    " ! cufacepublish name=publish location=" + folder.file("faces.jsonl") +
                    " ! fakesink sync=false");
  for (const auto& [name, value] : settings) pipeline.set("detect", name, value);
  std::vector<std::uint64_t> totals;  // who asks on every frame gets every frame's time
  pipeline.on_buffer("detect", "sink", [](GstBuffer*) { usleep(kPaceUs); });
  pipeline.on_buffer("publish", "sink",
                     [&](GstBuffer*) { totals.push_back(pipeline.sum_of("device-time-ns")); });
  const Ending ending = pipeline.play();
  EXPECT_TRUE(ending.eos) << ending.error;
  pipeline.set_state(GST_STATE_NULL);
  const auto lines = lines_of(folder.file("faces.jsonl"));
  EXPECT_EQ(lines.size(), totals.size());
  EXPECT_GE(faces_in(lines), faces);
  std::vector<double> us;
  for (std::size_t i = kWarmUp; i + kLate < totals.size(); ++i)
    us.push_back(static_cast<double>(totals[i + kLate] - totals[i + kLate - 1]) / 1e3);
  return us;
}

/// `network`: the file of one that searches, or none.
std::vector<double> pace_of(const std::string& spread, const std::string& network = "") {
  std::vector<std::pair<const char*, std::string>> settings = {{"redetect-interval", "10"},
                                                               {"spread", spread}};
  if (!network.empty()) settings.emplace_back("model", network);
  const auto us = times_of(kClip, settings, 900);
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

/// S0.E9: 850 frames without a face, with a search on every frame and on every tenth one.
TEST(PaceCuda, OfThePublishedPipeline) {
  CUFACE_NEEDS_CHAINS();
  CUFACE_NEEDS_BENCH_CLIP("noface720");
  CUFACE_NEEDS_BENCH_CLIP(kClip);
  const TimeLimit limit(60);
  constexpr std::size_t kFrames = 850, kInterval = 10;
  static_assert(kWarmUp % kInterval == 0, "the first frame that counts is searched");
  const auto times = [&](const std::string& way, const std::string& clip, std::size_t interval,
                         long faces) {
    auto us = times_of(clip, {{"redetect-interval", std::to_string(interval)}, {"spread", "false"}},
                       faces);
    EXPECT_GE(us.size(), kFrames) << way;
    us.resize(kFrames);
    std::printf("{\"what\":\"pipeline\",\"way\":\"%s\",\"us mean\":%.1f,\"us median\":%.1f}\n",
                way.c_str(), mean(us), quantile(us, 0.5));
    return us;
  };
  const auto none = times("no face", "noface720", 1, 0);
  const auto every = times("a search on every frame", kClip, 1, 900);
  const auto tenth = times("a search every 10 frames", kClip, kInterval, 900);
  std::vector<double> searched, between;
  for (std::size_t i = 0; i < tenth.size(); ++i)
    (i % kInterval == 0 ? searched : between).push_back(tenth[i]);
  const double of_every = mean(every) / mean(tenth), of_search = mean(searched) / mean(between);
  std::printf(
      "{\"what\":\"pipeline, ratios\",\"every frame / every tenth\":%.2f,"
      "\"a frame with a search / one without\":%.2f}\n",
      of_every, of_search);
  EXPECT_GT(of_every, 1);
  EXPECT_GT(of_search, of_every) << "the searched frames are others";
}

}  // namespace
}  // namespace cuface::test
