// Whoever works too early is found: a kernel of 5 ms before the decoder's copy or before an
// element's work, and the faces must be those of the CPU. Frames go back to the decoder at once, so
// that what reads one late reads another.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/gpu/pipelines/pipeline.h"
#include "tests/gpu/pipelines/trace.h"
#include "tests/gpu/spin.h"

namespace cuface::test {
namespace {

using trace::Call;
using trace::Caller;
using trace::Kind;

constexpr int kFrames = 160, kSpinUs = 5000;

class DelayCuda : public testing::Test {
 protected:
  /// The faces of the CPU, once for all.
  static void SetUpTestSuite() {
    if (!missing_for_chains().empty()) return;
    const TimeLimit limit(60);
    clip_ = std::make_unique<Clip>();
    clip_->stream = byte_stream(clip(kPexels), kFrames);
    write_file(clip_->file, clip_->stream.bytes);
    const Ending ending = play(byte_stream_on_cpu(clip_->file), "cpu.jsonl", {});
    EXPECT_TRUE(ending.eos) << ending.error;
    clip_->expected = lines_of(clip_->folder.file("cpu.jsonl"));
  }
  static void TearDownTestSuite() { clip_.reset(); }

  void SetUp() override {
    CUFACE_NEEDS_CHAINS();
    ASSERT_GE(clip_->expected.size(), std::size_t{kFrames - 4});
    ASSERT_GE(faces_in(clip_->expected), kFrames / 2);
  }
  void TearDown() override { trace::before_submission({}); }

  /// `pads`: the elements and pads at which a buffer arms the delay of the thread's next
  /// submission.
  static Ending play(const std::string& decoded, const std::string& out,
                     const std::vector<std::pair<std::string, const char*>>& pads) {
    Pipeline pipeline(decoded + " ! " + kChain + " ! cufacepublish location=" +
                      clip_->folder.file(out) + " ! fakesink sync=false enable-last-sample=false");
    pipeline.stamp(clip_->stream);
    for (const auto& [element, pad] : pads)
      pipeline.on_buffer(element, pad, [](GstBuffer*) { armed_ = true; });
    Ending ending = pipeline.play(30);
    pipeline.set_state(GST_STATE_NULL);
    return ending;
  }

  /// Delays what `whose` puts on its stream.
  void play_delayed(const std::vector<std::pair<std::string, const char*>>& pads,
                    const std::function<bool(const Call&)>& whose, const std::string& where) {
    trace::before_submission([&](const Call& call, CUstream stream) {
      if (!whose(call) || !std::exchange(armed_, false)) return;
      EXPECT_EQ(spin(kSpinUs, stream), cudaSuccess);
      ++spins_;
    });
    const auto begin = std::chrono::steady_clock::now();
    const Ending ending = play(byte_stream_on_gpu(clip_->file), "gpu.jsonl", pads);
    EXPECT_TRUE(ending.eos) << ending.error;
    EXPECT_GE(seconds_since(begin), 0.9e-6 * kSpinUs * static_cast<double>(spins_))
        << "the delays were not waited for";
    const auto lines = lines_of(clip_->folder.file("gpu.jsonl"));
    expect_same_lines(clip_->expected, lines, "5 ms before " + where);
    std::printf(
        "{\"what\":\"5 ms before %s\",\"delays\":%ld,\"lines compared\":%zu,"
        "\"faces\":%ld}\n",
        where.c_str(), spins_.load(), lines.size(), faces_in(lines));
  }

  void delay_stages(const std::vector<std::string>& stages, const std::string& where) {
    std::vector<std::pair<std::string, const char*>> pads;
    for (const std::string& stage : stages) pads.emplace_back(stage, "sink");
    play_delayed(
        pads, [](const Call& call) { return call.caller == Caller::kElements; }, where);
    EXPECT_GE(spins_, static_cast<long>(stages.size()) * (kFrames - 4)) << "there was no delay";
  }

  struct Clip {
    TempFolder folder;
    std::string file = folder.file("clip.h264");
    ByteStream stream;
    std::vector<std::string> expected;
  };
  static std::unique_ptr<Clip> clip_;
  std::atomic<long> spins_ = 0;
  /// Of the streaming thread: its next submission is delayed.
  static thread_local bool armed_;

 private:
  const TimeLimit limit_{60};
};
thread_local bool DelayCuda::armed_ = false;
std::unique_ptr<DelayCuda::Clip> DelayCuda::clip_;

TEST_F(DelayCuda, BeforeTheDetector) { delay_stages({"detect"}, "cufacedetect"); }
TEST_F(DelayCuda, BeforeTheTracker) { delay_stages({"track"}, "culktrack"); }
TEST_F(DelayCuda, BeforeTheLandmarks) { delay_stages({"landmark"}, "cufacelandmark"); }
TEST_F(DelayCuda, BeforeAllOfThem) { delay_stages(kStages, "each of the three"); }

/// In the decoder's own stream, before it copies the picture into the frame. A decoder that then
/// waits for the copy, as before GStreamer 1.24, is only slow; a later one leaves the order to the
/// streams.
TEST_F(DelayCuda, BeforeTheDecodersCopy) {
  play_delayed(
      {{"parse", "src"}},  // once a frame, though it is copied plane by plane
      [](const Call& call) { return call.caller == Caller::kOthers && call.kind == Kind::kCopy; },
      "the decoder's copy");
  if (spins_ == 0) GTEST_SKIP() << "this decoder copies nothing";
  EXPECT_GE(spins_, kFrames / 3);  // one unit may bring several pictures
}

}  // namespace
}  // namespace cuface::test
