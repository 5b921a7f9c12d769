// What the chain asks of the driver while it runs steadily: no copy of a picture, no wait, no
// allocation, one submission an element and frame, at most four frames in flight.
#include <cuda_runtime_api.h>
#include <gst/gst.h>
#include <gst/video/gstvideometa.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gst/meta/gstcufacemeta.h"
#include "tests/data.h"
#include "tests/gpu/pipelines/pipeline.h"
#include "tests/gpu/pipelines/steady.h"
#include "tests/gpu/pipelines/trace.h"
#include "tests/gpu/spin.h"

namespace cuface::test {
namespace {

using trace::Call;
using trace::Caller;
using trace::is_submission;
using trace::Kind;

class SteadyCuda : public testing::Test {
 protected:
  void SetUp() override { CUFACE_NEEDS_CHAINS(); }

 private:
  const TimeLimit limit_{60};
};

/// Were the trace blind on this machine, all below would pass.
TEST_F(SteadyCuda, TheTraceSeesTheRuntimeOfThisProgram) {
  trace::start();
  void* block = nullptr;
  cudaEvent_t event = nullptr;
  std::array<char, 100> bytes{};
  ASSERT_EQ(cudaMalloc(&block, 4096), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  ASSERT_EQ(cudaMemset(block, 0, 100), cudaSuccess);
  ASSERT_EQ(spin(10, nullptr), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(event), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(bytes.data(), block, bytes.size(), cudaMemcpyDeviceToHost), cudaSuccess);
  ASSERT_EQ(cudaEventDestroy(event), cudaSuccess);
  ASSERT_EQ(cudaFree(block), cudaSuccess);
  const std::vector<Call> calls = trace::stop();
  for (const auto& [kind, least] : {std::pair{Kind::kAllocate, 2},
                                    {Kind::kFree, 2},
                                    {Kind::kSet, 1},
                                    {Kind::kLaunch, 1},
                                    {Kind::kWait, 1},
                                    {Kind::kCopy, 1}})
    EXPECT_GE(std::count_if(calls.begin(), calls.end(),
                            [kind = kind](const Call& c) {
                              return c.kind == kind && c.caller == Caller::kTest;
                            }),
              least)
        << "kind " << static_cast<int>(kind);
  EXPECT_TRUE(std::any_of(calls.begin(), calls.end(),
                          [](const Call& c) { return c.kind == Kind::kCopy && c.bytes == 100; }));
}

TEST_F(SteadyCuda, NoCopyNoWaitNoAllocationOneSubmissionAnElement) {
  const Steady steady = run_steadily(
      decoded_on_gpu(clip(kPexels)) + " ! " + kChain + " ! fakesink name=sink", "sink");
  report("detect, track, landmark", steady);
  expect_a_real_run(steady);
  const auto submissions = std::count_if(
      steady.calls.begin(), steady.calls.end(),
      [](const Call& c) { return c.caller == Caller::kElements && is_submission(c.kind); });
  EXPECT_GE(submissions, kFrames) << "the trace sees too little";
  const auto calls = std::count_if(steady.calls.begin(), steady.calls.end(), [&](const Call& c) {
    return c.caller == Caller::kElements && c.thread == steady.thread;
  });
  EXPECT_LE(calls, 15 * kFrames) << "calls of the driver in the streaming thread";
  EXPECT_GT(steady.device_time_ns, 20000u * steady.frames);
  EXPECT_LT(steady.device_time_ns, 2000000u * steady.frames);
  const auto found = faults(steady);
  EXPECT_TRUE(found.empty()) << text(found);
}

/// What is off by default works on the device too; spread and smart exclude each other.
TEST_F(SteadyCuda, NorWithWhatIsOffByDefault) {
  for (const std::string search : {"search=smart", "spread=true"}) {
    const Steady steady =
        run_steadily(decoded_on_gpu(clip(kPexels)) + " ! cufacedetect name=detect " + search +
                         " ! culktrack name=track ! cufacelandmark name=landmark "
                         "smooth=0.5 ! fakesink name=sink",
                     "sink");
    report(search + " smooth", steady);
    expect_a_real_run(steady);
    const auto found = faults(steady);
    EXPECT_TRUE(found.empty()) << search << ":\n" << text(found);
  }
}

/// From the first search for points to the last refit all stays on the device.
TEST_F(SteadyCuda, NorWithAShapeModel) {
  const std::string model = model_dir() + "/masm.cuface";
  if (!std::filesystem::exists(model))
    GTEST_SKIP() << "no " << model << ": tests/gpu/tools/pack trains it";
  const Steady steady = run_steadily(decoded_on_gpu(clip(kPexels)) +
                                         " ! cufacedetect name=detect ! culktrack name=track ! "
                                         "cufacelandmark name=landmark model=" +
                                         model + " ! fakesink name=sink",
                                     "sink");
  report("a shape model", steady);
  expect_a_real_run(steady);
  const auto found = faults(steady);
  EXPECT_TRUE(found.empty()) << text(found);
}

TEST_F(SteadyCuda, PublishingBringsBackTheFacesInItsOwnThread) {
  const TempFolder folder;
  const Steady steady = run_steadily(
      decoded_on_gpu(clip(kPexels)) + " ! " + kChain +
          " ! cufacepublish name=publish location=" + folder.file("faces.jsonl") + " ! fakesink",
      "publish");
  report("detect, track, landmark, publish", steady);
  expect_a_real_run(steady);
  const auto found = faults(steady);
  EXPECT_TRUE(found.empty()) << text(found);
  std::uint64_t bytes = 0;
  long copies = 0;
  std::set<pid_t> readers;
  for (const Call& call : steady.calls)
    if (call.caller == Caller::kElements && call.thread != steady.thread) {
      if (call.kind == Kind::kCopy) {
        ++copies;
        bytes += call.bytes;
      }
      if (call.kind == Kind::kCopy || call.kind == Kind::kWait) readers.insert(call.thread);
    }
  EXPECT_GE(copies, kFrames / 2) << "nobody reads the faces";
  EXPECT_LE(bytes, kFrames * kFacesBytes);
  EXPECT_EQ(readers.size(), 1u);
  EXPECT_GE(lines_of(folder.file("faces.jsonl")).size(), std::size_t{kWarmUp + kFrames});
}

/// Elements work as ever; only what copies faces to the host is refused.
TEST_F(SteadyCuda, FacesThatCannotBeReadEndTheStreamWithoutALine) {
  const TempFolder folder;
  const std::string file = folder.file("faces.jsonl");
  const std::string description = decoded_on_gpu(clip(kPexels)) + " ! " + kChain +
                                  " ! cufacepublish name=publish location=" + file + " ! fakesink";
  const Steady steady = run_steadily(description, "publish");
  expect_a_real_run(steady);
  std::string copies;
  for (const Call& call : steady.calls)
    if (call.caller == Caller::kElements && call.thread != steady.thread &&
        call.kind == Kind::kCopy)
      copies = call.name;
  ASSERT_FALSE(copies.empty());
  trace::refuse(copies);
  {
    Pipeline pipeline(description);
    const Ending ending = pipeline.play();
    EXPECT_FALSE(ending.eos) << "with " << copies << " refused";
    EXPECT_EQ(ending.source, "publish");
    EXPECT_NE(ending.error.find("Cannot read the faces of frame 0 from the GPU"), std::string::npos)
        << ending.error;
  }
  EXPECT_GE(trace::refused(), 1);
  trace::refuse("");
  EXPECT_EQ(lines_of(file).size(), 0u);
}

/// The same counting finds what is there.
TEST_F(SteadyCuda, AnUploadIsSeenAsCopies) {
  const Steady steady = run_steadily(
      decoded_on_cpu(clip(kPexels)) +
          " ! cufacedetect name=detect backend=cuda ! culktrack name=track ! cufacelandmark "
          "name=landmark ! fakesink name=sink",
      "sink");
  report("uploaded: detect, track, landmark", steady);
  expect_a_real_run(steady);
  const auto found = faults(steady);
  EXPECT_TRUE(any(found, "copy by")) << text(found);
  EXPECT_TRUE(std::any_of(steady.calls.begin(), steady.calls.end(), [](const Call& c) {
    return c.caller == Caller::kElements && c.kind == Kind::kCopy && c.bytes == 640 * 360;
  })) << "the uploads of whole pictures are not seen with their size";
}

/// Regions of faces on the frames behind three elements that work on the GPU for frames in system
/// memory.
Steady run_uploaded(const std::string& properties, long& regions) {
  const std::string on_gpu = " backend=cuda " + properties;
  regions = 0;
  return run_steadily(decoded_on_cpu(clip(kPexels)) + " ! cufacedetect name=detect" + on_gpu +
                          " ! culktrack name=track" + on_gpu + " ! cufacelandmark name=landmark" +
                          on_gpu + " ! fakesink name=sink",
                      "sink", [&](GstBuffer* buffer) {
                        regions += gst_buffer_get_n_meta(
                            buffer, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);
                      });
}

TEST_F(SteadyCuda, NoWaitWhereTheGpuWorksOnFramesInSystemMemory) {
  long regions = 0;
  const Steady steady = run_uploaded("", regions);
  report("uploaded, all on the GPU", steady);
  expect_a_real_run(steady);
  EXPECT_EQ(regions, 0);
  const auto found = faults(steady);
  EXPECT_FALSE(any(found, "wait")) << text(found);
  for (const Call& call : steady.calls)
    if (call.caller == Caller::kElements && call.thread == steady.thread &&
        call.kind == Kind::kCopy) {
      EXPECT_EQ(call.bytes, std::uint64_t{640 * 360}) << call.name << ": not the grey picture";
    }
}

TEST_F(SteadyCuda, StandardMetasThatAreAskedForAreSeenAsWaits) {
  long regions = 0;
  const Steady steady = run_uploaded("standard-metas=always", regions);
  expect_a_real_run(steady);
  EXPECT_GE(regions, 300);
  const auto found = faults(steady);
  EXPECT_TRUE(any(found, "wait in")) << text(found);
}

/// Two detectors between the marks of one.
TEST_F(SteadyCuda, ASecondSubmissionIsSeen) {
  const Steady steady = run_steadily(decoded_on_gpu(clip(kPexels)) +
                                         " ! cufacedetect name=detect ! cufacedetect ! culktrack "
                                         "name=track ! cufacelandmark name=landmark ! fakesink "
                                         "name=sink",
                                     "sink");
  expect_a_real_run(steady);
  const auto found = faults(steady);
  const std::string too_many = "more than one submission for a frame by ";
  ASSERT_TRUE(found.contains(too_many + "detect")) << text(found);
  EXPECT_GE(found.at(too_many + "detect"), kFrames - 5);
  for (const char* other : {"track", "landmark"})
    EXPECT_FALSE(found.contains(too_many + other)) << text(found);
}

TEST_F(SteadyCuda, ReadingInTheStreamingThreadIsSeenAsAWait) {
  long faces = 0;
  const Steady steady =
      run_steadily(decoded_on_gpu(clip(kPexels)) + " ! " + kChain + " ! fakesink name=sink", "sink",
                   [&](GstBuffer* buffer) {
                     GstCufaceMeta* meta = gst_cuface_buffer_get_face_meta(buffer);
                     ASSERT_NE(meta, nullptr);
                     faces += gst_cuface_meta_get_n_faces(meta);
                   });
  expect_a_real_run(steady);
  EXPECT_GE(faces, 300);
  const auto found = faults(steady);
  EXPECT_TRUE(any(found, "wait in")) << text(found);
  EXPECT_TRUE(any(found, "copy by")) << text(found);
}

TEST_F(SteadyCuda, TheDecoderAllocatesNoMoreThanWithoutUs) {
  struct Allocated {
    std::uint64_t surfaces = 0;
    long blocks = 0;
  };
  const auto run = [](const std::string& description) {
    trace::start();
    Pipeline pipeline(decoded_on_gpu(clip(kPexels)) + " ! identity sleep-time=1000 ! " +
                      description);
    EXPECT_TRUE(pipeline.play().eos);
    Allocated sum;
    for (const Call& call : trace::stop()) {
      if (call.caller == Caller::kElements) continue;
      if (std::string_view(call.name) == "cuvidCreateDecoder") sum.surfaces += call.bytes;
      if (std::string_view(call.name).starts_with("cuMemAlloc")) ++sum.blocks;
    }
    return sum;
  };
  const Allocated alone = run("fakesink");
  const Allocated with_us = run(kChain + " ! fakesink");
  std::printf(
      "{\"what\":\"decoder's memory\",\"surfaces alone\":%lu,\"surfaces with us\":%lu,"
      "\"blocks alone\":%ld,\"blocks with us\":%ld}\n",
      alone.surfaces, with_us.surfaces, alone.blocks, with_us.blocks);
  EXPECT_GE(alone.surfaces, 1u);
  EXPECT_GE(alone.blocks, 1);
  EXPECT_LE(with_us.surfaces, alone.surfaces);
  EXPECT_LE(with_us.blocks, alone.blocks);
}

/// Events in the elements' stream, behind each frame's work: how many are not over.
class InFlight {
 public:
  void record() {
    const trace::LastSubmission last = trace::last_submission();
    ASSERT_NE(last.context, nullptr);
    push_(last.context);
    CUevent event = nullptr;
    EXPECT_EQ(create_(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    EXPECT_EQ(record_(event, last.stream), CUDA_SUCCESS);
    events_.push_back(event);
    const auto begin = events_.end() - std::min<std::ptrdiff_t>(16, std::ssize(events_));
    most_ = std::max<std::ptrdiff_t>(most_, std::count_if(begin, events_.end(), [&](CUevent e) {
                                       return query_(e) == CUDA_ERROR_NOT_READY;
                                     }));
    CUcontext popped = nullptr;
    pop_(&popped);
  }
  std::ptrdiff_t most() const { return most_; }

 private:
  const decltype(&cuCtxPushCurrent) push_ =
      trace::driver<decltype(&cuCtxPushCurrent)>("cuCtxPushCurrent_v2");
  const decltype(&cuCtxPopCurrent) pop_ =
      trace::driver<decltype(&cuCtxPopCurrent)>("cuCtxPopCurrent_v2");
  const decltype(&cuEventCreate) create_ = trace::driver<decltype(&cuEventCreate)>("cuEventCreate");
  const decltype(&cuEventRecord) record_ = trace::driver<decltype(&cuEventRecord)>("cuEventRecord");
  const decltype(&cuEventQuery) query_ = trace::driver<decltype(&cuEventQuery)>("cuEventQuery");
  std::vector<CUevent> events_;  // they go with their context
  std::ptrdiff_t most_ = 0;
};

/// With a GPU that is slower than the decoder: the chain is four frames ahead of it and no more.
TEST_F(SteadyCuda, AtMostFourFramesAreInFlight) {
  constexpr int kSlowFrames = 150, kSpinUs = 4000;
  InFlight in_flight;
  int frames = 0;
  long spins = 0;
  bool armed = false;
  std::deque<GstBuffer*> held;  // as a sink that shows frames late: else freeing them waits first
  Pipeline pipeline(decoded_on_gpu(clip(kPexels)) + " ! " + kChain +
                    " ! fakesink name=sink num-buffers=" + std::to_string(kSlowFrames));
  pipeline.on_buffer("detect", "sink", [&](GstBuffer*) { armed = true; });
  pipeline.on_buffer("sink", "sink", [&](GstBuffer* buffer) {
    ++frames;
    in_flight.record();
    held.push_back(gst_buffer_ref(buffer));
    if (held.size() <= 8) return;
    gst_buffer_unref(held.front());
    held.pop_front();
  });
  trace::before_submission([&](const Call& call, CUstream stream) {
    if (call.caller != Caller::kElements || !std::exchange(armed, false)) return;
    EXPECT_EQ(spin(kSpinUs, stream), cudaSuccess);
    ++spins;
  });
  const auto begin = std::chrono::steady_clock::now();
  const Ending ending = pipeline.play();
  const double seconds = seconds_since(begin);
  const std::uint64_t waits = pipeline.sum_of("waits");
  for (GstBuffer* buffer : held) gst_buffer_unref(buffer);
  pipeline.set_state(GST_STATE_NULL);
  trace::before_submission({});
  EXPECT_TRUE(ending.eos) << ending.error;
  EXPECT_GE(frames, kSlowFrames - 1);
  EXPECT_GE(spins, frames);
  EXPECT_GE(seconds, (frames - 5) * kSpinUs * 1e-6) << "the GPU was not slow";
  std::printf("{\"what\":\"frames in flight\",\"frames\":%d,\"most\":%td,\"waits\":%lu}\n", frames,
              in_flight.most(), waits);
  EXPECT_LE(in_flight.most(), 4);
  EXPECT_GE(in_flight.most(), 3) << "the chain was not ahead of the GPU";
  // From 1.24 on the decoder's stream waits for our reading, and the decoder for its stream: mostly
  // it is the decoder that is held up.
  const int least = GST_CHECK_VERSION(1, 24, 0) ? 1 : frames / 2;
  EXPECT_GE(waits, static_cast<std::uint64_t>(least)) << "waits are not counted";
}

}  // namespace
}  // namespace cuface::test
