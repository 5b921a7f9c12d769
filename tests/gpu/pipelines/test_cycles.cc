// Nothing stays behind on the GPU: after many starts and stops, and after many changes of the
// picture's size within one run.
#include <cuda_runtime_api.h>
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/gpu/pipelines/pipeline.h"
#include "tests/gpu/pipelines/trace.h"

namespace cuface::test {
namespace {

/// Memory is given out in pages of 2 MiB, and decoder and driver keep some of it between runs:
/// three pages. A leak of 64 KiB a cycle would show. What our elements allocate is counted to the
/// byte besides.
constexpr std::int64_t kTolerance = 3 * (2 << 20);

std::int64_t free_memory() {
  std::size_t free = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  return static_cast<std::int64_t>(free);
}

std::string whole_chain(const std::string& faces) {
  return kChain + " ! cufaceoverlay ! cufacepublish location=" + faces;
}

class CyclesCuda : public testing::Test {
 protected:
  void SetUp() override { CUFACE_NEEDS_CHAINS(); }
  const TempFolder folder_;

 private:
  const TimeLimit limit_{100};
};

enum class Pipelines { kOneEach, kOneForAll };

/// Plays a few frames, and goes; as often as asked, with free memory after each.
std::vector<std::int64_t> cycle(const std::string& description, GstContext* context, int cycles,
                                Pipelines pipelines = Pipelines::kOneEach) {
  std::vector<std::int64_t> free;
  std::optional<Pipeline> pipeline;
  int frames = 0;
  for (int i = 0; i < cycles && !testing::Test::HasFailure(); ++i) {
    if (!pipeline) {
      pipeline.emplace(description, context);
      pipeline->on_buffer("sink", "sink", [&](GstBuffer*) { ++frames; });
    }
    frames = 0;
    const Ending ending = pipeline->play(20);
    EXPECT_TRUE(ending.eos) << "cycle " << i << ": " << ending.error;
    EXPECT_GE(pipeline->stat("landmark", "faces"), 1u) << "cycle " << i;
    pipeline->set_state(GST_STATE_NULL);
    EXPECT_GE(frames, 4) << "cycle " << i;
    if (pipelines == Pipelines::kOneEach) pipeline.reset();
    EXPECT_EQ(trace::live(), trace::Live{})
        << "after cycle " << i << ": " << trace::text(trace::live());
    free.push_back(free_memory());
  }
  return free;
}

void report(const char* what, const std::vector<std::int64_t>& free, std::size_t settled) {
  std::printf(
      "{\"what\":\"%s\",\"times\":%zu,\"MiB less than after %zu\":%.2f,"
      "\"tolerance MiB\":%.0f}\n",
      what, free.size(), settled, static_cast<double>(free[settled - 1] - free.back()) / (1 << 20),
      kTolerance / 1048576.0);
}

/// In a CUDA context that outlives the pipelines, as an application with several of them keeps it:
/// what is forgotten in a context that goes would go with it.
TEST_F(CyclesCuda, AHundredStartsAndStopsInOneContext) {
  GstContext* context = make_cuda_context();
  ASSERT_NE(context, nullptr);
  const auto free =
      cycle(decoded_on_gpu(clip(kPexels)) + " ! " + whole_chain(folder_.file("faces.jsonl")) +
                " ! fakesink name=sink num-buffers=5",
            context, 100);
  gst_context_unref(context);
  ASSERT_EQ(free.size(), 100u);
  report("starts and stops, one context", free, 5);
  EXPECT_GE(free.back(), free[4] - kTolerance);
}

TEST_F(CyclesCuda, StartsAndStopsWithContextsOfTheirOwn) {
  const auto free =
      cycle(decoded_on_gpu(clip(kPexels)) + " ! " + whole_chain(folder_.file("faces.jsonl")) +
                " ! fakesink name=sink num-buffers=5",
            nullptr, 10);
  ASSERT_EQ(free.size(), 10u);
  report("starts and stops, own contexts", free, 3);
  EXPECT_GE(free.back(), free[2] - kTolerance);
}

TEST_F(CyclesCuda, OnePipelineStartsAndStops) {
  GstContext* context = make_cuda_context();
  ASSERT_NE(context, nullptr);
  const std::string faces = folder_.file("faces.jsonl"), file = folder_.file("clip.h264");
  // Text links a demuxer's pads the first time only.
  write_file(file, byte_stream(clip(kPexels), 30).bytes);
  const auto free =
      cycle(byte_stream_on_gpu(file) + " ! " + whole_chain(faces) + " ! fakesink name=sink",
            context, 10, Pipelines::kOneForAll);
  gst_context_unref(context);
  ASSERT_EQ(free.size(), 10u);
  EXPECT_GE(faces_in(lines_of(faces)), 4) << "the last time";
  report("starts and stops, one pipeline", free, 3);
  EXPECT_GE(free.back(), free[2] - kTolerance);
}

/// One run through clips of two sizes, cut to a few frames each, in turn.
TEST_F(CyclesCuda, TwentyChangesOfThePicturesSize) {
  constexpr int kChanges = 20, kUnits = 14;
  const ByteStream a = byte_stream(clip(kPexels), kUnits), b = byte_stream(clip(kFranck), kUnits);
  ByteStream stream = a;
  for (int i = 0; i < kChanges; ++i) stream.append(i % 2 ? a : b);
  const std::string file = folder_.file("changes.h264");
  write_file(file, stream.bytes);

  {
    // Behind the same decoder, which loses the frames that it holds back when the size changes.
    const std::string on_cpu =
        byte_stream_on_gpu(file) + " ! cudadownload ! capsfilter caps=video/x-raw ! " + kChain +
        " ! cufacepublish location=" + folder_.file("cpu.jsonl") + " ! fakesink sync=false";
    Pipeline pipeline(on_cpu);
    pipeline.stamp(stream);
    ASSERT_TRUE(pipeline.play().eos);
  }
  std::map<int, std::vector<trace::Live>> live;  // by width, behind each stretch's last frame
  std::vector<std::int64_t> free;
  int changes = -1, width = 0;
  {
    Pipeline pipeline(byte_stream_on_gpu(file) + " ! " + kChain + " ! cufacepublish location=" +
                      folder_.file("gpu.jsonl") + " ! fakesink name=sink sync=false");
    pipeline.stamp(stream);
    trace::Live now;
    pipeline.on_buffer("sink", "sink", [&](GstBuffer*) {
      if (const int w = pipeline.width("sink"); w != width) {
        if (width) live[width].push_back(now);
        width = w;
        ++changes;
        free.push_back(free_memory());
      }
      now = trace::live();
    });
    const Ending ending = pipeline.play();
    EXPECT_TRUE(ending.eos) << ending.error;
  }
  EXPECT_EQ(changes, kChanges);
  const auto cpu = lines_of(folder_.file("cpu.jsonl")), gpu = lines_of(folder_.file("gpu.jsonl"));
  EXPECT_GE(cpu.size(), std::size_t{kChanges * (kUnits - 4)});
  EXPECT_GE(faces_in(cpu), kChanges * 5);
  expect_same_lines(cpu, gpu, "with changes of size");
  std::printf("compared %zu lines with %ld faces over %d changes\n", cpu.size(), faces_in(cpu),
              changes);

  ASSERT_GE(free.size(), 8u);
  report("changes of size", free, 5);
  EXPECT_GE(free.back(), free[4] - kTolerance);
  EXPECT_EQ(live.size(), 2u);
  for (const auto& [w, states] : live) {
    ASSERT_GE(states.size(), 8u) << "width " << w;
    // Slots of faces may have been added while many frames waited; then not again.
    EXPECT_EQ(states.back(), states[states.size() / 2])
        << "width " << w << ": " << trace::text(states[states.size() / 2]) << ", at the end "
        << trace::text(states.back());
  }
  EXPECT_EQ(trace::live(), trace::Live{}) << trace::text(trace::live());
}

}  // namespace
}  // namespace cuface::test
