// Behind what crops and adds borders GStreamer says by a matrix where pixels went (1.28): results
// are delivered where they are now.
#include <limits>

#include "gst/meta/keypoints.h"
#include "gst/meta/matches.h"
#include "gst/meta/motion.h"
#include "gst/meta/planar.h"
#include "tests/gst/behind.h"
#include "tests/gst/faces.h"
#include "tests/gst/parts.h"

namespace cuface::test {
namespace {

/// An edge at x comes to x * sx + dx; by the elements' documentation, not by what they say.
struct Move {
  const char* elements;
  double sx, sy, dx, dy;
  double x(float edge) const { return sx * static_cast<double>(edge) + dx; }
  double y(float edge) const { return sy * static_cast<double>(edge) + dy; }
};

constexpr Move kMoves[] = {
    {"videocrop left=40", 1, 1, -40, 0},
    {"videocrop top=8 bottom=20", 1, 1, 0, -8},
    {"videocrop right=60 left=2", 1, 1, -2, 0},
    {"videocrop left=30 ! videocrop left=10 top=6", 1, 1, -40, -6},
    {"videocrop left=-1 right=-1 ! capsfilter caps=video/x-raw,width=240", 1, 1, -40, 0},
    {"aspectratiocrop aspect-ratio=1/1", 1, 1, -40, 0},
    {"aspectratiocrop aspect-ratio=16/9", 1, 1, 0, -30},
    {"videoscale ! capsfilter caps=video/x-raw,width=320,height=320,pixel-aspect-ratio=1/1", 1, 1,
     0, 40},
    {"videoscale ! capsfilter caps=video/x-raw,width=200,height=240,pixel-aspect-ratio=1/1", 0.625,
     0.625, 0, 45},
    {"videoconvertscale ! capsfilter caps=video/x-raw,width=960,height=240,pixel-aspect-ratio=1/1",
     1, 1, 320, 0},
    {"videoscale add-borders=false ! capsfilter "
     "caps=video/x-raw,width=320,height=320,pixel-aspect-ratio=1/1",
     1, 320.0 / 240, 0, 0},
    {"videocrop left=40 ! videoscale ! capsfilter caps=video/x-raw,width=560,height=480", 2, 2, -80,
     0},
    {"videoscale ! capsfilter caps=video/x-raw,width=640,height=480 ! videocrop top=10", 2, 2, 0,
     -10},
    {"videoscale ! capsfilter caps=video/x-raw,width=320,height=320,pixel-aspect-ratio=1/1 ! "
     "videocrop top=40 bottom=40",
     1, 1, 0, 0},
    {"videoscale ! capsfilter caps=video/x-raw,width=320,height=320,pixel-aspect-ratio=1/1 ! "
     "queue ! videocrop left=40 ! videoscale ! capsfilter caps=video/x-raw,width=140,height=160",
     0.5, 0.5, -20, 20},
};

const std::string kAnyFormat = "videoconvert ! ";

TEST(MetaMatrix, FacesAreWhereTheFaceIs) {
  for (const Move& move : kMoves) {
    SCOPED_TRACE(move.elements);
    const Out out = behind(kAnyFormat + move.elements);
    ASSERT_TRUE(out.faces) << "not delivered";
    EXPECT_TRUE(fits(out)) << "box at " << out.faces->faces[0].box.x << ", "
                           << out.faces->faces[0].box.y << ", the face at " << out.bright;
    const FaceListRef before = face_list();
    const Box &was = before->faces[0].box, &is = out.faces->faces[0].box;
    EXPECT_NEAR(static_cast<double>(is.x), move.x(was.x), 1e-3);
    EXPECT_NEAR(static_cast<double>(is.y), move.y(was.y), 1e-3);
    EXPECT_NEAR(static_cast<double>(is.x + is.w), move.x(was.x + was.w), 1e-3);
    EXPECT_NEAR(static_cast<double>(is.y + is.h), move.y(was.y + was.h), 1e-3);
    for (std::size_t i = 0; i < 2; ++i) {
      const Point &from = before->landmarks[i], &to = out.faces->landmarks[i];
      EXPECT_NEAR(static_cast<double>(to.x) + 0.5, move.x(from.x + 0.5f), 1e-3);
      EXPECT_NEAR(static_cast<double>(to.y) + 0.5, move.y(from.y + 0.5f), 1e-3);
    }
  }
}

// A rectangle that nothing moves beyond is as exact as the picture it was found in.
TEST(MetaMatrix, ACropThatABorderUndoesChangesNothing) {
  const Out out = behind(kMoves[13].elements);
  ASSERT_TRUE(out.faces);
  EXPECT_EQ(out.faces->faces[0].box, face_list()->faces[0].box);
  EXPECT_EQ(out.faces->landmarks, face_list()->landmarks);
}

/// The faces behind `elements`, of this many.
std::size_t faces_behind(const char* elements) {
  const Out out = behind(elements);
  EXPECT_TRUE(out.faces) << elements;
  return out.faces ? out.faces->faces.size() : 99;
}

TEST(MetaMatrix, OnlyWhatTheCropLeavesIsThere) {
  EXPECT_EQ(faces_behind("videocrop right=100"), 1u) << "half of it is";
  EXPECT_EQ(faces_behind("videocrop left=259"), 1u);
  for (const char* none : {"videocrop left=260", "videocrop right=120", "videocrop top=90"}) {
    Harness harness(none);
    harness.set_caps(frame_info());
    GstBuffer* out = harness.pass(frame_with_face());
    EXPECT_EQ(face_count(out), 0) << none;
    EXPECT_EQ(gst::find_result<FaceList>(out, 0, 0).positions, gst::Positions::kKnown) << none;
    gst_buffer_unref(out);
  }
}

TEST(MetaMatrix, FlipsAndTurnsAreNotFollowed) {
  for (const char* direction : {"90r", "180", "90l", "horiz", "vert", "ul-lr", "ur-ll"})
    EXPECT_FALSE(behind("videoflip video-direction=" + std::string(direction)).faces) << direction;
  EXPECT_TRUE(behind("videoflip video-direction=identity").faces);
}

std::pair<int, int> size_behind(Harness& harness) {
  GstCaps* caps = gst_pad_get_current_caps(harness.get()->sinkpad);
  GstVideoInfo info;
  gst_video_info_from_caps(&info, caps);
  gst_caps_unref(caps);
  return {info.width, info.height};
}

TEST(MetaMatrix, MotionKeypointsMatchesAndObjectsGoWithTheFaces) {
  auto motion = std::make_shared<MotionMap>();
  auto features = std::make_shared<FrameFeatures>();
  auto matches = std::make_shared<FrameMatches>();
  auto planar = std::make_shared<FramePlanar>();
  motion->width = features->width = matches->width = planar->width = kWidth;
  motion->height = features->height = matches->height = planar->height = kHeight;
  motion->regions = {{5, 2, {210, 50, 30, 40}}, {6, 1, {0, 235, 1, 5}}};
  features->found.keypoints = {{220, 60, 31, 12, 1, 0}, {230.5f, 80.25f, 20, 90, 2, 1}};
  features->found.descriptors.assign(2 * kBinaryBytes, 7);
  features->found.signs = {-1, 1};
  matches->pictures = {{"a.png", 64, 48, 3}};
  matches->matches = {{0, {215, 70}, {5, 6}, 11}};
  planar->pictures = matches->pictures;
  planar->objects = {{.id = 3,
                      .corners = {{210, 64}, {230, 64}, {230, 80}, {210, 80}},
                      .map = {{1, 0, 210, 0, 1, 64, 0, 0, 1}}}};
  for (const Move& move : kMoves) {
    SCOPED_TRACE(move.elements);
    Harness harness(kAnyFormat + move.elements);
    harness.set_caps(frame_info());
    GstBuffer* buffer = frame_with_face();
    gst::append_result<MotionMap>(buffer, motion);
    gst::append_result<FrameFeatures>(buffer, features);
    gst::append_result<FrameMatches>(buffer, matches);
    gst::append_result<FramePlanar>(buffer, planar);
    GstBuffer* out = harness.pass(buffer);
    const auto [width, height] = size_behind(harness);
    const auto moved = gst::find_result<MotionMap>(out, width, height).result.read().value();
    const auto seen = gst::find_result<FrameFeatures>(out, width, height).result.read().value();
    const auto matched = gst::find_result<FrameMatches>(out, width, height).result.read().value();
    const auto flat = gst::find_result<FramePlanar>(out, width, height).result.read().value();
    ASSERT_TRUE(moved && seen && matched && flat);
    ASSERT_GE(moved->regions.size(), 1u);
    const MotionRegion& region = moved->regions[0];
    EXPECT_EQ(region.id, 5u);
    ASSERT_EQ(seen->found.keypoints.size(), 2u);
    ASSERT_EQ(seen->found.descriptors.size(), std::size_t{2} * kBinaryBytes);
    ASSERT_EQ(seen->found.signs, features->found.signs);
    ASSERT_EQ(matched->matches.size(), 1u);
    EXPECT_EQ(matched->matches[0].in_picture, matches->matches[0].in_picture);
    EXPECT_NEAR(static_cast<double>(region.box.x), move.x(210), 1e-3);
    EXPECT_NEAR(static_cast<double>(region.box.y), move.y(50), 1e-3);
    EXPECT_NEAR(static_cast<double>(region.box.w), 30 * move.sx, 1e-3);
    EXPECT_NEAR(static_cast<double>(matched->matches[0].at.x) + 0.5, move.x(215.5f), 1e-3);
    ASSERT_EQ(flat->objects.size(), 1u);
    const double* m = flat->objects[0].map.m;
    EXPECT_NEAR(static_cast<double>(flat->objects[0].corners[2].x) + 0.5, move.x(230.5f), 1e-3);
    EXPECT_NEAR((m[3] * 5 + m[4] * 6 + m[5]) / (m[6] * 5 + m[7] * 6 + m[8]) + 0.5, move.y(70.5f),
                1e-3);
    for (std::size_t i = 0; i < 2; ++i) {
      const Keypoint &from = features->found.keypoints[i], &to = seen->found.keypoints[i];
      EXPECT_NEAR(static_cast<double>(to.x) + 0.5, move.x(from.x + 0.5f), 1e-3);
      EXPECT_NEAR(static_cast<double>(to.y) + 0.5, move.y(from.y + 0.5f), 1e-3);
      EXPECT_NEAR(static_cast<double>(to.size),
                  static_cast<double>(from.size) * (move.sx + move.sy) / 2, 1e-3);
      EXPECT_EQ(to.angle, from.angle);
    }
    gst_buffer_unref(out);
  }
}

/// A copy as an element makes it that says this of where pixels go.
GstBuffer* moved_copy(GstBuffer* buffer, GstVideoMetaTransformMatrix& said) {
  GstBuffer* copy = gst_buffer_new();
  GstMetaTransformCopy all{FALSE, 0, static_cast<gsize>(-1)};
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta(buffer, &state)) {
    const bool is_sized = gst_meta_api_type_has_tag(
        meta->info->api, g_quark_from_string(GST_META_TAG_VIDEO_SIZE_STR));
    meta->info->transform_func(
        copy, meta, buffer,
        is_sized ? gst_video_meta_transform_matrix_get_quark() : _gst_meta_transform_copy,
        is_sized ? static_cast<gpointer>(&said) : &all);
  }
  return copy;
}

TEST(MetaMatrix, WhatNoFaceCanFollowLosesThem) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = HUGE_VALF;
  const GstVideoInfo info = frame_info(), other = video_info(GST_VIDEO_FORMAT_AYUV, 80, 60);
  const GstVideoRectangle whole{0, 0, kWidth, kHeight};
  GstVideoMetaTransformMatrix fine;
  gst_video_meta_transform_matrix_init(&fine, &info, &whole, &info, &whole);
  GstBuffer* buffer = frame_with_face();
  const auto known = [&](GstVideoMetaTransformMatrix& said) {
    GstBuffer* copy = moved_copy(buffer, said);
    const bool is = gst::find_result<FaceList>(copy, 0, 0).positions == gst::Positions::kKnown;
    gst_buffer_unref(copy);
    return is;
  };
  EXPECT_TRUE(known(fine));
  int lost = 0;
  for (const auto& [row, column, value] : {std::tuple{0, 0, nan},
                                           {0, 0, inf},
                                           {0, 0, 0.0f},
                                           {0, 0, -1.0f},
                                           {1, 1, nan},
                                           {1, 1, -1.0f},
                                           {0, 2, nan},
                                           {1, 2, inf},
                                           {0, 1, 0.25f},
                                           {1, 0, 0.25f},
                                           {2, 0, 0.25f},
                                           {2, 1, nan},
                                           {2, 2, 0.0f},
                                           {2, 2, 2.0f}}) {
    GstVideoMetaTransformMatrix said = fine;
    said.matrix[row][column] = value;
    EXPECT_FALSE(known(said)) << row << " " << column << " " << value;
    ++lost;
  }
  EXPECT_EQ(lost, 14);
  GstVideoMetaTransformMatrix said = fine;
  said.in_info = &other;
  EXPECT_FALSE(known(said)) << "of another picture";
  GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(buffer);
  crop->width = crop->height = 100;
  EXPECT_FALSE(known(fine)) << "the crop rectangle is another picture, too";
  gst_buffer_unref(buffer);
}

