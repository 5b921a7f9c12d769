// Many chains in one process: each gives the faces it gives alone; how fast and how large they are.
#include <cuda_runtime_api.h>
#include <gst/gst.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "tests/gpu/pipelines/chains.h"
#include "tests/gpu/pipelines/pipeline.h"
#include "tests/gpu/pipelines/trace.h"

namespace cuface::test {
namespace {

std::int64_t used_memory() {
  std::size_t free = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  return static_cast<std::int64_t>(total - free);
}

TEST_F(ChainsCuda, OneEightAndThirtyTwoGiveTheSameLinesAsOneAlone) {
  const std::string decoded = decoded_on_gpu(clip(kPexels));
  const auto alone = lines_of_one_alone(decoded);
  ASSERT_EQ(alone.size(), std::size_t{kPexelsFrames});
  ASSERT_GE(faces_in(alone), 400);
  for (const int chains : {1, 8, 32}) {
    std::string all;
    for (int i = 0; i < chains; ++i) all += chain(i, decoded);
    const double seconds = seconds_to_play(all);
    const double decoding = seconds_to_play(decoding_only(decoded, chains));
    long equal = 0;
    for (int i = 0; i < chains; ++i) {
      const auto lines = lines_of(faces_file(i));
      expect_same_lines(alone, lines,
                        "chain " + std::to_string(i) + " of " + std::to_string(chains));
      equal += lines == alone;
    }
    EXPECT_EQ(equal, chains);
    std::printf(
        "{\"what\":\"chains in one process\",\"size\":\"640x360\",\"chains\":%d,"
        "\"equal to one alone\":%ld,\"lines compared\":%ld,\"frames/s\":%.0f,"
        "\"frames/s decoding only\":%.0f}\n",
        chains, equal, chains * std::int64_t{kPexelsFrames}, chains * kPexelsFrames / seconds,
        chains * kPexelsFrames / decoding);
  }
}

/// With both detectors in turns.
TEST_F(ChainsCuda, BesideTheDecoderAt720p) {
  constexpr int kRounds = 3;
  CUFACE_NEEDS_BENCH_CLIP("pexels720");
  CUFACE_NEEDS_NETWORK();
  const std::string decoded = beside_the_decoder("pexels720");
  std::vector<double> decoding;
  struct With {
    std::string what, detect;
    int interval;
    std::vector<double> seconds = {};
  };
  std::vector<With> with_us;
  for (const int interval : {10, 1}) {
    with_us.push_back({"one chain beside the decoder", "", interval});
    with_us.push_back(
        {"one chain with a network beside the decoder", "model=" + network_file(), interval});
  }
  double frames = 0;
  for (int round = 0; round < kRounds; ++round) {
    decoding.push_back(seconds_to_play(decoding_only(decoded, 1)));
    for (With& with : with_us) {
      const std::string interval = " redetect-interval=" + std::to_string(with.interval);
      with.seconds.push_back(seconds_to_play(chain(0, decoded, with.detect + interval)));
      const auto lines = lines_of(faces_file(0));
      frames = static_cast<double>(lines.size());
      EXPECT_GE(faces_in(lines), 900) << with.what;
    }
  }
  ASSERT_GE(frames, 900);
  const auto rate = [&](std::vector<double>& seconds) {
    std::sort(seconds.begin(), seconds.end());
    return frames / seconds[kRounds / 2];
  };
  const double alone = rate(decoding);
  for (With& with : with_us)
    std::printf(
        "{\"what\":\"%s\",\"size\":\"1280x720\",\"redetect-interval\":%d,\"frames/s\":%.0f,"
        "\"frames/s decoding only\":%.0f,\"percent\":%.1f}\n",
        with.what.c_str(), with.interval, rate(with.seconds), alone,
        100 * rate(with.seconds) / alone);
}

/// Of each frame, microseconds from its arrival at the first element until the last one has pushed
/// it, in the one thread they share: what they cost the host. At frame `traced`, if there is one,
/// the trace of the driver's calls begins.
std::vector<double> host_times(const std::string& description, std::size_t traced = SIZE_MAX) {
  using Clock = std::chrono::steady_clock;
  Pipeline pipeline(description);
  Clock::time_point arrived;
  std::vector<double> us;
  pipeline.on_buffer("detect", "sink", [&](GstBuffer*) {
    usleep(2000);  // the GPU is idle: nothing of ours waits for it
    if (us.size() == traced) trace::start();
    arrived = Clock::now();
  });
  pipeline.on_buffer("sink", "sink", [&](GstBuffer*) {
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - arrived).count());
  });
  EXPECT_TRUE(pipeline.play().eos);
  EXPECT_GE(pipeline.stat("landmark", "faces"), 400u);
  EXPECT_GE(us.size(), 400u);
  return us;
}

