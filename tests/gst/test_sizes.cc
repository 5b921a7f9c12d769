// Frames of the smallest, oddest and largest sizes, crop rectangles of any kind, interlaced video.
#include <opencv2/objdetect.hpp>

#include "tests/gst/faces.h"
#include "tests/gst/parts.h"

namespace cuface::test {
namespace {

class Sizes : public testing::Test {
 protected:
  Parts parts;

  /// One frame with a region of interest as large as the frame through `pipeline`: the faces.
  static FaceListRef faces_of_region(const std::string& pipeline, const GstVideoInfo& info) {
    Harness harness(pipeline);
    harness.set_caps(info);
    FaceListRef faces;
    for (int i = 0; i < 3; ++i) {
      GstBuffer* buffer = make_frame(info, dark_ground(info.width, info.height));
      gst_buffer_add_video_region_of_interest_meta(
          buffer, "face", 0, 0, static_cast<guint>(info.width), static_cast<guint>(info.height));
      GstBuffer* out = harness.pass(buffer);
      EXPECT_NE(out, nullptr) << "frame " << i;
      if (!out) return nullptr;
      faces = read_faces(out, info.width, info.height).faces;
      gst_buffer_unref(out);
    }
    return faces;
  }
};

// Faces that fill the frame, from a detector of others: every element has something to do.
TEST_F(Sizes, SmallAndNarrowFrames) {
  int passed = 0;
  for (const auto& [width, height] :
       {std::pair{1, 1}, {1, 2}, {2, 1}, {3, 2}, {33, 17}, {17, 33}, {4095, 3}, {3, 4095}}) {
    for (const GstVideoFormat format :
         {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_NV12,
          GST_VIDEO_FORMAT_YUY2, GST_VIDEO_FORMAT_YUV9, GST_VIDEO_FORMAT_RGB,
          GST_VIDEO_FORMAT_P010_10LE}) {
      GstVideoInfo info = video_info(format, width, height);
      info.colorimetry.range = GST_VIDEO_COLOR_RANGE_0_255;
      const std::string what = std::string(gst_video_format_to_string(format)) + " " +
                               std::to_string(width) + "x" + std::to_string(height);
      SCOPED_TRACE(what);
      const FaceListRef without =
          faces_of_region(parts.landmark + " box-map=none ! " + parts.overlay, info);
      ASSERT_NE(without, nullptr);
      ASSERT_EQ(without->faces.size(), 1u);
      EXPECT_EQ(without->faces[0].box,
                (Box{0, 0, static_cast<float>(width), static_cast<float>(height)}));
      for (const Point& p : without->landmarks)
        EXPECT_TRUE(std::isfinite(p.x) && std::isfinite(p.y));
      EXPECT_NE(faces_of_region(parts.track + " min-width=1 ! " + parts.landmark + " ! " +
                                    parts.overlay + " ! " + parts.publish,
                                info),
                nullptr);
      EXPECT_EQ(parts.published().size(), 3u);
      const FaceListRef searched = faces_of_region(parts.all(), info);
      ASSERT_NE(searched, nullptr);
      EXPECT_TRUE(searched->faces.empty()) << "no face of 24x24 fits";
      ++passed;
    }
  }
  EXPECT_EQ(passed, 8 * 7);
}

TEST_F(Sizes, AnEightKFrame) {
  constexpr int kWidth = 7680, kHeight = 4320;
  const cv::Mat picture = squares(kWidth, kHeight, {{6700, 3300, 400, 400}, {500, 400, 500, 500}});
  std::vector<cv::Rect> expected;
  cv::CascadeClassifier classifier(parts.cascade);
  classifier.detectMultiScale(picture, expected, 1.1, 3, 0, cv::Size(600, 600));
  ASSERT_GE(expected.size(), 2u);

  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  Harness harness(parts.detect + " min-size=600 ! " + parts.track + " ! " + parts.landmark + " ! " +
                  parts.publish);
  harness.set_caps(info);
  for (int i = 0; i < 2; ++i) {
    GstBuffer* out = harness.pass(make_frame(info, picture));
    ASSERT_NE(out, nullptr);
    const FaceListRef faces = read_faces(out, kWidth, kHeight).faces;
    ASSERT_EQ(faces->faces.size(), expected.size()) << "frame " << i;
    for (const cv::Rect& r : expected)
      EXPECT_EQ(std::count_if(faces->faces.begin(), faces->faces.end(),
                              [&](const Face& f) {
                                return std::abs(f.box.x - static_cast<float>(r.x)) < 2 &&
                                       std::abs(f.box.y - static_cast<float>(r.y)) < 2 &&
                                       std::abs(f.box.w - static_cast<float>(r.width)) < 2;
                              }),
                1)
          << "frame " << i << " " << r;
    EXPECT_EQ(faces->landmarks.size(), kDrawnHeadPoints * expected.size());
    gst_buffer_unref(out);
  }
}

/// A picture whose crop rectangle is somewhere in it.
GstBuffer* cropped(const cv::Mat& picture, const cv::Rect& r) {
  GstBuffer* buffer = grey_frame(picture);
  GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, picture.cols, picture.rows);
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8,
                                 static_cast<guint>(picture.cols), static_cast<guint>(picture.rows),
                                 1, info.offset, info.stride);
  GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(buffer);
  crop->x = static_cast<guint>(r.x), crop->y = static_cast<guint>(r.y);
  crop->width = static_cast<guint>(r.width), crop->height = static_cast<guint>(r.height);
  return buffer;
}

