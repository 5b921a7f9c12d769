// colour against its formulas written out per pixel, and against OpenCV where it has the like.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <random>
#include <string>
#include <vector>

#include "kernels/colour/colour.h"
#include "tests/kernels/colour_frames.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

using test::colour_layouts;
using test::ColourLayout;
using test::kGuard;
using test::make_frame;
using test::TestFrame;

constexpr ColorMatrix kMatrices[] = {ColorMatrix::kBt601, ColorMatrix::kBt709, ColorMatrix::kBt2020,
                                     ColorMatrix::kFcc, ColorMatrix::kSmpte240m};

/// The sample of a pixel, cut to 8 bits.
long sample_at(const Component& c, int x, int y) {
  x /= 1 << c.sub_x;
  y /= 1 << c.sub_y;
  const std::uint8_t* p = c.data + y * c.stride + x * c.pixel_stride;
  if (c.depth == 8) return *p;
  return ((p[0] + 256L * p[1]) >> c.shift) % (1L << c.depth) / (1L << (c.depth - 8));
}

/// The contract's formulas, with coefficients from the standards' decimals.
cv::Vec3b expected_pixel(const FrameView& frame, ColorMatrix matrix, int x, int y) {
  const long first = sample_at(frame.component[0], x, y);
  const bool grey = !frame.component[1].data;
  const long second = grey ? 128 : sample_at(frame.component[1], x, y);
  const long third = grey ? 128 : sample_at(frame.component[2], x, y);
  if (frame.rgb)
    return {static_cast<uchar>(third), static_cast<uchar>(second), static_cast<uchar>(first)};
  const double red[] = {0.299, 0.2126, 0.2627, 0.30, 0.212};
  const double blue[] = {0.114, 0.0722, 0.0593, 0.11, 0.087};
  const double kr = red[static_cast<int>(matrix)], kb = blue[static_cast<int>(matrix)];
  const double kg = 1 - kr - kb;
  const auto fixed = [](double v) { return std::lround(32768 * v); };
  const double luma = frame.full_range ? 1 : 255.0 / 219,
               chroma = frame.full_range ? 1 : 255.0 / 224;
  const long base = fixed(luma) * (first - (frame.full_range ? 0 : 16));
  const long u = second - 128, v = third - 128;
  const auto byte = [](long sum) {
    return static_cast<uchar>(std::clamp(std::floor((sum + 16384) / 32768.0), 0.0, 255.0));
  };
  return {byte(base + fixed(2 * (1 - kb) * chroma) * u),
          byte(base - fixed(2 * kb * (1 - kb) / kg * chroma) * u -
               fixed(2 * kr * (1 - kr) / kg * chroma) * v),
          byte(base + fixed(2 * (1 - kr) * chroma) * v)};
}

cv::Mat expected_picture(const FrameView& frame, ColorMatrix matrix) {
  cv::Mat out(frame.height, frame.width, CV_8UC3);
  for (int y = 0; y < out.rows; ++y)
    for (int x = 0; x < out.cols; ++x)
      out.at<cv::Vec3b>(y, x) = expected_pixel(frame, matrix, x, y);
  return out;
}

/// The picture that a BgrScaler makes. Its rows lie apart, and what is between them must stay.
cv::Mat made(const FrameView& frame, ColorMatrix matrix, int input_size, int threads = 1) {
  auto scaler = BgrScaler::create(frame.width, frame.height, input_size, threads);
  EXPECT_TRUE(scaler.ok());
  const BgrSize size = scaler.value().size();
  constexpr int kBeside = 3;
  cv::Mat buffer(size.height, size.width + kBeside, CV_8UC3, cv::Scalar::all(kGuard));
  const Status status = scaler.value().run(frame, matrix,
                                           {reinterpret_cast<Bgr*>(buffer.data), size.width,
                                            size.height, static_cast<std::ptrdiff_t>(buffer.step)});
  EXPECT_TRUE(status.ok()) << status.message();
  const cv::Mat beside = buffer.colRange(size.width, size.width + kBeside);
  EXPECT_EQ(
      cv::norm(beside, cv::Mat(beside.size(), CV_8UC3, cv::Scalar::all(kGuard)), cv::NORM_INF), 0)
      << "wrote past a row";
  return buffer.colRange(0, size.width).clone();
}

