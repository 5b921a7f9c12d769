// A face's keypoints as GstAnalytics keypoints (1.30), and groups of others, whose members are
// places.
#include <gst/analytics/analytics.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "gst/faces/standardmetas.h"
#include "tests/gst/faces.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 640, kHeight = 360;

GstAnalyticsRelationMeta* meta_of(GstBuffer* buffer) {
  return gst_buffer_get_analytics_relation_meta(buffer);
}

struct Group {
  std::string tag;
  std::vector<std::array<gint, 2>> points;
  int detections = 0;  ///< that contain it
};

std::vector<Group> groups(GstBuffer* buffer) {
  std::vector<Group> all;
  GstAnalyticsRelationMeta* meta = meta_of(buffer);
  gpointer state = nullptr;
  GstAnalyticsGroupMtd mtd;
  while (gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_group_mtd_get_mtd_type(),
                                             &mtd)) {
    Group group;
    gchar* tag = gst_analytics_mtd_get_semantic_tag(&mtd);
    group.tag = tag ? tag : "";
    g_free(tag);
    gpointer at = nullptr;
    GstAnalyticsMtd member;
    while (gst_analytics_group_mtd_iterate(&mtd, &at, gst_analytics_keypoint_mtd_get_mtd_type(),
                                           &member)) {
      gint x, y, z;
      GstAnalyticsKeypointDimensions dimensions;
      EXPECT_TRUE(gst_analytics_keypoint_mtd_get_position(&member, &x, &y, &z, &dimensions));
      EXPECT_EQ(dimensions, GST_ANALYTICS_KEYPOINT_DIMENSIONS_2D);
      group.points.push_back({x, y});
    }
    gpointer from = nullptr;
    GstAnalyticsODMtd detection;
    while (gst_analytics_relation_meta_iterate(meta, &from, gst_analytics_od_mtd_get_mtd_type(),
                                               &detection))
      group.detections += (gst_analytics_relation_meta_get_relation(meta, detection.id, mtd.id) &
                           GST_ANALYTICS_REL_TYPE_CONTAIN) != 0;
    all.push_back(group);
  }
  return all;
}

std::shared_ptr<FaceList> faces_with_keypoints(int count, float shift = 0) {
  auto faces = make_faces(kWidth, kHeight, count, 0);
  for (Face& face : faces->faces) {
    face.has_keypoints = true;
    for (int i = 0; i < kFaceKeypoints; ++i)
      face.keypoints[i] = {face.box.x + 10 * static_cast<float>(i) + shift, face.box.y + 0.75f};
  }
  return faces;
}

class AnalyticsKeypoints : public testing::Test {
 protected:
  AnalyticsKeypoints() {
    gst_video_info_set_format(&info_, GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  }
  ~AnalyticsKeypoints() override { gst_buffer_unref(buffer_); }
  void publish(const FaceListRef& faces) {
    EXPECT_TRUE(gst::publish_standard_metas(buffer_, info_, faces, first_seen_).ok());
  }
  GstVideoInfo info_;
  GstBuffer* buffer_ = plain_frame("GRAY8", kWidth, kHeight, 1);
  gst::FirstSeen first_seen_;
};

TEST_F(AnalyticsKeypoints, AreAGroupThatTheDetectionContains) {
  publish(faces_with_keypoints(2));
  const auto all = groups(buffer_);
  ASSERT_EQ(all.size(), 2u);
  for (int face = 0; face < 2; ++face) {
    const Group& group = all[static_cast<std::size_t>(face)];
    EXPECT_EQ(group.tag, "face-5-kp");
    EXPECT_EQ(group.detections, 1);
    ASSERT_EQ(group.points.size(), 5u);
    for (int i = 0; i < 5; ++i)  // 108.75 lies in the pixel whose centre is 109
      EXPECT_EQ(group.points[static_cast<std::size_t>(i)],
                (std::array<gint, 2>{160 + face + 10 * i, 109}));
  }
}

TEST_F(AnalyticsKeypoints, AreThoseOfTheNewestFacesAlone) {
  for (const float shift : {0.0f, 0.0f, 3.0f}) publish(faces_with_keypoints(3, shift));
  auto all = groups(buffer_);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].points[1][0], 173) << "only keypoints have moved";
  publish(make_faces(kWidth, kHeight, 3, 0));
  EXPECT_TRUE(groups(buffer_).empty());
  EXPECT_EQ(gst_analytics_relation_get_length(meta_of(buffer_)), 7u) << "mark, faces, tracks";
}

TEST_F(AnalyticsKeypoints, BeyondTheFrameAreNumbersStill) {
  auto faces = faces_with_keypoints(1);
  faces->faces[0].keypoints[0] = {-20.5f, 1e30f};
  publish(faces);
  EXPECT_EQ(groups(buffer_)[0].points[0], (std::array<gint, 2>{-20, 1 << 20}));
}

TEST_F(AnalyticsKeypoints, GroupsOfOthersKeepTheirMembers) {
  publish(faces_with_keypoints(2));  // ours come before, so others' places change
  GstAnalyticsRelationMeta* meta = meta_of(buffer_);
  std::array<gint, 6> hand{11, 12, 21, 22, 31, 32};
  GstAnalyticsGroupMtd group;
  ASSERT_TRUE(gst_analytics_relation_meta_add_keypoints_group(
      meta, "hand-3-kp", GST_ANALYTICS_KEYPOINT_DIMENSIONS_2D, hand.size(), hand.data(), 3, nullptr,
      nullptr, 0, nullptr, &group));
  for (int frame = 0; frame < 3; ++frame) {
    publish(faces_with_keypoints(1, static_cast<float>(frame + 1)));
    const auto all = groups(buffer_);
    ASSERT_EQ(all.size(), 2u);
    int hands = 0;
    for (const Group& one : all) {
      if (one.tag != "hand-3-kp") continue;
      ++hands;
      EXPECT_EQ(one.points, (std::vector<std::array<gint, 2>>{{11, 12}, {21, 22}, {31, 32}}));
    }
    EXPECT_EQ(hands, 1);
  }
}

}  // namespace
}  // namespace cuface::test
