// A chain that searches with a network, while it runs steadily: what it asks of the driver, and how
// often a picture goes to the GPU.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include "tests/gpu/pipelines/pipeline.h"
#include "tests/gpu/pipelines/steady.h"
#include "tests/gpu/pipelines/trace.h"

namespace cuface::test {
namespace {

class NetworkSteadyCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_CHAINS();
    CUFACE_NEEDS_NETWORK();
  }

  /// The elements with the network; `more`: further properties of the detector.
  static std::string chain(const std::string& more) {
    return "cufacedetect name=detect model=" + network_file() + " " + more +
           " ! culktrack name=track ! cufacelandmark name=landmark";
  }

  const TempFolder folder_;

 private:
  const TimeLimit limit_{60};
};

TEST_F(NetworkSteadyCuda, NoCopyNoWaitNoAllocationOneSubmissionAnElement) {
  for (const char* interval : {"redetect-interval=10", "redetect-interval=1"}) {
    const Steady steady = run_steadily(
        decoded_on_gpu(clip(kPexels)) + " ! " + chain(interval) + " ! fakesink name=sink", "sink");
    report("with a network, " + std::string(interval), steady);
    expect_a_real_run(steady);
    const auto found = faults(steady);
    EXPECT_TRUE(found.empty()) << interval << "\n" << text(found);
  }
}

/// Copies of the network's picture, 640x360 of three bytes, in frames of system memory.
std::uint64_t pictures_uploaded(const Steady& steady) {
  return static_cast<std::uint64_t>(
      std::count_if(steady.calls.begin(), steady.calls.end(), [](const trace::Call& call) {
        return call.caller == trace::Caller::kElements && call.kind == trace::Kind::kCopy &&
               call.bytes == 640 * 360 * 3;
      }));
}

TEST_F(NetworkSteadyCuda, OfSystemMemoryOnlyWhatIsSearchedIsUploaded) {
  const std::string source = decoded_on_cpu(clip(kPexels));
  for (const int interval : {10, 1}) {
    const std::string often = "redetect-interval=" + std::to_string(interval);
    const Steady steady = run_steadily(
        source + " ! " + chain("backend=cuda " + often) + " ! fakesink name=sink", "sink");
    expect_a_real_run(steady);
    const std::uint64_t uploads = pictures_uploaded(steady);
    std::printf(
        "{\"what\":\"pictures uploaded for a network\",\"size\":\"640x360\","
        "\"redetect-interval\":%d,\"frames\":%d,\"uploads\":%llu,\"searches of %llu "
        "frames\":%llu}\n",
        interval, kFrames, static_cast<unsigned long long>(uploads),
        static_cast<unsigned long long>(steady.frames),
        static_cast<unsigned long long>(steady.searches));
    EXPECT_GE(uploads, static_cast<std::uint64_t>(kFrames / interval));
    EXPECT_LE(uploads, steady.searches);
  }
}

/// What is not uploaded is not missed: at full speed, where the GPU may be behind, as at the pace
/// of a camera.
TEST_F(NetworkSteadyCuda, TheLinesOfTheCpuAtAnySpeed) {
  const std::string source = decoded_on_cpu(clip(kPexels));
  const auto play = [&](const std::string& backend, int sleep_us) {
    const std::string faces = folder_.file("faces.jsonl");
    Pipeline pipeline(source + " ! identity sleep-time=" + std::to_string(sleep_us) + " ! " +
                      chain("redetect-interval=7 backend=" + backend) +
                      " ! cufacepublish location=" + faces + " ! fakesink sync=false");
    const Ending ending = pipeline.play();
    EXPECT_TRUE(ending.eos) << ending.error;
    pipeline.set_state(GST_STATE_NULL);
    return lines_of(faces);
  };
  const auto on_cpu = play("cpu", 0);
  ASSERT_GE(faces_in(on_cpu), 400);
  for (const int sleep_us : {0, 3000})
    expect_same_lines(on_cpu, play("cuda", sleep_us), std::to_string(sleep_us) + " us apart");
}

}  // namespace
}  // namespace cuface::test
