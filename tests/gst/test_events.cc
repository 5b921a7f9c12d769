// Seeks, segments, gaps, caps in mid-stream and QoS: what ends tracks and what only asks for a
// search. Flush and DISCONT: test_lktrack.cc; steps of the timestamps: test_jumps.cc.
#include <cmath>

#include "tests/gst/faces.h"
#include "tests/gst/parts.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 200;

class Events : public testing::Test {
 protected:
  Parts parts;
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  static cv::Mat picture() { return squares(kWidth, kHeight, {{100, 70, 48, 48}}); }
};

// ---- seeks ----

/// A face that goes to and fro with the time of the frame, 25 frames a second.
GstPadProbeReturn draw_by_time(GstPad*, GstPadProbeInfo* probe, gpointer) {
  GstBuffer* buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(probe));
  GST_PAD_PROBE_INFO_DATA(probe) = buffer;
  const double seconds = static_cast<double>(GST_BUFFER_PTS(buffer)) / GST_SECOND;
  const int x = 100 + static_cast<int>(60 * std::sin(seconds));
  const cv::Mat frame = squares(kWidth, kHeight, {{x, 70, 48, 48}});
  gst_buffer_fill(buffer, 0, frame.data, frame.total());
  return GST_PAD_PROBE_OK;
}

struct Seen {
  GstClockTime pts;
  guint64 id;
  bool searched;
};

GstPadProbeReturn see(GstPad*, GstPadProbeInfo* probe, gpointer data) {
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(probe);
  GstCufaceFaces* faces = faces_of(buffer);
  const guint64 id = gst_cuface_faces_get_count(faces) == 1 ? gst_cuface_faces_get_id(faces, 0) : 0;
  gst_cuface_faces_unref(faces);
  static_cast<std::vector<Seen>*>(data)->push_back(
      {GST_BUFFER_PTS(buffer), id, was_searched(buffer)});
  return GST_PAD_PROBE_OK;
}

class Player {
 public:
  explicit Player(const std::string& elements) {
    pipeline_ = gst_parse_launch(
        ("videotestsrc name=v ! video/x-raw,format=GRAY8,width=320,height=200,framerate=25/1 ! "
         "identity name=film ! " +
         elements + " ! fakesink name=s sync=false")
            .c_str(),
        nullptr);
    add_probe(pipeline_, "film", "src", GST_PAD_PROBE_TYPE_BUFFER, draw_by_time, nullptr);
    add_probe(pipeline_, "s", "sink", GST_PAD_PROBE_TYPE_BUFFER, see, &seen_);
    gst_element_set_state(pipeline_, GST_STATE_PAUSED);
    gst_element_get_state(pipeline_, nullptr, nullptr, 60 * GST_SECOND);
  }
  ~Player() {
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(pipeline_);
  }
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  /// The frames of start to stop (milliseconds) at this rate, until EOS.
  std::vector<Seen> play(double rate, int start, int stop) {
    gst_element_set_state(pipeline_, GST_STATE_PAUSED);
    gst_element_get_state(pipeline_, nullptr, nullptr, 60 * GST_SECOND);
    GstEvent* event =
        gst_event_new_seek(rate, GST_FORMAT_TIME,
                           static_cast<GstSeekFlags>(GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE),
                           GST_SEEK_TYPE_SET, start * static_cast<gint64>(GST_MSECOND),
                           GST_SEEK_TYPE_SET, stop * static_cast<gint64>(GST_MSECOND));
    // The frame of the preroll before and what a queue held are gone when the flush is over; the
    // first of the new ones may already be here.
    GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline_), "s");
    GstPad* pad = gst_element_get_static_pad(sink, "sink");
    const gulong clear = gst_pad_add_probe(
        pad, GST_PAD_PROBE_TYPE_EVENT_FLUSH,
        [](GstPad*, GstPadProbeInfo* probe, gpointer data) {
          if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(probe)) == GST_EVENT_FLUSH_STOP)
            static_cast<std::vector<Seen>*>(data)->clear();
          return GST_PAD_PROBE_OK;
        },
        &seen_, nullptr);
    EXPECT_TRUE(gst_element_send_event(pipeline_, event));
    gst_element_set_state(pipeline_, GST_STATE_PLAYING);
    GstBus* bus = gst_element_get_bus(pipeline_);
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    EXPECT_TRUE(message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS);
    if (message) gst_message_unref(message);
    gst_object_unref(bus);
    gst_pad_remove_probe(pad, clear);
    gst_object_unref(pad);
    gst_object_unref(sink);
    return seen_;
  }

 private:
  GstElement* pipeline_ = nullptr;
  std::vector<Seen> seen_;
};

