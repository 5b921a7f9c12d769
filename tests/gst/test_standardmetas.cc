// Our faces as GstVideoRegionOfInterestMeta: what others read, and what stays theirs.
#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <vector>

#include "gst/faces/standardmetas.h"
#include "gst/regions/firstseen.h"
#include "kernels/track/track.h"
#include "tests/gst/faces.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 640, kHeight = 360;

class StandardMetas : public testing::Test {
 protected:
  void SetUp() override {
    gst_video_info_set_format(&info_, GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
    buffer_ = plain_frame("GRAY8", kWidth, kHeight);
  }
  void TearDown() override { gst_buffer_unref(buffer_); }

  void publish(const FaceListRef& faces) {
    EXPECT_TRUE(gst::publish_standard_metas(buffer_, info_, faces, first_seen_).ok());
  }

  static std::vector<GstVideoRegionOfInterestMeta*> regions(GstBuffer* buffer) {
    std::vector<GstVideoRegionOfInterestMeta*> all;
    gpointer state = nullptr;
    while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
               buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
      all.push_back(reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta));
    return all;
  }

  static float landmark(GstVideoRegionOfInterestMeta* roi, guint i) {
    const GstStructure* params = gst_video_region_of_interest_meta_get_param(roi, "cuface");
    return g_value_get_float(
        gst_value_array_get_value(gst_structure_get_value(params, "landmarks"), i));
  }

  GstVideoInfo info_;
  GstBuffer* buffer_ = nullptr;
  gst::FirstSeen first_seen_;
};

TEST_F(StandardMetas, TellBoxIdConfidenceAndLandmarks) {
  const auto faces = make_faces(kWidth, kHeight, 3, 68);
  for (std::size_t i = 0; i < faces->landmarks.size(); ++i)
    faces->landmark_confidences.push_back(static_cast<float>(i) / 256);
  publish(faces);
  const auto all = regions(buffer_);
  ASSERT_EQ(all.size(), 3u);
  const GstStructure* found = gst_video_region_of_interest_meta_get_param(all[2], "detection");
  const GValue* confidences = gst_structure_get_value(found, "landmark_confidences");
  ASSERT_TRUE(confidences);
  ASSERT_EQ(gst_value_array_get_size(confidences), 68u);
  EXPECT_EQ(g_value_get_float(gst_value_array_get_value(confidences, 5)), (2 * 68 + 5) / 256.0f);
  for (guint i = 0; i < 3; ++i) {
    GstVideoRegionOfInterestMeta* roi = all[i];
    EXPECT_STREQ(g_quark_to_string(roi->roi_type), "face");
    EXPECT_EQ(roi->id, static_cast<gint>(i + 1));
    EXPECT_EQ(roi->x, 160 + i);
    EXPECT_EQ(roi->y, 108u);
    EXPECT_EQ(roi->w, 192u);
    EXPECT_EQ(roi->h, 144u);
    const GstStructure* params = gst_video_region_of_interest_meta_get_param(roi, "cuface");
    guint64 id = 0;
    gfloat confidence = 0;
    ASSERT_TRUE(gst_structure_get(params, "id", G_TYPE_UINT64, &id, "confidence", G_TYPE_FLOAT,
                                  &confidence, nullptr));
    EXPECT_EQ(id, i + 1);
    EXPECT_EQ(confidence, faces->faces[i].confidence);
    EXPECT_EQ(gst_value_array_get_size(gst_structure_get_value(params, "landmarks")), 136u);
    for (guint p = 0; p < 68; ++p) {
      const Point& point = faces->landmarks_of(i)[p];
      ASSERT_FLOAT_EQ(landmark(roi, 2 * p), (point.x + 0.5f) / kWidth);
      ASSERT_FLOAT_EQ(landmark(roi, 2 * p + 1), (point.y + 0.5f) / kHeight);
    }
  }
}

double number_of(GstVideoRegionOfInterestMeta* roi, const char* field) {
  const GstStructure* params = gst_video_region_of_interest_meta_get_param(roi, "detection");
  gdouble value = -1;
  EXPECT_TRUE(params && gst_structure_get_double(params, field, &value)) << field;
  return value;
}

