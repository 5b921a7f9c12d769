// gst/base gives every element of a chain the flow pyramid of the frame: OpenCV's octaves, of which
// each part is made once, whoever reads it first.
#include <climits>  // which OpenCV 4.10 uses and does not include
#include <opencv2/imgproc.hpp>
#include <string>

#include "tests/gst/mean/elements.h"
#include "tests/gst/support.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 200, kFrames = 10;

/// A face that the square cascade finds, over something that the flow can follow.
cv::Mat picture(int number) { return squares(kWidth, kHeight, {{40 + number, 60, 48, 48}}); }

/// By OpenCV.
Octaves octaves_of(cv::Mat level) {
  Octaves octaves;
  for (; octaves.levels == 0 || std::min(level.cols, level.rows) > 5; ++octaves.levels) {
    for (int y = 0; y < level.rows; ++y)
      for (int x = 0; x < level.cols; ++x)
        octaves.sum[octaves.levels] += weigh(level.at<std::uint8_t>(y, x), x, y);
    cv::pyrDown(level, level);
  }
  return octaves;
}

/// The tiles of all levels above 0.
int tiles_of_all() {
  int tiles = 0;
  for (int w = (kWidth + 1) / 2, h = (kHeight + 1) / 2; std::min(w, h) > 5;
       w = (w + 1) / 2, h = (h + 1) / 2)
    tiles += ((w + PyramidLevel::kTileWidth - 1) / PyramidLevel::kTileWidth) *
             ((h + PyramidLevel::kTileHeight - 1) / PyramidLevel::kTileHeight);
  return tiles;
}

class OctaveElement : public testing::Test {
 protected:
  /// Sends frames through. Of the last one, how many tiles each element found made.
  std::vector<int> tiles_found(const std::string& pipeline, std::size_t elements) {
    Harness harness(pipeline);
    harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
    std::vector<int> found;
    for (int f = 0; f < kFrames; ++f) {
      GstBuffer* out = harness.pass(grey_frame(picture(f)));
      EXPECT_NE(out, nullptr) << pipeline;
      if (!out) break;
      auto results = results_of<Octaves>(out);
      EXPECT_EQ(results.size(), elements) << pipeline;
      found.clear();
      for (Octaves& octaves : results) {
        found.push_back(std::exchange(octaves.made, 0));
        EXPECT_EQ(octaves, octaves_of(picture(f))) << pipeline << ", frame " << f;
      }
      gst_buffer_unref(out);
    }
    return found;
  }

  const TempFolder folder_;
  const std::string faces_ = "cufacedetect redetect-interval=4 cascade=" +
                             folder_.write("squares.xml", square_cascade_xml()) + " ! culktrack";
};

TEST_F(OctaveElement, ReadsOpenCvsOctavesThatAreMadeOnce) {
  const int all = tiles_of_all();
  ASSERT_EQ(octaves_of(picture(0)).levels, 6);
  using Tiles = std::vector<int>;
  EXPECT_EQ(tiles_found("cuoctaves ! " + faces_ + " ! cuoctaves", 2), (Tiles{0, all}));
  // What the tracker has read, a part of all, is there for another tracker and for other elements.
  const Tiles tracked = tiles_found(faces_ + " ! cuoctaves", 1);
  ASSERT_EQ(tracked.size(), 1u);
  EXPECT_GT(tracked[0], 0);
  EXPECT_LT(tracked[0], all);
  EXPECT_EQ(tiles_found(faces_ + " ! culktrack ! cuoctaves ! cuoctaves", 2),
            (Tiles{tracked[0], all}));
  // As with luma, not where somebody may have changed pixels, nor in another thread.
  EXPECT_EQ(tiles_found("cuoctaves ! identity ! cuoctaves", 2), (Tiles{0, 0}));
  EXPECT_EQ(tiles_found("cuoctaves ! queue ! cuoctaves", 2), (Tiles{0, 0}));
}

TEST_F(OctaveElement, DoesNotChangeTheFaces) {
  std::vector<cv::Mat> frames;
  for (int f = 0; f < kFrames; ++f) frames.push_back(picture(f));
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  const auto faces = run_frames(faces_, info, frames);
  ASSERT_EQ(faces.size(), frames.size());
  EXPECT_NE(faces.back().find("origin 1"), std::string::npos) << faces.back();
  EXPECT_EQ(run_frames("cuoctaves ! " + faces_ + " ! cuoctaves", info, frames), faces);
}

}  // namespace
}  // namespace cuface::test
