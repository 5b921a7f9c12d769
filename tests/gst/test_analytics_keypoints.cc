// A face's keypoints and landmarks as GstAnalytics keypoints (1.30), and groups of others, whose
// members are places.
#include <gst/analytics/analytics.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "gst/faces/standardmetas.h"
#include "gst/regions/analytics.h"
#include "models/shape_file.h"
#include "tests/gst/faces.h"
#include "tests/kernels/shape_models.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 640, kHeight = 360;

GstAnalyticsRelationMeta* meta_of(GstBuffer* buffer) {
  return gst_buffer_get_analytics_relation_meta(buffer);
}

struct Group {
  std::string tag;
  std::vector<std::array<gint, 2>> points;
  std::vector<gfloat> confidences;
  std::vector<guint> detections;  ///< that contain it
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
      gfloat confidence = -1;
      EXPECT_TRUE(gst_analytics_keypoint_mtd_get_confidence(&member, &confidence));
      group.confidences.push_back(confidence);
    }
    gpointer from = nullptr;
    GstAnalyticsODMtd detection;
    while (gst_analytics_relation_meta_iterate(meta, &from, gst_analytics_od_mtd_get_mtd_type(),
                                               &detection))
      if (gst_analytics_relation_meta_get_relation(meta, detection.id, mtd.id) &
          GST_ANALYTICS_REL_TYPE_CONTAIN)
        group.detections.push_back(detection.id);
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

/// Landmark p of face i is as sure as (p + i) of 128.
std::shared_ptr<FaceList> faces_with_landmarks(int count, int landmarks, float shift = 0) {
  auto faces = make_faces(kWidth, kHeight, count, landmarks);
  for (Point& point : faces->landmarks) point.x += shift;
  for (int i = 0; i < count; ++i)
    for (int p = 0; p < landmarks; ++p)
      faces->landmark_confidences.push_back(static_cast<float>(p + i) / 128);
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
    EXPECT_EQ(group.detections.size(), 1u);
    EXPECT_EQ(group.confidences, std::vector<gfloat>(5, 1)) << "a network does not tell them";
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

TEST_F(AnalyticsKeypoints, LandmarksHaveTheirConfidences) {
  const auto faces = faces_with_landmarks(3, 68);
  publish(faces);
  const auto all = groups(buffer_);
  ASSERT_EQ(all.size(), 3u);
  std::set<guint> detections;
  for (std::size_t i = 0; i < 3; ++i) {
    const Group& group = all[i];
    EXPECT_EQ(group.tag, "face-68-kp");
    ASSERT_EQ(group.detections.size(), 1u);
    detections.insert(group.detections[0]);
    ASSERT_EQ(group.points.size(), 68u);
    for (std::size_t p = 0; p < 68; ++p) {
      const Point& at = faces->landmarks_of(i)[p];
      EXPECT_EQ(group.points[p], (std::array<gint, 2>{static_cast<gint>(std::floor(at.x + 0.5f)),
                                                      static_cast<gint>(std::floor(at.y + 0.5f))}))
          << p;
      EXPECT_EQ(group.confidences[p], static_cast<float>(p + i) / 128) << p;
    }
  }
  EXPECT_EQ(detections.size(), 3u) << "each face has its own";
}

TEST_F(AnalyticsKeypoints, LandmarksWithoutConfidencesHaveGStreamersDefault) {
  publish(make_faces(kWidth, kHeight, 1, 68));
  const auto all = groups(buffer_);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].confidences, std::vector<gfloat>(68, 1));
}

TEST_F(AnalyticsKeypoints, FiveLandmarksAreNotTheFiveOfANetwork) {
  auto faces = faces_with_landmarks(1, 5);
  const auto keypoints = faces_with_keypoints(1);
  faces->faces = keypoints->faces;
  publish(faces);
  const auto all = groups(buffer_);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].tag, "face-5-kp");
  EXPECT_EQ(all[0].points[1][0], 170);
  EXPECT_EQ(all[1].tag, "face-landmarks-5-kp");
  EXPECT_EQ(all[1].confidences[4], 4.0f / 128);
}

TEST_F(AnalyticsKeypoints, LandmarksAreThoseOfTheNewestFacesAlone) {
  auto faces = faces_with_landmarks(2, 68);
  publish(faces);
  const std::size_t there = gst_analytics_relation_get_length(meta_of(buffer_));
  EXPECT_EQ(there, 1u + 2 * 2 + 2 * 69) << "mark, faces, tracks, landmarks";
  for (const float shift : {0.0f, 3.0f, 3.0f}) {
    publish(faces_with_landmarks(2, 68, shift));
    ASSERT_EQ(groups(buffer_).size(), 2u);
    EXPECT_EQ(groups(buffer_)[0].points[0][0], 160 + static_cast<gint>(shift));
    EXPECT_EQ(gst_analytics_relation_get_length(meta_of(buffer_)), there);
  }
  faces = faces_with_landmarks(2, 68, 3);
  faces->landmark_confidences[70] = 0.875f;
  publish(faces);
  EXPECT_EQ(groups(buffer_)[1].confidences[2], 0.875f) << "only a confidence has changed";
  publish(make_faces(kWidth, kHeight, 2, 0));
  EXPECT_TRUE(groups(buffer_).empty());
}

