// cufacedetect: what it finds, when it searches, and what it leaves alone.
#include <opencv2/imgcodecs.hpp>
#include <opencv2/objdetect.hpp>

#include "tests/gst/support.h"

namespace cuface::test {
namespace {

const char* const kFrontal = "haarcascade_frontalface_default.xml";

std::string frontal_path() { return std::string(kCascadeDir) + "/" + kFrontal; }

std::vector<cv::Rect> opencv_faces(const std::string& cascade, const cv::Mat& grey) {
  cv::CascadeClassifier classifier(cascade);
  EXPECT_FALSE(classifier.empty()) << cascade;
  std::vector<cv::Rect> faces;
  classifier.detectMultiScale(grey, faces, 1.1, 3);
  return faces;
}

std::vector<cv::Rect> our_faces(GstBuffer* buffer, int width, int height) {
  const FacesRead read = read_faces(buffer, width, height);
  std::vector<cv::Rect> faces;
  if (read.faces)
    for (const Face& face : read.faces->faces)
      faces.emplace_back(static_cast<int>(face.box.x), static_cast<int>(face.box.y),
                         static_cast<int>(face.box.w), static_cast<int>(face.box.h));
  return faces;
}

void expect_same_rects(std::vector<cv::Rect> a, std::vector<cv::Rect> b, const std::string& what) {
  const auto less = [](const cv::Rect& l, const cv::Rect& r) {
    return std::tie(l.x, l.y, l.width, l.height) < std::tie(r.x, r.y, r.width, r.height);
  };
  std::sort(a.begin(), a.end(), less);
  std::sort(b.begin(), b.end(), less);
  EXPECT_EQ(a, b) << what;
}

class Detect : public testing::Test {
 protected:
  TempFolder folder;
  std::string cascade = folder.write("square.xml", square_cascade_xml());
  std::string detect = "cufacedetect name=d cascade=" + cascade + " ";
  GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, 200, 150);
  cv::Mat one = squares(200, 150, {{60, 40, 30, 30}});
  cv::Mat none = dark_ground(200, 150);

  std::vector<bool> searched_frames(const std::string& pipeline,
                                    const std::vector<cv::Mat>& frames) {
    Harness harness(pipeline);
    harness.set_caps(info);
    std::vector<bool> searched;
    for (const cv::Mat& frame : frames) {
      GstBuffer* out = harness.pass(make_frame(info, frame));
      searched.push_back(was_searched(out));
      gst_buffer_unref(out);
    }
    EXPECT_EQ(harness.stat("d", "searches"),
              static_cast<guint64>(std::count(searched.begin(), searched.end(), true)));
    EXPECT_EQ(harness.stat("d", "frames"), frames.size());
    return searched;
  }
};

std::vector<bool> flags(const char* text) {
  std::vector<bool> out;
  for (; *text; ++text) out.push_back(*text == 'x');
  return out;
}

TEST_F(Detect, FindsWhatOpenCvFinds) {
  const cv::Mat picture =
      squares(320, 200, {{30, 20, 24, 24}, {120, 60, 60, 60}, {250, 10, 13, 13}});
  const auto expected = opencv_faces(cascade, picture);
  ASSERT_GE(expected.size(), 2u);
  Harness harness(detect);
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, 320, 200));
  GstBuffer* out = harness.pass(grey_frame(picture));
  expect_same_rects(our_faces(out, 320, 200), expected, "squares");
  GstCufaceFaces* faces = faces_of(out);
  const int neighbors = gst_cuface_faces_get_neighbors(faces, 0);
  EXPECT_GT(neighbors, 3);
  EXPECT_FLOAT_EQ(gst_cuface_faces_get_confidence(faces, 0), detection_confidence(neighbors));
  EXPECT_EQ(gst_cuface_faces_get_origin(faces, 0), GST_CUFACE_ORIGIN_DETECTED);
  EXPECT_EQ(gst_cuface_faces_get_id(faces, 0), 0u);
  EXPECT_EQ(harness.stat("d", "faces"), expected.size());
  gst_cuface_faces_unref(faces);
  gst_buffer_unref(out);
}

