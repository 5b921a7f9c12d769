// luma against the formulas of the contract written out per pixel, and against OpenCV for RGB.
#include <gtest/gtest.h>

#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "kernels/common/bits.h"
#include "kernels/luma/luma.h"
#include "kernels/luma/write.h"
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

// Every grey level in every depth and range, with chroma of half the size; luma() reads it back.
TEST(WriteGrey, IsWhatLumaReads) {
  constexpr int kSide = 16;
  std::uint8_t levels[kSide * kSide];
  for (int v = 0; v < 256; ++v) levels[v] = static_cast<std::uint8_t>(v);
  int compared = 0;
  for (int depth = 8; depth <= 16; ++depth)
    for (const bool full : {true, false}) {
      const int bytes = depth > 8 ? 2 : 1;
      std::vector<std::uint8_t> planes[3];
      FrameView frame{kSide, kSide, false, full, {}};
      for (int c = 0; c < 3; ++c) {
        const int sub = c > 0 ? 1 : 0;
        planes[c].assign(static_cast<std::size_t>(kSide * kSide * bytes), test::kGuard);
        frame.component[c] = {planes[c].data(), kSide * bytes, bytes, depth, 0, sub, sub};
      }
      write_grey({levels, kSide, kSide, kSide}, frame);
      std::uint8_t back[kSide * kSide];
      luma(frame, {back, kSide, kSide, kSide});
      const auto sample = [&](int c, std::size_t i) {
        const std::uint8_t* at = planes[c].data() + i * static_cast<std::size_t>(bytes);
        return at[0] | (bytes == 2 ? at[1] << 8 : 0);
      };
      for (int v = 0; v < 256; ++v) {
        ASSERT_NEAR(back[v], v, full || v == 0 || v == 255 ? 0 : 1) << depth;
        ++compared;
      }
      EXPECT_EQ(sample(0, 0), full ? 0 : 16 << (depth - 8));
      EXPECT_EQ(sample(0, 255), full ? (1 << depth) - 1 : 235 << (depth - 8)) << depth;
      for (int y = 0; y < kSide; ++y)
        for (int x = 0; x < kSide; ++x) {
          const bool there = x < kSide / 2 && y < kSide / 2;
          const int guard = bytes == 2 ? test::kGuard << 8 | test::kGuard : test::kGuard;
          ASSERT_EQ(sample(1, static_cast<std::size_t>(y * kSide + x)),
                    there ? 1 << (depth - 1) : guard);
        }
    }
  EXPECT_EQ(compared, 9 * 2 * 256);
}

/// A layout of 8-bit components in one array: where each begins in a pixel, and how far pixels are
/// apart. Chroma is half as wide and high, behind the luma.
struct Packing {
  const char* name;
  bool rgb;
  bool full_range;
  int first[3];
  int pixel_stride;
  int chroma_stride;
};

constexpr Packing kPackings[] = {
    {"I420", false, false, {0, 0, 0}, 1, 1}, {"I420 full", false, true, {0, 0, 0}, 1, 1},
    {"NV12", false, false, {0, 0, 1}, 1, 2}, {"NV21", false, false, {0, 1, 0}, 1, 2},
    {"AYUV", false, false, {1, 2, 3}, 4, 4}, {"RGB", true, true, {0, 1, 2}, 3, 0},
    {"BGR", true, true, {2, 1, 0}, 3, 0},    {"RGBA", true, true, {0, 1, 2}, 4, 0},
    {"ARGB", true, true, {1, 2, 3}, 4, 0},   {"xBGR", true, true, {3, 2, 1}, 4, 0},
    {"apart", true, true, {0, 2, 3}, 4, 0},
};

class WriteGreyVersions : public test::EveryVersion {};
CUFACE_EVERY_VERSION(WriteGreyVersions);

// Every byte of the array, those between rows and alpha too.
TEST_P(WriteGreyVersions, EveryLayoutAndWidthFollowsTheFormula) {
  constexpr int kHeight = 3, kPadding = 5;
  cv::RNG random(7);
  int compared = 0;
  for (const Packing& packing : kPackings)
    for (int width = 1; width <= 200; width += width < 20 ? 1 : 9) {
      const int row = width * packing.pixel_stride + kPadding;
      const bool planes = !packing.rgb && packing.pixel_stride == 1;
      const int half = (width + 1) / 2;
      const int chroma_row = half * packing.chroma_stride + kPadding;
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(row * kHeight + 4 * chroma_row));
      random.fill(bytes, cv::RNG::UNIFORM, 0, 256);
      std::vector<std::uint8_t> expected = bytes,
                                picture(static_cast<std::size_t>(width * kHeight));
      random.fill(picture, cv::RNG::UNIFORM, 0, 256);
      FrameView frame{width, kHeight, packing.rgb, packing.full_range, {}};
      for (int i = 0; i < 3; ++i) {
        const bool chroma = planes && i > 0;
        const std::ptrdiff_t second_plane =
            packing.chroma_stride == 1 && i == 2 ? 2 * chroma_row : 0;
        const std::ptrdiff_t at = (chroma ? row * kHeight + second_plane : 0) + packing.first[i];
        frame.component[i] = {bytes.data() + at,
                              chroma ? chroma_row : row,
                              chroma ? packing.chroma_stride : packing.pixel_stride,
                              8,
                              0,
                              chroma,
                              chroma};
        for (int y = 0; y < (chroma ? 2 : kHeight); ++y)
          for (int x = 0; x < (chroma ? half : width); ++x) {
            const Component& c = frame.component[i];
            const std::uint8_t grey = picture[static_cast<std::size_t>(y * width + x)];
            const bool has_grey = packing.rgb || i == 0;
            expected[static_cast<std::size_t>(at + y * c.stride + x * c.pixel_stride)] =
                !has_grey            ? 128
                : packing.full_range ? grey
                                     : static_cast<std::uint8_t>(16 + (grey * 219 + 127) / 255);
            ++compared;
          }
      }
      write_grey({picture.data(), width, kHeight, width}, frame);
      ASSERT_EQ(bytes, expected) << packing.name << ", " << width;
      // A map of bits is written as its bytes are.
      const int words = words_of(width);
      std::vector<std::uint64_t> map(static_cast<std::size_t>(words * kHeight));
      std::vector<std::uint8_t> drawn(picture.size());
      for (int y = 0; y < kHeight; ++y) {
        std::uint8_t* row = drawn.data() + y * width;
        for (int x = 0; x < width; ++x)
          row[x] = picture[static_cast<std::size_t>(y * width + x)] > 99 ? 255 : 0;
        pack_row(row, width, map.data() + y * words);
      }
      write_grey({drawn.data(), width, kHeight, width}, frame);
      expected = bytes;
      write_grey({picture.data(), width, kHeight, width}, frame);
      write_bits({map.data(), words, kHeight, words * 8}, frame);
      ASSERT_EQ(bytes, expected) << packing.name << ", " << width;
    }
  EXPECT_GT(compared, 50'000);
}

}  // namespace
}  // namespace cuface