/// As DL Streamer's elements and applications read a region.
TEST_F(StandardMetas, AreReadAsDlStreamers) {
  auto faces = make_faces(kWidth, kHeight, 2, 5);
  Face& first = faces->faces[0];
  first.box = {-64, 90, 192, 360};
  first.roll = {0.5f, -0.8660254f};
  first.has_keypoints = true;
  for (Point& p : first.keypoints) p = {319.5f, 179.5f};
  faces->faces[1].id = 0;
  publish(faces);
  const auto all = regions(buffer_);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_DOUBLE_EQ(number_of(all[0], "x_min"), 0) << "within the frame";
  EXPECT_DOUBLE_EQ(number_of(all[0], "x_max"), 0.2);
  EXPECT_DOUBLE_EQ(number_of(all[0], "y_min"), 0.25);
  EXPECT_DOUBLE_EQ(number_of(all[0], "y_max"), 1);
  EXPECT_FLOAT_EQ(static_cast<float>(number_of(all[0], "confidence")), first.confidence);
  EXPECT_NEAR(number_of(all[0], "roll"), -60, 1e-4);
  EXPECT_DOUBLE_EQ(number_of(all[1], "roll"), 0);
  const GstStructure* params = gst_video_region_of_interest_meta_get_param(all[0], "detection");
  const GValue* keypoints = gst_structure_get_value(params, "keypoints");
  ASSERT_EQ(gst_value_array_get_size(keypoints), 10u);
  EXPECT_EQ(g_value_get_float(gst_value_array_get_value(keypoints, 9)), 0.5f);
  EXPECT_EQ(gst_value_array_get_size(gst_structure_get_value(params, "landmarks")), 10u);
  gint id = 0;
  EXPECT_TRUE(gst_structure_get_int(
      gst_video_region_of_interest_meta_get_param(all[0], "object_id"), "id", &id));
  EXPECT_EQ(id, 1);
  EXPECT_EQ(gst_video_region_of_interest_meta_get_param(all[1], "object_id"), nullptr);
  faces = make_faces(kWidth, kHeight, 2, 0);
  publish(faces);
  EXPECT_DOUBLE_EQ(number_of(all[0], "roll"), 0);
  params = gst_video_region_of_interest_meta_get_param(all[0], "detection");
  EXPECT_FALSE(gst_structure_has_field(params, "keypoints"));
  EXPECT_FALSE(gst_structure_has_field(params, "landmarks"));
}

TEST_F(StandardMetas, ReplaceOurOwnAndNobodyElses) {
  gst_buffer_add_video_region_of_interest_meta(buffer_, "face", 1, 2, 3, 4);
  gst_buffer_add_video_region_of_interest_meta(buffer_, "car", 5, 6, 7, 8);
  publish(make_faces(kWidth, kHeight, 5, 0));
  EXPECT_EQ(regions(buffer_).size(), 7u);
  publish(make_faces(kWidth, kHeight, 2, 5));
  auto all = regions(buffer_);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0]->x, 1u);
  EXPECT_STREQ(g_quark_to_string(all[1]->roi_type), "car");
  publish(make_faces(kWidth, kHeight, 0, 0));
  EXPECT_EQ(regions(buffer_).size(), 2u);
}

TEST_F(StandardMetas, AreUpdatedInPlace) {
  publish(make_faces(kWidth, kHeight, 2, 5));
  const auto before = regions(buffer_);
  ASSERT_EQ(before.size(), 2u);
  gst_video_region_of_interest_meta_add_param(before[0], gst_structure_new_empty("theirs"));
  publish(make_faces(kWidth, kHeight, 3, 0, 10));
  const auto all = regions(buffer_);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0], before[0]);
  EXPECT_EQ(all[1], before[1]);
  EXPECT_EQ(all[0]->x, 170u);
  EXPECT_TRUE(gst_video_region_of_interest_meta_get_param(all[0], "theirs"));
  EXPECT_FALSE(gst_structure_has_field(
      gst_video_region_of_interest_meta_get_param(all[0], "cuface"), "landmarks"));
  publish(make_faces(kWidth, kHeight, 1, 5));
  ASSERT_EQ(regions(buffer_).size(), 1u);
  EXPECT_EQ(regions(buffer_)[0], before[0]);
  EXPECT_FLOAT_EQ(landmark(before[0], 0), (160 + 0.5f) / kWidth);
}

/// Counts what is written into parameters of regions: while a structure has two owners GStreamer
/// refuses each write, with a critical message.
class SealedRegions {
 public:
  explicit SealedRegions(const std::vector<GstVideoRegionOfInterestMeta*>& regions) {
    for (GstVideoRegionOfInterestMeta* roi : regions) {
      for (const char* name : {"cuface", "detection", "object_id"}) {
        params_.push_back(gst_video_region_of_interest_meta_get_param(roi, name));
        gst_structure_set_parent_refcount(params_.back(), &owners_);
      }
    }
    const auto count = [](const gchar*, GLogLevelFlags, const gchar*, gpointer writes) {
      ++*static_cast<int*>(writes);
    };
    fatal_ = g_log_set_always_fatal(G_LOG_LEVEL_ERROR);
    handler_ = g_log_set_handler("GStreamer", G_LOG_LEVEL_CRITICAL, count, &writes_);
  }
  ~SealedRegions() {
    g_log_remove_handler("GStreamer", handler_);
    g_log_set_always_fatal(fatal_);
    for (GstStructure* params : params_) gst_structure_set_parent_refcount(params, nullptr);
  }
  SealedRegions(const SealedRegions&) = delete;
  int writes() const { return writes_; }

