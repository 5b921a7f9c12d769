// Object detections of others in GstAnalytics: read as faces, and given the ids of our tracks.
#include <gst/analytics/analytics.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "gst/faces/standardmetas.h"
#include "gst/regions/foreign.h"
#include "tests/gst/faces.h"
#include "tests/gst/standin.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 640, kHeight = 360;

GstAnalyticsRelationMeta* meta_of(GstBuffer* buffer) {
  return gst_buffer_get_analytics_relation_meta(buffer);
}

GstAnalyticsODMtd add_detection(GstBuffer* buffer, const char* label, const Rect& box,
                                float confidence = 0.9f) {
  GstAnalyticsRelationMeta* meta = meta_of(buffer);
  if (!meta) meta = gst_buffer_add_analytics_relation_meta(buffer);
  GstAnalyticsODMtd od;
  EXPECT_TRUE(gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string(label), box.x, box.y,
                                                     box.w, box.h, confidence, &od));
  return od;
}

class ForeignAnalytics : public testing::Test {
 protected:
  void TearDown() override { gst_buffer_unref(buffer_); }
  std::vector<gst::Region> read(const char* labels = "face") {
    return gst::read_foreign(buffer_, gst::frame_geometry(buffer_, kWidth, kHeight), labels);
  }
  GstBuffer* buffer_ = plain_frame("GRAY8", kWidth, kHeight);
};

TEST_F(ForeignAnalytics, DetectionsOfTheLabelAreRead) {
  add_detection(buffer_, "face", {10, 20, 30, 40}, 0.75f);
  add_detection(buffer_, "dog", {110, 20, 30, 40});
  add_detection(buffer_, "head", {210, 20, 30, 40});
  ASSERT_EQ(read().size(), 1u);
  EXPECT_EQ(read()[0].box, (Box{10, 20, 30, 40}));
  EXPECT_EQ(read()[0].confidence, 0.75f);
  EXPECT_EQ(read("head,face").size(), 2u);
}

TEST_F(ForeignAnalytics, WhatCannotBeAFaceIsNone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Rect& box : {Rect{0, 0, 0, 9},
                          {0, 0, 9, 0},
                          {0, 0, -9, -9},
                          {-50, 0, 40, 40},
                          {640, 0, 9, 9},
                          {0, 0, 1281, 9},
                          {G_MININT, G_MININT, G_MAXINT, G_MAXINT}})
    add_detection(buffer_, "face", box);
  EXPECT_TRUE(read().empty());
  add_detection(buffer_, "face", {-20, 0, 40, 40}, nan);
  ASSERT_EQ(read().size(), 1u) << "half outside";
  EXPECT_EQ(read()[0].confidence, 0);
}

TEST_F(ForeignAnalytics, AFaceInBothMetasIsOne) {
  add_region(buffer_, "face", {100.25f, 50, 60, 60}, 0.9, kWidth, kHeight);
  add_detection(buffer_, "face", {100, 50, 60, 60}, 0.9f);
  ASSERT_EQ(read().size(), 1u);
}

TEST_F(ForeignAnalytics, ManyAreReadQuickly) {
  for (int i = 0; i < 1000; ++i)
    add_detection(buffer_, "face", {i % 40 * 16, i / 40 % 20 * 18, 12, 12});
  EXPECT_EQ(read().size(), gst::kMostForeign);
}

#if GST_CHECK_VERSION(1, 26, 0)
TEST_F(ForeignAnalytics, TurnedBoxesHaveARoll) {
  GstAnalyticsRelationMeta* meta = gst_buffer_add_analytics_relation_meta(buffer_);
  GstAnalyticsODMtd od;
  const GQuark face = g_quark_from_static_string("face");
  gst_analytics_relation_meta_add_oriented_od_mtd(meta, face, 10, 20, 30, 30, 0.5f, 0.9f, &od);
  gst_analytics_relation_meta_add_oriented_od_mtd(
      meta, face, 110, 20, 30, 30, std::numeric_limits<float>::quiet_NaN(), 0.9f, &od);
  const auto regions = read();
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_NEAR(regions[0].roll.cos, std::cos(0.5f), 1e-6);
  EXPECT_NEAR(regions[0].roll.sin, std::sin(0.5f), 1e-6);
  EXPECT_EQ(regions[1].roll, Roll{});
}
#endif

/// What a reader sees of a frame: the track of each detection of others, and the tracks that are
/// lost.
struct Tracks {
  std::vector<guint64> of_detections, lost;
};

