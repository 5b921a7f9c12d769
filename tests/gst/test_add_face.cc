// Faces that an application adds to a buffer.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "tests/gst/faces.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 640, kHeight = 360;

TEST(AddFace, IsADetectionOfTheBuffer) {
  GstBuffer* buffer = plain_frame("GRAY8", kWidth, kHeight);
  EXPECT_TRUE(gst_cuface_buffer_add_face(buffer, kWidth, kHeight, 0.25f, 0.5f, 0.125f, 0.25f, 1));
  EXPECT_TRUE(gst_cuface_buffer_add_face(buffer, kWidth, kHeight, -0.1f, 0.5f, 0.5f, 1, 0.5f));
  const FacesRead read = read_faces(buffer, kWidth, kHeight);
  ASSERT_NE(read.faces, nullptr);
  EXPECT_TRUE(read.faces->searched);
  ASSERT_EQ(read.faces->faces.size(), 2u);
  EXPECT_EQ(read.faces->faces[0].box, (Box{160, 180, 80, 90}));
  EXPECT_EQ(read.faces->faces[1].confidence, 0.5f);
  EXPECT_EQ(read.faces->faces[1].origin, Origin::kDetected);
  EXPECT_EQ(gst::get_frame_record(buffer)->results.size(), 1u) << "in place";
  gst_buffer_unref(buffer);
}

TEST(AddFace, LeavesWhatOthersHold) {
  GstBuffer* buffer = plain_frame("GRAY8", kWidth, kHeight);
  gst_cuface_buffer_add_face(buffer, kWidth, kHeight, 0, 0, 0.5f, 0.5f, 1);
  GstCufaceFaces* snapshot = faces_of(buffer);
  GstBuffer* copy = gst_buffer_copy(buffer);
  EXPECT_TRUE(gst_cuface_buffer_add_face(buffer, kWidth, kHeight, 0.5f, 0, 0.5f, 0.5f, 1));
  EXPECT_EQ(gst_cuface_faces_get_count(snapshot), 1u);
  EXPECT_EQ(face_count(copy), 1);
  EXPECT_EQ(face_count(buffer), 2);
  gst_cuface_faces_unref(snapshot);
  gst_buffer_unref(copy);
  gst_buffer_unref(buffer);
}

TEST(AddFace, RefusesWhatIsNoFace) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  GstBuffer* buffer = plain_frame("GRAY8", kWidth, kHeight);
  const auto add = [&](guint fw, guint fh, float x, float y, float w, float h, float c) {
    return gst_cuface_buffer_add_face(buffer, fw, fh, x, y, w, h, c);
  };
  EXPECT_FALSE(add(0, kHeight, 0, 0, 1, 1, 1));
  EXPECT_FALSE(add(kWidth, 1 << 20, 0, 0, 1, 1, 1));
  EXPECT_FALSE(add(kWidth, kHeight, nan, 0, 1, 1, 1));
  EXPECT_FALSE(add(kWidth, kHeight, 0, 0, 0, 1, 1));
  EXPECT_FALSE(add(kWidth, kHeight, 0, 0, 1, -1, 1));
  EXPECT_FALSE(add(kWidth, kHeight, 0, 0, 1, HUGE_VALF, 1));
  EXPECT_FALSE(add(kWidth, kHeight, 0, 0, 1, 1, 2));
  EXPECT_FALSE(add(kWidth, kHeight, 0, 0, 1, 1, nan));
  EXPECT_EQ(face_count(buffer), -1) << "nothing was added";
  EXPECT_TRUE(add(kWidth, kHeight, 0, 0, 1, 1, 1));
  EXPECT_FALSE(add(kWidth / 2, kHeight, 0, 0, 1, 1, 1)) << "of another picture";
  GstBuffer* shared = gst_buffer_ref(buffer);
  EXPECT_FALSE(add(kWidth, kHeight, 0, 0, 1, 1, 1)) << "not writable";
  gst_buffer_unref(shared);
  append_faces(buffer, make_faces(kWidth, kHeight, 1, 5));
  EXPECT_FALSE(add(kWidth, kHeight, 0, 0, 1, 1, 1)) << "they have landmarks";
  gst_buffer_unref(buffer);
}

TEST(AddFace, TenThousandTakeNoTime) {
  GstBuffer* buffer = plain_frame("GRAY8", kWidth, kHeight);
  constexpr int kMost = 16384;
  for (int i = 0; i < kMost; ++i)
    ASSERT_TRUE(gst_cuface_buffer_add_face(buffer, kWidth, kHeight, 0, 0, 0.5f, 0.5f, 1)) << i;
  EXPECT_FALSE(gst_cuface_buffer_add_face(buffer, kWidth, kHeight, 0, 0, 0.5f, 0.5f, 1));
  EXPECT_EQ(face_count(buffer), kMost);
  gst_buffer_unref(buffer);
}

TEST(AddFace, IsFollowed) {
  FrameHarness h("culktrack", "GRAY8", 320, 200);
  const cv::Mat picture = squares(320, 200, {{100, 60, 48, 48}});
  GstBuffer* first = grey_frame(picture);
  gst_cuface_buffer_add_face(first, 320, 200, 100.0f / 320, 60.0f / 200, 48.0f / 320, 48.0f / 200,
                             1);
  for (int i = 0; i < 5; ++i) {
    GstBuffer* out = h.pass(i == 0 ? first : grey_frame(picture));
    ASSERT_EQ(face_count(out), 1) << i;
    GstCufaceFaces* faces = faces_of(out);
    EXPECT_EQ(gst_cuface_faces_get_id(faces, 0), 1u);
    gst_cuface_faces_unref(faces);
    gst_buffer_unref(out);
  }
}

}  // namespace
}  // namespace cuface::test