 private:
  std::vector<GstStructure*> params_;
  gint owners_ = 2;
  GLogLevelFlags fatal_;  // as it was
  guint handler_;
  int writes_ = 0;
};

TEST_F(StandardMetas, EqualOnesAreNotWrittenAgain) {
  for (const int landmarks : {0, 5, 68}) {
    publish(make_faces(kWidth, kHeight, 3, landmarks));
    const SealedRegions sealed(regions(buffer_));
    publish(make_faces(kWidth, kHeight, 3, landmarks));
    EXPECT_EQ(sealed.writes(), 0) << landmarks << " landmarks";
    auto other = make_faces(kWidth, kHeight, 3, landmarks);
    other->faces[1].confidence = 0.5f;
    publish(other);
    EXPECT_EQ(sealed.writes(), 2) << "one region has another confidence, in two parameters";
  }
}

TEST_F(StandardMetas, OnlyOtherLandmarksAreWrittenAgain) {
  publish(make_faces(kWidth, kHeight, 3, 5));
  const SealedRegions sealed(regions(buffer_));
  auto other = make_faces(kWidth, kHeight, 3, 5);
  other->landmarks[7].x += 1;
  publish(other);
  EXPECT_EQ(sealed.writes(), 2);
  publish(make_faces(kWidth, kHeight, 3, 0));
  EXPECT_EQ(sealed.writes(), 8) << "the landmarks of three faces are gone";
}

TEST_F(StandardMetas, KeepToTheFrame) {
  auto faces = make_faces(kWidth, kHeight, 6, 0);
  faces->faces[0].box = {-20, -10, 60, 50};
  faces->faces[1].box = {600, 340, 100, 100};
  faces->faces[2].box = {-100, 10, 50, 50};  // outside
  faces->faces[3].box = {std::numeric_limits<float>::quiet_NaN(), 0, 10, 10};
  faces->faces[4].box = {10, 10, std::numeric_limits<float>::infinity(), 10};
  faces->faces[5].box = {10.6f, 20.4f, 30, 30};
  publish(faces);
  const auto all = regions(buffer_);
  ASSERT_EQ(all.size(), 3u);
  const guint want[3][4] = {{0, 0, 40, 40}, {600, 340, 40, 20}, {11, 20, 30, 30}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i]->x, want[i][0]);
    EXPECT_EQ(all[i]->y, want[i][1]);
    EXPECT_EQ(all[i]->w, want[i][2]);
    EXPECT_EQ(all[i]->h, want[i][3]);
  }
}

TEST_F(StandardMetas, AreInPixelsOfThePictureInMemory) {
  GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(buffer_);
  crop->x = 100, crop->y = 50, crop->width = 320, crop->height = 240;
  auto faces = make_faces(320, 240, 1, 1);
  faces->faces[0].box = {10, 20, 30, 40};
  publish(faces);
  gst_buffer_add_video_region_of_interest_meta(buffer_, "face", 110, 70, 30, 40);
  const auto all = regions(buffer_);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]->x, all[1]->x);
  EXPECT_EQ(all[0]->y, all[1]->y);
  const FaceListRef foreign = gst::read_foreign_faces(buffer_, 320, 240, "face");
  ASSERT_TRUE(foreign);
  EXPECT_EQ(foreign->faces[0].box, faces->faces[0].box);
}

TEST_F(StandardMetas, ForeignFacesAreThoseOfOthers) {
  publish(make_faces(kWidth, kHeight, 2, 5));
  EXPECT_FALSE(gst::read_foreign_faces(buffer_, kWidth, kHeight, "face"));
  gst_buffer_add_video_region_of_interest_meta(buffer_, "car", 5, 6, 7, 8);
  EXPECT_FALSE(gst::read_foreign_faces(buffer_, kWidth, kHeight, "face"));
  gst_buffer_add_video_region_of_interest_meta(buffer_, "face", 1, 2, 3, 4);
  const FaceListRef foreign = gst::read_foreign_faces(buffer_, kWidth, kHeight, "face");
  ASSERT_TRUE(foreign);
  ASSERT_EQ(foreign->faces.size(), 1u);
  EXPECT_EQ(foreign->faces[0].box, (Box{1, 2, 3, 4}));
  EXPECT_EQ(foreign->width, kWidth);
}