/// Bytes that differ; -1 where the sizes do.
int differences(const cv::Mat& a, const cv::Mat& b) {
  if (a.size() != b.size()) return -1;
  return cv::countNonZero(a.reshape(1) != b.reshape(1));
}

cv::Mat resized(const cv::Mat& picture, BgrSize size) {
  cv::Mat out;
  cv::resize(picture, out, cv::Size(size.width, size.height), 0, 0, cv::INTER_LINEAR_EXACT);
  return out;
}

class ColourVersions : public test::EveryVersion {};
CUFACE_EVERY_VERSION(ColourVersions);

TEST_P(ColourVersions, EveryFormatMatrixAndRangeFollowsTheFormula) {
  std::mt19937 random(1);
  long compared = 0;
  for (const ColourLayout& layout : colour_layouts()) {
    for (const auto& [width, height] :
         {std::pair{1, 1}, {2, 3}, {5, 2}, {17, 5}, {33, 7}, {67, 3}, {130, 6}, {259, 4}}) {
      for (const bool full : {false, true}) {
        TestFrame frame = make_frame(layout, width, height, random);
        frame.view.full_range = full;
        const auto before = frame.bytes;
        for (const ColorMatrix matrix : kMatrices) {
          ASSERT_EQ(differences(made(frame.view, matrix, 0), expected_picture(frame.view, matrix)),
                    0)
              << layout.name << " full=" << full << " matrix " << static_cast<int>(matrix) << " "
              << width << "x" << height;
          compared += 3L * width * height;
        }
        ASSERT_EQ(frame.bytes, before) << layout.name << ": the frame was written to";
      }
    }
  }
  EXPECT_GT(compared, 2'000'000);
}

TEST_P(ColourVersions, EveryFormatIsConvertedThenScaledAsOpenCvDoes) {
  std::mt19937 random(2);
  for (const ColourLayout& layout : colour_layouts()) {
    for (const auto& [width, height, input_size] : {std::array{161, 93, 160},
                                                    {161, 93, 107},
                                                    {93, 161, 64},
                                                    {161, 93, 9},
                                                    {161, 93, 1},
                                                    {160, 90, 80},
                                                    {160, 93, 80},
                                                    {162, 99, 54},
                                                    {160, 92, 40}}) {
      TestFrame frame = make_frame(layout, width, height, random);
      frame.view.full_range = input_size % 2 == 0;
      const cv::Mat whole = expected_picture(frame.view, ColorMatrix::kBt709);
      ASSERT_EQ(differences(made(frame.view, ColorMatrix::kBt709, input_size),
                            resized(whole, bgr_size(width, height, input_size))),
                0)
          << layout.name << " " << width << "x" << height << " to " << input_size;
    }
  }
}

TEST_P(ColourVersions, ScalingEqualsOpenCvOnRandomSizes) {
  std::mt19937 random(3);
  const ColourLayout& layout =
      *std::find_if(colour_layouts().begin(), colour_layouts().end(),
                    [](const ColourLayout& l) { return l.name == std::string("BGR"); });
  for (int i = 0; i < 300; ++i) {
    const auto side = [&] { return 1 + static_cast<int>(random() % (i < 100 ? 30 : 400)); };
    const int width = side(), height = side(), input_size = side();
    const TestFrame frame = make_frame(layout, width, height, random);
    const Component& blue = frame.view.component[2];
    const cv::Mat whole(height, width, CV_8UC3, blue.data, static_cast<std::size_t>(blue.stride));
    ASSERT_EQ(differences(made(frame.view, ColorMatrix::kBt601, input_size),
                          resized(whole, bgr_size(width, height, input_size))),
              0)
        << width << "x" << height << " to " << input_size;
  }
}

TEST_P(ColourVersions, ThreadsMakeTheSamePicture) {
  std::mt19937 random(4);
  for (const char* name : {"NV12, AV12", "RGB"}) {
    for (const ColourLayout& layout : colour_layouts()) {
      if (layout.name != std::string(name)) continue;
      const TestFrame frame = make_frame(layout, 639, 361, random);
      for (const int input_size : {0, 500, 320, 100})
        EXPECT_EQ(differences(made(frame.view, ColorMatrix::kBt601, input_size, 3),
                              made(frame.view, ColorMatrix::kBt601, input_size)),
                  0)
            << name << " to " << input_size;
    }
  }
}

