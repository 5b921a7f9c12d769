// cufacedetect behind a live source: searches wait while QOS events say that frames come late.
#include "tests/gst/faces.h"
#include "tests/gst/parts.h"

namespace cuface::test {
namespace {

constexpr GstClockTime kFrame = GST_SECOND / 25;

class Late : public testing::Test {
 protected:
  Parts parts;
  GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, 200, 150);
  cv::Mat one = squares(200, 150, {{60, 40, 30, 30}});
  std::string detect = parts.detect + " redetect-interval=4 ";
  std::vector<std::string> texts;  // of the frames of the last run
  guint64 skipped = 0, searches = 0;

  /// What a sink says after a frame: by how many frames it came too late.
  struct Qos {
    int frame;
    double late;
    GstQOSType type = GST_QOS_TYPE_UNDERFLOW;
  };

  static void say(Harness& harness, const Qos& qos) {
    const auto late = static_cast<GstClockTimeDiff>(qos.late * kFrame);
    GstEvent* event =
        gst_event_new_qos(qos.type, 1.5, late, static_cast<GstClockTime>(qos.frame) * kFrame);
    EXPECT_TRUE(gst_harness_push_upstream_event(harness.get(), event));
  }

  bool searched(Harness& harness) {
    GstBuffer* out = harness.pass(make_frame(info, one));
    const bool was = was_searched(out);
    gst_buffer_unref(out);
    return was;
  }

