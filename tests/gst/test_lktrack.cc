// culktrack: ids, the ends of tracks, the way back from cufacelandmark, foreign boxes.
#include <set>

#include "kernels/track/track.h"
#include "tests/gst/support.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 200, kSide = 48;

class Track : public testing::Test {
 protected:
  TempFolder folder;
  std::string cascade = folder.write("square.xml", square_cascade_xml());
  std::string detect = "cufacedetect name=d min-size=60 cascade=" + cascade + " ";
  std::string chain = detect + "! culktrack name=t ";
  GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  const cv::Mat none = dark_ground(kWidth, kHeight);

  static cv::Mat square_at(int x, int y) {
    return squares(kWidth, kHeight, {{x, y, kSide, kSide}});
  }

  std::set<guint64> ids_of(GstBuffer* buffer) {
    std::set<guint64> ids;
    GstCufaceFaces* faces = faces_of(buffer);
    for (guint i = 0; i < gst_cuface_faces_get_count(faces); ++i)
      ids.insert(gst_cuface_faces_get_id(faces, i));
    gst_cuface_faces_unref(faces);
    gst_buffer_unref(buffer);
    return ids;
  }
};

TEST_F(Track, FollowsAFaceBetweenSearchesUnderOneId) {
  Harness harness(chain);
  harness.set_caps(info);
  float first_x = 0;
  for (int i = 0; i < 25; ++i) {
    GstBuffer* out = harness.pass(make_frame(info, square_at(60 + 3 * i, 70 + i)));
    GstCufaceFaces* faces = faces_of(out);
    ASSERT_EQ(gst_cuface_faces_get_count(faces), 1u) << "frame " << i;
    EXPECT_EQ(gst_cuface_faces_get_id(faces, 0), 1u) << "frame " << i;
    const bool search = i % 10 == 0;
    EXPECT_EQ(gst_cuface_faces_get_searched(faces), search) << "frame " << i;
    EXPECT_EQ(gst_cuface_faces_get_origin(faces, 0),
              search ? GST_CUFACE_ORIGIN_DETECTED : GST_CUFACE_ORIGIN_TRACKED);
    EXPECT_EQ(gst_cuface_faces_get_age(faces, 0), static_cast<guint>(i % 10));
    float x, y, w, h;
    gst_cuface_faces_get_box(faces, 0, &x, &y, &w, &h);
    if (search) first_x = x * kWidth - static_cast<float>(3 * i);
    EXPECT_NEAR(x * kWidth, first_x + static_cast<float>(3 * i), 1.0f) << "frame " << i;
    gst_cuface_faces_unref(faces);
    gst_buffer_unref(out);
  }
  EXPECT_EQ(harness.stat("d", "searches"), 3u);
  EXPECT_EQ(harness.stat("t", "faces"), 25u);
  EXPECT_EQ(harness.stat("t", "lost-tracks"), 0u);
}

TEST_F(Track, ALostFaceIsGoneAtOnceAndSearchedForOnTheNextFrame) {
  Harness harness(chain);
  harness.set_caps(info);
  std::string seen, searched;
  for (int i = 0; i < 16; ++i) {
    GstBuffer* out = harness.pass(make_frame(info, i >= 4 && i < 8 ? none : square_at(100, 70)));
    seen += face_count(out) ? 'f' : '-';
    searched += was_searched(out) ? 'x' : '-';
    EXPECT_TRUE(face_count(out) == 0 || *ids_of(gst_buffer_ref(out)).begin() == 1)
        << "a face that comes back soon keeps its id";
    gst_buffer_unref(out);
  }
  EXPECT_EQ(seen, "ffff----ffffffff");
  // Frame 5 by request, 6 to 8 because nothing was found, 10 by the period.
  EXPECT_EQ(searched, "x----xxxx-x-----");
  EXPECT_EQ(harness.stat("t", "lost-tracks"), 1u);
}

TEST_F(Track, AFaceThatComesBackLateGetsANewId) {
  Harness harness(chain);
  harness.set_caps(info);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(ids_of(harness.pass(make_frame(info, square_at(100, 70)))), std::set<guint64>{1});
  for (int i = 0; i < 100; ++i) gst_buffer_unref(harness.pass(make_frame(info, none)));
  EXPECT_EQ(ids_of(harness.pass(make_frame(info, square_at(100, 70)))), std::set<guint64>{2});
}