// Two rows are kept: of two rows each is the first one again.
TEST_P(ColourVersions, ASecondFrameOwesNothingToTheFirst) {
  std::mt19937 random(5);
  const ColourLayout& layout = colour_layouts()[4];
  for (const int height : {2, 70}) {
    auto scaler = BgrScaler::create(90, height, 0);
    ASSERT_TRUE(scaler.ok());
    for (int i = 0; i < 3; ++i) {
      const TestFrame frame = make_frame(layout, 90, height, random);
      cv::Mat out(height, 90, CV_8UC3);
      ASSERT_TRUE(scaler.value()
                      .run(frame.view, kMatrices[i],
                           {reinterpret_cast<Bgr*>(out.data), out.cols, out.rows,
                            static_cast<std::ptrdiff_t>(out.step)})
                      .ok());
      EXPECT_EQ(differences(out, expected_picture(frame.view, kMatrices[i])), 0);
    }
  }
}

TEST_P(ColourVersions, BottomUpFramesAreReadUpwards) {
  std::mt19937 random(6);
  for (const ColourLayout& layout : colour_layouts()) {
    TestFrame frame = make_frame(layout, 50, 48, random);
    for (Component& c : frame.view.component) {
      if (!c.data) continue;
      c.data += ((48 >> c.sub_y) - 1) * c.stride;
      c.stride = -c.stride;
    }
    EXPECT_EQ(differences(made(frame.view, ColorMatrix::kBt601, 0),
                          expected_picture(frame.view, ColorMatrix::kBt601)),
              0)
        << layout.name;
  }
}

TEST(Colour, GreyOfEightBitsIsLumaThreeTimes) {
  std::vector<std::uint8_t> all(256);
  for (std::size_t i = 0; i < 256; ++i) all[i] = static_cast<std::uint8_t>(i);
  for (const bool full : {false, true}) {
    FrameView frame{256, 1, false, full, {}};
    frame.component[0] = {all.data(), 256, 1, 8, 0, 0, 0};
    cv::Mat grey(1, 256, CV_8U), expected;
    luma(frame, {grey.data, 256, 1, 256});
    cv::cvtColor(grey, expected, cv::COLOR_GRAY2BGR);
    EXPECT_EQ(differences(made(frame, ColorMatrix::kBt601, 0), expected), 0) << full;
  }
}

// Colour bars of 75 and 100 per cent, as they are written down for test signals.
TEST(Colour, BarsOfTestSignalsHaveTheirColours) {
  struct Bar {
    ColorMatrix matrix;
    std::uint8_t yuv[3];
    int rgb[3];
  };
  for (const Bar& bar : {Bar{ColorMatrix::kBt601, {235, 128, 128}, {255, 255, 255}},
                         {ColorMatrix::kBt601, {16, 128, 128}, {0, 0, 0}},
                         {ColorMatrix::kBt601, {81, 90, 240}, {255, 0, 0}},
                         {ColorMatrix::kBt601, {145, 54, 34}, {0, 255, 0}},
                         {ColorMatrix::kBt601, {41, 240, 110}, {0, 0, 255}},
                         {ColorMatrix::kBt709, {63, 102, 240}, {255, 0, 0}},
                         {ColorMatrix::kBt709, {173, 42, 26}, {0, 255, 0}},
                         {ColorMatrix::kBt709, {32, 240, 118}, {0, 0, 255}}}) {
    std::uint8_t yuv[3] = {bar.yuv[0], bar.yuv[1], bar.yuv[2]};
    FrameView frame{1, 1, false, false, {}};
    for (int c = 0; c < 3; ++c) frame.component[c] = {yuv + c, 3, 3, 8, 0, 0, 0};
    const auto bgr = made(frame, bar.matrix, 0).at<cv::Vec3b>(0, 0);
    for (int c = 0; c < 3; ++c)
      EXPECT_NEAR(bgr[2 - c], bar.rgb[c], 1) << int{yuv[0]} << "," << int{yuv[1]};
  }
}

