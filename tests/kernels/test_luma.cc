// luma against the formulas of the contract written out per pixel, and against OpenCV for RGB.
#include <gtest/gtest.h>

#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <random>
#include <string>
#include <vector>

#include "kernels/luma/luma.h"
#include "tests/kernels/luma_frames.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

using test::kGuard;
using test::kLumaLayouts;
using test::LumaLayout;
using test::make_frame;
using test::TestFrame;

long sample_at(const Component& c, int x, int y) {
  const std::uint8_t* p = c.data + y * c.stride + x * c.pixel_stride;
  if (c.depth == 8) return *p;
  return ((p[0] + 256L * p[1]) >> c.shift) % (1L << c.depth);
}

/// The contract, one pixel at a time, in wide signed integers.
int expected_grey(const FrameView& frame, int x, int y) {
  const int extra = frame.component[0].depth - 8;
  const long one = 1L << extra;
  if (frame.rgb) {
    const long r = sample_at(frame.component[0], x, y) / one;
    const long g = sample_at(frame.component[1], x, y) / one;
    const long b = sample_at(frame.component[2], x, y) / one;
    return static_cast<int>((9798 * r + 19235 * g + 3735 * b + 16384) / 32768);
  }
  const long v = sample_at(frame.component[0], x, y);
  if (frame.full_range) return static_cast<int>(v / one);
  const long scaled = ((v - 16 * one) * 255 + 219 * one / 2) / (219 * one);
  return static_cast<int>(std::clamp(scaled, 0L, 255L));
}

class LumaVersions : public test::EveryVersion {};
CUFACE_EVERY_VERSION(LumaVersions);

TEST_P(LumaVersions, EveryLayoutRangeAndSizeFollowsTheFormula) {
  std::mt19937 random(1);
  long compared = 0;
  for (const LumaLayout& layout : kLumaLayouts) {
    for (const auto& [width, height] : {std::pair{1, 1},
                                        {2, 3},
                                        {15, 4},
                                        {16, 2},
                                        {17, 5},
                                        {33, 7},
                                        {64, 2},
                                        {65, 3},
                                        {127, 2},
                                        {641, 23}}) {
      for (bool full : {false, true}) {
        TestFrame frame = make_frame(layout, width, height, random);
        frame.view.full_range = full;
        ASSERT_TRUE(validate(frame.view).ok()) << layout.name;
        const auto before = frame.bytes;

        const int out_stride = width + 9;
        std::vector<std::uint8_t> out(static_cast<std::size_t>(out_stride * height), kGuard);
        luma(frame.view, {out.data(), width, height, out_stride});

        EXPECT_EQ(frame.bytes, before) << layout.name << ": the frame was written to";
        for (int y = 0; y < height; ++y) {
          for (int x = 0; x < width; ++x, ++compared)
            ASSERT_EQ(out[static_cast<std::size_t>(y * out_stride + x)],
                      expected_grey(frame.view, x, y))
                << layout.name << " full=" << full << " at " << x << "," << y;
          for (int x = width; x < out_stride; ++x)
            ASSERT_EQ(out[static_cast<std::size_t>(y * out_stride + x)], kGuard)
                << layout.name << ": wrote past the row";
        }
      }
    }
  }
  EXPECT_GT(compared, 500'000);
}

TEST_P(LumaVersions, EveryValueOfADepthFollowsTheFormula) {
  for (int depth : {8, 10, 12, 16}) {
    const int values = 1 << depth;
    const int bytes = depth > 8 ? 2 : 1;
    std::vector<std::uint8_t> data(static_cast<std::size_t>(values * bytes));
    for (int v = 0; v < values; ++v) {
      data[static_cast<std::size_t>(v * bytes)] = static_cast<std::uint8_t>(v);
      if (bytes == 2) data[static_cast<std::size_t>(v * 2 + 1)] = static_cast<std::uint8_t>(v >> 8);
    }
    for (bool full : {false, true}) {
      FrameView frame{values, 1, false, full, {}};
      frame.component[0] = {data.data(), values * bytes, bytes, depth, 0, 0, 0};
      Image<std::uint8_t> out(values, 1);
      luma(frame, out.view());
      for (int v = 0; v < values; ++v)
        ASSERT_EQ(out.view().at(v, 0), expected_grey(frame, v, 0)) << depth << " bits, value " << v;
    }
  }
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

TEST(Luma, BottomUpFramesAreReadUpwards) {
  std::uint8_t y[] = {1, 2, 3, 4, 5, 6};
  FrameView frame{2, 3, false, true, {}};
  frame.component[0] = {y + 4, -2, 1, 8, 0, 0, 0};
  ASSERT_TRUE(validate(frame).ok());
  Image<std::uint8_t> out(2, 3);
  luma(frame, out.view());
  EXPECT_EQ(out.view().at(0, 0), 5);
  EXPECT_EQ(out.view().at(1, 2), 2);
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
