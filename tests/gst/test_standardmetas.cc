// Our faces as GstVideoRegionOfInterestMeta: what others read, and what stays theirs.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "gst/base/standardmetas.h"
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
    gst::publish_standard_metas(buffer_, info_, faces, first_seen_);
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
  publish(faces);
  const auto all = regions(buffer_);
  ASSERT_EQ(all.size(), 3u);
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
  const FaceListRef foreign = gst::read_foreign_faces(buffer_, 320, 240);
  ASSERT_TRUE(foreign);
  EXPECT_EQ(foreign->faces[0].box, faces->faces[0].box);
}

TEST_F(StandardMetas, ForeignFacesAreThoseOfOthers) {
  publish(make_faces(kWidth, kHeight, 2, 5));
  EXPECT_FALSE(gst::read_foreign_faces(buffer_, kWidth, kHeight));
  gst_buffer_add_video_region_of_interest_meta(buffer_, "car", 5, 6, 7, 8);
  EXPECT_FALSE(gst::read_foreign_faces(buffer_, kWidth, kHeight));
  gst_buffer_add_video_region_of_interest_meta(buffer_, "face", 1, 2, 3, 4);
  const FaceListRef foreign = gst::read_foreign_faces(buffer_, kWidth, kHeight);
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
  gst::publish_standard_metas(in, info_, faces, first_seen_);
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
  gst::publish_standard_metas(out, small, make_faces(320, 180, 1, 0), first_seen_);
  const auto all = regions(out);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]->x, 2u) << "the foreign one";
  EXPECT_TRUE(gst_video_region_of_interest_meta_get_param(all[1], "cuface"));
  gst_buffer_unref(out);
}

}  // namespace
}  // namespace cuface::test
