// Our faces as GstAnalytics metadata: what others read, and what stays theirs.
#include <gst/analytics/analytics.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "gst/faces/standardmetas.h"
#include "gst/regions/analytics.h"
#include "tests/gst/faces.h"
#include "tests/gst/motion.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 640, kHeight = 360;

struct Detection {
  guint entry;  // its id in the relation meta
  std::string type;
  std::array<gint, 4> box;
  gfloat confidence;
  bool tracked = false;
  guint64 id = 0;
  GstClockTime first = 0, last = 0;
};

GQuark quark(const char* text) { return g_quark_from_static_string(text); }

GstAnalyticsRelationMeta* meta_of(GstBuffer* buffer) {
  return gst_buffer_get_analytics_relation_meta(buffer);
}

std::size_t entries(GstBuffer* buffer) {
  GstAnalyticsRelationMeta* meta = meta_of(buffer);
  return meta ? gst_analytics_relation_get_length(meta) : 0;
}

/// Every object detection, and the track related to it, as a reader finds them.
std::vector<Detection> detections(GstBuffer* buffer) {
  std::vector<Detection> all;
  GstAnalyticsRelationMeta* meta = meta_of(buffer);
  if (!meta) return all;
  gpointer state = nullptr;
  GstAnalyticsODMtd od;
  while (
      gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_od_mtd_get_mtd_type(), &od)) {
    Detection d{od.id, g_quark_to_string(gst_analytics_od_mtd_get_obj_type(&od)), {}, 0};
    EXPECT_TRUE(gst_analytics_od_mtd_get_location(&od, &d.box[0], &d.box[1], &d.box[2], &d.box[3],
                                                  &d.confidence));
    gpointer related = nullptr;
    GstAnalyticsTrackingMtd track;
    if (gst_analytics_relation_meta_get_direct_related(
            meta, od.id, GST_ANALYTICS_REL_TYPE_RELATE_TO,
            gst_analytics_tracking_mtd_get_mtd_type(), &related, &track)) {
      gboolean lost = TRUE;
      d.tracked = gst_analytics_tracking_mtd_get_info(&track, &d.id, &d.first, &d.last, &lost);
      EXPECT_FALSE(lost);
      EXPECT_EQ(gst_analytics_relation_meta_get_relation(meta, track.id, od.id),
                GST_ANALYTICS_REL_TYPE_RELATE_TO);
    }
    all.push_back(d);
  }
  return all;
}

std::vector<Detection> of_type(const std::vector<Detection>& all, const std::string& type) {
  std::vector<Detection> some;
  for (const Detection& d : all)
    if (d.type == type) some.push_back(d);
  return some;
}

/// What somebody else found: a car of two classes, with a mask.
struct Car {
  GstAnalyticsODMtd box;
  GstAnalyticsClsMtd classes;
  GstAnalyticsSegmentationMtd mask;
};

Car add_car(GstBuffer* buffer, int x, GstBuffer* mask) {
  GstAnalyticsRelationMeta* meta = gst_buffer_add_analytics_relation_meta(buffer);
  Car car;
  EXPECT_TRUE(
      gst_analytics_relation_meta_add_od_mtd(meta, quark("car"), x, 2, 30, 40, 0.75f, &car.box));
  std::array<gfloat, 2> levels{0.5f, 0.25f};
  std::array<GQuark, 2> names{quark("red"), quark("blue")};
  EXPECT_TRUE(
      gst_analytics_relation_meta_add_cls_mtd(meta, 2, levels.data(), names.data(), &car.classes));
  if (!gst_buffer_get_video_meta(mask))  // of a car before; shared since
    gst_buffer_add_video_meta(mask, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 8, 8);
  guint region = 7;
  EXPECT_TRUE(gst_analytics_relation_meta_add_segmentation_mtd(meta, gst_buffer_ref(mask),
                                                               GST_SEGMENTATION_TYPE_SEMANTIC, 1,
                                                               &region, x, 2, 30, 40, &car.mask));
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, car.box.id,
                                           car.classes.id);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_CONTAIN, car.box.id,
                                           car.mask.id);
  return car;
}

