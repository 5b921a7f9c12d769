// luma against the formulas of the contract written out per pixel, and against OpenCV for RGB.
#include <gtest/gtest.h>

#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "kernels/luma/luma.h"
#include "tests/kernels/luma_suite.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

std::vector<std::uint8_t> on_cpu(const FrameView& frame, std::vector<std::uint8_t>&, int stride) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(stride * frame.height), test::kGuard);
  luma(frame, {out.data(), frame.width, frame.height, stride});
  return out;
}

class LumaVersions : public test::EveryVersion {};
CUFACE_EVERY_VERSION(LumaVersions);

TEST_P(LumaVersions, EveryLayoutRangeSizeAndAlignmentFollowsTheFormula) {
  test::LumaCompared compared;
  ASSERT_NO_FATAL_FAILURE(test::every_frame_follows_the_formula(on_cpu, 1, compared));
  EXPECT_GT(compared.pixels, 5'000'000);
}

TEST_P(LumaVersions, EveryValueOfADepthFollowsTheFormula) {
  test::every_value_follows_the_formula(on_cpu);
}

TEST_P(LumaVersions, BottomUpFramesAreReadUpwards) {
  test::bottom_up_frames_are_read_upwards(on_cpu);
}

TEST(Luma, LimitedRangeEndsAtBlackAndWhite) {
  std::uint8_t y[] = {0, 15, 16, 17, 234, 235, 236, 255};
  FrameView frame{8, 1, false, false, {}};
  frame.component[0] = {y, 8, 1, 8, 0, 0, 0};
  Image<std::uint8_t> out(8, 1);
  luma(frame, out.view());
  const std::uint8_t expected[] = {0, 0, 0, 1, 254, 255, 255, 255};
  EXPECT_TRUE(std::equal(expected, expected + 8, out.view().row(0)));
}

TEST(Luma, RgbEqualsOpenCv) {
  // Every pair of (R,G) at 17 values of B, as one picture, in both orders and with alpha.
  cv::Mat rgb(17 * 256, 256, CV_8UC3);
  for (int y = 0; y < rgb.rows; ++y)
    for (int x = 0; x < 256; ++x)
      rgb.at<cv::Vec3b>(y, x) = {static_cast<uchar>(x), static_cast<uchar>(y % 256),
                                 static_cast<uchar>(std::min(255, y / 256 * 16))};
  cv::Mat bgr, rgba;
  cv::cvtColor(rgb, bgr, cv::COLOR_RGB2BGR);
  cv::cvtColor(rgb, rgba, cv::COLOR_RGB2RGBA);
  struct Case {
    const cv::Mat* picture;
    int code;
    int order[3];
  };
  for (const Case& c :
       {Case{&rgb, cv::COLOR_RGB2GRAY, {0, 1, 2}}, Case{&bgr, cv::COLOR_BGR2GRAY, {2, 1, 0}},
        Case{&rgba, cv::COLOR_RGBA2GRAY, {0, 1, 2}}}) {
    cv::Mat grey;
    cv::cvtColor(*c.picture, grey, c.code);
    FrameView frame{rgb.cols, rgb.rows, true, true, {}};
    for (int i = 0; i < 3; ++i)
      frame.component[i] = {c.picture->data + c.order[i],
                            static_cast<std::ptrdiff_t>(c.picture->step),
                            c.picture->channels(),
                            8,
                            0,
                            0,
                            0};
    cv::Mat ours(rgb.rows, rgb.cols, CV_8UC1);
    luma(frame, {ours.data, ours.cols, ours.rows, static_cast<std::ptrdiff_t>(ours.step)});
    EXPECT_EQ(cv::countNonZero(ours != grey), 0);
  }
}

TEST(Luma, RefusesWhatItCouldNotRead) {
  std::uint8_t data[64] = {};
  FrameView good{4, 4, true, true, {}};
  for (int c = 0; c < 3; ++c) good.component[c] = {data + c, 16, 4, 8, 0, 0, 0};
  ASSERT_TRUE(validate(good).ok());
  struct Case {
    const char* what;
    void (*spoil)(FrameView&);
  };
  const Case cases[] = {
      {"width 0", [](FrameView& f) { f.width = 0; }},
      {"height -1", [](FrameView& f) { f.height = -1; }},
      {"no data", [](FrameView& f) { f.component[0].data = nullptr; }},
      {"no blue", [](FrameView& f) { f.component[2].data = nullptr; }},
      {"depth 7", [](FrameView& f) { f.component[0].depth = 7; }},
      {"depth 17", [](FrameView& f) { f.component[0].depth = 17; }},
      {"short stride", [](FrameView& f) { f.component[1].stride = 12; }},
      {"pixel stride 0", [](FrameView& f) { f.component[0].pixel_stride = 0; }},
      {"word in a byte", [](FrameView& f) { f.component[0].shift = 1; }},
      {"shift -1", [](FrameView& f) { f.component[0].shift = -1; }},
      {"subsampled", [](FrameView& f) { f.component[0].sub_x = 1; }},
      {"mixed layouts", [](FrameView& f) { f.component[1].pixel_stride = 3; }},
  };
  for (const Case& c : cases) {
    FrameView bad = good;
    c.spoil(bad);
    EXPECT_EQ(validate(bad).code(), StatusCode::kInvalidArgument) << c.what;
  }
}

}  // namespace
}  // namespace cuface
