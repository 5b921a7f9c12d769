// What else cumotiondetect gives: the picture, standard metas, the public functions of its meta;
// where it is told to see nothing; and what it says of settings that cannot be.
#include <opencv2/imgcodecs.hpp>

#include "kernels/motion/motion.h"
#include "tests/gst/motion.h"
#include "tests/gst/parts.h"

namespace cuface::test {
namespace {

/// The luma of a frame in any format.
cv::Mat luma_of(GstBuffer* buffer, const GstVideoInfo& info) {
  cv::Mat out(info.height, info.width, CV_8U);
  Harness harness("videoconvert ! capsfilter caps=video/x-raw,format=GRAY8");
  harness.set_caps(info);
  GstBuffer* grey = harness.pass(gst_buffer_copy_deep(buffer));
  const auto bytes = bytes_of(grey);
  for (int y = 0; y < info.height; ++y)
    for (int x = 0; x < info.width; ++x)
      out.at<uchar>(y, x) =
          bytes[static_cast<std::size_t>(y * GST_ROUND_UP_4(info.width) + x)] > 128 ? 255 : 0;
  gst_buffer_unref(grey);
  return out;
}

TEST(MotionOutput, IsTheMaskOrTheCellsInEveryFormat) {
  // Black and white are in every range.
  const cv::Mat pictures[] = {moving_square(-100, 0) > 150, moving_square(100, 60) > 150};
  const auto formats = offered_formats("cumotiondetect");
  EXPECT_GT(formats.size(), 40u);
  for (const std::string output : {"mask", "cells"}) {
    cv::Mat expected;
    for (const std::string& format : formats) {
      GstVideoInfo info =
          video_info(gst_video_format_from_string(format.c_str()), kMotionWidth, kMotionHeight);
      Harness harness("cumotiondetect method=difference interval=0 min-frames=1 output=" + output);
      harness.set_caps(info);
      gst_buffer_unref(harness.pass(make_frame(info, pictures[0])));
      GstBuffer* out = harness.pass(make_frame(info, pictures[1]));
      const cv::Mat seen = luma_of(out, info);
      if (expected.empty()) expected = seen;
      EXPECT_GT(cv::countNonZero(seen), 1000) << format << output;
      EXPECT_LT(cv::countNonZero(seen), 20000) << format << output;
      EXPECT_EQ(cv::countNonZero(seen != expected), 0) << format << output;
      gst_buffer_unref(out);
    }
    const cv::Mat square = expected(cv::Rect(100, 60, 48, 48));
    EXPECT_GT(cv::countNonZero(square), 48 * 48 * 9 / 10) << output;
  }
}

TEST(MotionOutput, KeepsAlphaAndMakesChromaNeutral) {
  FrameHarness harness("cumotiondetect output=mask", "RGBA", 64, 48);
  GstBuffer* out = harness.pass(plain_frame("RGBA", 64, 48, 0, 77));
  const auto rgba = bytes_of(out);
  gst_buffer_unref(out);
  for (std::size_t i = 0; i < rgba.size(); ++i) ASSERT_EQ(rgba[i], i % 4 == 3 ? 77 : 0) << i;
  FrameHarness yuv("cumotiondetect output=mask", "I420", 64, 48);
  out = yuv.pass(plain_frame("I420", 64, 48, 0, 77));
  const auto i420 = bytes_of(out);
  gst_buffer_unref(out);
  for (std::size_t i = 0; i < i420.size(); ++i) ASSERT_EQ(i420[i], i < 64 * 48 ? 16 : 128) << i;
}

TEST(MotionOutput, MetaLeavesThePictureAlone) {
  FrameHarness harness("cumotiondetect", "I420", 64, 48);
  GstBuffer* in = plain_frame("I420", 64, 48, 0, 77);
  GstMemory* memory = gst_buffer_peek_memory(in, 0);
  GstBuffer* out = harness.pass(in);
  EXPECT_EQ(gst_buffer_peek_memory(out, 0), memory);
  for (const std::uint8_t byte : bytes_of(out)) ASSERT_EQ(byte, 77);
  gst_buffer_unref(out);
}

/// The regions of interest with a label, as text.
std::vector<std::string> regions(GstBuffer* buffer, const char* label) {
  std::vector<std::string> all;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    if (g_strcmp0(g_quark_to_string(roi->roi_type), label) != 0) continue;
    EXPECT_NE(gst_video_region_of_interest_meta_get_param(roi, "cuface"), nullptr);
    all.push_back(std::to_string(roi->id) + ":" + std::to_string(roi->x) + "," +
                  std::to_string(roi->y) + "," + std::to_string(roi->w) + "," +
                  std::to_string(roi->h));
  }
  return all;
}

std::vector<std::string> expected_regions(const MotionMapRef& motion) {
  std::vector<std::string> all;
  for (const MotionRegion& region : motion->regions)
    all.push_back(std::to_string(region.id) + ":" + std::to_string(std::lrint(region.box.x)) + "," +
                  std::to_string(std::lrint(region.box.y)) + "," +
                  std::to_string(std::lrint(region.box.w)) + "," +
                  std::to_string(std::lrint(region.box.h)));
  return all;
}

// Faces and motion stand beside each other, whoever comes first; each replaces its own alone.
TEST(MotionOutput, StandardMetasBesideThoseOfFaces) {
  const Parts parts;
  const std::string motion = "cumotiondetect method=difference min-frames=1 interval=0";
  const std::string detect = parts.detect + " redetect-interval=1";
  for (const std::string& chain :
       {motion + " ! " + detect + " ! " + motion, detect + " ! " + motion + " ! culktrack"}) {
    FrameHarness harness(chain, "GRAY8", kMotionWidth, kMotionHeight);
    int compared = 0;
    for (int f = 0; f < 12; ++f) {
      GstBuffer* out = harness.pass(grey_frame(moving_square(40 + 8 * f, 60)));
      const MotionMapRef found = motion_of(out);
      ASSERT_TRUE(found) << chain;
      EXPECT_EQ(regions(out, "motion"), expected_regions(found)) << chain << f;
      EXPECT_EQ(regions(out, "face").size(), static_cast<std::size_t>(face_count(out))) << chain;
      EXPECT_EQ(face_count(out), 1) << chain << f;
      compared += static_cast<int>(found->regions.size());
      gst_buffer_unref(out);
    }
    EXPECT_GE(compared, 8) << chain;
  }
  FrameHarness never(motion + " standard-metas=never", "GRAY8", kMotionWidth, kMotionHeight);
  gst_buffer_unref(never.pass(grey_frame(moving_square(40, 60))));
  GstBuffer* out = never.pass(grey_frame(moving_square(80, 60)));
  EXPECT_GT(motion_of(out)->regions.size(), 0u);
  EXPECT_TRUE(regions(out, "motion").empty());
  gst_buffer_unref(out);
}

/// A buffer with motion that a test can look at.
GstBuffer* moved(const std::string& behind = "identity") {
  FrameHarness harness("cumotiondetect method=difference interval=0 min-frames=1 ! " + behind,
                       "GRAY8", kMotionWidth, kMotionHeight);
  gst_buffer_unref(harness.pass(grey_frame(moving_square(-100, 0))));
  return harness.pass(grey_frame(moving_square(100, 60)));
}

TEST(MotionMeta, PublicFunctionsSayWhatIsThere) {
  GstBuffer* buffer = moved();
  const MotionMapRef known = motion_of(buffer);
  GstCufaceMotionMeta* meta = gst_cuface_buffer_get_motion_meta(buffer);
  ASSERT_NE(meta, nullptr);
  GstCufaceMotion* motion = gst_cuface_motion_meta_get_motion(meta);
  gst_buffer_unref(buffer);
  ASSERT_NE(motion, nullptr);
  void* boxed = g_boxed_copy(GST_TYPE_CUFACE_MOTION, motion);
  gst_cuface_motion_unref(motion);
  motion = static_cast<GstCufaceMotion*>(boxed);
  EXPECT_TRUE(gst_cuface_motion_get_compared(motion));
  EXPECT_FALSE(gst_cuface_motion_get_global_change(motion));
  EXPECT_TRUE(gst_cuface_motion_get_in_event(motion));
  EXPECT_EQ(gst_cuface_motion_get_share(motion), known->share);
  EXPECT_NEAR(gst_cuface_motion_get_share(motion), 48.0 * 48 / (320 * 240), 0.01);
  ASSERT_EQ(gst_cuface_motion_get_columns(motion), 10u);
  ASSERT_EQ(gst_cuface_motion_get_rows(motion), 6u);
  guint moving = 0;
  for (guint r = 0; r < 6; ++r)
    for (guint c = 0; c < 10; ++c) {
      gfloat share = -1;
      const gboolean moves = gst_cuface_motion_get_cell(motion, c, r, &share);
      EXPECT_EQ(share, known->cells[r * 10 + c].share);
      EXPECT_EQ(moves, share > 0.01f);
      moving += moves ? 1 : 0;
    }
  EXPECT_EQ(gst_cuface_motion_get_n_moving(motion), moving);
  EXPECT_GE(moving, 4u);
  ASSERT_EQ(gst_cuface_motion_get_n_boxes(motion), 1u);
  gfloat x, y, w, h;
  EXPECT_EQ(gst_cuface_motion_get_box(motion, 0, &x, &y, &w, &h), 1u);
  EXPECT_FLOAT_EQ(x, 0.3f);  // columns of 32 pixels, rows of 40
  EXPECT_FLOAT_EQ(y, 40.0f / 240);
  EXPECT_FLOAT_EQ(w, 0.2f);
  EXPECT_FLOAT_EQ(h, 80.0f / 240);
  gst_cuface_motion_unref(motion);
  GstBuffer* other = gst_buffer_new();
  EXPECT_EQ(gst_cuface_buffer_get_motion_meta(other), nullptr);
  gst_buffer_unref(other);
}

TEST(MotionMeta, FollowsAScaledPictureAndIsLostInAFlippedOne) {
  GstBuffer* buffer = moved("videoscale ! capsfilter caps=video/x-raw,width=640,height=480");
  MotionMapRef motion = motion_of(buffer, 640, 480);
  ASSERT_TRUE(motion);
  ASSERT_EQ(motion->regions.size(), 1u);
  EXPECT_EQ(motion->regions[0].box.x, 192);
  EXPECT_EQ(motion->regions[0].box.h, 160);
  EXPECT_EQ(motion->columns, 10);
  gst_buffer_unref(buffer);
  buffer = moved("videoflip video-direction=horiz");
  EXPECT_EQ(motion_of(buffer, 320, 240), nullptr);
  EXPECT_EQ(gst_cuface_motion_meta_get_motion(gst_cuface_buffer_get_motion_meta(buffer)), nullptr);
  gst_buffer_unref(buffer);
  buffer = moved();
  gst_buffer_add_video_crop_meta(buffer)->x = 60;
  GstVideoCropMeta* crop = gst_buffer_get_video_crop_meta(buffer);
  crop->width = 200;
  crop->height = 200;
  motion = motion_of(buffer, 200, 200);
  ASSERT_TRUE(motion);
  ASSERT_EQ(motion->regions.size(), 1u);
  EXPECT_EQ(motion->regions[0].box.x, 36);
  EXPECT_EQ(motion->columns, 0) << "cells are of the whole picture";
  crop->x = 160;
  crop->width = 160;
  EXPECT_EQ(motion_of(buffer, 160, 200)->regions.size(), 0u);
  gst_buffer_unref(buffer);
}

TEST(MotionMeta, IsInTheMessagesOfThePublisher) {
  FrameHarness harness(
      "cumotiondetect method=difference interval=0 min-frames=1 ! cufacepublish post-messages=true",
      "GRAY8", kMotionWidth, kMotionHeight);
  Bus bus(harness);
  gst_buffer_unref(harness.pass(grey_frame(moving_square(-100, 0))));
  gst_buffer_unref(harness.pass(grey_frame(moving_square(100, 60))));
  int found = 0;
  constexpr auto kTypes =
      static_cast<GstMessageType>(static_cast<int>(GST_MESSAGE_ELEMENT) | GST_MESSAGE_WARNING);
  while (GstMessage* message = bus.next(kTypes, 0)) {
    EXPECT_EQ(GST_MESSAGE_TYPE(message), GST_MESSAGE_ELEMENT) << "motion is what it writes";
    const GstStructure* s = gst_message_get_structure(message);
    if (const GValue* value = gst_structure_get_value(s, "motion")) {
      const GValue* boxes = gst_structure_get_value(gst_value_get_structure(value), "boxes");
      found += static_cast<int>(gst_value_list_get_size(boxes));
    }
    gst_message_unref(message);
  }
  EXPECT_EQ(found, 1);
}

// ---- ignore -------------------------------------------------------------------------------------

/// Where something moved, in the first frame on which something did, with the left half ignored.
int left_and_right(const std::string& ignore, int x) {
  MotionHarness harness("method=difference min-frames=1 interval=0 ignore=\"" + ignore + "\"");
  harness.rest(2);
  return harness.see(moving_square(x, 100))->moving_cells;
}

TEST(MotionIgnore, APngOrPolygons) {
  const TempFolder folder;
  cv::Mat mask(60, 80, CV_8U, cv::Scalar(0));  // of another size than the video
  mask.colRange(0, 40) = 255;
  const std::string grey = folder.path() + "/grey.png", layer = folder.path() + "/layer.png";
  cv::imwrite(grey, mask);
  cv::Mat rgba(60, 80, CV_8UC4, cv::Scalar(255, 255, 255, 0));  // white, but to be seen through
  rgba.colRange(0, 40) = cv::Scalar(255, 255, 255, 255);
  cv::imwrite(layer, rgba);
  for (const std::string& ignore : {grey, layer, std::string("0,0 0.5,0 0.5,1 0,1"),
                                    std::string("0,0 0,1 0.25,1 0.25,0;"
                                                " 0.25,0 .5,0 .5,1 0.25,1")}) {
    EXPECT_EQ(left_and_right(ignore, 40), 0) << ignore;
    EXPECT_GT(left_and_right(ignore, 220), 0) << ignore;
  }
  EXPECT_GT(left_and_right("0,0.9 1,0.9 1,1", 40), 0);
}

TEST(MotionIgnore, APolygonIsThatOfOpenCv) {
  const std::vector<cv::Point> corners = {{40, 30}, {280, 60}, {200, 220}, {160, 90}, {60, 200}};
  std::string text;
  for (const cv::Point& p : corners)
    text += std::to_string(p.x / 320.0) + "," + std::to_string(p.y / 240.0) + " ";
  cv::Mat filled(kMotionHeight, kMotionWidth, CV_8U, cv::Scalar(0));
  cv::fillPoly(filled, std::vector{corners}, cv::Scalar(255));
  // All changes but where it is ignored.
  FrameHarness harness(
      "cumotiondetect method=difference interval=0 global-changes=false "
      "output=mask ignore=\"" +
          text + "\"",
      "GRAY8", kMotionWidth, kMotionHeight);
  gst_buffer_unref(harness.pass(plain_frame("GRAY8", kMotionWidth, kMotionHeight, 0, 50)));
  GstBuffer* out = harness.pass(plain_frame("GRAY8", kMotionWidth, kMotionHeight, 1, 150));
  const auto bytes = bytes_of(out);
  gst_buffer_unref(out);
  int ignored = 0, unlike = 0;
  for (int y = 2; y < kMotionHeight - 2; ++y)
    for (int x = 2; x < kMotionWidth - 2; ++x) {
      const bool is = bytes[static_cast<std::size_t>(y * kMotionWidth + x)] == 0;
      ignored += is;
      unlike += is != (filled.at<uchar>(y, x) != 0);
    }
  EXPECT_GT(ignored, 15000);
  EXPECT_LT(unlike, 900) << "fillPoly draws the outline too";
}

// ---- errors -------------------------------------------------------------------------------------

BusReport refused(const std::string& properties, const std::string& size = "width=64,height=48") {
  return run_pipeline("videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8," + size +
                      " ! cumotiondetect " + properties + " ! fakesink");
}

TEST(MotionErrors, MoreCellsThanPixels) {
  expect_error(refused("columns=20", "width=16,height=48"), GST_LIBRARY_ERROR,
               GST_LIBRARY_ERROR_SETTINGS, {"columns=20", "16", "at most 16"});
  expect_error(refused("rows=20", "width=64,height=16"), GST_LIBRARY_ERROR,
               GST_LIBRARY_ERROR_SETTINGS, {"rows=20", "at most 16"});
  EXPECT_EQ(refused("columns=1 rows=1", "width=1,height=1").error, "");
}

TEST(MotionErrors, MasksThatCannotBeRead) {
  const TempFolder folder;
  expect_error(refused("ignore=" + folder.path() + "/none.png"), GST_RESOURCE_ERROR,
               GST_RESOURCE_ERROR_NOT_FOUND, {"ignore", "none.png", "polygons"});
  cv::imwrite(folder.path() + "/whole.png", cv::Mat(48, 64, CV_8U, cv::Scalar(9)));
  EXPECT_EQ(refused("ignore=" + folder.path() + "/whole.png").error, "");
  const auto damaged = damaged_copies(folder.path() + "/whole.png");
  EXPECT_EQ(damaged.size(), 4u);
  for (const std::string& bytes : damaged) {
    const std::string path = folder.write("damaged.png", bytes);
    expect_error(refused("ignore=" + path), GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
                 {"ignore", "damaged.png", "libpng"});
  }
}

TEST(MotionErrors, PolygonsThatAreNone) {
  for (const char* text : {"0,0 1,1", "0,0 1,0 1", "0,0 1,0 320,200", "0,0 1,0 1,1;", "1", ";",
                           "0,0 1,0 1,1 0,", "0,0,1,0 1,1"})
    expect_error(refused(std::string("ignore=\"") + text + "\""), GST_LIBRARY_ERROR,
                 GST_LIBRARY_ERROR_SETTINGS, {"ignore=", "wrong at", "fractions"});
}

}  // namespace
}  // namespace cuface::test