/// The car at x is whole: its detection, the classes and the mask, each by its relation.
void expect_car(GstBuffer* buffer, int x, GstBuffer* mask) {
  GstAnalyticsRelationMeta* meta = meta_of(buffer);
  int found = 0;
  for (const Detection& d : of_type(detections(buffer), "car")) {
    if (d.box[0] != x) continue;
    ++found;
    EXPECT_EQ(d.box, (std::array<gint, 4>{x, 2, 30, 40}));
    EXPECT_EQ(d.confidence, 0.75f);
    gpointer state = nullptr;
    GstAnalyticsMtd mtd;
    ASSERT_TRUE(gst_analytics_relation_meta_get_direct_related(
        meta, d.entry, GST_ANALYTICS_REL_TYPE_RELATE_TO, gst_analytics_cls_mtd_get_mtd_type(),
        &state, &mtd));
    ASSERT_EQ(gst_analytics_cls_mtd_get_length(&mtd), 2u);
    EXPECT_EQ(gst_analytics_cls_mtd_get_quark(&mtd, 1), quark("blue"));
    EXPECT_EQ(gst_analytics_cls_mtd_get_level(&mtd, 1), 0.25f);
    state = nullptr;
    ASSERT_TRUE(gst_analytics_relation_meta_get_direct_related(
        meta, d.entry, GST_ANALYTICS_REL_TYPE_CONTAIN,
        gst_analytics_segmentation_mtd_get_mtd_type(), &state, &mtd));
    gint left = 0, top = 0;
    guint w = 0, h = 0;
    GstBuffer* now = gst_analytics_segmentation_mtd_get_mask(&mtd, &left, &top, &w, &h);
    EXPECT_EQ(now, mask);
    EXPECT_EQ(left, x);
    gst_buffer_unref(now);
    EXPECT_EQ(gst_analytics_segmentation_mtd_get_region_id(&mtd, 0), 7u);
  }
  EXPECT_EQ(found, 1) << "car at " << x;
}

class Analytics : public testing::Test {
 protected:
  void SetUp() override {
    gst_video_info_set_format(&info_, GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
    buffer_ = plain_frame("GRAY8", kWidth, kHeight, 1);
    mask_ = gst_buffer_new_allocate(nullptr, 64, nullptr);
  }
  void TearDown() override {
    gst_buffer_unref(buffer_);
    EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(mask_), 1) << "somebody's mask was lost or leaked";
    gst_buffer_unref(mask_);
  }
  void publish(const FaceListRef& faces) {
    EXPECT_TRUE(gst::publish_standard_metas(buffer_, info_, faces, first_seen_).ok());
  }

  GstVideoInfo info_;
  GstBuffer* buffer_ = nullptr;
  GstBuffer* mask_ = nullptr;
  gst::FirstSeen first_seen_;
};

