// What cufaceoverlay draws behind the whole chain: the same bytes of a frame on CUDA as on the CPU,
// also when the GPU comes to the drawing late.
#include <gst/gst.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tests/gpu/pipelines/pipeline.h"
#include "tests/gpu/pipelines/trace.h"
#include "tests/gpu/spin.h"

namespace cuface::test {
namespace {

constexpr int kFrames = 40, kSpinUs = 5000;
constexpr int kWidth = 640, kHeight = 360;  // of kPexels

/// The pixels of a frame, without what pads its rows.
std::string pixels_of(GstBuffer* buffer, GstVideoFormat format) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, format, kWidth, kHeight);
  GstVideoFrame frame;
  std::string bytes;
  if (!gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ)) {
    ADD_FAILURE() << "a frame cannot be read";
    return bytes;
  }
  for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(&frame); ++plane) {
    // The planes of 4:2:0 are the components, but for NV12's second one, which holds two.
    const gint width =
        GST_VIDEO_FRAME_COMP_WIDTH(&frame, plane) * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, plane);
    const auto* row = static_cast<const char*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, plane));
    for (gint y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, plane); ++y)
      bytes.append(row + std::ptrdiff_t{y} * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, plane),
                   static_cast<std::size_t>(width));
  }
  gst_video_frame_unmap(&frame);
  return bytes;
}

/// Frames as they came to the overlay, where they lie in system memory, and as they left it.
struct Drawn {
  std::vector<std::string> before, after;
};

class DrawnCuda : public testing::TestWithParam<GstVideoFormat> {
 protected:
  void SetUp() override { CUFACE_NEEDS_CHAINS(); }
  void TearDown() override { trace::before_submission({}); }

  /// `to`, `from`: what brings the frames to the elements' memory and back.
  static Drawn play(const std::string& to, const std::string& backend, const std::string& from) {
    const GstVideoFormat format = GetParam();
    Drawn drawn;
    Pipeline pipeline(decoded_on_cpu(clip(kPexels)) + " ! identity eos-after=" +
                      std::to_string(kFrames + 1) + " ! videoconvertscale ! capsfilter " +
                      "caps=video/x-raw,format=" + gst_video_format_to_string(format) + to +
                      " ! cufacedetect backend=" + backend + " ! culktrack ! cufacelandmark" +
                      " ! cufaceoverlay name=overlay draw=box+contour+points+id" + from +
                      " ! fakesink name=sink sync=false");
    pipeline.on_buffer("overlay", "sink", [&](GstBuffer* buffer) {
      armed_ = true;
      if (to.empty()) drawn.before.push_back(pixels_of(buffer, format));
    });
    pipeline.on_buffer("sink", "sink", [&](GstBuffer* buffer) {
      drawn.after.push_back(pixels_of(buffer, format));
    });
    const Ending ending = pipeline.play(30);
    EXPECT_TRUE(ending.eos) << ending.error;
    EXPECT_GE(drawn.after.size(), std::size_t{kFrames});
    drawn.after.resize(kFrames);  // what was on its way may follow
    return drawn;
  }
  static Drawn on_cuda() {
    return play(" ! cudaupload ! capsfilter caps=video/x-raw(memory:CUDAMemory)", "auto",
                " ! cudadownload ! capsfilter caps=video/x-raw");
  }
  static void expect_same(const Drawn& cpu, const Drawn& gpu, const std::string& where) {
    for (std::size_t i = 0; i < cpu.after.size(); ++i)
      ASSERT_TRUE(cpu.after[i] == gpu.after[i]) << "frame " << i << ", " << where;
  }

  static thread_local bool armed_;  ///< the streaming thread's next submission is the overlay's

 private:
  const TimeLimit limit_{60};
};
thread_local bool DrawnCuda::armed_ = false;

TEST_P(DrawnCuda, IsWhatTheCpuDraws) {
  const Drawn cpu = play("", "cpu", "");
  ASSERT_GE(cpu.before.size(), std::size_t{kFrames});
  long drawn_on = 0, changed = 0;
  for (std::size_t i = 0; i < cpu.after.size(); ++i) {
    ASSERT_EQ(cpu.after[i].size(), std::size_t{kWidth * kHeight * 3 / 2});
    long bytes = 0;
    for (std::size_t at = 0; at < cpu.after[i].size(); ++at)
      bytes += cpu.before[i][at] != cpu.after[i][at];
    drawn_on += bytes > 1000;
    changed += bytes;
  }
  EXPECT_GE(drawn_on, kFrames * 3 / 4);

  expect_same(cpu, on_cuda(), "as it comes");
  long spins = 0;
  trace::before_submission([&](const trace::Call& call, CUstream stream) {
    if (call.caller != trace::Caller::kElements || !std::exchange(armed_, false)) return;
    EXPECT_EQ(spin(kSpinUs, stream), cudaSuccess);
    ++spins;
  });
  expect_same(cpu, on_cuda(), "5 ms late");
  EXPECT_GE(spins, kFrames);
  std::printf(
      "{\"what\":\"drawn frames\",\"format\":\"%s\",\"frames compared\":%zu,"
      "\"with something drawn\":%ld,\"bytes drawn\":%ld,\"delays\":%ld}\n",
      gst_video_format_to_string(GetParam()), 2 * cpu.after.size(), drawn_on, changed, spins);
}

INSTANTIATE_TEST_SUITE_P(, DrawnCuda, testing::Values(GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_I420),
                         [](const auto& info) {
                           return std::string(gst_video_format_to_string(info.param));
                         });

}  // namespace
}  // namespace cuface::test