// ---- between our elements ----

/// Of each frame: the faces, and the regions of interest that say "face".
struct Followed {
  std::vector<FaceListRef> faces;
  std::vector<int> regions;
};

Followed follow(const std::string& between, int width, int height) {
  Parts parts;
  const std::string metas = " standard-metas=always ! ";
  Harness harness(parts.detect + " redetect-interval=4" + metas + between + parts.track + metas +
                  parts.landmark + " standard-metas=always");
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
  Bus bus(harness);
  Followed followed;
  for (int i = 0; i < 12; ++i) {
    GstBuffer* out =
        harness.pass(grey_frame(squares(kWidth, kHeight, {{60 + 2 * i, 60 + i, 48, 48}})));
    followed.faces.push_back(read_faces(out, width, height).faces);
    int regions = 0;
    gpointer state = nullptr;
    while (
        gst_buffer_iterate_meta_filtered(out, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
      ++regions;
    followed.regions.push_back(regions);
    gst_buffer_unref(out);
  }
  EXPECT_EQ(bus.count(GST_MESSAGE_WARNING), 0) << between;
  return followed;
}

TEST(MetaMatrix, ATrackGoesOnBehindACropAndALetterbox) {
  const Followed whole = follow("", kWidth, kHeight);
  const std::string letterbox =
      "videoscale ! capsfilter caps=video/x-raw,width=320,height=320,pixel-aspect-ratio=1/1 ! ";
  int compared = 0;
  for (const auto& [between, width, height, dx, dy] :
       {std::tuple{std::string("videocrop left=40 top=20 ! "), 280, 220, -40.0f, -20.0f},
        {"videocrop left=50 ! ", 270, 240, -50.0f, 0.0f},  // the box is cut on its first frames
        {letterbox, 320, 320, 0.0f, 40.0f}}) {
    SCOPED_TRACE(between);
    const Followed part = follow(between, width, height);
    for (std::size_t i = 0; i < 12; ++i) {
      ASSERT_EQ(part.faces[i]->faces.size(), 1u) << i;
      EXPECT_EQ(part.faces[i]->faces[0].id, 1u) << i;
      EXPECT_EQ(part.regions[i], 1) << "the detector's, behind a crop, and the tracker's are one";
      // Only in the whole picture do landmarks go back to the tracker.
      Box box = whole.faces[i]->faces[0].box;
      box.x += dx;
      box.y += dy;
      EXPECT_GE(intersection_over_union(box, part.faces[i]->faces[0].box), 0.9f) << i;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 36);
}

}  // namespace
}  // namespace cuface::test
