// The integrals against cv::integral, and against their definition where OpenCV's types overflow.
#include <gtest/gtest.h>

#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <random>
#include <vector>

#include "kernels/integral/integral.h"
#include "kernels/integral/tilted_lanes.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

using test::view_of;

class Integral : public test::EveryVersion {};
CUFACE_EVERY_VERSION(Integral);

template <typename T>
Image<T> table_for(const cv::Mat& picture) {
  return Image<T>(picture.cols + 1, picture.rows + 1);
}

// Compares all of ours with OpenCV's; returns the number of entries compared.
std::size_t compare(const cv::Mat& picture) {
  cv::Mat sum, squared, tilted;
  cv::integral(picture, sum, squared, tilted, CV_32S, CV_64F);
  auto our_sum = table_for<std::uint32_t>(picture), only_sum = table_for<std::uint32_t>(picture);
  auto our_squared = table_for<std::uint32_t>(picture);
  auto our_tilted = table_for<std::uint32_t>(picture);
  auto wide_sum = table_for<std::uint32_t>(picture);
  auto wide_squared = table_for<std::uint64_t>(picture);
  integral(view_of(picture), only_sum.view());
  integral_squared(view_of(picture), our_sum.view(), our_squared.view());
  integral_squared(view_of(picture), wide_sum.view(), wide_squared.view());
  integral_tilted(view_of(picture), our_tilted.view());
  std::size_t wrong = 0, compared = 0;
  for (int y = 0; y <= picture.rows; ++y) {
    for (int x = 0; x <= picture.cols; ++x) {
      const auto s = static_cast<std::uint32_t>(sum.at<int>(y, x));
      const auto q = static_cast<std::uint64_t>(squared.at<double>(y, x));
      wrong += only_sum.view().at(x, y) != s;
      wrong += our_sum.view().at(x, y) != s;
      wrong += wide_sum.view().at(x, y) != s;
      wrong += our_squared.view().at(x, y) != static_cast<std::uint32_t>(q);
      wrong += wide_squared.view().at(x, y) != q;
      wrong += our_tilted.view().at(x, y) != static_cast<std::uint32_t>(tilted.at<int>(y, x));
      compared += 6;
    }
  }
  EXPECT_EQ(wrong, 0u) << picture.size();
  return compared;
}

TEST_P(Integral, EqualsOpenCvOnNoiseOfManySizes) {
  std::mt19937 random(2);
  std::size_t compared = 0;
  for (int i = 0; i < 200; ++i) {
    const auto side = [&] { return 1 + static_cast<int>(random() % (i < 150 ? 12 : 200)); };
    const int w = side(), h = side();
    compared += compare(test::noise(w, h, random()));
  }
  EXPECT_GT(compared, 1'000'000u);
}

TEST_P(Integral, EqualsOpenCvOnExtremes) {
  for (const cv::Size size : {cv::Size(1, 1), cv::Size(1, 50), cv::Size(50, 1), cv::Size(2, 2),
                              cv::Size(24, 24), cv::Size(640, 480)}) {
    for (const int grey : {0, 1, 255}) compare(cv::Mat(size, CV_8U, cv::Scalar(grey)));
  }
}

