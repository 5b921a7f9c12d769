// gst/base serves elements that know nothing of faces: one that publishes the mean of each frame's
// luma, alone and among face elements, whose luma it shares.
#include <fstream>
#include <string>

#include "tests/gst/mean/elements.h"
#include "tests/gst/mean/frame_maps.h"
#include "tests/gst/support.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 200, kFrames = 10;

cv::Mat picture(int number) { return squares(kWidth, kHeight, {{40 + 3 * number, 60, 48, 48}}); }

Mean mean_of(const cv::Mat& grey) {
  return {static_cast<std::int64_t>(cv::sum(grey)[0]), std::int64_t{grey.cols} * grey.rows};
}

class MeanElement : public testing::Test {
 protected:
  /// Sends frames through; of each, what elements published, and in all how often luma was made.
  int luma_made(const std::string& pipeline, std::size_t elements) {
    Harness harness(pipeline);
    harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
    frame_maps = 0;
    for (int f = 0; f < kFrames; ++f) {
      GstBuffer* out = harness.pass(grey_frame(picture(f)));
      EXPECT_NE(out, nullptr) << pipeline;
      if (!out) break;
      EXPECT_EQ(means_of(out), std::vector<Mean>(elements, mean_of(picture(f)))) << pipeline;
      gst_buffer_unref(out);
    }
    return frame_maps;
  }

  const TempFolder folder_;
  const std::string detect_ = "cufacedetect redetect-interval=1 cascade=" +
                              folder_.write("squares.xml", square_cascade_xml());
};

TEST_F(MeanElement, SharesTheLumaOfFaceElementsBeforeAndBehind) {
  EXPECT_EQ(luma_made("cumean", 1), kFrames);
  EXPECT_EQ(luma_made("cumean ! " + detect_ + " ! culktrack ! cumean", 2), kFrames);
  EXPECT_EQ(luma_made(detect_ + " ! cumean ! culktrack", 1), kFrames);
  for (const std::string method : {"edges", "difference", "background"}) {
    const std::string motion = "cumotiondetect method=" + method;
    EXPECT_EQ(luma_made(motion + " ! " + detect_ + " ! culktrack ! cumean", 1), kFrames) << method;
    EXPECT_EQ(luma_made("cumean ! " + motion + " ! " + motion + " ! cumean", 2), kFrames) << method;
  }
  // Where somebody may have changed pixels, or works in another thread, luma is made again.
  EXPECT_EQ(luma_made("cumean ! identity ! cumean", 2), 2 * kFrames);
  EXPECT_EQ(luma_made(detect_ + " ! queue ! cumean", 1), 2 * kFrames);
}

TEST_F(MeanElement, DoesNotChangeTheFaces) {
  std::vector<cv::Mat> frames;
  for (int f = 0; f < kFrames; ++f) frames.push_back(picture(f));
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  const auto faces = run_frames(detect_ + " ! culktrack", info, frames);
  ASSERT_EQ(faces.size(), frames.size());
  EXPECT_NE(faces.back().find("id"), std::string::npos) << faces.back();
  EXPECT_EQ(run_frames("cumean ! " + detect_ + " ! cumean ! culktrack ! cumean", info, frames),
            faces);
}

TEST_F(MeanElement, PublishesAMetaThatPassesWhatMovesPixels) {
  for (const std::string behind : {"identity", "videocrop left=40",
                                   "videoscale ! capsfilter caps=video/x-raw,width=640,height=400",
                                   "videoconvert ! capsfilter caps=video/x-raw,format=RGB"}) {
    Harness harness("cumean ! " + behind);
    harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
    GstBuffer* out = harness.pass(grey_frame(picture(0)));
    ASSERT_NE(out, nullptr) << behind;
    EXPECT_NE(gst_buffer_get_meta(out, gst::ResultKind<Mean>::type()), nullptr) << behind;
    const auto found = gst::find_result<Mean>(out, 0, 0);
    EXPECT_EQ(found.positions, gst::Positions::kKnown) << behind;
    ASSERT_TRUE(found.result) << behind;
    EXPECT_EQ(*found.result.host(), mean_of(picture(0))) << behind;
    EXPECT_EQ(gst_cuface_buffer_get_face_meta(out), nullptr) << "nobody has found faces";
    gst_buffer_unref(out);
  }
}

// Behind an element that changes pixels the luma is that of the picture as it is now.
TEST_F(MeanElement, SeesWhatMotionHasDrawn) {
  Harness harness("cumean ! cumotiondetect output=mask ! cumean");
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
  GstBuffer* out = harness.pass(grey_frame(picture(0)));
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(means_of(out),
            (std::vector{mean_of(picture(0)), Mean{0, std::int64_t{kWidth} * kHeight}}));
  gst_buffer_unref(out);
}

// A result without places says nothing of those that others have.
TEST_F(MeanElement, DoesNotMakeLostPositionsFitAgain) {
  Harness harness(detect_ + " ! videoflip video-direction=horiz ! cumean");
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
  GstBuffer* out = harness.pass(grey_frame(picture(0)));
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(read_faces(out, kWidth, kHeight).positions, gst::Positions::kUnknown);
  EXPECT_EQ(face_count(out), 0);
  EXPECT_EQ(means_of(out), std::vector{mean_of(picture(0))});
  gst_buffer_unref(out);
}

TEST_F(MeanElement, TakesEightyLines) {
  int lines = 0;
  for (const std::string name : {"mean.h", "mean.cu", "meanelement.h", "meanelement.cc"}) {
    std::ifstream file(std::string(g_getenv("CUFACE_SOURCE_ROOT")) + "/tests/gst/mean/" + name);
    for (std::string line; std::getline(file, line);) {
      const auto first = line.find_first_not_of(' ');
      lines += first != line.npos && line.compare(first, 2, "//") != 0;
    }
  }
  EXPECT_GE(lines, 40) << "not all of it";
  EXPECT_LE(lines, 80);
}

}  // namespace
}  // namespace cuface::test

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  cuface::test::register_elements();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