  /// 'x' for each frame that was searched, '-' for one that was not; every frame must come out.
  std::string run(const std::string& pipeline, bool live, const std::vector<Qos>& told,
                  int frames = 13, int request = -1) {
    Harness harness(pipeline);
    gst_harness_set_live(harness.get(), live);
    harness.set_caps(info);
    texts.clear();
    std::string searched;
    for (int i = 0; i < frames; ++i) {
      if (i == request)
        gst_harness_push_upstream_event(
            harness.get(), gst_event_new_custom(GST_EVENT_CUSTOM_UPSTREAM,
                                                gst_structure_new_empty("GstCuFaceRedetect")));
      GstBuffer* out = harness.pass(make_frame(info, one));
      EXPECT_TRUE(out) << "frame " << i;
      if (!out) break;
      searched += was_searched(out) ? 'x' : '-';
      texts.push_back(faces_text(out));
      gst_buffer_unref(out);
      for (const Qos& qos : told)
        if (qos.frame == i) say(harness, qos);
    }
    EXPECT_EQ(harness.stat("d", "frames"), static_cast<guint64>(frames));
    skipped = harness.stat("d", "skipped-searches");
    searches = harness.stat("d", "searches");
    EXPECT_EQ(searches, static_cast<guint64>(std::count(searched.begin(), searched.end(), 'x')));
    return searched;
  }
};

TEST_F(Late, SearchesWaitForTheFirstFrameInTime) {
  // Frame 3 is late by 0.9 frames: what comes until 4.8 will be late too, so frame 4.
  EXPECT_EQ(run(detect, true, {{3, 0.9}}), "x----x--x---x");
  EXPECT_EQ(skipped, 1u);
  // Late until 10: two turns of the period have become one search.
  EXPECT_EQ(run(detect, true, {{2, 1}, {4, 3}}), "x----------xx");
  EXPECT_EQ(skipped, 7u) << "frames 4 to 10 were due";
  // In time again sooner than expected.
  EXPECT_EQ(run(detect, true, {{3, 9}, {5, -0.5}}), "x-----x-x---x");
  EXPECT_EQ(skipped, 2u);
  // Late, but no search was due.
  EXPECT_EQ(run(detect, true, {{1, 0.9}}), "x---x---x---x");
  EXPECT_EQ(skipped, 0u);
}

TEST_F(Late, NothingIsSkippedInTimeNorWhenThrottled) {
  EXPECT_EQ(run(detect, true, {{3, -0.5}, {7, 0}}), "x---x---x---x");
  EXPECT_EQ(skipped, 0u);
  EXPECT_EQ(run(detect, true, {{3, 9, GST_QOS_TYPE_THROTTLE}}), "x---x---x---x");
  EXPECT_EQ(skipped, 0u);
  EXPECT_EQ(run(detect + "qos=false", true, {{3, 9}}), "x---x---x---x");
  EXPECT_EQ(skipped, 0u);
}

TEST_F(Late, WithoutALiveSourceNothingDependsOnSpeed) {
  for (const std::string& pipeline : {detect, parts.all() + " ! identity"}) {
    const std::string expected = run(pipeline, false, {});
    const auto plain = texts;
    ASSERT_EQ(plain.size(), 13u);
    EXPECT_EQ(run(pipeline, false, {{0, 2}, {3, 9}, {6, 30}}), expected);
    EXPECT_EQ(texts, plain);
    EXPECT_EQ(skipped, 0u);
    EXPECT_NE(run(pipeline, true, {{0, 2}, {3, 9}, {6, 30}}), expected) << "live it would differ";
  }
}

TEST_F(Late, TracksAndRequestsGoOn) {
  // With the tracker a face on every frame, though nothing is searched after the first.
  EXPECT_EQ(run(detect + "spread=false ! " + parts.track, true, {{0, 50}}), "x------------");
  EXPECT_EQ(skipped, 9u);
  for (const std::string& text : texts) EXPECT_NE(text.find("\n id 1 "), std::string::npos) << text;
  // A request waits as the period's turn does.
  const std::string seldom = parts.detect + " redetect-interval=100";
  EXPECT_EQ(run(seldom, true, {{3, 0.9}}, 13, 4), "x----x-------");
  EXPECT_EQ(skipped, 1u);
}

/// `frames` of which those named are searched.
std::string searched_at(int frames, const std::vector<int>& which) {
  std::string text(static_cast<std::size_t>(frames), '-');
  for (const int i : which) text[static_cast<std::size_t>(i)] = 'x';
  return text;
}

TEST_F(Late, WhereAllFramesAreLateASearchWaitsForASecondAtMost) {
  const std::vector<Qos> always = {{0, 500}};
  EXPECT_EQ(run(detect, true, always, 120), searched_at(120, {0, 25, 50, 75, 100}));
  EXPECT_EQ(skipped, 21u + 22 + 23 + 24 + 16) << "from frames 4, 28, 52, 76 and 104 on";
  EXPECT_EQ(run(detect + "max-search-delay=400000000", true, always, 35),
            searched_at(35, {0, 10, 20, 30}));
  EXPECT_EQ(run(detect + "max-search-delay=0", true, always, 20),
            searched_at(20, {0, 4, 8, 12, 16}));
  EXPECT_EQ(skipped, 0u);
  EXPECT_EQ(run(detect + "max-search-delay=18446744073709551615", true, always, 120),
            searched_at(120, {0}));
  // A search that is due seldom is put off by a second at most, but not due more often.
  EXPECT_EQ(run(detect + "redetect-interval=40", true, always, 120),
            searched_at(120, {0, 50, 100}));
  // Frames in time begin the second anew.
  EXPECT_EQ(run(detect, true, {{0, 5}, {20, 500}}, 60), searched_at(60, {0, 11, 12, 16, 20, 45}));
}

TEST_F(Late, ASpreadSearchOfWhichAllWasPutOffIsOfTheWholePicture) {
  EXPECT_EQ(run(detect + "spread=true redetect-interval=8 ! " + parts.track, true, {{0, 500}}, 60),
            searched_at(60, {0, 25, 50}));
}

TEST_F(Late, AMessageASecondTellsOfSearchesPutOff) {
  Harness harness(detect);
  gst_harness_set_live(harness.get(), TRUE);
  Bus bus(harness);
  harness.set_caps(info);
  struct Told {
    guint64 running_time, stream_time, timestamp, processed, dropped;
    gint64 jitter;
  };
  std::vector<Told> told;
  for (int i = 0; i < 80; ++i) {
    gst_buffer_unref(harness.pass(make_frame(info, one)));
    if (i == 0) say(harness, {0, 500});
    while (GstMessage* message = bus.next(GST_MESSAGE_QOS, 0)) {
      Told t;
      gboolean live = FALSE;
      gdouble proportion = 0;
      GstFormat format;
      gst_message_parse_qos(message, &live, &t.running_time, &t.stream_time, &t.timestamp, nullptr);
      gst_message_parse_qos_values(message, &t.jitter, &proportion, nullptr);
      gst_message_parse_qos_stats(message, &format, &t.processed, &t.dropped);
      EXPECT_TRUE(live);
      EXPECT_EQ(proportion, 1.5);
      EXPECT_EQ(format, GST_FORMAT_BUFFERS);
      EXPECT_EQ(GST_MESSAGE_SRC(message), GST_OBJECT_CAST(harness.element("d")));
      gst_message_unref(message);
      told.push_back(t);
    }
  }
  // The first search put off is that of frame 4; those of 25, 50 and 75 take place.
  ASSERT_EQ(told.size(), 4u);
  for (std::size_t i = 0; i < told.size(); ++i) {
    const guint64 frame = 4 + 25 * i;
    EXPECT_EQ(told[i].timestamp, frame * kFrame) << i;
    EXPECT_EQ(told[i].running_time, frame * kFrame) << i;
    EXPECT_EQ(told[i].stream_time, frame * kFrame) << i;
    EXPECT_EQ(told[i].jitter, static_cast<gint64>(500 * kFrame));
    EXPECT_EQ(told[i].processed, 1 + i) << "searches";
  }
  EXPECT_EQ(told[0].dropped, 1u);
  EXPECT_EQ(told[1].dropped, 21u + 2) << "frames 4 to 24, 28 and 29";
  EXPECT_EQ(harness.stat("d", "skipped-searches"), told[3].dropped);
}

TEST_F(Late, AChainThatCannotKeepUpSaysSoOnceAndWhatToSet) {
  struct Case {
    bool live;
    GstClockTime step;  // between frames
    int late_seconds;
    int warnings;
  };
  // No search takes less than 10 ns, and these take less than a minute.
  for (const Case& c :
       {Case{true, 10, 5, 1}, {true, 10, 2, 0}, {false, 10, 5, 0}, {true, 60 * GST_SECOND, 5, 0}}) {
    Harness harness(detect);
    gst_harness_set_live(harness.get(), c.live);
    Bus bus(harness);
    harness.set_caps(info);
    std::string text;
    int warnings = 0;
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(harness.push_at(make_frame(info, one), static_cast<GstClockTime>(i) * c.step),
                GST_FLOW_OK);
      gst_buffer_unref(harness.pull());
      // Twice a second.
      if (i / 2 < c.late_seconds)
        gst_harness_push_upstream_event(
            harness.get(), gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1.1, (i + 1) * GST_MSECOND,
                                             static_cast<GstClockTime>(i) * GST_SECOND / 2));
      while (GstMessage* message = bus.next(GST_MESSAGE_WARNING, 0)) {
        GError* error = nullptr;
        gst_message_parse_warning(message, &error, nullptr);
        text = error->message;
        g_error_free(error);
        gst_message_unref(message);
        ++warnings;
      }
    }
    EXPECT_EQ(warnings, c.warnings) << c.live << " " << c.step << " " << c.late_seconds;
    if (warnings == 0) continue;
    EXPECT_NE(text.find("up to 5 ms too late"), std::string::npos) << text;
    for (const char* word : {"min-size", "detect-scale", "processing-deadline", "queue"})
      EXPECT_NE(text.find(word), std::string::npos) << text;
  }
}