TEST_F(Events, EverySeekEndsTheTracksAndStartsWithASearch) {
  struct Seek {
    double rate;
    int start, stop;
  };
  for (const std::string between : {"", "queue ! "}) {
    Player player(between + parts.detect + " min-size=60 ! " + between + parts.track + " ! " +
                  parts.landmark);
    guint64 last_id = 0;
    for (const Seek& seek : {Seek{1, 0, 600},
                             {1, 4000, 4600},
                             {1, 2000, 2600},
                             {2, 6000, 6600},
                             {-1, 1000, 1600},
                             {1, 8000, 8600},
                             {-2, 3000, 3600},
                             {0.5, 0, 600}}) {
      const std::vector<Seen> seen = player.play(seek.rate, seek.start, seek.stop);
      SCOPED_TRACE(between + std::to_string(seek.rate) + " from " + std::to_string(seek.start));
      ASSERT_GE(seen.size(), 14u);
      ASSERT_LE(seen.size(), 16u);
      EXPECT_GT(seen[0].id, last_id) << "a new track";
      for (std::size_t i = 0; i < seen.size(); ++i) {
        EXPECT_EQ(seen[i].id, seen[0].id) << i;
        EXPECT_EQ(seen[i].searched, i % 10 == 0) << i;
        if (i > 0) {
          EXPECT_EQ(seen[i].pts > seen[i - 1].pts, seek.rate > 0) << i;
        }
      }
      last_id = seen[0].id;
    }
  }
}

// ---- gaps and caps ----

GstEvent* segment_event(double rate = 1, GstClockTime start = 0) {
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.rate = rate;
  segment.start = segment.time = segment.position = start;
  segment.stop = 1000 * GST_SECOND;
  return gst_event_new_segment(&segment);
}

TEST_F(Events, ASegmentAloneEndsNothing) {
  Harness harness(parts.detect + " min-size=60 ! " + parts.track);
  harness.set_caps(info);
  for (int i = 0; i < 8; ++i) {
    if (i == 4) {
      EXPECT_TRUE(gst_harness_push_event(harness.get(), segment_event(1, 3 * GST_SECOND / 25)));
    }
    const std::string text = harness.pass_text(grey_frame(picture()));
    EXPECT_NE(text.find("id 1 "), std::string::npos) << i << text;
    EXPECT_EQ(text.find("searched") == 0, i == 0) << i;
  }
}

TEST_F(Events, AJumpOrAReverseSegmentEndsTheTracksAndIsSearchedAtOnce) {
  for (const char* between : {"", " ! queue"}) {
    Harness harness(parts.detect + " min-size=60" + between + " ! " + parts.track);
    harness.set_caps(info);
    GstClockTime time = 20 * GST_SECOND;
    std::string searched, ids;
    for (int i = 0; i < 20; ++i) {
      time += GST_SECOND / 25;
      if (i == 3) time += 990 * GST_MSECOND;  // with the frame's 40 ms over a second
      if (i == 6) time += 950 * GST_MSECOND;  // not over it
      if (i == 8) time -= 5 * GST_SECOND;
      if (i == 12) gst_harness_push_event(harness.get(), segment_event(-1));
      EXPECT_EQ(harness.push_at(grey_frame(picture()), time), GST_FLOW_OK);
      GstBuffer* out = harness.pull();
      GstCufaceFaces* faces = faces_of(out);
      ASSERT_EQ(gst_cuface_faces_get_count(faces), 1u) << "frame " << i << between;
      ids += std::to_string(gst_cuface_faces_get_id(faces, 0));
      searched += gst_cuface_faces_get_searched(faces) ? 'x' : '-';
      gst_cuface_faces_unref(faces);
      gst_buffer_unref(out);
    }
    EXPECT_EQ(ids, "11122222333344444444") << between;
    EXPECT_EQ(searched, "x--x----x-x-x-------") << between;
  }
}