TEST_F(Detect, FindsInPhotosWhatOpenCvFinds) {
  CUFACE_NEEDS_DATA();
  std::size_t compared = 0;
  for (const char* name : {"astronaut.png", "multi_face.jpg", "single_face.jpg"}) {
    const cv::Mat picture = cv::imread(data_dir() + "/images/scenes/" + name, cv::IMREAD_COLOR);
    ASSERT_FALSE(picture.empty()) << name;
    cv::Mat grey;
    cv::cvtColor(picture, grey, cv::COLOR_BGR2GRAY);
    const auto expected = opencv_faces(frontal_path(), grey);
    GstVideoInfo bgr = video_info(GST_VIDEO_FORMAT_BGR, picture.cols, picture.rows);
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, bgr.size, nullptr);
    for (int y = 0; y < picture.rows; ++y)
      gst_buffer_fill(buffer, static_cast<gsize>(y * bgr.stride[0]), picture.ptr(y),
                      static_cast<gsize>(picture.cols) * 3);
    Harness harness("cufacedetect cascade=" + frontal_path());
    harness.set_caps(bgr);
    GstBuffer* out = harness.pass(buffer);
    expect_same_rects(our_faces(out, picture.cols, picture.rows), expected, name);
    compared += expected.size();
    gst_buffer_unref(out);
  }
  EXPECT_GE(compared, 6u);
}

TEST_F(Detect, HonoursStridesAndOffsetsOfTheVideoMeta) {
  const std::string expected = run_frames(detect, info, {one})[0];
  // The picture in a larger allocation: 7 bytes in front, rows of 256.
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, 7 + 256 * 150, nullptr);
  gst_buffer_memset(buffer, 0, 0xff, 7 + 256 * 150);
  for (int y = 0; y < 150; ++y)
    gst_buffer_fill(buffer, static_cast<gsize>(7 + 256 * y), one.ptr(y), 200);
  gsize offset[] = {7, 0, 0, 0};
  gint stride[] = {256, 0, 0, 0};
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 200,
                                 150, 1, offset, stride);
  Harness harness(detect);
  harness.set_caps(info);
  EXPECT_EQ(harness.pass_text(buffer), expected);
}

TEST_F(Detect, LeavesPixelsAndMemoryAlone) {
  // Read-only memory that somebody else holds too: neither written to nor copied.
  cv::Mat pixels = one.clone();
  GstMemory* memory = gst_memory_new_wrapped(GST_MEMORY_FLAG_READONLY, pixels.data, 200 * 150, 0,
                                             200 * 150, nullptr, nullptr);
  GstBuffer* buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, gst_memory_ref(memory));
  Harness harness(detect);
  harness.set_caps(info);
  GstBuffer* out = harness.pass(gst_buffer_ref(buffer));  // not writable: its metas get a copy
  EXPECT_EQ(face_count(out), 1);
  EXPECT_EQ(face_count(buffer), -1) << "the buffer of somebody else got our meta";
  EXPECT_EQ(gst_buffer_peek_memory(out, 0), memory) << "the memory was copied";
  EXPECT_EQ(cv::countNonZero(pixels != one), 0);
  gst_buffer_unref(out);
  gst_buffer_unref(buffer);
  EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(memory), 1) << "a reference was kept";
  gst_memory_unref(memory);
}

TEST_F(Detect, SearchesEveryNthFrame) {
  const std::vector<cv::Mat> frames(12, one);
  EXPECT_EQ(searched_frames(detect, frames), flags("xxxxxxxxxxxx"));
  EXPECT_EQ(searched_frames(detect + "redetect-interval=1", frames), flags("xxxxxxxxxxxx"));
  EXPECT_EQ(searched_frames(detect + "redetect-interval=3", frames), flags("x--x--x--x--"));
  EXPECT_EQ(searched_frames(detect + "redetect-interval=10", frames), flags("x---------x-"));
}

TEST_F(Detect, SearchesAgainAfterFindingNothing) {
  const std::vector<cv::Mat> frames = {none, none, none, one, one, one, none, one, one};
  EXPECT_EQ(searched_frames(detect + "redetect-interval=5", frames), flags("xxxx-x---"));
}

TEST_F(Detect, IntervalIsTenWhereATrackerIsDownstream) {
  const std::vector<cv::Mat> frames(12, one);
  for (const char* between : {"", "! queue ", "! tee ", "! identity ", "! videoconvert ",
                              "! tee ! queue ! videoconvert "})
    EXPECT_EQ(searched_frames(detect + between + "! culktrack", frames).size(), frames.size());
  for (const char* between : {"", "! queue ", "! tee ! queue ! videoconvert ! identity "}) {
    Harness harness(detect + between + "! culktrack");
    harness.set_caps(info);
    for (const cv::Mat& frame : frames) gst_buffer_unref(harness.pass(make_frame(info, frame)));
    EXPECT_EQ(harness.stat("d", "searches"), 2u) << between;
  }
}

