// What a live pipeline meets: frames that are always late, caps that change without another
// picture, timestamps that jump. The elements on CUDA decide what those on the CPU do.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/gpu/pipelines/both_chains.h"
#include "tests/gpu/pipelines/pipeline.h"

namespace cuface::test {
namespace {

constexpr GstClockTime kFrame = GST_SECOND / 25;

class LiveCuda : public BothChains {
 protected:
  void SetUp() override {
    BothChains::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Pipeline pipeline(decoded_on_cpu(clip(kPexels)) + " ! fakesink name=sink sync=false");
    pipeline.on_buffer("sink", "sink", [&](GstBuffer* buffer) {
      if (frames_.size() < kFrames) frames_.push_back(gst_buffer_copy_deep(buffer));
    });
    EXPECT_TRUE(pipeline.play().eos);
    ASSERT_EQ(frames_.size(), kFrames);
  }
  void TearDown() override {
    for (GstBuffer* frame : frames_) gst_buffer_unref(frame);
  }

  /// The clip's first frames, each behind the caps and with the timestamp that `describe` gives;
  /// the lines. `late`: a sink says on the first frame that all will be.
  template <typename Describe>
  std::vector<std::string> play(const std::string& detect, bool late, Describe describe) {
    Pipeline pipeline("appsrc name=src format=time is-live=" +
                      std::string(late ? "true" : "false") + " ! " + chain("faces.jsonl", detect));
    std::size_t next = 0;
    pipeline.feed("src", [&]() -> GstBuffer* {
      if (next == frames_.size()) return nullptr;
      GstBuffer* buffer = gst_buffer_copy(frames_[next]);
      const auto [fields, pts] = describe(next++);
      pipeline.set("src", "caps", "video/x-raw,format=I420,width=640,height=360," + fields);
      GST_BUFFER_PTS(buffer) = pts;
      GST_BUFFER_DTS(buffer) = GST_CLOCK_TIME_NONE;
      return buffer;
    });
    bool first = true;
    pipeline.on_buffer("sink", "sink", [&](GstBuffer*) {
      if (late && std::exchange(first, false))
        pipeline.send_upstream("sink",
                               gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2, 500 * GST_SECOND, 0));
    });
    const Ending ending = pipeline.play();
    EXPECT_TRUE(ending.eos) << ending.error;
    if (late) skipped_ = pipeline.stat("detect", "skipped-searches");
    pipeline.set_state(GST_STATE_NULL);
    return lines("faces.jsonl");
  }

  static constexpr std::size_t kFrames = 130;
  std::vector<GstBuffer*> frames_;
  std::uint64_t skipped_ = 0;
};

TEST_F(LiveCuda, SearchesThatWaitForASecondAtMost) {
  const auto describe = [](std::size_t i) {
    return std::pair(std::string("framerate=25/1"), i * kFrame);
  };
  for (const std::string detect :
       {"redetect-interval=4 spread=false", "spread=true", "search=smart"}) {
    const auto on_time = play("backend=cpu " + detect, false, describe);
    const auto on_cpu = play("backend=cpu " + detect, true, describe);
    EXPECT_EQ(faces_in(on_cpu), static_cast<long>(kFrames)) << detect;
    EXPECT_GT(skipped_, 50u) << detect;
    EXPECT_NE(on_cpu, on_time) << detect << ": nothing was put off";
    expect_same_lines(on_cpu, play("backend=cuda " + detect, true, describe), detect);
    EXPECT_GT(skipped_, 50u) << detect;
  }
}

TEST_F(LiveCuda, CapsWithoutAnotherPictureAndJumpsInTime) {
  const auto describe = [](std::size_t i) {
    const char* fields = i < 30   ? "framerate=25/1"
                         : i < 50 ? "framerate=50/1,chroma-site=mpeg2"
                         : i < 70 ? "framerate=0/1,pixel-aspect-ratio=16/11"
                         : i < 90 ? "framerate=25/1,colorimetry=1:3:5:1"
                                  : "framerate=25/1";
    // From 100 on five seconds later, from 115 on a frame every two seconds.
    const GstClockTime later = i < 100 ? 0 : 5 * GST_SECOND;
    const std::size_t slow = i < 115 ? 0 : i - 114;
    return std::pair(std::string(fields), i * kFrame + later + slow * 2 * GST_SECOND);
  };
  const auto on_cpu = play("backend=cpu", false, describe);
  ASSERT_EQ(on_cpu.size(), kFrames);
  const auto has_first = [](const std::string& line) {
    return line.find("\"id\":1,") != std::string::npos;
  };
  EXPECT_TRUE(std::all_of(on_cpu.begin(), on_cpu.begin() + 100, has_first));
  EXPECT_TRUE(std::none_of(on_cpu.begin() + 100, on_cpu.end(), has_first));
  expect_same_lines(on_cpu, play("backend=cuda", false, describe), "caps and jumps");
}

}  // namespace
}  // namespace cuface::test
