// Streams whose segment does not count in time, or that have none. A critical message ends the run
// (main.cc), so each frame is a check.
#include "tests/gst/parts.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 200, kFrames = 4;

class Segments : public testing::Test {
 protected:
  Parts parts;
  const cv::Mat picture = squares(kWidth, kHeight, {{100, 70, 48, 48}});

  /// A line a frame, the face in each; without times where nobody told them.
  void expect_lines() {
    const std::vector<std::string> lines = parts.published();
    ASSERT_EQ(lines.size(), std::size_t{kFrames});
    for (const std::string& line : lines) {
      EXPECT_NE(line.find("\"running_time\":null"), std::string::npos) << line;
      EXPECT_NE(line.find("\"id\":1,"), std::string::npos) << line;
    }
  }
};

TEST_F(Segments, OfBytes) {
  std::string content;
  for (int i = 0; i < kFrames; ++i)
    content.append(reinterpret_cast<const char*>(picture.data), picture.total());
  const std::string path = parts.folder.write("frames.raw", content);
  const BusReport report =
      run_pipeline("filesrc location=" + path + " blocksize=" + std::to_string(picture.total()) +
                   " ! video/x-raw,format=GRAY8,width=320,height=200,framerate=25/1 ! " +
                   parts.all() + " ! fakesink");
  EXPECT_TRUE(report.finished);
  EXPECT_EQ(report.error, "");
  expect_lines();
}

TEST_F(Segments, OfBytesOnFramesWithTimestamps) {
  Harness harness(parts.all());
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
  GstSegment bytes;
  gst_segment_init(&bytes, GST_FORMAT_BYTES);
  gst_harness_push_event(harness.get(), gst_event_new_segment(&bytes));
  // Lateness is asked for by timestamp too.
  gst_harness_set_live(harness.get(), TRUE);
  for (int i = 0; i < kFrames; ++i) {
    GstBuffer* out = harness.pass(grey_frame(picture));
    EXPECT_EQ(face_count(out), 1);
    gst_buffer_unref(out);
    gst_harness_push_upstream_event(
        harness.get(), gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2, GST_SECOND, GST_SECOND));
  }
  EXPECT_TRUE(harness.finish());
  expect_lines();
}

TEST_F(Segments, None) {
  // What GStreamer says of such a stream on each pad is not what is tested.
  const GLogFunc previous = g_log_set_default_handler(
      [](const char* domain, GLogLevelFlags level, const char* message, gpointer data) {
        if (!(level & G_LOG_LEVEL_WARNING)) g_log_default_handler(domain, level, message, data);
      },
      nullptr);
  GstElement* chain = gst_parse_bin_from_description(
      (parts.all() + " ! fakesink name=s sync=false async=false").c_str(), TRUE, nullptr);
  ASSERT_TRUE(chain);
  gst_element_set_state(chain, GST_STATE_PLAYING);
  GstPad* sink = gst_element_get_static_pad(chain, "sink");
  GstPad* source = gst_pad_new("src", GST_PAD_SRC);
  gst_pad_set_active(source, TRUE);
  ASSERT_EQ(gst_pad_link(source, sink), GST_PAD_LINK_OK);
  GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  gst_pad_push_event(source, gst_event_new_stream_start("frames"));
  GstCaps* caps = gst_video_info_to_caps(&info);
  gst_pad_push_event(source, gst_event_new_caps(caps));
  gst_caps_unref(caps);
  for (int i = 0; i < kFrames; ++i) {
    GstBuffer* buffer = grey_frame(picture);
    GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(i) * 40 * GST_MSECOND;
    EXPECT_EQ(gst_pad_push(source, buffer), GST_FLOW_OK);
  }
  gst_element_set_state(chain, GST_STATE_NULL);
  gst_object_unref(sink);
  gst_object_unref(source);
  gst_object_unref(chain);
  g_log_set_default_handler(previous, nullptr);
  expect_lines();
}

}  // namespace
}  // namespace cuface::test
