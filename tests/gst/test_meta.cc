// The face meta on its way through other elements.
#include "gst/faces/feedback.h"
#include "gst/meta/internal.h"
#include "gst/meta/motion.h"
#include "tests/gst/support.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 240;

FaceListRef one_face() {
  auto list = std::make_shared<FaceList>();
  list->width = kWidth;
  list->height = kHeight;
  list->searched = true;
  list->detector = "test";
  Face face;
  face.id = 7;
  face.confidence = 0.75f;
  face.neighbors = 9;
  face.age = 2;
  face.origin = Origin::kTracked;
  face.box = {32, 24, 80, 60};
  face.has_keypoints = true;
  for (int i = 0; i < kFaceKeypoints; ++i)
    face.keypoints[i] = {63.5f + 32 * static_cast<float>(i), 47.5f};
  list->faces = {face};
  list->landmarks_per_face = 2;
  list->landmarks = {{31.5f, 23.5f}, {159.5f, 119.5f}};
  list->landmark_confidences = {0.25f, 0.875f};
  return list;
}

GstVideoInfo frame_info() {
  GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, kWidth, kHeight);
  info.colorimetry.range = GST_VIDEO_COLOR_RANGE_0_255;
  return info;
}

GstBuffer* frame_with_face(FaceListRef faces = one_face()) {
  GstBuffer* buffer = make_frame(frame_info(), dark_ground(kWidth, kHeight));
  gst::ensure_frame_record(buffer).geometry_warned = std::make_shared<std::atomic<bool>>(false);
  append_faces(buffer, std::move(faces));
  return buffer;
}

void expect_the_face(GstBuffer* buffer, const char* where) {
  GstCufaceFaces* faces = faces_of(buffer);
  ASSERT_NE(faces, nullptr) << where;
  ASSERT_EQ(gst_cuface_faces_get_count(faces), 1u) << where;
  EXPECT_EQ(gst_cuface_faces_get_id(faces, 0), 7u);
  EXPECT_FLOAT_EQ(gst_cuface_faces_get_confidence(faces, 0), 0.75f);
  EXPECT_EQ(gst_cuface_faces_get_neighbors(faces, 0), 9);
  EXPECT_EQ(gst_cuface_faces_get_age(faces, 0), 2u);
  EXPECT_EQ(gst_cuface_faces_get_origin(faces, 0), GST_CUFACE_ORIGIN_TRACKED);
  EXPECT_TRUE(gst_cuface_faces_get_searched(faces));
  float x, y, w, h;
  gst_cuface_faces_get_box(faces, 0, &x, &y, &w, &h);
  EXPECT_FLOAT_EQ(x, 0.1f);
  EXPECT_FLOAT_EQ(y, 0.1f);
  EXPECT_FLOAT_EQ(w, 0.25f);
  EXPECT_FLOAT_EQ(h, 0.25f);
  ASSERT_EQ(gst_cuface_faces_get_n_landmarks(faces), 2u);
  gst_cuface_faces_get_landmark(faces, 0, 0, &x, &y);
  EXPECT_FLOAT_EQ(x, 0.1f);
  EXPECT_FLOAT_EQ(y, 0.1f);
  gst_cuface_faces_get_landmark(faces, 0, 1, &x, &y);
  EXPECT_FLOAT_EQ(x, 0.5f);
  EXPECT_FLOAT_EQ(y, 0.5f);
  EXPECT_EQ(gst_cuface_faces_get_landmark_confidence(faces, 0, 0), 0.25f) << where;
  EXPECT_EQ(gst_cuface_faces_get_landmark_confidence(faces, 0, 1), 0.875f) << where;
  ASSERT_EQ(gst_cuface_faces_get_n_keypoints(faces, 0), 5u) << where;
  for (guint i = 0; i < 5; ++i) {
    gst_cuface_faces_get_keypoint(faces, 0, i, &x, &y);
    EXPECT_FLOAT_EQ(x, 0.2f + 0.1f * static_cast<float>(i)) << where;
    EXPECT_FLOAT_EQ(y, 0.2f) << where;
  }
  gst_cuface_faces_unref(faces);
}

/// Sends a frame with a face through `pipeline`.
GstBuffer* through(const std::string& pipeline) {
  Harness harness(pipeline);
  harness.set_caps(frame_info());
  return harness.pass(frame_with_face());
}