TEST_F(Events, GapsPassAndEndTracksOnlyWhenLong) {
  Harness harness(parts.all());
  harness.set_caps(info);
  GstClockTime time = 0;
  const auto pass = [&] {
    harness.push_at(grey_frame(picture()), time);
    time += GST_SECOND / 25;
    GstBuffer* out = harness.pull();
    const std::string text = faces_text(out);
    gst_buffer_unref(out);
    return text;
  };
  const auto gap = [&](GstClockTime duration) {
    while (GstEvent* event = gst_harness_try_pull_event(harness.get())) gst_event_unref(event);
    EXPECT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_gap(time, duration)));
    time += duration;
    GstEvent* event = gst_harness_try_pull_event(harness.get());
    ASSERT_NE(event, nullptr);
    EXPECT_EQ(GST_EVENT_TYPE(event), GST_EVENT_GAP);
    gst_event_unref(event);
  };
  EXPECT_NE(pass().find("id 1 "), std::string::npos);
  gap(500 * GST_MSECOND);
  EXPECT_NE(pass().find("id 1 "), std::string::npos);
  gap(5 * GST_SECOND);
  EXPECT_NE(pass().find("id 2 "), std::string::npos);

  // A gap as a buffer: without a picture it is no frame, with one it is not searched.
  GstBuffer* empty = gst_buffer_new();
  GST_BUFFER_FLAG_SET(empty, GST_BUFFER_FLAG_GAP);
  harness.push_at(empty, time);
  GstBuffer* out = harness.pull();
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(face_count(out), -1);
  gst_buffer_unref(out);
  GstBuffer* flagged = grey_frame(picture());
  GST_BUFFER_FLAG_SET(flagged, GST_BUFFER_FLAG_GAP);
  harness.push_at(flagged, time);
  out = harness.pull();
  EXPECT_NE(faces_text(out).find("id 2 "), std::string::npos);
  EXPECT_FALSE(was_searched(out));
  gst_buffer_unref(out);
  EXPECT_TRUE(harness.finish());
  EXPECT_EQ(parts.published().size(), 4u) << "a line a frame";
}

TEST_F(Events, CapsInMidStream) {
  Harness harness(parts.all());
  struct Part {
    const char* format;
    int width, height, fps;
    guint64 id;
  };
  int frames = 0;
  for (const Part& p : {Part{"GRAY8", 320, 200, 25, 1},
                        {"GRAY8", 320, 200, 25, 1},
                        {"I420", 320, 200, 25, 2},
                        {"I420", 400, 300, 25, 3},
                        {"RGBx", 400, 300, 25, 4},
                        {"RGBx", 400, 300, 50, 4},
                        {"NV12", 200, 200, 25, 5},
                        {"GRAY8", 320, 200, 25, 6}}) {
    GstVideoInfo format = video_info(gst_video_format_from_string(p.format), p.width, p.height);
    format.colorimetry.range = GST_VIDEO_COLOR_RANGE_0_255;
    format.fps_n = p.fps;
    harness.set_caps(format);
    for (int i = 0; i < 2; ++i, ++frames) {
      const cv::Mat frame = squares(p.width, p.height, {{100, 70, 48, 48}});
      const std::string text = harness.pass_text(make_frame(format, frame));
      EXPECT_NE(text.find("id " + std::to_string(p.id) + " "), std::string::npos)
          << p.format << p.width << " frame " << i << ": " << text;
    }
  }
  EXPECT_TRUE(harness.finish());
  const auto lines = parts.published();
  ASSERT_EQ(static_cast<int>(lines.size()), frames);
  EXPECT_NE(lines[6].find("\"width\":400,\"height\":300"), std::string::npos) << lines[6];
}