TEST_F(Late, EventsPassUpstreamAndAFlushForgetsThem) {
  Harness harness(detect);
  gst_harness_set_live(harness.get(), TRUE);
  harness.set_caps(info);
  while (GstEvent* event = gst_harness_try_pull_upstream_event(harness.get()))
    gst_event_unref(event);
  EXPECT_TRUE(searched(harness));
  say(harness, {0, 40});
  GstEvent* passed = gst_harness_try_pull_upstream_event(harness.get());
  ASSERT_TRUE(passed);
  ASSERT_EQ(GST_EVENT_TYPE(passed), GST_EVENT_QOS);
  GstClockTimeDiff late = 0;
  gst_event_parse_qos(passed, nullptr, nullptr, &late, nullptr);
  EXPECT_EQ(late, static_cast<GstClockTimeDiff>(40 * kFrame));
  gst_event_unref(passed);
  for (int i = 1; i < 6; ++i) EXPECT_FALSE(searched(harness));
  gst_harness_push_event(harness.get(), gst_event_new_flush_start());
  gst_harness_push_event(harness.get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
  EXPECT_TRUE(searched(harness));
}

TEST_F(Late, ASourceThatTurnsLiveIsNoticed) {
  Harness harness(detect + "redetect-interval=1");
  gst_harness_set_live(harness.get(), FALSE);
  harness.set_caps(info);
  EXPECT_TRUE(searched(harness));
  say(harness, {0, 40});
  EXPECT_TRUE(searched(harness));
  gst_harness_set_live(harness.get(), TRUE);
  EXPECT_TRUE(searched(harness)) << "nobody has said so yet";
  EXPECT_TRUE(gst_harness_push_upstream_event(harness.get(), gst_event_new_latency(kFrame)));
  EXPECT_FALSE(searched(harness));
  EXPECT_EQ(harness.stat("d", "skipped-searches"), 1u);
}

}  // namespace
}  // namespace cuface::test