/// Of several runs, as each has its own luck with the processors.
void report_host_time(const std::string& which, const std::string& description) {
  constexpr std::size_t kRuns = 5, kWarmUp = 50;
  std::vector<double> medians, all;
  for (std::size_t run = 0; run < kRuns; ++run) {
    std::vector<double> us = host_times(description);
    ASSERT_GT(us.size(), kWarmUp);
    us.erase(us.begin(), us.begin() + kWarmUp);
    medians.push_back(quantile(us, 0.5));
    all.insert(all.end(), us.begin(), us.end());
  }
  const auto [least, most] = std::minmax_element(medians.begin(), medians.end());
  std::printf(
      "{\"what\":\"host time of a frame in %s\",\"size\":\"640x360\",\"frames\":%zu,"
      "\"us median\":%.1f,\"of 5 runs the least\":%.1f,\"the most\":%.1f,"
      "\"us of 95 %% of all frames\":%.1f}\n",
      which.c_str(), all.size(), quantile(medians, 0.5), *least, *most, quantile(all, 0.95));
}

/// The driver's calls a frame: asking who calls takes its time, so their sum stands beside what
/// other runs have taken.
void report_calls(const std::string& description) {
  constexpr std::size_t kTraced = 200;
  struct Sum {
    double calls = 0, us = 0;
  };
  const std::size_t all_frames = host_times(description, kTraced).size();
  const auto calls = trace::stop();
  ASSERT_GT(all_frames, kTraced);
  std::map<std::string, Sum> sums;
  const double frames = static_cast<double>(all_frames - kTraced);
  for (const trace::Call& call : calls) {
    if (call.caller != trace::Caller::kElements) continue;
    for (const std::string& of : {std::string(call.name), std::string("all")}) {
      sums[of].calls += 1 / frames;
      sums[of].us += static_cast<double>(call.ns) / 1e3 / frames;
    }
  }
  EXPECT_GE(sums["cuGraphLaunch"].calls, 2.9);
  for (const auto& [name, sum] : sums)
    std::printf(
        "{\"what\":\"calls of the driver a frame\",\"call\":\"%s\",\"calls\":%.1f,\"us\":%.1f}\n",
        name.c_str(), sum.calls, sum.us);
}

TEST_F(ChainsCuda, HostTimeOfAFrame) {
  const std::string chain = decoded_on_gpu(clip(kPexels)) + " ! " + kChain;
  const std::string end = " ! fakesink name=sink";
  report_host_time("detect, track, landmark", chain + end);
  report_host_time("all elements",
                   chain + " ! cufaceoverlay ! cufacepublish location=" + faces_file(0) + end);
  report_calls(chain + end);
}