TEST_F(Detect, GapsAreNotSearchedButPassTheirTurnOn) {
  Harness harness(detect + "redetect-interval=4");
  harness.set_caps(info);
  std::vector<bool> searched;
  for (int i = 0; i < 8; ++i) {
    GstBuffer* buffer = make_frame(info, one);
    if (i == 0 || i == 4 || i == 5) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
    GstBuffer* out = harness.pass(buffer);
    EXPECT_EQ(GST_BUFFER_FLAG_IS_SET(out, GST_BUFFER_FLAG_GAP), i == 0 || i == 4 || i == 5);
    EXPECT_GE(face_count(out), 0) << "every frame has a result";
    searched.push_back(was_searched(out));
    gst_buffer_unref(out);
  }
  EXPECT_EQ(searched, flags("-x----x-"));
}

TEST_F(Detect, TheEventAsksForASearchAndDiscontDoesNot) {
  Harness harness(detect + "redetect-interval=100");
  harness.set_caps(info);
  std::vector<bool> searched;
  for (int i = 0; i < 8; ++i) {
    GstBuffer* buffer = make_frame(info, one);
    if (i == 3) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
    if (i == 6) {
      GstEvent* event = gst_event_new_custom(GST_EVENT_CUSTOM_UPSTREAM,
                                             gst_structure_new_empty("GstCuFaceRedetect"));
      EXPECT_TRUE(gst_harness_push_upstream_event(harness.get(), event));
    }
    GstBuffer* out = harness.pass(buffer);
    searched.push_back(was_searched(out));
    gst_buffer_unref(out);
  }
  EXPECT_EQ(searched, flags("x-----x-"));
}

TEST_F(Detect, CountsFromFlushAndCapsChange) {
  Harness harness(detect + "redetect-interval=100");
  harness.set_caps(info);
  std::vector<bool> searched;
  for (int i = 0; i < 9; ++i) {
    if (i == 3) {
      gst_harness_push_event(harness.get(), gst_event_new_flush_start());
      gst_harness_push_event(harness.get(), gst_event_new_flush_stop(TRUE));
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
    }
    if (i == 6) {
      info = video_info(GST_VIDEO_FORMAT_NV12, 200, 150);
      info.colorimetry.range = GST_VIDEO_COLOR_RANGE_0_255;
      harness.set_caps(info);
    }
    GstBuffer* out = harness.pass(make_frame(info, one));
    searched.push_back(was_searched(out));
    EXPECT_EQ(face_count(out), searched.back() ? 1 : 0);
    gst_buffer_unref(out);
  }
  EXPECT_EQ(searched, flags("x--x--x--"));
}

TEST_F(Detect, FramesSmallerThanTheWindowPassWithAnEmptyList) {
  for (const auto& [width, height] : {std::pair{1, 1}, {2, 100}, {23, 23}, {24, 23}, {16, 24}}) {
    info = video_info(GST_VIDEO_FORMAT_GRAY8, width, height);
    EXPECT_EQ(run_frames(detect, info, {dark_ground(width, height)})[0], "searched")
        << width << "x" << height;
  }
}

TEST_F(Detect, PropertiesReachTheSearch) {
  const cv::Mat picture =
      squares(320, 200, {{20, 20, 20, 20}, {120, 60, 60, 60}, {230, 20, 30, 30}});
  info = video_info(GST_VIDEO_FORMAT_GRAY8, 320, 200);
  const auto count = [&](const std::string& settings) {
    Harness harness(detect + settings);
    harness.set_caps(info);
    GstBuffer* out = harness.pass(make_frame(info, picture));
    const int faces = face_count(out);
    gst_buffer_unref(out);
    return faces;
  };
  const int all = count("");
  EXPECT_GE(all, 3);
  EXPECT_EQ(count("max-faces=1"), 1);
  EXPECT_LT(count("min-size=70"), all);
  EXPECT_LT(count("max-size=70"), all);
  EXPECT_GT(count("min-neighbors=0"), all);
  EXPECT_LT(count("min-neighbors=500"), all);
  EXPECT_LT(count("detect-scale=3"), all);
  EXPECT_GT(count("step=1 min-neighbors=0"), count("min-neighbors=0"));
  EXPECT_NE(count("scale-mode=window min-neighbors=0"), count("min-neighbors=0"));
  EXPECT_NE(run_frames(detect + "grouping=overlap", info, {picture}),
            run_frames(detect, info, {picture}));
  EXPECT_LT(count("scale-factor=2 min-neighbors=0"), count("min-neighbors=0"));
  for (const char* threads : {"threads=1", "threads=2", "threads=1000"}) {
    EXPECT_EQ(run_frames(detect + threads, info, {picture}), run_frames(detect, info, {picture}))
        << threads;
  }
}