TEST_F(Analytics, TellBoxConfidenceIdAndTimes) {
  const auto faces = make_faces(kWidth, kHeight, 3, 68);
  faces->faces[2].id = 0;  // nobody follows it
  publish(faces);
  auto all = detections(buffer_);
  ASSERT_EQ(all.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const Detection& d = all[static_cast<std::size_t>(i)];
    EXPECT_EQ(d.type, "face");
    EXPECT_EQ(d.box, (std::array<gint, 4>{160 + i, 108, 192, 144}));
    EXPECT_EQ(d.confidence, faces->faces[static_cast<std::size_t>(i)].confidence);
    EXPECT_EQ(d.tracked, i < 2);
    if (i == 2) continue;
    EXPECT_EQ(d.id, static_cast<guint64>(i + 1));
    EXPECT_EQ(d.first, 40 * GST_MSECOND);
    EXPECT_EQ(d.last, 40 * GST_MSECOND);
  }
  // The next frames: face 1 stays, face 2 goes and a new one comes.
  for (const int number : {2, 3}) {
    gst_buffer_unref(buffer_);
    buffer_ = plain_frame("GRAY8", kWidth, kHeight, number);
    faces->faces[1].id = 5;
    publish(faces);
  }
  all = detections(buffer_);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].first, 40 * GST_MSECOND);
  EXPECT_EQ(all[0].last, 120 * GST_MSECOND);
  EXPECT_EQ(all[1].id, 5u);
  EXPECT_EQ(all[1].first, 80 * GST_MSECOND);
  // Face 2 comes back.
  gst_buffer_unref(buffer_);
  buffer_ = plain_frame("GRAY8", kWidth, kHeight, 4);
  faces->faces[1].id = 2;
  publish(faces);
  all = detections(buffer_);
  EXPECT_EQ(all[1].id, 2u);
  EXPECT_EQ(all[1].first, 40 * GST_MSECOND);
  EXPECT_EQ(all[1].last, 160 * GST_MSECOND);
}

#if GST_CHECK_VERSION(1, 26, 0)
TEST_F(Analytics, TurnedFacesAreTurnedBoxes) {
  const auto faces = make_faces(kWidth, kHeight, 2, 0);
  faces->faces[1].roll = {0.5f, -0.8660254f};
  publish(faces);
  const auto all = detections(buffer_);
  ASSERT_EQ(all.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    GstAnalyticsODMtd od;
    ASSERT_TRUE(gst_analytics_relation_meta_get_od_mtd(
        meta_of(buffer_), all[static_cast<std::size_t>(i)].entry, &od));
    std::array<gint, 4> box;
    gfloat radians = 9, confidence = 0;
    ASSERT_TRUE(gst_analytics_od_mtd_get_oriented_location(&od, &box[0], &box[1], &box[2], &box[3],
                                                           &radians, &confidence));
    EXPECT_EQ(box, (std::array<gint, 4>{160 + i, 108, 192, 144}));
    EXPECT_NEAR(static_cast<double>(radians), i == 0 ? 0 : -G_PI / 3, 1e-6);
  }
}
#endif

TEST_F(Analytics, ReplaceOurOwnAndNobodyElses) {
  add_car(buffer_, 1, mask_);
  publish(make_faces(kWidth, kHeight, 5, 0));
  EXPECT_EQ(of_type(detections(buffer_), "face").size(), 5u);
  const Car late = add_car(buffer_, 3, mask_);
  // Somebody says something of a face of ours: it goes with the face.
  const auto ours = of_type(detections(buffer_), "face");
  gst_analytics_relation_meta_set_relation(meta_of(buffer_), GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                           late.classes.id, ours[0].entry);
  gst_analytics_relation_meta_set_relation(meta_of(buffer_), GST_ANALYTICS_REL_TYPE_IS_PART_OF,
                                           ours[1].entry, late.box.id);
  for (const int count : {2, 7, 0, 3, 0}) {
    SCOPED_TRACE(count);
    first_seen_.clear();  // another element's, which has lost nobody
    publish(make_faces(kWidth, kHeight, count, 0));
    EXPECT_EQ(of_type(detections(buffer_), "face").size(), static_cast<std::size_t>(count));
    EXPECT_EQ(of_type(detections(buffer_), "car").size(), 2u);
    EXPECT_EQ(entries(buffer_), 6 + (count ? 1 + 2 * static_cast<std::size_t>(count) : 0));
    expect_car(buffer_, 1, mask_);
    expect_car(buffer_, 3, mask_);
  }
  // 4 relations, the cars' own.
  int relations = 0;
  for (guint i = 0; i < 6; ++i)
    for (guint k = 0; k < 6; ++k)
      relations += gst_analytics_relation_meta_get_relation(meta_of(buffer_), i, k) !=
                   GST_ANALYTICS_REL_TYPE_NONE;
  EXPECT_EQ(relations, 4);
}