TEST_F(Events, CapsThatChangeNeitherPixelsNorLayoutEndNothing) {
  Harness harness(parts.detect + " min-size=60 ! " + parts.track + " ! " + parts.landmark);
  const auto set_caps = [&](const std::string& fields) {
    gst_harness_set_src_caps(
        harness.get(),
        gst_caps_from_string(("video/x-raw,format=I420,width=320,height=200" + fields).c_str()));
  };
  std::string searched;
  // The last but one is other light for the tracker, not another place.
  for (const char* fields :
       {",framerate=25/1,colorimetry=1:4:0:0", ",framerate=50/1,colorimetry=1:4:0:0",
        ",framerate=0/1,colorimetry=1:4:0:0", ",framerate=0/1,colorimetry=1:3:5:1",
        ",framerate=0/1,colorimetry=1:3:5:1,chroma-site=mpeg2",
        ",framerate=0/1,colorimetry=1:3:5:1,pixel-aspect-ratio=16/11",
        ",framerate=0/1,colorimetry=1:3:5:1,interlace-mode=interleaved,field-order=top-field-first",
        ",framerate=0/1,colorimetry=1:3:5:1,multiview-mode=left,multiview-flags=0:ffffffff",
        ",framerate=0/1,colorimetry=2:3:5:1", ",framerate=0/1,colorimetry=1:3:5:1"}) {
    set_caps(fields);
    for (int i = 0; i < 2; ++i) {
      GstVideoInfo frame = video_info(GST_VIDEO_FORMAT_I420, kWidth, kHeight);
      frame.colorimetry.range = GST_VIDEO_COLOR_RANGE_0_255;
      const std::string text = harness.pass_text(make_frame(frame, picture()));
      EXPECT_NE(text.find("id 1 "), std::string::npos) << fields << " frame " << i << ": " << text;
      searched += text.find("searched") == 0 ? 'x' : '-';
    }
  }
  EXPECT_EQ(searched, "x---------x---------");
  EXPECT_EQ(harness.stat("t", "lost-tracks"), 0u);
}

// ---- QoS ----

TEST_F(Events, QosPassesAndLateFramesAreDroppedWhereAskedFor) {
  for (const std::string& element : parts.each()) {
    for (const bool qos : {false, true}) {
      // cufacedetect skips searches instead.
      const bool drops = qos && element != parts.detect;
      Harness harness(element + " qos=" + (qos ? "true" : "false"));
      Bus bus(harness);
      harness.set_caps(info);
      const auto passes = [&](GstClockTime pts) {
        EXPECT_EQ(harness.push_at(grey_frame(picture()), pts), GST_FLOW_OK);
        GstBuffer* out = gst_harness_try_pull(harness.get());
        if (!out) return false;
        gst_buffer_unref(out);
        return true;
      };
      EXPECT_TRUE(passes(0)) << element;
      EXPECT_TRUE(gst_harness_push_upstream_event(
          harness.get(),
          gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2, 4 * GST_SECOND, 1 * GST_SECOND)))
          << element;
      GstEvent* event = gst_harness_try_pull_upstream_event(harness.get());
      while (event && GST_EVENT_TYPE(event) != GST_EVENT_QOS) {
        gst_event_unref(event);
        event = gst_harness_try_pull_upstream_event(harness.get());
      }
      EXPECT_NE(event, nullptr) << element << ": the source must hear of it";
      if (event) gst_event_unref(event);
      EXPECT_EQ(passes(GST_SECOND), !drops) << element << " a late frame";
      EXPECT_EQ(bus.count(GST_MESSAGE_QOS), drops ? 1 : 0) << element;
      EXPECT_TRUE(passes(60 * GST_SECOND)) << element << " a frame in time";
    }
  }
}

}  // namespace
}  // namespace cuface::test