// One row in both orders of columns, with and without its lower halves, under sums that wrap. Words
// that are of no column stay as they were.
TEST_P(Integral, RowsInEitherOrderWithTheirLowerHalves) {
  constexpr std::uint32_t kCanary = 0xA5A5A5A5;
  constexpr std::uint16_t kShortCanary = 0xA5A5;
  std::mt19937 random(3);
  std::size_t compared = 0;
  for (int width = 1; width <= 150; ++width) {
    const cv::Mat pixels = test::noise(width, 1, random());
    for (const int odd : {0, width / 2 + 1, width / 2 + 6}) {
      const ColumnOrder order{odd};
      const auto words = static_cast<std::size_t>(width + 9 + odd);
      std::vector<std::uint32_t> above(words), above2(words);
      for (auto* row : {&above, &above2}) std::generate(row->begin(), row->end(), random);
      std::vector<std::uint32_t> want(words, kCanary), want2(words, kCanary);
      std::vector<std::uint16_t> want_same(words, kShortCanary), want_ordered = want_same;
      std::uint32_t sum = 0, squares = 0;
      for (int x = 0; x <= width; ++x) {
        const std::uint32_t v = x == 0 ? 0 : pixels.at<std::uint8_t>(0, x - 1);
        const auto at = static_cast<std::size_t>(order.at(x));
        sum += v;
        squares += v * v;
        want[at] = x == 0 ? 0 : above[at] + sum;
        want2[at] = x == 0 ? 0 : above2[at] + squares;
        want_ordered[static_cast<std::size_t>(x)] = static_cast<std::uint16_t>(want[at]);
        if (odd != 0) want_same[at] = static_cast<std::uint16_t>(want[at]);
      }
      for (const bool with_same : {false, true}) {
        for (const bool with_ordered : {false, true}) {
          std::vector<std::uint32_t> got(words, kCanary), got2(words, kCanary);
          std::vector<std::uint16_t> same(words, kShortCanary), ordered = same;
          const std::vector<std::uint16_t> untouched = same;
          integral_squared_row(
              pixels.ptr(), width, order, above.data(), got.data(), above2.data(), got2.data(),
              {with_same ? same.data() : nullptr, with_ordered ? ordered.data() : nullptr});
          ASSERT_EQ(got, want) << width << ", odd columns from " << odd;
          ASSERT_EQ(got2, want2) << width << ", odd columns from " << odd;
          ASSERT_EQ(same, with_same ? want_same : untouched) << width << ", " << odd;
          ASSERT_EQ(ordered, with_ordered ? want_ordered : untouched) << width << ", " << odd;
          compared += 4 * words;
        }
      }
    }
  }
  EXPECT_GT(compared, 500'000u);
}

// Entry (x,y) is the sum over the cone of the header's definition.
TEST_P(Integral, TiltedIsTheSumOverItsCone) {
  const cv::Mat picture = test::noise(13, 9, 4);
  Image<std::uint32_t> tilted(14, 10);
  integral_tilted(view_of(picture), tilted.view());
  for (int y = 0; y <= 9; ++y) {
    for (int x = 0; x <= 13; ++x) {
      std::uint32_t expected = 0;
      for (int v = 0; v < y; ++v) {
        for (int u = 0; u < 13; ++u) {
          if (std::abs(u - x + 1) <= y - v - 1) expected += picture.at<std::uint8_t>(v, u);
        }
      }
      EXPECT_EQ(tilted.view().at(x, y), expected) << x << "," << y;
    }
  }
}

// By lanes, in both orders of columns: the same words, and none beside them.
TEST(TiltedLanes, EqualTheTableOfAPicture) {
  constexpr std::uint32_t kCanary = 0xA5A5A5A5;
  std::mt19937 random(5);
  std::size_t compared = 0;
  for (int i = 0; i < 300; ++i) {
    const int width = 1 + static_cast<int>(random() % 90),
              height = 1 + static_cast<int>(random() % 60);
    const cv::Mat pixels = i % 9 == 0 ? cv::Mat(height, width, CV_8U, cv::Scalar(255))
                                      : test::noise(width, height, random());
    Image<std::uint32_t> want(width + 1, height + 1);
    integral_tilted(view_of(pixels), want.view());
    for (const int odd : {0, width / 2 + 1, width / 2 + 6}) {
      const ColumnOrder order{odd};
      const int stride = width + 3 + odd;
      std::vector<std::uint32_t> got(static_cast<std::size_t>(stride * (height + 1)), kCanary);
      integral_tilted(SerialLanes(), view_of(pixels), order, got.data(), stride);
      for (int y = 0; y <= height; ++y) {
        for (int x = 0; x <= width; ++x) {
          auto& word = got[static_cast<std::size_t>(y * stride + order.at(x))];
          ASSERT_EQ(word, want.view().at(x, y)) << x << "," << y << " of " << pixels.size();
          word = kCanary;
          ++compared;
        }
      }
      EXPECT_EQ(std::count(got.begin(), got.end(), kCanary), static_cast<long>(got.size()));
    }
  }
  EXPECT_GT(compared, 1'000'000u);
}

// Of a part of a picture all tilted rectangles have the sums that they have by the whole's words.
TEST(TiltedLanes, RectanglesOfAPartAreThoseOfTheWhole) {
  constexpr int kWidth = 40, kHeight = 30, kPart = 12;
  const cv::Mat whole = test::noise(kWidth, kHeight, 8);
  Image<std::uint32_t> table(kWidth + 1, kHeight + 1);
  integral_tilted(view_of(whole), table.view());
  const auto sum_of = [](const auto& at, int x, int y, int w, int h) {
    return at(x, y) - at(x - h, y + h) - at(x + w, y + w) + at(x + w - h, y + w + h);
  };
  int compared = 0;
  for (const cv::Point& place : {cv::Point(0, 0), cv::Point(17, 11), cv::Point(28, 18)}) {
    const cv::Mat part = whole(cv::Rect(place.x, place.y, kPart, kPart));
    std::uint32_t words[(kPart + 1) * (kPart + 1)];
    integral_tilted(SerialLanes(), view_of(part), {}, words, kPart + 1);
    const auto in_part = [&](int x, int y) { return words[y * (kPart + 1) + x]; };
    const auto in_whole = [&](int x, int y) { return table.view().at(place.x + x, place.y + y); };
    for (int y = 0; y <= kPart; ++y)
      for (int h = 1; y + h < kPart; ++h)
        for (int w = 1; y + w + h <= kPart; ++w)
          for (int x = h; x + w <= kPart; ++x, ++compared)
            ASSERT_EQ(sum_of(in_part, x, y, w, h), sum_of(in_whole, x, y, w, h))
                << w << "x" << h << " at " << x << "," << y;
  }
  EXPECT_GT(compared, 5'000);
}

// Squares wrap (all 255: from 66,052 pixels on), but differences over a window stay exact.
TEST_P(Integral, WrappedSquaresGiveExactWindowSums) {
  const cv::Mat white(700, 700, CV_8U, cv::Scalar(255));
  Image<std::uint32_t> sum(701, 701), squared(701, 701);
  integral_squared(view_of(white), sum.view(), squared.view());
  const auto q = squared.view();
  EXPECT_NE(std::uint64_t{q.at(700, 700)}, 255ull * 255 * 700 * 700);
  EXPECT_EQ(q.at(690, 690) - q.at(435, 690) - q.at(690, 435) + q.at(435, 435),
            255u * 255u * 255u * 255u);
}

TEST_P(Integral, ReadsPaddedRows) {
  const cv::Mat wide = test::noise(60, 40, 6);
  compare(wide.colRange(3, 44));
}

TEST_P(Integral, EqualsOpenCvOnNaturalPictures) {
  CUFACE_NEEDS_DATA();
  for (const char* name : {"scenes/multi_face.jpg", "lfpw/image_0001.png"}) {
    const cv::Mat picture = test::natural(name, 4000);
    ASSERT_FALSE(picture.empty()) << name;
    compare(picture);
  }
}

}  // namespace
}  // namespace cuface
