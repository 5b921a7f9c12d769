// The GPU's memory while many chains run for long: whether it grows, and what grows in it.
#include <cuda_runtime_api.h>
#include <gst/gst.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "kernels/faces/faces_cuda.h"
#include "tests/gpu/pipelines/pipeline.h"
#include "tests/gpu/pipelines/trace.h"

namespace cuface::test {
namespace {

using trace::Caller;

constexpr int kChains = 16, kPexelsFrames = 472;
constexpr double kMiB = 1 << 20;
/// After the first tenth of the time.
constexpr double kTolerance = 1.005;

/// Runs `body` in a process of its own, which sees no context, kernel or pool of another test.
/// `environment` is set there before anything of CUDA begins.
void in_a_process_of_its_own(const std::map<std::string, std::string>& environment,
                             const std::function<void()>& body) {
  constexpr int kFailed = 1, kSkipped = 77;
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    const std::string missing = missing_for_chains();
    if (!missing.empty()) std::printf("skipped: %s\n", missing.c_str());
    if (missing.empty()) body();
    std::fflush(nullptr);
    _exit(!missing.empty() ? kSkipped : testing::Test::HasFailure() ? kFailed : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == kSkipped) GTEST_SKIP();
  EXPECT_EQ(WEXITSTATUS(status), 0) << "see above";
}

/// The blocks of GPU memory in which cufacelandmark and culktrack keep lists of faces: the size is
/// a multiple of that of one list with 68 points a face, rounded up.
long lists_of_faces() {
  constexpr std::uint64_t kList = (cuda::device_faces_bytes(68) + 255) / 256 * 256;
  long lists = 0;
  for (const auto& [size, count] : trace::blocks_by_size())
    if (size % kList == 0) lists += static_cast<long>(size / kList) * count;
  return lists;
}

struct Sample {
  double seconds = 0, used_mib = 0;
  std::uint64_t frames = 0;
};

Sample take_sample(const std::string& what, double seconds, std::uint64_t frames) {
  std::size_t free = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  const Sample sample{seconds, static_cast<double>(total - free) / kMiB, frames};
  const trace::Live ours = trace::live(), ever = trace::ever(),
                    others = trace::live(Caller::kOthers);
  std::printf(
      "{\"what\":\"GPU memory over time\",\"chains\":\"%s\",\"s\":%.1f,\"frames\":%lu,"
      "\"MiB used\":%.2f,\"MiB in blocks\":%.2f,\"blocks\":%ld,\"lists of faces\":%ld,"
      "\"host blocks\":%ld,\"events\":%ld,\"streams\":%ld,\"graphs\":%ld,"
      "\"blocks ever\":%ld,\"events ever\":%ld,\"graphs ever\":%ld,"
      "\"blocks of others\":%ld,\"MiB of others\":%.2f,\"events of others\":%ld}\n",
      what.c_str(), seconds, frames, sample.used_mib, static_cast<double>(ours.bytes) / kMiB,
      ours.blocks, lists_of_faces(), ours.host_blocks, ours.events, ours.streams, ours.graphs,
      ever.blocks, ever.events, ever.graphs, others.blocks,
      static_cast<double>(others.bytes) / kMiB, others.events);
  std::fflush(stdout);
  return sample;
}

void print_growth(const std::string& what, const std::map<std::uint64_t, long>& before,
                  Caller caller, const char* whose) {
  for (const auto& [size, count] : trace::blocks_by_size(caller)) {
    const auto known = before.find(size);
    const long more = count - (known == before.end() ? 0 : known->second);
    if (more != 0)
      std::printf(
          "{\"what\":\"blocks of GPU memory that came\",\"chains\":\"%s\",\"by\":\"%s\","
          "\"bytes each\":%lu,\"before\":%ld,\"more\":%ld}\n",
          what.c_str(), whose, size, count - more, more);
  }
}

/// Plays the clip again and again in all chains for that long.
void watch(const std::string& what, const std::string& chain, double seconds, double every) {
  const TimeLimit limit(static_cast<int>(seconds) + 60);
  std::string description;
  for (int i = 0; i < kChains; ++i) {
    const std::string number = std::to_string(i);
    description += "appsrc name=source" + number +
                   " ! h264parse ! nvh264dec ! capsfilter caps=video/x-raw(memory:CUDAMemory)" +
                   chain + " ! fakesink name=sink" + number + " sync=false ";
  }
  const ByteStream stream = byte_stream(clip(kPexels), kPexelsFrames);
  GstBuffer* once = gst_buffer_new_memdup(stream.bytes.data(), stream.bytes.size());
  std::atomic<std::uint64_t> frames = 0;
  std::atomic<bool> over = false;
  std::map<std::uint64_t, long> ours, others;
  std::vector<Sample> samples;
  {
    Pipeline pipeline(description);
    for (int i = 0; i < kChains; ++i) {
      pipeline.feed("source" + std::to_string(i),
                    [&] { return over ? nullptr : gst_buffer_ref(once); });
      pipeline.on_buffer("sink" + std::to_string(i), "sink", [&](GstBuffer*) { ++frames; });
    }
    std::thread sampler([&] {
      while (frames < kChains) usleep(10000);
      const auto begin = std::chrono::steady_clock::now();
      while (seconds_since(begin) < seconds) {
        samples.push_back(take_sample(what, seconds_since(begin), frames));
        if (ours.empty() && seconds_since(begin) > seconds / 10) {
          ours = trace::blocks_by_size();
          others = trace::blocks_by_size(Caller::kOthers);
        }
        usleep(static_cast<useconds_t>(every * 1e6));
      }
      samples.push_back(take_sample(what, seconds_since(begin), frames));
      print_growth(what, ours, Caller::kElements, "our elements");
      print_growth(what, others, Caller::kOthers, "decoder and others");
      over = true;
    });
    const Ending ending = pipeline.play(static_cast<int>(seconds) + 30);
    EXPECT_TRUE(ending.eos) << ending.error;
    sampler.join();
  }
  gst_buffer_unref(once);
  ASSERT_GE(samples.size(), 10u);
  const Sample &settled = samples[samples.size() / 10], &last = samples.back();
  EXPECT_GT(last.frames, settled.frames);
  std::printf(
      "{\"what\":\"growth of GPU memory\",\"chains\":\"%s\",\"s\":%.0f,\"frames\":%lu,"
      "\"MiB after the first tenth\":%.2f,\"MiB at the end\":%.2f,\"percent\":%.2f}\n",
      what.c_str(), last.seconds, last.frames, settled.used_mib, last.used_mib,
      100 * (last.used_mib / settled.used_mib - 1));
  EXPECT_LE(last.used_mib, kTolerance * settled.used_mib);
}

const std::string kFaces = " ! cufacedetect ! culktrack ! cufacelandmark";

TEST(MemoryCuda, OfManyChainsStaysWhatItIs) {
  in_a_process_of_its_own(
      {}, [] { watch("all elements", kFaces + " ! cufacepublish location=/dev/null", 45, 1); });
}

/// Frames whose lines wait for a reader, and what the reader then gets.
TEST(MemoryCuda, LinesThatWaitTakeNone) {
  in_a_process_of_its_own({}, [] {
    const TimeLimit limit(60);
    const TempFolder folder;
    const std::string file = folder.file("faces.jsonl"), pipe = folder.file("pipe");
    const std::string chain = decoded_on_gpu(clip(kPexels)) + kFaces + " ! cufacepublish location=";
    {
      Pipeline pipeline(chain + file + " ! fakesink");
      ASSERT_TRUE(pipeline.play().eos);
    }
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    Pipeline pipeline(chain + pipe + " ! fakesink name=sink sync=false");
    std::atomic<int> frames = 0;
    long early = 0, late = 0;
    pipeline.on_buffer("sink", "sink", [&](GstBuffer*) {
      if (++frames == 20) early = lists_of_faces();
    });
    int waiting = 0;
    std::thread reader([&] {
      std::ifstream from(pipe);
      while (waiting < 20 || waiting < frames) {
        waiting = frames;
        usleep(500000);
      }
      late = lists_of_faces();
      std::ofstream(folder.file("read")) << from.rdbuf();
    });
    const Ending ending = pipeline.play();
    EXPECT_TRUE(ending.eos) << ending.error;
    pipeline.set_state(GST_STATE_NULL);
    reader.join();
    std::printf(
        "{\"what\":\"lists of faces on the GPU\",\"frames that wait\":%d,\"before\":%ld,"
        "\"while they wait\":%ld}\n",
        waiting, early, late);
    EXPECT_GE(waiting, 256) << "nothing waits";
    EXPECT_LT(waiting, kPexelsFrames) << "nothing waits";
    EXPECT_GE(early, 1);
    EXPECT_EQ(late, early);
    const auto expected = lines_of(file);
    EXPECT_EQ(expected.size(), std::size_t{kPexelsFrames});
    expect_same_lines(expected, lines_of(folder.file("read")), "behind a reader that waits");
  });
}

}  // namespace
}  // namespace cuface::test