TEST_F(Track, EndsAtFlushCapsChangeTimeJumpAndReverse) {
  struct Break {
    const char* what;
    void (*make)(Harness&, GstVideoInfo&, GstClockTime&);
  };
  const auto segment = [](Harness& harness, double rate) {
    GstSegment s;
    gst_segment_init(&s, GST_FORMAT_TIME);
    s.rate = rate;
    s.stop = 100 * GST_SECOND;
    gst_harness_push_event(harness.get(), gst_event_new_segment(&s));
  };
  static const auto push_segment = segment;
  const Break breaks[] = {
      {"flush",
       [](Harness& h, GstVideoInfo&, GstClockTime&) {
         gst_harness_push_event(h.get(), gst_event_new_flush_start());
         gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
         push_segment(h, 1);
       }},
      {"another format",
       [](Harness& h, GstVideoInfo& info, GstClockTime&) {
         info = video_info(GST_VIDEO_FORMAT_RGB, kWidth, kHeight);
         h.set_caps(info);
       }},
      {"jump forward", [](Harness&, GstVideoInfo&, GstClockTime& t) { t += 2 * GST_SECOND; }},
      {"jump back", [](Harness&, GstVideoInfo&, GstClockTime& t) { t -= 2 * GST_SECOND; }},
      {"reverse", [](Harness& h, GstVideoInfo&, GstClockTime&) { push_segment(h, -1); }},
  };
  for (const Break& b : breaks) {
    GstVideoInfo format = info;
    Harness harness(detect + "redetect-interval=1 ! culktrack");
    harness.set_caps(format);
    GstClockTime time = 10 * GST_SECOND;
    const auto pass = [&] {
      time += GST_SECOND / 25;
      harness.push_at(make_frame(format, square_at(100, 70)), time);
      return ids_of(harness.pull());
    };
    for (int i = 0; i < 3; ++i) EXPECT_EQ(pass(), std::set<guint64>{1}) << b.what;
    b.make(harness, format, time);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(pass(), std::set<guint64>{2}) << b.what;
  }
}

TEST_F(Track, DiscontAndAShortGapEndNothing) {
  Harness harness(chain);
  harness.set_caps(info);
  for (int i = 0; i < 6; ++i) {
    GstBuffer* buffer = make_frame(info, square_at(100, 70));
    if (i == 3) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
    const GstClockTime late = i >= 3 ? 900 * GST_MSECOND : 0;
    harness.push_at(buffer, static_cast<GstClockTime>(i) * 40 * GST_MSECOND + late);
    EXPECT_EQ(ids_of(harness.pull()), std::set<guint64>{1}) << i;
  }
}

TEST_F(Track, IdsCountOnOverSizesAndStartAgainFromReady) {
  Harness harness(detect + "redetect-interval=1 ! culktrack");
  harness.set_caps(info);
  const std::vector<cv::Rect> two = {{40, 40, kSide, kSide}, {200, 60, kSide, kSide}};
  EXPECT_EQ(ids_of(harness.pass(make_frame(info, squares(kWidth, kHeight, two)))),
            (std::set<guint64>{1, 2}));
  const GstVideoInfo large = video_info(GST_VIDEO_FORMAT_GRAY8, 400, 300);
  harness.set_caps(large);
  EXPECT_EQ(ids_of(harness.pass(make_frame(large, squares(400, 300, two)))),
            (std::set<guint64>{3, 4}));
  gst_element_set_state(harness.get()->element, GST_STATE_READY);
  gst_element_set_state(harness.get()->element, GST_STATE_PLAYING);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(harness.get(), gst_event_new_stream_start("again"));
  harness.set_caps(info);
  gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
  EXPECT_EQ(ids_of(harness.pass(make_frame(info, squares(kWidth, kHeight, two)))),
            (std::set<guint64>{1, 2}));
}

TEST_F(Track, TakesForeignRegionsWhereNoElementOfOursWasBefore) {
  Harness harness("culktrack");
  harness.set_caps(info);
  for (int i = 0; i < 6; ++i) {
    GstBuffer* buffer = make_frame(info, square_at(100 + 2 * i, 70));
    if (i == 0) {
      gst_buffer_add_video_region_of_interest_meta(buffer, "face", 96, 66, 56, 56);
      gst_buffer_add_video_region_of_interest_meta(buffer, "dog", 10, 10, 50, 50);
    }
    GstBuffer* out = harness.pass(buffer);
    GstCufaceFaces* faces = faces_of(out);
    ASSERT_EQ(gst_cuface_faces_get_count(faces), 1u) << "frame " << i;
    float x;
    gst_cuface_faces_get_box(faces, 0, &x, nullptr, nullptr, nullptr);
    EXPECT_NEAR(x * kWidth, static_cast<float>(96 + 2 * i), 1.0f) << "frame " << i;
    gst_cuface_faces_unref(faces);
    gst_buffer_unref(out);
  }
}

TEST_F(Track, ADetectorThatFoundNothingIsNotOverruledByForeignRegions) {
  Harness harness(detect + "! culktrack");
  harness.set_caps(info);
  GstBuffer* buffer = make_frame(info, none);
  gst_buffer_add_video_region_of_interest_meta(buffer, "face", 96, 66, 56, 56);
  GstBuffer* out = harness.pass(buffer);
  EXPECT_EQ(face_count(out), 0);
  gst_buffer_unref(out);
}

