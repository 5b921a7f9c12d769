// gaussian_down against cv::pyrDown: every byte, on odd, thin and single-pixel pictures.
#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <random>

#include "kernels/pyramid/pyramid.h"
#include "tests/data.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

using test::mat_of;
using test::noise;
using test::view_of;

/// Bytes that differ from cv::pyrDown.
int differences(const cv::Mat& picture) {
  Image<std::uint8_t> ours((picture.cols + 1) / 2, (picture.rows + 1) / 2);
  gaussian_down(view_of(picture), ours.view());
  cv::Mat theirs;
  cv::pyrDown(picture, theirs);
  if (theirs.cols != ours.width() || theirs.rows != ours.height()) return -1;
  return cv::countNonZero(theirs != mat_of(ours.view()));
}

class GaussianDown : public test::EveryVersion {};
CUFACE_EVERY_VERSION(GaussianDown);

TEST_P(GaussianDown, EqualsOpenCvOnEverySmallSize) {
  for (int h = 1; h <= 24; ++h) {
    for (int w = 1; w <= 80; ++w) {
      EXPECT_EQ(differences(noise(w, h, static_cast<unsigned>(w * 100 + h))), 0) << w << "x" << h;
    }
  }
}

TEST_P(GaussianDown, EqualsOpenCvOnLargeAndThinSizes) {
  const int sizes[][2] = {{1023, 5},  {1024, 7}, {1025, 9}, {1026, 3}, {1027, 11}, {2047, 4},
                          {2053, 17}, {1, 999},  {2, 1000}, {3, 1001}, {999, 1},   {1000, 2}};
  for (const auto& s : sizes) {
    EXPECT_EQ(differences(noise(s[0], s[1], 7)), 0) << s[0] << "x" << s[1];
  }
}

TEST_P(GaussianDown, EqualsOpenCvOnExtremes) {
  EXPECT_EQ(differences(cv::Mat(33, 47, CV_8U, cv::Scalar(255))), 0);
  EXPECT_EQ(differences(cv::Mat(33, 47, CV_8U, cv::Scalar(0))), 0);
  cv::Mat checker(64, 65, CV_8U);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 65; ++x) checker.at<std::uint8_t>(y, x) = (x + y) % 2 ? 255 : 0;
  }
  EXPECT_EQ(differences(checker), 0);
}

TEST_P(GaussianDown, RespectsThePitch) {
  const cv::Mat big = noise(200, 100, 3);
  const cv::Mat part = big(cv::Rect(13, 7, 101, 55));
  Image<std::uint8_t> ours(51, 28);
  gaussian_down(view_of(part), ours.view());
  cv::Mat theirs;
  cv::pyrDown(part.clone(), theirs);
  EXPECT_EQ(cv::countNonZero(theirs != mat_of(ours.view())), 0);
}

TEST_P(GaussianDown, EqualsOpenCvOnPictures) {
  CUFACE_NEEDS_DATA();
  int pictures = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           test::data_dir() + "/images",
           std::filesystem::directory_options::skip_permission_denied)) {
    const std::string folder = entry.path().parent_path().filename();
    if (!entry.is_regular_file() || folder == "helen") continue;
    cv::Mat picture = cv::imread(entry.path(), cv::IMREAD_GRAYSCALE);
    if (picture.empty()) continue;
    for (; picture.cols > 2 && picture.rows > 2; cv::pyrDown(picture.clone(), picture)) {
      ASSERT_EQ(differences(picture), 0) << entry.path();
    }
    ++pictures;
  }
  EXPECT_GE(pictures, 20);
}

TEST(GaussianPyramid, HoldsThePictureAndItsOctaves) {
  const cv::Mat picture = noise(173, 131, 11);
  GaussianPyramid pyramid(173, 131, 4, 21);
  ASSERT_EQ(pyramid.levels(), 3);  // 173x131, 87x66, 44x33; 22x17 is not larger than 21
  pyramid.build(view_of(picture));
  cv::Mat expected = picture;
  for (int i = 0; i < pyramid.levels(); ++i) {
    const cv::Mat level = mat_of(pyramid.level(i).all());
    ASSERT_EQ(level.size(), expected.size());
    EXPECT_EQ(cv::countNonZero(level != expected), 0);
    cv::Mat next;
    cv::pyrDown(expected, next);
    expected = next;
  }
}