// Behind a tracker, and somebody who says something of its faces: cufacelandmark adds to them.
TEST_F(AnalyticsKeypoints, LandmarksThatComeLeaveWhatOthersRelated) {
  publish(faces_with_keypoints(2));
  GstAnalyticsRelationMeta* meta = meta_of(buffer_);
  std::array<gint, 4> cup{1, 2, 3, 4};
  GstAnalyticsGroupMtd foreign;
  ASSERT_TRUE(gst_analytics_relation_meta_add_keypoints_group(
      meta, "cup-2-kp", GST_ANALYTICS_KEYPOINT_DIMENSIONS_2D, 4, cup.data(), 2, nullptr, nullptr, 0,
      nullptr, &foreign));
  const guint face = groups(buffer_)[1].detections.at(0);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, foreign.id,
                                           face);
  const std::size_t there = gst_analytics_relation_get_length(meta);
  auto faces = faces_with_landmarks(2, 68);
  faces->faces = faces_with_keypoints(2)->faces;
  for (int times = 0; times < 2; ++times) {
    publish(faces);
    meta = meta_of(buffer_);
    EXPECT_EQ(gst_analytics_relation_get_length(meta), there + 2 * 69);
    EXPECT_EQ(gst_analytics_relation_meta_get_relation(meta, foreign.id, face),
              GST_ANALYTICS_REL_TYPE_RELATE_TO);
  }
  int landmarks = 0;
  for (const Group& group : groups(buffer_)) {
    if (group.tag == "cup-2-kp") {
      EXPECT_EQ(group.points, (std::vector<std::array<gint, 2>>{{1, 2}, {3, 4}}));
    }
    if (group.tag != "face-68-kp") continue;
    ASSERT_EQ(group.detections.size(), 1u);
    EXPECT_EQ(group.detections[0] == face, landmarks++ == 1) << "the second face's";
    EXPECT_EQ(group.confidences[3], static_cast<float>(3 + landmarks - 1) / 128);
  }
  EXPECT_EQ(landmarks, 2);
}

TEST_F(AnalyticsKeypoints, OfManyFacesTheFirstHaveLandmarks) {
  for (const int count : {7, 8, 64}) {
    SCOPED_TRACE(count);
    publish(faces_with_landmarks(count, 68));
    const auto all = groups(buffer_);
    // With 64 faces there are 129 entries without landmarks.
    EXPECT_EQ(all.size(), count == 64 ? 5u : 7u);
    EXPECT_LE(gst_analytics_relation_get_length(meta_of(buffer_)), gst::kMostEntries);
  }
}

// A forest's or shape model's points, as a reader behind the last element finds them.
TEST_F(AnalyticsKeypoints, ComeFromTheElements) {
  const TempFolder folder;
  const std::string cascade = folder.write("squares.xml", square_cascade_xml());
  const std::string model = folder.path() + "/shape.cuface";
  ASSERT_TRUE(write_shape_file(*with_confidences(*random_shape_model(3)), {}, model).ok());
  const cv::Mat picture = squares(kWidth, kHeight, {{60, 60, 48, 48}, {200, 120, 48, 48}});
  for (const bool wanted : {true, false}) {
    Harness h("cufacedetect redetect-interval=1 cascade=" + cascade +
              " ! culktrack ! cufacelandmark model=" + model +
              (wanted ? "" : " standard-metas=never"));
    h.set_caps(info_);
    for (int frame = 0; frame < 3; ++frame) {
      GstBuffer* out = h.pass(make_frame(info_, picture));
      ASSERT_TRUE(out);
      const auto faces = read_faces(out, kWidth, kHeight).faces;
      ASSERT_GE(faces->faces.size(), 2u);
      ASSERT_EQ(faces->landmarks_per_face, 8);
      const auto all = groups(out);
      ASSERT_EQ(all.size(), wanted ? faces->faces.size() : 0u);
      for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].tag, "face-8-kp");
        ASSERT_EQ(all[i].points.size(), 8u);
        for (std::size_t p = 0; p < 8; ++p) {
          const Point& at = faces->landmarks_of(i)[p];
          EXPECT_NEAR(all[i].points[p][0], static_cast<double>(at.x), 0.51) << "its pixel";
          EXPECT_NEAR(all[i].points[p][1], static_cast<double>(at.y), 0.51);
          EXPECT_EQ(all[i].confidences[p], faces->confidences_of(i)[p]);
        }
      }
      gst_buffer_unref(out);
    }
  }
}

}  // namespace
}  // namespace cuface::test