/// Six chains have at most four scratches: a detector that gets one which another already works
/// with must not wait for all that the GPU has to do.
TEST_F(ChainsCuda, AChainThatBeginsWaitsForNoOther) {
  constexpr int kChains = 6;
  std::string all;
  for (int i = 0; i < kChains; ++i)
    all += decoded_on_gpu(clip(kPexels)) + " ! cufacedetect redetect-interval=1 ! fakesink ";
  trace::start();
  Pipeline pipeline(all);
  EXPECT_TRUE(pipeline.play().eos);
  long launches = 0, orders = 0, synchronised = 0;
  for (const trace::Call& call : trace::stop()) {
    if (call.caller != trace::Caller::kElements) continue;
    const std::string_view name = call.name;
    launches += name == "cuGraphLaunch";
    orders += name == "cuStreamWaitEvent";
    synchronised += name == "cuCtxSynchronize";
  }
  std::printf(
      "{\"what\":\"turns of shared scratches\",\"launches\":%ld,\"waits of streams\":%ld}\n",
      launches, orders);
  EXPECT_GE(launches, kChains * 400);
  EXPECT_GE(orders, 400) << "no scratch was shared";
  EXPECT_EQ(synchronised, 0);
}

/// With the first frame through all of it.
std::int64_t memory_of(const std::string& description) {
  Pipeline pipeline(description);
  pipeline.set_state(GST_STATE_PAUSED);
  EXPECT_TRUE(pipeline.reached());
  return used_memory();
}

/// The second clip also without tentative faces, for which a search is asked: what these take.
TEST_F(ChainsCuda, BesideTheDecoderAt1080p) {
  struct Clip {
    const char* name;
    int faces;  ///< that it follows, about
    const char* track;
  };
  for (const Clip& played :
       {Clip{"pexels1080", 1, ""}, {"mosaic1080", 8, ""}, {"mosaic1080", 8, "doubt-below=0"}}) {
    CUFACE_NEEDS_BENCH_CLIP(played.name);
    const std::string decoded = beside_the_decoder(played.name);
    std::vector<std::string> alone;
    for (const int chains : {1, 8, 32}) {
      std::string all;
      for (int i = 0; i < chains; ++i) all += chain(i, decoded, "", played.track);
      const double decoding = seconds_to_play(decoding_only(decoded, chains));
      const double seconds = seconds_to_play(all);
      if (chains == 1) {
        alone = lines_of(faces_file(0));
        ASSERT_EQ(alone.size(), kBenchFrames);
        ASSERT_GE(faces_in(alone), 800 * played.faces);
      }
      for (int i = 0; i < chains; ++i)
        expect_same_lines(
            alone, lines_of(faces_file(i)),
            "chain " + std::to_string(i) + " of " + std::to_string(chains) + ", " + played.name);
      const double all_frames = static_cast<double>(chains) * kBenchFrames;
      std::printf(
          "{\"what\":\"chains in one process\",\"size\":\"1920x1080\",\"clip\":\"%s\","
          "\"track\":\"%s\",\"chains\":%d,\"frames\":%.0f,\"frames/s\":%.0f,"
          "\"frames/s decoding only\":%.0f,\"percent\":%.0f}\n",
          played.name, played.track, chains, all_frames, all_frames / seconds,
          all_frames / decoding, 100 * decoding / seconds);
    }
  }
}

TEST_F(ChainsCuda, MemoryOfAFurtherChain) {
  CUFACE_NEEDS_BENCH_CLIP("pexels1080");
  const std::string decoded = decoded_on_gpu(bench_clip("pexels1080"));
  std::map<int, std::int64_t> with_us, without;
  for (const int chains : {1, 8}) {
    std::string all;
    for (int i = 0; i < chains; ++i) all += chain(i, decoded);
    with_us[chains] = memory_of(all);
    without[chains] = memory_of(decoding_only(decoded, chains));
  }
  const double further =
      static_cast<double>((with_us[8] - with_us[1]) - (without[8] - without[1])) / 7 / (1 << 20);
  std::printf(
      "{\"what\":\"memory\",\"size\":\"1920x1080\",\"MiB per further chain\":%.1f,"
      "\"MiB of the first\":%.1f,\"MiB per further decoder\":%.1f,\"goal MiB\":40}\n",
      further, static_cast<double>(with_us[1] - without[1]) / (1 << 20),
      static_cast<double>(without[8] - without[1]) / 7 / (1 << 20));
  EXPECT_GT(further, 0);
}

}  // namespace
}  // namespace cuface::test