// The rectangle says which part of the memory is the picture, whatever the caps say.
TEST_F(Sizes, CropRectanglesThatChangeFromFrameToFrame) {
  constexpr int kWidth = 320, kHeight = 240;
  const cv::Mat picture = squares(kWidth, kHeight, {{120, 100, 40, 40}});
  const cv::Rect rectangles[] = {{0, 0, kWidth, kHeight}, {40, 30, 200, 160}, {20, 60, 250, 130},
                                 {90, 70, 100, 120},      {0, 0, 30, 30},     {40, 30, 200, 160}};
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  Harness harness(parts.all());
  harness.set_caps(info);
  int compared = 0;
  for (const cv::Rect& r : rectangles) {
    const cv::Mat part = picture(r).clone();
    Harness alone(parts.detect + " ! " + parts.landmark);
    alone.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, r.width, r.height));
    GstBuffer* expected_out = alone.pass(grey_frame(part));
    const FaceListRef expected = read_faces(expected_out, r.width, r.height).faces;
    gst_buffer_unref(expected_out);

    GstBuffer* out = harness.pass(cropped(picture, r));
    ASSERT_NE(out, nullptr) << r;
    const FaceListRef faces = read_faces(out, r.width, r.height).faces;
    ASSERT_NE(faces, nullptr) << r;
    ASSERT_EQ(faces->faces.size(), expected->faces.size()) << r;
    for (std::size_t i = 0; i < faces->faces.size(); ++i, ++compared)
      EXPECT_EQ(faces->faces[i].box, expected->faces[i].box) << r;
    EXPECT_EQ(faces->landmarks, expected->landmarks) << r;
    gst_buffer_unref(out);
  }
  EXPECT_GE(compared, 5);
}

// Where downstream takes crop rectangles videocrop moves no pixel, it only says where the picture
// is.
TEST_F(Sizes, AVideocropThatOnlyTellsIsHeard) {
  constexpr int kWidth = 320, kHeight = 240;
  const cv::Mat picture = squares(kWidth, kHeight, {{120, 100, 40, 40}});
  const auto pass = [&](const std::string& pipeline, bool only_tells) {
    Harness harness(pipeline);
    if (only_tells) {
      gst_harness_add_propose_allocation_meta(harness.get(), GST_VIDEO_META_API_TYPE, nullptr);
      gst_harness_add_propose_allocation_meta(harness.get(), GST_VIDEO_CROP_META_API_TYPE, nullptr);
    }
    harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
    GstBuffer* buffer = grey_frame(picture);
    GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8,
                                   kWidth, kHeight, 1, info.offset, info.stride);
    GstBuffer* out = harness.pass(buffer);
    EXPECT_EQ(gst_buffer_get_video_crop_meta(out) != nullptr, only_tells) << pipeline;
    const std::string text = faces_text(out);
    gst_buffer_unref(out);
    return text;
  };
  const std::string before = "videocrop left=40 top=20 ! " + parts.faces();
  const std::string cropped_text = pass(before, false);
  EXPECT_NE(cropped_text.find("id 1 "), std::string::npos) << cropped_text;
  EXPECT_EQ(pass(before, true), cropped_text) << "elements behind it see the same picture";
  const std::string behind = parts.faces() + " ! videocrop left=40 top=20";
  const std::string told = pass(behind, true);
  EXPECT_NE(told.find("id 1 "), std::string::npos);
#if GST_CHECK_VERSION(1, 28, 0)
  EXPECT_EQ(pass(behind, false), told) << "the matrix says what was cropped";
#else
  EXPECT_EQ(pass(behind, false).find("id 1 "), std::string::npos) << "nobody says what was cropped";
#endif
}