TEST(Meta, ReadsBackWhatWasWritten) {
  GstBuffer* buffer = frame_with_face();
  expect_the_face(buffer, "same buffer");
  GstCufaceMeta* meta = gst_cuface_buffer_get_face_meta(buffer);
  EXPECT_EQ(gst_cuface_meta_get_n_faces(meta), 1u);
  EXPECT_TRUE(gst_cuface_meta_is_ready(meta));
  EXPECT_STREQ(g_type_name(gst_cuface_meta_api_get_type()), "GstCuFaceMetaAPI");
  gst_buffer_unref(buffer);
}

TEST(Meta, ACascadesFaceHasNoKeypoints) {
  auto list = std::make_shared<FaceList>(*one_face());
  list->faces[0].has_keypoints = false;
  GstBuffer* buffer = frame_with_face(list);
  GstCufaceFaces* faces = faces_of(buffer);
  EXPECT_EQ(gst_cuface_faces_get_n_keypoints(faces, 0), 0u);
  gst_cuface_faces_unref(faces);
  gst_buffer_unref(buffer);
}

TEST(Meta, BufferWithoutFacesHasNone) {
  GstBuffer* buffer = gst_buffer_new();
  EXPECT_EQ(gst_cuface_buffer_get_face_meta(buffer), nullptr);
  gst_buffer_unref(buffer);
}

TEST(Meta, SnapshotOutlivesTheBuffer) {
  GstBuffer* buffer = frame_with_face();
  GstCufaceFaces* faces = faces_of(buffer);
  GstCufaceFaces* second = gst_cuface_faces_ref(faces);
  gst_buffer_unref(buffer);
  gst_cuface_faces_unref(faces);
  EXPECT_EQ(gst_cuface_faces_get_id(second, 0), 7u);
  void* boxed = g_boxed_copy(GST_TYPE_CUFACE_FACES, second);
  gst_cuface_faces_unref(second);
  EXPECT_EQ(gst_cuface_faces_get_count(static_cast<GstCufaceFaces*>(boxed)), 1u);
  g_boxed_free(GST_TYPE_CUFACE_FACES, boxed);
}

TEST(Meta, CopySharesWhatIsThereAndSeesNothingAdded) {
  GstBuffer* buffer = frame_with_face();
  GstBuffer* copy = gst_buffer_copy(buffer);
  auto empty = std::make_shared<FaceList>();
  empty->width = kWidth;
  empty->height = kHeight;
  append_faces(buffer, empty);
  EXPECT_EQ(face_count(buffer), 0);
  expect_the_face(copy, "the copy");
  EXPECT_EQ(gst::get_frame_record(copy)->results[0].result.value,
            gst::get_frame_record(buffer)->results[0].result.value);
  gst_buffer_unref(buffer);
  expect_the_face(copy, "the copy, alone");
  gst_buffer_unref(copy);
}

TEST(Meta, PartOfABufferHasNoFaces) {
  GstBuffer* buffer = frame_with_face();
  GstBuffer* part = gst_buffer_copy_region(buffer, GST_BUFFER_COPY_ALL, 0, kWidth);
  EXPECT_LE(face_count(part), 0);
  gst_buffer_unref(part);
  gst_buffer_unref(buffer);
}

TEST(Meta, PassesWhatLeavesPixelsInPlace) {
  for (const char* pipeline :
       {"identity", "queue", "videoconvert ! capsfilter caps=video/x-raw,format=RGBx",
        "tee ! queue",
        "videoconvert ! capsfilter caps=video/x-raw,format=NV12 ! videoconvert ! capsfilter "
        "caps=video/x-raw,format=BGR",
        "videobalance brightness=0.1"}) {
    GstBuffer* out = through(pipeline);
    ASSERT_NE(out, nullptr) << pipeline;
    expect_the_face(out, pipeline);
    gst_buffer_unref(out);
  }
}

TEST(Meta, IsScaledWithThePicture) {
  struct Case {
    const char* caps;
    int width, height;
  };
  for (const Case& c : {Case{"width=640,height=480", 640, 480},
                        {"width=160,height=120", 160, 120},
                        {"width=640,height=240,pixel-aspect-ratio=1/2", 640, 240}}) {
    GstBuffer* out = through("videoscale ! capsfilter caps=video/x-raw," + std::string(c.caps));
    ASSERT_NE(out, nullptr) << c.caps;
    expect_the_face(out, c.caps);
    const FacesRead read = read_faces(out, c.width, c.height);
    ASSERT_EQ(read.positions, gst::Positions::kKnown) << c.caps;
    const float sx = static_cast<float>(c.width) / kWidth;
    const float sy = static_cast<float>(c.height) / kHeight;
    EXPECT_FLOAT_EQ(read.faces->faces[0].box.x, 32 * sx);
    EXPECT_FLOAT_EQ(read.faces->faces[0].box.h, 60 * sy);
    EXPECT_FLOAT_EQ(read.faces->landmarks[0].x, 32 * sx - 0.5f);
    EXPECT_FLOAT_EQ(read.faces->landmarks[0].y, 24 * sy - 0.5f);
    gst_buffer_unref(out);
  }
}