class GaussianPyramidParts : public test::EveryVersion {};
CUFACE_EVERY_VERSION(GaussianPyramidParts);

TEST_P(GaussianPyramidParts, AreOpenCvsInAnyOrder) {
  std::mt19937 random(5);
  const auto up_to = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int parts = 0;
  for (const auto& size : {cv::Size(173, 131), cv::Size(640, 97), cv::Size(61, 400)}) {
    GaussianPyramid pyramid(size.width, size.height, 3, 5);
    ASSERT_EQ(pyramid.levels(), 3);
    for (unsigned frame = 0; frame < 8; ++frame) {
      cv::Mat octaves[3] = {noise(size.width, size.height, frame)};
      for (int i = 1; i < 3; ++i) cv::pyrDown(octaves[i - 1], octaves[i]);
      pyramid.build(view_of(octaves[0]));
      for (int k = 0; k < 40; ++k, ++parts) {
        const int i = up_to(3), side = 1 + up_to(40);
        const cv::Mat& octave = octaves[i];
        // Also beside the picture, where reflection is all that reads it.
        const int x = up_to(octave.cols + side) - side, y = up_to(octave.rows + side) - side;
        const ImageView<const std::uint8_t> got = pyramid.level(i).part({x, y, side, side});
        int wrong = 0;
        for (int v = y; v < y + side; ++v) {
          for (int u = x; u < x + side; ++u) {
            const int a = cv::borderInterpolate(u, octave.cols, cv::BORDER_REFLECT_101),
                      b = cv::borderInterpolate(v, octave.rows, cv::BORDER_REFLECT_101);
            wrong += got.at(a, b) != octave.at<std::uint8_t>(b, a);
          }
        }
        ASSERT_EQ(wrong, 0) << size << " level " << i << " " << x << "," << y << " side " << side;
      }
    }
  }
  EXPECT_EQ(parts, 3 * 8 * 40);
}

TEST(GaussianPyramid, RefersToAPictureWithoutACopyAndMakesAPartOnce) {
  const cv::Mat picture = noise(173, 131, 12);
  GaussianPyramid copied(173, 131), referring(173, 131);
  ASSERT_EQ(referring.levels(), 5);  // 173x131, 87x66, 44x33, 22x17, 11x9; 6x5 is not larger than 5
  copied.build(view_of(picture));
  for (int round = 0; round < 2; ++round) {
    referring.refer(view_of(picture));
    EXPECT_EQ(referring.level(0).all().data, picture.data);
    EXPECT_EQ(referring.tiles_made(), 0);
    referring.level(1).part({3, 3, 20, 8});
    EXPECT_EQ(referring.tiles_made(), 1);
    for (int i = 0; i < referring.levels(); ++i)
      EXPECT_EQ(cv::countNonZero(mat_of(referring.level(i).all()) != mat_of(copied.level(i).all())),
                0);
    const int all = referring.tiles_made();
    EXPECT_EQ(all, 3 * 5 + 2 * 3 + 1 * 2 + 1);
    for (int i = 0; i < referring.levels(); ++i) referring.level(i).all();
    EXPECT_EQ(referring.tiles_made(), all);
  }
}

TEST(GaussianPyramid, KeepsLevelZeroHoweverSmall) {
  EXPECT_EQ(GaussianPyramid(1, 1, 5, 21).levels(), 1);
  EXPECT_EQ(GaussianPyramid(43, 43, 5, 21).levels(), 2);  // 22 > 21, then 11
  EXPECT_EQ(GaussianPyramid(42, 43, 5, 21).levels(), 1);  // 21 is not larger
}

}  // namespace
}  // namespace cuface