TEST_F(Analytics, AreMadeAnewOnlyWhereFacesChange) {
  publish(make_faces(kWidth, kHeight, 2, 0));
  const GstAnalyticsRelationMeta* before = meta_of(buffer_);
  const std::size_t there = entries(buffer_);
  for (const int landmarks : {gst::kHaveKeypoints ? 0 : 5, 0}) {  // told from 1.30 on alone
    publish(make_faces(kWidth, kHeight, 2, landmarks));
    EXPECT_EQ(meta_of(buffer_), before);
  }
  publish(make_faces(kWidth, kHeight, 2, 0, 3));
  EXPECT_EQ(entries(buffer_), there);
  EXPECT_EQ(detections(buffer_)[0].box[0], 163);
}

TEST_F(Analytics, LeaveNothingBehind) {
  publish(make_faces(kWidth, kHeight, 0, 0));
  EXPECT_FALSE(meta_of(buffer_));
  publish(make_faces(kWidth, kHeight, 64, 0));
  EXPECT_EQ(detections(buffer_).size(), 64u);
  first_seen_.clear();
  publish(make_faces(kWidth, kHeight, 0, 0));
  EXPECT_EQ(entries(buffer_), 0u);
}

TEST_F(Analytics, ACopyHasItsOwn) {
  add_car(buffer_, 1, mask_);
  publish(make_faces(kWidth, kHeight, 2, 0));
  GstBuffer* copy = gst_buffer_copy(buffer_);
  EXPECT_TRUE(
      gst::publish_standard_metas(copy, info_, make_faces(kWidth, kHeight, 1, 0), first_seen_)
          .ok());
  EXPECT_EQ(of_type(detections(copy), "face").size(), 1u);
  EXPECT_EQ(of_type(detections(buffer_), "face").size(), 2u);
  expect_car(copy, 1, mask_);
  gst_buffer_unref(copy);
  expect_car(buffer_, 1, mask_);
}

TEST_F(Analytics, AreKnownAsOursBehindAScaler) {
  FrameHarness h("videoscale ! capsfilter caps=video/x-raw,width=320,height=180", "GRAY8", kWidth,
                 kHeight);
  const auto faces = make_faces(kWidth, kHeight, 2, 68);
  GstBuffer* in = with_faces(gst_buffer_copy(buffer_), faces);
  EXPECT_TRUE(gst::publish_standard_metas(in, info_, faces, first_seen_).ok());
  GstBuffer* out = gst_harness_push_and_pull(h.get(), in);
  auto all = detections(out);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].box, (std::array<gint, 4>{80, 54, 96, 72}));
  GstVideoInfo small;
  gst_video_info_set_format(&small, GST_VIDEO_FORMAT_GRAY8, 320, 180);
  EXPECT_TRUE(
      gst::publish_standard_metas(out, small, make_faces(320, 180, 1, 0), first_seen_).ok());
  EXPECT_EQ(detections(out).size(), 1u);
  gst_buffer_unref(out);
}

TEST_F(Analytics, ComeFromTheElements) {
  const TempFolder folder;
  const std::string cascade = folder.write("squares.xml", square_cascade_xml());
  const cv::Mat picture = squares(320, 240, {{60, 60, 48, 48}, {200, 120, 48, 48}});
  const std::string detect = "cufacedetect redetect-interval=1 cascade=" + cascade;
  for (const bool wanted : {true, false}) {
    const std::string never = wanted ? "" : " standard-metas=never";
    Harness h(detect + never + " ! culktrack" + never);
    h.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, 320, 240));
    for (int frame = 0; frame < 3; ++frame) {
      GstBuffer* out = h.pass(grey_frame(picture));
      ASSERT_TRUE(out);
      const int faces = face_count(out);
      ASSERT_GE(faces, 2);
      const auto all = detections(out);
      ASSERT_EQ(all.size(), wanted ? static_cast<std::size_t>(faces) : 0u);
      for (const Detection& d : all) {
        EXPECT_TRUE(d.tracked);
        EXPECT_EQ(d.first, 0u);
        EXPECT_EQ(d.last, GST_BUFFER_PTS(out));
      }
      gst_buffer_unref(out);
    }
  }
}