TEST_F(Detect, RollFindsWhatIsTurned) {
  const cv::Mat upright = squares(320, 200, {{130, 70, 60, 60}});
  cv::Mat turned;
  cv::warpAffine(upright, turned, cv::getRotationMatrix2D({160, 100}, -25, 1), upright.size(),
                 cv::INTER_LINEAR, cv::BORDER_REPLICATE);
  Harness harness(detect + "redetect-interval=1 min-size=70");
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, 320, 200));
  const auto found = [&](guint roll) {
    g_object_set(harness.element("d"), "roll", roll, nullptr);
    GstBuffer* out = harness.pass(grey_frame(turned));
    FaceListRef faces = read_faces(out, 320, 200).faces;
    gst_buffer_unref(out);
    return faces;
  };
  EXPECT_TRUE(found(0)->faces.empty());
  const FaceListRef faces = found(25);
  ASSERT_EQ(faces->faces.size(), 1u);
  const Face& face = faces->faces[0];
  EXPECT_NEAR(face.box.x + face.box.w / 2, 160, 4);
  EXPECT_NEAR(face.box.y + face.box.h / 2, 100, 4);
  EXPECT_NEAR(face.roll.sin, std::sin(25 * CV_PI / 180), 1e-4) << "clockwise";
  EXPECT_TRUE(found(0)->faces.empty());
}

TEST_F(Detect, PropertiesChangeWhilePlaying) {
  Harness harness(detect + "redetect-interval=1");
  harness.set_caps(info);
  const auto faces = [&] {
    GstBuffer* out = harness.pass(make_frame(info, one));
    const int count = face_count(out);
    gst_buffer_unref(out);
    return count;
  };
  EXPECT_EQ(faces(), 1);
  g_object_set(harness.element("d"), "min-size", 140, nullptr);
  EXPECT_EQ(faces(), 0);
  g_object_set(harness.element("d"), "min-size", 0, "redetect-interval", 50, nullptr);
  EXPECT_EQ(faces(), 1);
}

TEST_F(Detect, ASecondDetectorAddsWhatItFinds) {
  // Both find the middle square, each finds one that the other's size limits leave out.
  const cv::Mat picture =
      squares(400, 200, {{20, 20, 20, 20}, {120, 60, 40, 40}, {260, 40, 80, 80}});
  info = video_info(GST_VIDEO_FORMAT_GRAY8, 400, 200);
  const auto boxes = [&](const std::string& pipeline) {
    Harness harness(pipeline);
    harness.set_caps(info);
    GstBuffer* out = harness.pass(make_frame(info, picture));
    auto faces = our_faces(out, 400, 200);
    gst_buffer_unref(out);
    return faces;
  };
  const auto small = boxes(detect + "max-size=100"), large = boxes(detect + "min-size=60");
  const auto both = boxes(detect + "max-size=100 ! cufacedetect min-size=60 cascade=" + cascade);
  ASSERT_EQ(small.size(), 2u);
  ASSERT_EQ(large.size(), 2u);
  EXPECT_EQ(both.size(), 3u);
}

TEST_F(Detect, PresetOfTheFaceDetectionExperiment) {
  GstElement* element = gst_element_factory_make("cufacedetect", nullptr);
  ASSERT_TRUE(gst_preset_load_preset(GST_PRESET(element), "rice-2015"));
  gchar* path = nullptr;
  gdouble factor = 0;
  gint neighbors = 0, size = 0;
  g_object_get(element, "cascade", &path, "scale-factor", &factor, "min-neighbors", &neighbors,
               "min-size", &size, nullptr);
  EXPECT_EQ(path, frontal_path());
  EXPECT_DOUBLE_EQ(factor, 1.1);
  EXPECT_EQ(neighbors, 5);
  EXPECT_EQ(size, 30);
  g_free(path);
  gst_object_unref(element);
}

TEST_F(Detect, SecondNameIsTheSameElement) {
  GstElement* element = gst_element_factory_make("facedetect", nullptr);
  GstElement* cu = gst_element_factory_make("cufacedetect", nullptr);
  // gst-opencv has a facedetect too; which one wins is not ours to say.
  if (g_str_has_prefix(G_OBJECT_TYPE_NAME(element), "GstCuface")) {
    EXPECT_EQ(G_OBJECT_TYPE(element), G_OBJECT_TYPE(cu));
  }
  EXPECT_STREQ(GST_OBJECT_NAME(gst_element_get_factory(cu)), "cufacedetect");
  gst_object_unref(element);
  gst_object_unref(cu);
}

}  // namespace
}  // namespace cuface::test