TEST_F(StandardMetas, AreKnownAsOursBehindAScaler) {
  FrameHarness h("videoscale ! capsfilter caps=video/x-raw,width=320,height=180", "GRAY8", kWidth,
                 kHeight);
  const auto faces = make_faces(kWidth, kHeight, 2, 68);
  GstBuffer* in = with_faces(gst_buffer_copy(buffer_), faces);
  EXPECT_TRUE(gst::publish_standard_metas(in, info_, faces, first_seen_).ok());
  gst_buffer_add_video_region_of_interest_meta(in, "face", 4, 4, 40, 40);
  GstBuffer* copy = gst_buffer_copy(in);
  EXPECT_EQ(regions(copy).size(), 3u);
  EXPECT_FLOAT_EQ(landmark(regions(copy)[0], 0), (faces->landmarks[0].x + 0.5f) / kWidth);
  gst_buffer_unref(copy);
  GstBuffer* out = gst_harness_push_and_pull(h.get(), in);
  ASSERT_EQ(regions(out).size(), 3u);
  EXPECT_EQ(regions(out)[0]->x, 80u);
  EXPECT_EQ(regions(out)[0]->w, 96u);
  GstVideoInfo small;
  gst_video_info_set_format(&small, GST_VIDEO_FORMAT_GRAY8, 320, 180);
  EXPECT_TRUE(
      gst::publish_standard_metas(out, small, make_faces(320, 180, 1, 0), first_seen_).ok());
  const auto all = regions(out);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(gst_video_region_of_interest_meta_get_param(all[0], "cuface"));
  EXPECT_EQ(all[1]->x, 2u) << "the foreign one";
  gst_buffer_unref(out);
}

std::vector<Face> faces_with(std::initializer_list<std::uint64_t> ids) {
  std::vector<Face> faces;
  for (const std::uint64_t id : ids) {
    faces.emplace_back();
    faces.back().id = id;
  }
  return faces;
}

TEST(FirstSeen, AFaceThatComesBackKeepsItsTime) {
  gst::FirstSeen seen;
  seen.update(faces_with({1, 2, 0}), 10);
  seen.update(faces_with({2}), 20);
  seen.update(faces_with({}), 30);
  seen.update(faces_with({3, 1}), 40);
  EXPECT_EQ(seen.of(1), 10u);
  EXPECT_EQ(seen.of(2), 10u);
  EXPECT_EQ(seen.of(3), 40u);
  EXPECT_EQ(seen.of(0), GST_CLOCK_TIME_NONE);
  EXPECT_EQ(seen.of(4), GST_CLOCK_TIME_NONE);
  seen.clear();
  EXPECT_EQ(seen.of(1), GST_CLOCK_TIME_NONE);
}

TEST(FirstSeen, IsTheFirstTimeThatIsKnown) {
  gst::FirstSeen seen;
  seen.update(faces_with({1}), GST_CLOCK_TIME_NONE);
  seen.update(faces_with({1}), 50);
  seen.update(faces_with({1}), 60);
  EXPECT_EQ(seen.of(1), 50u);
}

TEST(FirstSeen, ForgetsThoseThatWereSeenLongestAgo) {
  constexpr std::uint64_t kAway = kMaxTracks;
  gst::FirstSeen seen;
  for (std::uint64_t id = 1; id <= 10'000; ++id) {
    seen.update(faces_with({id, 1'000'000}), id);
    ASSERT_LE(seen.size(), kAway + 2);
  }
  EXPECT_EQ(seen.of(10'000), 10'000u);
  EXPECT_EQ(seen.of(10'000 - kAway), 10'000 - kAway);
  EXPECT_EQ(seen.of(10'000 - kAway - 1), GST_CLOCK_TIME_NONE);
  EXPECT_EQ(seen.of(1'000'000), 1u) << "always there";
}

// The ids that culktrack itself brings back, while other faces come and go.
TEST(FirstSeen, HoldsForFacesThatTheTrackerRevives) {
  const TempFolder folder;
  Harness harness("cufacedetect redetect-interval=1 cascade=" +
                  folder.write("squares.xml", square_cascade_xml()) + " ! culktrack");
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, 320, 240));
  gst::FirstSeen seen;
  int came_back = 0;
  for (int f = 0; f < 40; ++f) {
    std::vector<cv::Rect> where;
    if (f < 5 || f >= 30) where.emplace_back(60, 60, 48, 48);
    if (f >= 10) where.emplace_back(200, 120, 48, 48);
    GstBuffer* out = harness.pass(grey_frame(squares(320, 240, where)));
    const FaceListRef faces = read_faces(out, 320, 240).faces;
    seen.update(faces->faces, GST_BUFFER_PTS(out));
    for (const Face& face : faces->faces) {
      EXPECT_EQ(seen.of(face.id) == 0, face.id == 1) << f;
      came_back += f >= 30 && face.id == 1;
    }
    gst_buffer_unref(out);
  }
  EXPECT_GE(came_back, 8);
}

}  // namespace
}  // namespace cuface::test