// An entry cannot be changed: a detector leaves it to the tracker where nobody reads in between.
TEST_F(Analytics, AreMadeOnceAFrame) {
  const TempFolder folder;
  const std::string detect = "cufacedetect name=d redetect-interval=1 cascade=" +
                             folder.write("squares.xml", square_cascade_xml());
  const cv::Mat picture = squares(320, 240, {{60, 60, 48, 48}, {200, 120, 48, 48}});
  struct Case {
    const char* behind;
    bool left;
    bool tracked;
  };
  for (const Case& c :
       {Case{" ! culktrack", true, true}, Case{" ! culktrack ! identity", true, true},
        Case{" ! identity ! culktrack", false, true}, Case{" ! queue ! culktrack", false, true},
        Case{" ! culktrack standard-metas=never", false, false},
        Case{" ! identity", false, false}}) {
    SCOPED_TRACE(c.behind);
    Harness h(detect + c.behind);
    h.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, 320, 240));
    std::vector<std::size_t> behind_detector;
    GstPad* pad = gst_element_get_static_pad(h.element("d"), "src");
    gst_pad_add_probe(
        pad, GST_PAD_PROBE_TYPE_BUFFER,
        [](GstPad*, GstPadProbeInfo* info, gpointer all) {
          static_cast<std::vector<std::size_t>*>(all)->push_back(
              entries(GST_PAD_PROBE_INFO_BUFFER(info)));
          return GST_PAD_PROBE_OK;
        },
        &behind_detector, nullptr);
    for (int frame = 0; frame < 3; ++frame) {
      GstBuffer* out = h.pass(grey_frame(picture));
      ASSERT_TRUE(out);
      const auto all = detections(out);
      EXPECT_EQ(all.size(), static_cast<std::size_t>(face_count(out)));
      for (const Detection& face : all) EXPECT_EQ(face.tracked, c.tracked);
      gst_buffer_unref(out);
    }
    ASSERT_EQ(behind_detector.size(), 3u);
    for (const std::size_t there : behind_detector) EXPECT_EQ(there, c.left ? 0u : 3u);
    gst_object_unref(pad);
  }
}

// As cumotiondetect puts them on a frame.
TEST(MotionAnalytics, TellWhatMoves) {
  FrameHarness harness("cumotiondetect method=difference interval=0 min-frames=1", "GRAY8",
                       kMotionWidth, kMotionHeight);
  int compared = 0;
  for (int f = 0; f < 12; ++f) {
    GstBuffer* out = harness.pass(grey_frame(moving_square(40 + 8 * f, 60)));
    const MotionMapRef motion = motion_of(out);
    ASSERT_TRUE(motion) << f;
    const auto all = detections(out);
    ASSERT_EQ(all.size(), motion->regions.size()) << f;
    for (std::size_t i = 0; i < all.size(); ++i, ++compared) {
      const Box& box = motion->regions[i].box;
      EXPECT_EQ(all[i].type, "motion");
      EXPECT_EQ(all[i].box,
                (std::array<gint, 4>{
                    static_cast<gint>(std::lrint(box.x)), static_cast<gint>(std::lrint(box.y)),
                    static_cast<gint>(std::lrint(box.w)), static_cast<gint>(std::lrint(box.h))}));
      EXPECT_TRUE(all[i].tracked);
      EXPECT_EQ(all[i].id, motion->regions[i].id);
    }
    gst_buffer_unref(out);
  }
  EXPECT_GE(compared, 8);
}

}  // namespace
}  // namespace cuface::test