TEST(Colour, TheLongerSideBecomesTheInputSize) {
  struct Case {
    int width, height, input_size;
    BgrSize size;
  };
  for (const Case& c : {Case{1280, 720, 640, {640, 360}},
                        {1920, 1080, 640, {640, 360}},
                        {720, 1280, 640, {360, 640}},
                        {640, 360, 640, {640, 360}},
                        {639, 360, 640, {639, 360}},
                        {641, 360, 640, {640, 359}},
                        {1280, 721, 640, {640, 360}},  // 360.5: to even
                        {1280, 723, 640, {640, 362}},  // 361.5: to even
                        {1000, 333, 500, {500, 166}},  // 166.5: to even
                        {1280, 720, 320, {320, 180}},
                        {16384, 9, 320, {320, 1}},
                        {16384, 1, 640, {640, 1}},
                        {7, 5, 0, {7, 5}},
                        {4000, 3000, 0, {4000, 3000}},
                        {3, 3, 1, {1, 1}}}) {
    EXPECT_EQ(bgr_size(c.width, c.height, c.input_size), c.size)
        << c.width << "x" << c.height << " to " << c.input_size;
  }
}

TEST(Colour, RefusesWhatItCouldNotRead) {
  std::mt19937 random(7);
  const TestFrame good = make_frame(colour_layouts()[4], 40, 30, random);
  auto scaler = BgrScaler::create(40, 30, 20);
  ASSERT_TRUE(scaler.ok());
  std::vector<Bgr> out(20 * 15);
  const ImageView<Bgr> picture = {out.data(), 20, 15, 60};
  const auto run = [&](const FrameView& frame, ImageView<Bgr> to) {
    return scaler.value().run(frame, ColorMatrix::kBt601, to).code();
  };
  ASSERT_EQ(run(good.view, picture), StatusCode::kOk);
  EXPECT_EQ(run(good.view, {out.data(), 19, 15, 60}), StatusCode::kInvalidArgument);
  EXPECT_EQ(run(good.view, {out.data(), 20, 14, 60}), StatusCode::kInvalidArgument);
  EXPECT_EQ(run(good.view, {nullptr, 20, 15, 60}), StatusCode::kInvalidArgument);
  struct Case {
    const char* what;
    void (*spoil)(FrameView&);
  };
  const Case cases[] = {
      {"another width", [](FrameView& f) { f.width = 39; }},
      {"another height", [](FrameView& f) { f.height = 31; }},
      {"no luma", [](FrameView& f) { f.component[0].data = nullptr; }},
      {"U without V", [](FrameView& f) { f.component[2].data = nullptr; }},
      {"depths that differ", [](FrameView& f) { f.component[1].depth = 9; }},
      {"subsampled by 8", [](FrameView& f) { f.component[1].sub_y = 3; }},
      {"subsampled by less than 1", [](FrameView& f) { f.component[1].sub_x = -1; }},
      {"chroma's rows overlap", [](FrameView& f) { f.component[2].stride = 38; }},
      {"pixel stride 0", [](FrameView& f) { f.component[1].pixel_stride = 0; }},
  };
  for (const Case& c : cases) {
    FrameView frame = good.view;
    c.spoil(frame);
    EXPECT_EQ(run(frame, picture), StatusCode::kInvalidArgument) << c.what;
  }
  for (const auto& [width, height, input_size, threads] :
       {std::array{0, 5, 5, 1}, {5, 0, 5, 1}, {5, 5, -1, 1}, {5, 5, 5, 0}})
    EXPECT_EQ(BgrScaler::create(width, height, input_size, threads).status().code(),
              StatusCode::kInvalidArgument);
}

TEST(Colour, ARaisedFlagStopsIt) {
  std::mt19937 random(8);
  const TestFrame frame = make_frame(colour_layouts()[4], 400, 300, random);
  auto scaler = BgrScaler::create(400, 300, 0, 2);
  ASSERT_TRUE(scaler.ok());
  std::vector<Bgr> out(400 * 300, Bgr{1, 2, 3});
  const ImageView<Bgr> picture = {out.data(), 400, 300, 1200};
  StopFlag stop;
  stop.raise();
  EXPECT_EQ(scaler.value().run(frame.view, ColorMatrix::kBt601, picture, &stop).code(),
            StatusCode::kCancelled);
  EXPECT_EQ(std::count(out.begin(), out.end(), Bgr{1, 2, 3}), 400 * 300);
  stop.lower();
  EXPECT_TRUE(scaler.value().run(frame.view, ColorMatrix::kBt601, picture, &stop).ok());
}

}  // namespace
}  // namespace cuface