TEST(Meta, IsNotDeliveredWherePixelsWentElsewhere) {
  for (const char* pipeline :
       {"videoflip video-direction=horiz", "videoflip video-direction=90r",
        "videoflip video-direction=horiz ! videoflip video-direction=horiz",
        "videoflip video-direction=180 ! videoscale ! capsfilter caps=video/x-raw,width=640",
        "videoscale ! capsfilter caps=video/x-raw,width=640,height=480 ! videoflip "
        "video-direction=vert"}) {
    GstBuffer* out = through(pipeline);
    ASSERT_NE(out, nullptr) << pipeline;
    EXPECT_EQ(face_count(out), 0) << pipeline;
    EXPECT_EQ(read_faces(out, 280, 240).positions, gst::Positions::kUnknown);
    gst_buffer_unref(out);
  }
}

// GStreamer tells of them from 1.28 on (test_meta_matrix.cc).
TEST(Meta, IsLostBehindACropAndBordersOnlyWhereNobodyTells) {
  for (const char* pipeline :
       {"videocrop left=40",
        "videocrop left=40 ! videoscale ! capsfilter caps=video/x-raw,width=320,height=240",
        // The display aspect ratio changes, so borders are added.
        "videoscale ! capsfilter caps=video/x-raw,width=320,height=320,pixel-aspect-ratio=1/1"}) {
    GstBuffer* out = through(pipeline);
    ASSERT_NE(out, nullptr) << pipeline;
    EXPECT_EQ(face_count(out), GST_CHECK_VERSION(1, 28, 0) ? 1 : 0) << pipeline;
    gst_buffer_unref(out);
  }
}

TEST(Meta, ACropRectangleSetLaterMovesThePositions) {
  struct Case {
    cv::Rect crop;
    int faces;
  };
  for (const std::string scale :
       {"identity", "videoscale ! capsfilter caps=video/x-raw,width=640,height=480"}) {
    const int s = scale == "identity" ? 1 : 2;
    for (const Case& c : {Case{{40 * s, 10 * s, 280 * s, 200 * s}, 1},
                          {{10, 0, 60 * s, 70 * s}, 1},
                          {{120 * s, 0, 100, 100}, 0},
                          {{0, 90 * s, 100, 100}, 0},
                          {{0, 0, 30, 30}, 0}}) {
      GstBuffer* buffer = through(scale);
      GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(buffer);
      crop->x = static_cast<guint>(c.crop.x), crop->y = static_cast<guint>(c.crop.y);
      crop->width = static_cast<guint>(c.crop.width),
      crop->height = static_cast<guint>(c.crop.height);
      EXPECT_EQ(face_count(buffer), c.faces) << c.crop;
      const auto read = read_faces(buffer, c.crop.width, c.crop.height);
      ASSERT_EQ(read.positions, gst::Positions::kKnown);
      EXPECT_EQ(read.faces->width, c.crop.width);
      ASSERT_EQ(static_cast<int>(read.faces->faces.size()), c.faces) << c.crop;
      EXPECT_EQ(static_cast<int>(read.faces->landmarks.size()), 2 * c.faces) << c.crop;
      if (c.faces == 0) {
        gst_buffer_unref(buffer);
        continue;
      }
      const auto f = static_cast<float>(s), x = static_cast<float>(c.crop.x),
                 y = static_cast<float>(c.crop.y);
      EXPECT_EQ(read.faces->faces[0].box, (Box{32 * f - x, 24 * f - y, 80 * f, 60 * f}));
      EXPECT_FLOAT_EQ(read.faces->landmarks[0].x, 32 * f - 0.5f - x);
      EXPECT_FLOAT_EQ(read.faces->landmarks[0].y, 24 * f - 0.5f - y);
      GstCufaceFaces* faces = faces_of(buffer);
      float left, top;
      gst_cuface_faces_get_box(faces, 0, &left, &top, nullptr, nullptr);
      EXPECT_FLOAT_EQ(left * static_cast<float>(c.crop.width), 32 * f - x);
      EXPECT_FLOAT_EQ(top * static_cast<float>(c.crop.height), 24 * f - y);
      gst_cuface_faces_unref(faces);
      gst_buffer_unref(buffer);
    }
  }
}