TEST_F(Sizes, CropRectanglesOutsideThePictureAreRefused) {
  constexpr int kWidth = 64, kHeight = 48;
  const cv::Rect rectangles[] = {{0, 0, 65, 48},     {0, 0, 64, 49},  {1, 0, 64, 48},
                                 {0, 40, 64, 9},     {0, 0, 0, 48},   {0, 0, 64, 0},
                                 {-1, 0, 10, 10},    {0, -8, 10, 10}, {1 << 30, 1 << 30, 4, 4},
                                 {8, 8, 1 << 30, 4}, {8, 8, 4, -1}};
  int refused = 0;
  for (const std::string& element : parts.each()) {
    for (const cv::Rect& r : rectangles) {
      FrameHarness harness(element, "GRAY8", kWidth, kHeight);
      Bus bus(harness);
      GstBuffer* buffer = cropped(dark_ground(kWidth, kHeight), r);
      gst_buffer_add_video_region_of_interest_meta(buffer, "face", 4, 4, 30, 30);
      EXPECT_EQ(harness.push(buffer), GST_FLOW_ERROR) << element << r;
      GstMessage* message = bus.next(GST_MESSAGE_ERROR, 0);
      ASSERT_NE(message, nullptr) << element << r;
      GError* error = nullptr;
      gst_message_parse_error(message, &error, nullptr);
      EXPECT_NE(std::string(error->message).find("crop"), std::string::npos) << error->message;
      g_error_free(error);
      gst_message_unref(message);
      ++refused;
    }
  }
  EXPECT_EQ(refused, 6 * 11);
}

TEST_F(Sizes, BuffersThatHoldLessThanTheirCapsSayAreRefused) {
  constexpr int kWidth = 64, kHeight = 48;
  GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  int refused = 0;
  for (const std::string& element : parts.each()) {
    if (element == parts.publish) continue;  // does not look at pixels
    for (const int kind : {0, 1, 2}) {
      FrameHarness harness(element, "GRAY8", kWidth, kHeight);
      Bus bus(harness);
      GstBuffer* buffer = grey_frame(dark_ground(kWidth, kHeight));
      gst_buffer_add_video_region_of_interest_meta(buffer, "face", 4, 4, 30, 30);
      if (kind == 0) gst_buffer_set_size(buffer, kWidth * kHeight / 2);
      if (kind == 1)
        gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8,
                                       kWidth, kHeight - 1, 1, info.offset, info.stride);
      if (kind == 2)
        gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8,
                                       kWidth / 2, kHeight, 1, info.offset, info.stride);
      EXPECT_EQ(harness.push(buffer), GST_FLOW_ERROR) << element << " " << kind;
      EXPECT_EQ(bus.count(GST_MESSAGE_ERROR), 1) << element << " " << kind;
      ++refused;
    }
  }
  EXPECT_EQ(refused, 5 * 3);
}

// Whatever stands in the regions of others: what cannot be a face of this picture is none.
TEST_F(Sizes, RegionsThatAreNoFaceAreIgnored) {
  constexpr int kWidth = 64, kHeight = 48;
  constexpr guint kMost = G_MAXUINT, kHalf = G_MAXINT;
  const guint regions[][4] = {{kMost, kMost, kMost, kMost},
                              {0, 0, kMost, kMost},
                              {0, 0, kMost, 10},
                              {kHalf, kHalf, 10, 10},
                              {64, 0, 10, 10},
                              {0, 48, 10, 10},
                              {0, 0, 0, 10},
                              {0, 0, 10, 0},
                              {0, 0, 129, 10},
                              {kMost, 0, 2, 10},
                              {10, 0, 10, 97}};
  for (const std::string& element : {parts.track, parts.landmark, parts.overlay}) {
    FrameHarness harness(element + " ! " + parts.overlay.substr(0, 13) + " draw=none ! culktrack",
                         "GRAY8", kWidth, kHeight);
    for (const auto& [x, y, w, h] : regions) {
      GstBuffer* buffer = grey_frame(dark_ground(kWidth, kHeight));
      gst_buffer_add_video_region_of_interest_meta(buffer, "face", x, y, w, h);
      GstBuffer* out = harness.pass(buffer);
      ASSERT_NE(out, nullptr) << element;
      EXPECT_EQ(face_count(out), 0) << element << " " << x << " " << y << " " << w << " " << h;
      gst_buffer_unref(out);
    }
    GstBuffer* buffer = grey_frame(dark_ground(kWidth, kHeight));
    gst_buffer_add_video_region_of_interest_meta(buffer, "face", 30, 20, 40, 40);
    GstBuffer* out = harness.pass(buffer);
    EXPECT_EQ(face_count(out), 1) << element << " half outside";
    gst_buffer_unref(out);
  }
}

TEST_F(Sizes, InterlacedVideoPassesAndTheFirstElementWarns) {
  for (const char* mode : {"interleaved", "mixed", "fields"}) {
    const BusReport report = run_pipeline(
        "videotestsrc num-buffers=4 ! video/x-raw,width=160,height=120 ! capssetter "
        "caps=video/x-raw,interlace-mode=" +
        std::string(mode) + " ! " + parts.all() + " ! fakesink");
    EXPECT_EQ(report.error, "") << mode;
    ASSERT_EQ(report.warnings.size(), 1u) << mode;
    EXPECT_NE(report.warnings[0].find("deinterlace"), std::string::npos) << report.warnings[0];
    EXPECT_EQ(parts.published().size(), 4u) << mode;
  }
}

}  // namespace
}  // namespace cuface::test