Tracks tracks_of(GstBuffer* buffer, const std::vector<Rect>& boxes) {
  Tracks tracks;
  GstAnalyticsRelationMeta* meta = meta_of(buffer);
  if (!meta) return tracks;
  gpointer state = nullptr;
  GstAnalyticsMtd entry;
  while (gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_od_mtd_get_mtd_type(),
                                             &entry)) {
    Rect box;
    gst_analytics_od_mtd_get_location(&entry, &box.x, &box.y, &box.w, &box.h, nullptr);
    if (std::find(boxes.begin(), boxes.end(), box) == boxes.end()) continue;
    gpointer related = nullptr;
    GstAnalyticsTrackingMtd track;
    guint64 id = 0;
    GstClockTime first, last;
    gboolean lost = TRUE;
    if (gst_analytics_relation_meta_get_direct_related(
            meta, entry.id, GST_ANALYTICS_REL_TYPE_RELATE_TO,
            gst_analytics_tracking_mtd_get_mtd_type(), &related, &track) &&
        gst_analytics_tracking_mtd_get_info(&track, &id, &first, &last, &lost) && !lost)
      tracks.of_detections.push_back(id);
  }
  state = nullptr;
  while (gst_analytics_relation_meta_iterate(meta, &state,
                                             gst_analytics_tracking_mtd_get_mtd_type(), &entry)) {
    guint64 id = 0;
    GstClockTime first, last;
    gboolean lost = FALSE;
    gst_analytics_tracking_mtd_get_info(&entry, &id, &first, &last, &lost);
    if (!lost) continue;
    tracks.lost.push_back(id);
    EXPECT_EQ(first, 0u);
    EXPECT_EQ(last, GST_BUFFER_PTS(buffer) - 40 * GST_MSECOND) << "the frame before";
  }
  return tracks;
}

TEST(ForeignAnalyticsChain, TracksComeBackAndLostOnesAreMarkedOnce) {
  // Odd sizes, so that no box of ours is taken for one of these.
  const auto boxes = [](int frame) {
    return std::vector<Rect>{{56 + 2 * frame, 56, 57, 55}, {296, 156, 57, 55}};
  };
  constexpr int kGone = 8, kFrames = 14;
  set_standin([&](GstBuffer* buffer, int frame) {
    if (frame % 4 != 0 && frame != kGone) return;
    add_detection(buffer, "face", boxes(frame)[0]);
    if (frame < kGone) add_detection(buffer, "face", boxes(frame)[1]);
  });
  FrameHarness h("standin ! culktrack max-shape-change=0 hold-time=0 max-missed=0", "GRAY8", kWidth,
                 kHeight);
  int lost = 0;
  for (int i = 0; i < kFrames; ++i) {
    std::vector<cv::Rect> there{{60 + 2 * i, 60, 48, 48}};
    if (i < kGone) there.emplace_back(300, 160, 48, 48);
    GstBuffer* out = h.pass(grey_frame(squares(kWidth, kHeight, there)));
    const Tracks tracks = tracks_of(out, boxes(i));
    if (i % 4 == 0) {
      EXPECT_EQ(tracks.of_detections[0], 1u) << i;
      EXPECT_EQ(std::count(tracks.of_detections.begin(), tracks.of_detections.end(), 2u) > 0,
                i < kGone)
          << i;
    }
    EXPECT_EQ(tracks.lost, i == kGone ? std::vector<guint64>{2} : std::vector<guint64>{}) << i;
    lost += static_cast<int>(tracks.lost.size());
    gst_buffer_unref(out);
  }
  EXPECT_EQ(lost, 1);
}

/// An entry that no copy keeps has no implementation there from GStreamer 1.28 on, but a place.
TEST_F(ForeignAnalytics, StayBehindEntriesThatACopyHasDropped) {
  static const GstAnalyticsMtdImpl leaves = [] {
    GstAnalyticsMtdImpl impl{};
    impl.name = "leaves";
    impl.mtd_meta_transform = [](GstBuffer*, GstAnalyticsMtd*, GstBuffer*, GQuark,
                                 gpointer) -> gboolean { return FALSE; };
    return impl;
  }();
  GstAnalyticsRelationMeta* meta = gst_buffer_add_analytics_relation_meta(buffer_);
  GstAnalyticsMtd entry;
  ASSERT_TRUE(gst_analytics_relation_meta_add_mtd(meta, &leaves, 4, &entry));
  const GstAnalyticsODMtd dog = add_detection(buffer_, "dog", {110, 20, 30, 40}, 0.5f);
  const GstAnalyticsODMtd car = add_detection(buffer_, "car", {210, 20, 50, 60}, 0.75f);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF, dog.id, car.id);
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  gst::FirstSeen first_seen;
  const auto publish = [&](GstBuffer* buffer, int count) {
    first_seen.clear();
    EXPECT_TRUE(
        gst::publish_standard_metas(buffer, info, make_faces(kWidth, kHeight, count, 0), first_seen)
            .ok());
  };
  publish(buffer_, 2);
  GstBuffer* copy = gst_buffer_copy(buffer_);
  std::swap(copy, buffer_);
  gst_buffer_unref(copy);
  for (const int count : {1, 0, 3}) {
    SCOPED_TRACE(count);
    publish(buffer_, count);
    EXPECT_EQ(read().size(), 0u) << "our own";
    ASSERT_EQ(read("dog").size(), 1u);
    EXPECT_EQ(read("dog")[0].box, (Box{110, 20, 30, 40}));
    ASSERT_EQ(read("car").size(), 1u);
    EXPECT_EQ(read("car")[0].confidence, 0.75f);
    meta = meta_of(buffer_);
    int related = 0;
    const auto length = static_cast<guint>(gst_analytics_relation_get_length(meta));
    for (guint one = 0; one < length; ++one)
      for (guint other = 0; other < length; ++other)
        related += gst_analytics_relation_meta_get_relation(meta, one, other) ==
                   GST_ANALYTICS_REL_TYPE_IS_PART_OF;
    EXPECT_EQ(related, 1);
  }
}

}  // namespace
}  // namespace cuface::test