TEST(Meta, ANewResultAfterAFlipIsReadAgain) {
  GstBuffer* buffer = through("videoflip video-direction=horiz");
  append_faces(buffer, one_face());
  EXPECT_EQ(face_count(buffer), 1);
  EXPECT_EQ(read_faces(buffer, kWidth, kHeight).positions, gst::Positions::kKnown);
  gst_buffer_unref(buffer);
}

// What one element finds behind a crop rectangle leaves what another has found in front of it.
TEST(Meta, ResultsOfTwoPicturesFitTheOneThatIsThere) {
  auto motion = std::make_shared<MotionMap>();
  motion->width = kWidth;
  motion->height = kHeight;
  motion->columns = motion->rows = 1;
  motion->cells = {{0.5f, true}};
  motion->regions = {{3, 1, {60, 40, 50, 30}}, {4, 1, {0, 0, 30, 30}}};
  GstBuffer* buffer = frame_with_face();
  gst::append_result<MotionMap>(buffer, motion);
  GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(buffer);
  crop->x = 40, crop->y = 20, crop->width = 200, crop->height = 100;
  auto list = std::make_shared<FaceList>(*one_face());
  list->width = 200;
  list->height = 100;
  append_faces(buffer, list);
  EXPECT_EQ(read_faces(buffer, 200, 100).faces->faces[0].box, one_face()->faces[0].box);
  for (int crops = 0; crops < 2; ++crops, crop->x += 8, crop->width -= 8) {
    const auto found = gst::find_result<MotionMap>(buffer, 200 - 8 * crops, 100);
    ASSERT_EQ(found.positions, gst::Positions::kKnown) << crops;
    const auto read = found.result.read();
    ASSERT_EQ(read.value()->regions.size(), 1u) << "the other lies outside";
    EXPECT_EQ(read.value()->regions[0].box,
              (Box{20.0f - 8 * static_cast<float>(crops), 20, 50, 30}));
    EXPECT_EQ(read.value()->columns, 0) << "cells are of the whole picture";
  }
  gst_buffer_unref(buffer);
}

/// Counts the log's warnings about lost positions.
int warnings_logged = 0;
void count_warnings(GstDebugCategory* category, GstDebugLevel level, const gchar*, const gchar*,
                    gint, GObject*, GstDebugMessage*, gpointer) {
  if (level == GST_LEVEL_WARNING &&
      std::string(gst_debug_category_get_name(category)) == "cufacemeta")
    ++warnings_logged;
}

TEST(Meta, LostPositionsAreLoggedOnceAChain) {
  gst_debug_set_threshold_for_name("cufacemeta", GST_LEVEL_WARNING);
  gst_debug_add_log_function(count_warnings, nullptr, nullptr);
  warnings_logged = 0;
  GstBuffer* out = through("videoflip video-direction=horiz");
  GstBuffer* copy = gst_buffer_copy(out);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(face_count(out), 0);
    EXPECT_EQ(face_count(copy), 0);
  }
  gst_debug_remove_log_function(count_warnings);
  EXPECT_EQ(warnings_logged, 1);
  gst_buffer_unref(copy);
  gst_buffer_unref(out);
}

TEST(Meta, OnlyTheLibrarysOwnVersionGetsItsTable) {
  const gchar* library = nullptr;
  EXPECT_NE(gst_cuface_get_internal(gst::internal_version(), &library), nullptr);
  EXPECT_EQ(library, gst::internal_version_text());
  library = nullptr;
  EXPECT_EQ(gst_cuface_get_internal(gst::internal_version() + 1, &library), nullptr);
  EXPECT_EQ(library, gst::internal_version_text());
  EXPECT_EQ(gst::library_mismatch(), "");
}

TEST(Meta, FeedbackIsTakenFromItsOwnThreadOnly) {
  gst::FeedbackCell cell(g_thread_self());
  const FaceListRef first = one_face(), second = one_face();
  struct Mailbox {
    gst::FeedbackCell* cell;
    FaceListRef faces;
    bool accepted;
  } post{&cell, first, true};
  GThread* other = g_thread_new(
      "other",
      [](gpointer data) -> gpointer {
        auto* p = static_cast<Mailbox*>(data);
        p->accepted = p->cell->post(p->faces);
        return nullptr;
      },
      &post);
  g_thread_join(other);
  EXPECT_FALSE(post.accepted);
  EXPECT_EQ(cell.take().host(), nullptr);
  EXPECT_TRUE(cell.post(first));
  EXPECT_TRUE(cell.post(second));
  EXPECT_EQ(cell.take().host(), first.get());
}

}  // namespace
}  // namespace cuface::test
