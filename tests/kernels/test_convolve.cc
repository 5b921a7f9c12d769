// The blur against cv::GaussianBlur, every byte; convolution in two passes against the direct one,
// and that against cv::filter2D.
#include <gtest/gtest.h>

#include <opencv2/imgproc.hpp>
#include <random>

#include "kernels/convolve/convolve.h"
#include "tests/kernels/pictures.h"

namespace cuface {
namespace {

/// Bytes of a blur that differ from OpenCV's.
int differences(const cv::Mat& picture, int size, double sigma) {
  Result<std::vector<int>> weights = gaussian_weights(size, sigma);
  if (!weights.ok()) return -1;
  Image<std::uint8_t> ours(picture.cols, picture.rows);
  gaussian_blur(test::view_of(picture), weights.value(), ours.view());
  cv::Mat theirs;
  cv::GaussianBlur(picture, theirs, {size, size}, sigma);
  return cv::countNonZero(theirs != test::mat_of(ours.view()));
}

TEST(Convolve, BlurEqualsOpenCvAtEverySmallSize) {
  for (int h = 1; h <= 12; ++h) {
    for (int w = 1; w <= 40; ++w) {
      for (const int size : {1, 3, 5, 7, 9, 31})
        EXPECT_EQ(differences(test::noise(w, h, w * 100u + h), size, 0), 0)
            << w << "x" << h << ", " << size;
    }
  }
}

TEST(Convolve, BlurEqualsOpenCvForEverySizeAndManySigmas) {
  const cv::Mat picture = test::noise(83, 61, 1);
  int compared = 0;
  for (int size = 1; size <= kMostBlur; size += 2) {
    for (const double sigma : {0.0, 0.01, 0.3, 0.5, 0.8, 1.0, 1.1, 1.7, 2.0, 3.3, 5.0, 12.0, 1e6}) {
      EXPECT_EQ(differences(picture, size, sigma), 0) << size << ", " << sigma;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 16 * 13);
}

TEST(Convolve, WeightsThatMakeNoSenseAreRefused) {
  for (const int size : {-1, 0, 2, 4, kMostBlur + 2})
    EXPECT_EQ(gaussian_weights(size, 0).status().code(), StatusCode::kInvalidArgument) << size;
  for (const double sigma : {-1.0, HUGE_VAL, std::nan("")})
    EXPECT_EQ(gaussian_weights(5, sigma).status().code(), StatusCode::kInvalidArgument) << sigma;
}

std::vector<std::int32_t> random_filter(std::mt19937& random, int size, int most) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(size));
  for (std::int32_t& v : out) v = static_cast<int>(random() % (2u * most + 1)) - most;
  return out;
}

TEST(Convolve, TwoPassesAreTheDirectConvolutionAndOpenCvs) {
  std::mt19937 random(7);
  int values = 0;
  for (int round = 0; round < 120; ++round) {
    const int w = 1 + static_cast<int>(random() % 30), h = 1 + static_cast<int>(random() % 30);
    const std::vector<std::int32_t> across = random_filter(random, 1 + 2 * (random() % 8), 20);
    const std::vector<std::int32_t> down = random_filter(random, 1 + 2 * (random() % 8), 20);
    const Filter filter = outer_product(across, down);
    cv::Mat src(h, w, CV_32S);
    cv::randu(src, -255, 256);
    const ImageView<const std::int32_t> view{src.ptr<std::int32_t>(), w, h,
                                             static_cast<std::ptrdiff_t>(src.step)};
    Image<std::int32_t> twice(w + filter.width - 1, h + filter.height - 1);
    Image<std::int32_t> direct(twice.width(), twice.height());
    ASSERT_TRUE(convolve_separable(view, across, down, 255, twice.view()).ok());
    ASSERT_TRUE(convolve_direct(view, filter, 255, direct.view()).ok());

    // filter2D correlates and keeps the size: pad, and turn the filter by half a turn.
    cv::Mat padded, kernel(filter.height, filter.width, CV_64F), theirs;
    src.convertTo(src, CV_64F);
    cv::copyMakeBorder(src, padded, filter.height - 1, filter.height - 1, filter.width - 1,
                       filter.width - 1, cv::BORDER_CONSTANT);
    for (int y = 0; y < filter.height; ++y) {
      for (int x = 0; x < filter.width; ++x)
        kernel.at<double>(filter.height - 1 - y, filter.width - 1 - x) =
            filter.values[static_cast<std::size_t>(y * filter.width + x)];
    }
    cv::filter2D(padded, theirs, CV_64F, kernel, {0, 0});
    for (int y = 0; y < twice.height(); ++y) {
      for (int x = 0; x < twice.width(); ++x, ++values) {
        ASSERT_EQ(twice.view().at(x, y), direct.view().at(x, y)) << x << "," << y;
        ASSERT_EQ(direct.view().at(x, y), std::lround(theirs.at<double>(y, x))) << x << "," << y;
      }
    }
  }
  EXPECT_GT(values, 50'000);
}

TEST(Convolve, SumsThatCouldLeave32BitsAreRefused) {
  Image<std::int32_t> src(2, 2), dst(2, 2);
  const auto status = [&](std::int32_t weight, std::int64_t greatest) {
    src.view().at(0, 0) = src.view().at(1, 0) = src.view().at(0, 1) = src.view().at(1, 1) = 0;
    const Status two =
        convolve_separable(std::as_const(src).view(), {weight}, {1}, greatest, dst.view());
    const Status one =
        convolve_direct(std::as_const(src).view(), {1, 1, {weight}}, greatest, dst.view());
    EXPECT_EQ(one.code(), two.code());
    return one.code();
  };
  EXPECT_EQ(status(1 << 15, 1 << 15), StatusCode::kOk);
  EXPECT_EQ(status(1 << 15, 1 << 16), StatusCode::kInvalidArgument);
  EXPECT_EQ(status(-(1 << 15), 1 << 16), StatusCode::kInvalidArgument);
  EXPECT_EQ(convolve_separable(std::as_const(src).view(), {1, 1}, {1}, 1, dst.view()).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(convolve_separable(std::as_const(src).view(), {}, {1}, 1, dst.view()).code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
