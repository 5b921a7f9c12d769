// resize_linear_exact against cv::resize(INTER_LINEAR_EXACT); where levels lie in an atlas.
#include <gtest/gtest.h>

#include <opencv2/imgproc.hpp>

#include "kernels/pyramid/atlas.h"
#include "kernels/pyramid/picture_resize.h"
#include "kernels/pyramid/pyramid.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

using test::view_of;

class ResizeLinearExact : public test::EveryVersion {};
CUFACE_EVERY_VERSION(ResizeLinearExact);

// Returns how many pixels differ; the padding of our rows must stay untouched.
int differences(const cv::Mat& source, int width, int height) {
  cv::Mat expected;
  cv::resize(source, expected, cv::Size(width, height), 0, 0, cv::INTER_LINEAR_EXACT);
  cv::Mat buffer(height, width + 5, CV_8U, cv::Scalar(77));
  resize_linear_exact(view_of(source),
                      {buffer.data, width, height, static_cast<std::ptrdiff_t>(buffer.step)});
  EXPECT_EQ(cv::countNonZero(buffer.colRange(width, width + 5) != 77), 0);
  return cv::countNonZero(buffer.colRange(0, width) != expected);
}

TEST_P(ResizeLinearExact, EqualsOpenCvOnRandomSizes) {
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    const auto side = [&] { return 1 + static_cast<int>(random() % (i < 200 ? 24 : 300)); };
    const cv::Mat source = test::noise(side(), side(), random());
    const int w = side(), h = side();
    ASSERT_EQ(differences(source, w, h), 0) << source.size() << " to " << w << "x" << h;
  }
}

TEST_P(ResizeLinearExact, EqualsOpenCvOnExtremes) {
  const cv::Size sizes[] = {{1, 1}, {1, 2}, {2, 1}, {1, 97}, {97, 1}, {2, 2}, {64, 64}, {257, 33}};
  for (const cv::Size from : sizes) {
    for (const cv::Size to : sizes) {
      for (const int grey : {0, 255}) {
        EXPECT_EQ(differences(cv::Mat(from, CV_8U, cv::Scalar(grey)), to.width, to.height), 0);
      }
      EXPECT_EQ(differences(test::noise(from.width, from.height, 3), to.width, to.height), 0)
          << from << " to " << to;
    }
  }
}

// Columns and rows that are means of two, and rows that are not.
TEST_P(ResizeLinearExact, EqualsOpenCvOnHalves) {
  for (int width = 1; width <= 150; ++width) {
    const cv::Mat source = test::noise(2 * width, 24, static_cast<unsigned>(width));
    for (const int height : {12, 7, 24, 30})
      ASSERT_EQ(differences(source, width, height), 0) << width << "x" << height;
  }
}

TEST_P(ResizeLinearExact, EqualsOpenCvOnAScalePyramid) {
  const cv::Mat source = test::drawn_faces(640, 360, 5);
  int levels = 0;
  for (double f = 1.1; 360 / f > 20; f *= 1.1, ++levels) {
    ASSERT_EQ(differences(source, cvRound(640 / f), cvRound(360 / f)), 0) << f;
  }
  EXPECT_GE(levels, 25);
}

TEST_P(ResizeLinearExact, ReadsPaddedRowsAndReusesItsPlan) {
  const cv::Mat wide = test::noise(90, 50, 9);
  const cv::Mat source = wide.colRange(7, 71);
  cv::Mat expected;
  cv::resize(source, expected, cv::Size(31, 47), 0, 0, cv::INTER_LINEAR_EXACT);
  const LinearResize plan(64, 50, 31, 47);
  for (int run = 0; run < 2; ++run) {
    cv::Mat out(47, 31, CV_8U, cv::Scalar(0));
    plan.run(view_of(source), {out.data, 31, 47, static_cast<std::ptrdiff_t>(out.step)});
    EXPECT_EQ(cv::countNonZero(out != expected), 0);
  }
}

TEST_P(ResizeLinearExact, EqualsOpenCvOnNaturalPictures) {
  CUFACE_NEEDS_DATA();
  const cv::Mat source = test::natural("scenes/astronaut.png", 4000);
  ASSERT_FALSE(source.empty());
  for (double f = 0.7; f < 20; f *= 1.1) {
    EXPECT_EQ(differences(source, cvRound(source.cols / f), cvRound(source.rows / f)), 0) << f;
  }
}

// Pictures one after the other: rows that one has left are not the next one's.
TEST_P(ResizeLinearExact, OfPicturesEqualsOpenCv) {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    const auto side = [&] { return 1 + static_cast<int>(random() % (i % 3 ? 200 : 40)); };
    const int from_w = side(), from_h = side();
    const double scale = 0.8 + static_cast<double>(random() % 200) / 100;
    const int to_w = i % 4 ? std::max(1, cvRound(from_w / scale)) : side();
    const int to_h = i % 4 ? std::max(1, cvRound(from_h / scale)) : side();
    PictureResize resize(from_w, from_h, to_w, to_h);
    for (int picture = 0; picture < 2; ++picture) {
      const cv::Mat whole = test::noise(from_w + 9, from_h, random());
      const cv::Mat source = whole.colRange(4, 4 + from_w);
      cv::Mat expected, buffer(to_h, to_w + 5, CV_8U, cv::Scalar(77));
      cv::resize(source, expected, cv::Size(to_w, to_h), 0, 0, cv::INTER_LINEAR_EXACT);
      ASSERT_TRUE(resize.run(view_of(source),
                             {buffer.data, to_w, to_h, static_cast<std::ptrdiff_t>(buffer.step)}));
      ASSERT_EQ(cv::countNonZero(buffer.colRange(0, to_w) != expected), 0)
          << source.size() << " to " << to_w << "x" << to_h;
      ASSERT_EQ(cv::countNonZero(buffer.colRange(to_w, to_w + 5) != 77), 0);
    }
  }
}

TEST(Atlas, HoldsAllLevelsWithoutOverlapAndLittleWaste) {
  for (const auto& [width, height] : {std::pair{1920, 1080}, {1080, 1920}, {640, 360}, {33, 20}}) {
    std::vector<AtlasSlot> levels;
    double pixels = 0;
    for (double f = 1; height / f >= 20 && width / f >= 20; f *= 1.1) {
      levels.push_back({0, 0, static_cast<int>(width / f), static_cast<int>(height / f)});
      pixels += levels.back().width * levels.back().height;
    }
    const Atlas atlas = make_atlas(levels);
    cv::Mat taken(atlas.height, atlas.width, CV_8U, cv::Scalar(0));
    ASSERT_EQ(atlas.slots.size(), levels.size());
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const AtlasSlot& slot = atlas.slots[i];
      ASSERT_EQ(slot.width, levels[i].width);
      ASSERT_EQ(slot.height, levels[i].height);
      ASSERT_GE(std::min(slot.x, slot.y), 0);
      ASSERT_LE(slot.x + slot.width, atlas.width);
      ASSERT_LE(slot.y + slot.height, atlas.height);
      cv::Mat here = taken(cv::Rect(slot.x, slot.y, slot.width, slot.height));
      EXPECT_EQ(cv::countNonZero(here), 0) << "level " << i << " lies on another";
      here = 1;
    }
    if (levels.size() > 20) {
      EXPECT_LT(double{1} * atlas.width * atlas.height, 1.12 * pixels);
    }
  }
  EXPECT_EQ(make_atlas({}).width, 0);
}

}  // namespace
}  // namespace cuface