TEST_F(Track, EveryRuleIsAPropertyWithTheKernelsDefault) {
  GstElement* element = gst_element_factory_make("culktrack", nullptr);
  const TrackConfig d;
  const std::vector<std::pair<const char*, double>> expected = {
      {"window-size", 21},
      {"pyramid-levels", 3},
      {"max-iterations", 30},
      {"epsilon", 0.01},
      {"min-eigen", static_cast<double>(d.flow.min_eigen)},
      {"max-faces", d.max_faces},
      {"forward-backward", static_cast<double>(d.forward_backward)},
      {"max-residual", static_cast<double>(d.max_residual)},
      {"min-points", static_cast<double>(d.min_points)},
      {"min-confidence", static_cast<double>(d.min_confidence)},
      {"max-scale-step", static_cast<double>(d.max_scale_step)},
      {"max-shape-change", static_cast<double>(d.max_shape_change)},
      {"min-visible", static_cast<double>(d.min_visible)},
      {"min-width", static_cast<double>(d.min_width)},
      {"min-overlap", static_cast<double>(d.min_overlap)},
      {"min-correlation", static_cast<double>(d.min_correlation)},
      {"max-missed", d.max_missed},
      {"min-confirmed", d.min_confirmed},
      {"doubt-below", static_cast<double>(d.doubt_below)},
      {"hold-time", static_cast<double>(d.hold_time)},
      {"revive-time", static_cast<double>(d.revive_time)},
      {"revive-distance", static_cast<double>(d.revive_distance)},
      {"revive-motion", static_cast<double>(d.revive_motion)},
  };
  // revive is no number, and backend, standard-metas, post-messages, stats, name, parent and qos
  // are not rules, nor is cuda-device-id.
  guint count = 0;
  g_free(g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count));
  const bool cuda = g_object_class_find_property(G_OBJECT_GET_CLASS(element), "cuda-device-id");
  EXPECT_EQ(count, expected.size() + 9 + cuda);
  for (const auto& [name, value] : expected) {
    GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), name);
    ASSERT_NE(spec, nullptr) << name;
    EXPECT_TRUE(spec->flags & GST_PARAM_MUTABLE_PLAYING) << name;
    GValue number = G_VALUE_INIT;
    g_value_init(&number, G_TYPE_DOUBLE);
    g_object_get_property(G_OBJECT(element), name, &number);
    EXPECT_NEAR(g_value_get_double(&number), value, 1e-6) << name;
    g_value_unset(&number);
  }
  gint revive = -1;
  g_object_get(element, "revive", &revive, nullptr);
  EXPECT_EQ(revive, static_cast<gint>(d.revive));
  g_object_set(element, "window-size", 31, "epsilon", 0.5f, nullptr);
  gint window = 0;
  gfloat epsilon = 0;
  g_object_get(element, "window-size", &window, "epsilon", &epsilon, nullptr);
  EXPECT_EQ(window, 31);
  EXPECT_FLOAT_EQ(epsilon, 0.5f);
  gst_object_unref(element);
}

TEST_F(Track, BothEndsOfEveryRangeAreAccepted) {
  GstElement* element = gst_element_factory_make("culktrack", nullptr);
  guint count = 0, tried = 0;
  GParamSpec** specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
  for (guint i = 0; i < count; ++i) {
    if (!(specs[i]->flags & GST_PARAM_MUTABLE_PLAYING)) continue;
    std::vector<std::string> ends;
    if (G_IS_PARAM_SPEC_INT(specs[i])) {
      ends = {std::to_string(G_PARAM_SPEC_INT(specs[i])->minimum),
              std::to_string(G_PARAM_SPEC_INT(specs[i])->maximum)};
    } else if (G_IS_PARAM_SPEC_FLOAT(specs[i])) {
      ends = {std::to_string(G_PARAM_SPEC_FLOAT(specs[i])->minimum),
              std::to_string(G_PARAM_SPEC_FLOAT(specs[i])->maximum)};
    }
    for (const std::string& end : ends) {
      const BusReport report = run_pipeline(
          "videotestsrc num-buffers=2 ! video/x-raw,width=160,height=120 ! culktrack " +
          std::string(specs[i]->name) + "=" + end + " ! fakesink");
      EXPECT_EQ(report.error, "") << specs[i]->name << "=" << end;
      ++tried;
    }
  }
  EXPECT_EQ(tried, 2 * 23u);
  g_free(specs);
  gst_object_unref(element);
}

TEST_F(Track, RulesChangeWhilePlayingAndTracksGoOn) {
  Harness harness(chain);
  harness.set_caps(info);
  for (int i = 0; i < 8; ++i) {
    if (i == 4) g_object_set(harness.element("t"), "window-size", 31, "pyramid-levels", 4, nullptr);
    EXPECT_EQ(ids_of(harness.pass(make_frame(info, square_at(100 + i, 70)))), std::set<guint64>{1});
  }
  g_object_set(harness.element("t"), "min-width", 200.0f, nullptr);
  EXPECT_EQ(ids_of(harness.pass(make_frame(info, square_at(108, 70)))), std::set<guint64>{});
}

}  // namespace
}  // namespace cuface::test
