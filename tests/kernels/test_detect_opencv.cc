// The detector against cv::CascadeClassifier::detectMultiScale: the same integers, raw and grouped.
// tests/full/detect_matrix runs the whole matrix; this is the part for every day.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kernels/common/simd.h"
#include "tests/fewer.h"
#include "tests/kernels/detections.h"
#include "tests/kernels/pictures.h"

namespace cuface {
namespace {

using test::cascade_of;
using test::config_with;
using test::detect;
using test::fewer;
using test::multiset;
using test::Multiset;
using test::opencv_detections;
using test::Turn;
using Model = std::shared_ptr<const CascadeModel>;

// Boxes that OpenCV gave; a test failure where any version of ours, with one thread or several,
// gave others.
std::size_t compare(const Model& model, cv::CascadeClassifier& classifier, DetectConfig config,
                    const cv::Mat& picture) {
  const Multiset expected = multiset(opencv_detections(classifier, config, picture));
  const std::string before = simd::chosen();
  const std::vector<std::string> versions = simd::available();
  static std::size_t calls = 0;
  ++calls;
  for (const std::string& version : {versions.back(), versions[calls % versions.size()]}) {
    EXPECT_TRUE(simd::force(version).ok());
    config.threads = static_cast<int>(calls / versions.size() % 3 + 1);
    const DetectResult result = detect(model, config, picture);
    EXPECT_FALSE(result.overflow);
    EXPECT_EQ(multiset(result.faces), expected)
        << model->name << " on " << picture.size() << " scale factor " << config.scale_factor
        << " min neighbors " << config.min_neighbors << " sizes " << config.min_size << ".."
        << config.max_size << " with " << version << ", threads " << config.threads;
  }
  EXPECT_TRUE(simd::force(before).ok());
  std::size_t boxes = 0;
  for (const auto& [box, times] : expected) boxes += static_cast<std::size_t>(times);
  return boxes;
}

struct Counts {
  std::size_t cases = 0, raw = 0, grouped = 0;
};

// Every cascade on every picture, both scale factors, raw and grouped, with and without a limit.
Counts compare_all(const std::vector<cv::Mat>& pictures) {
  Counts counts;
  Turn turn;
  cv::setNumThreads(1);
  for (const std::string& path : test::haar_cascades()) {
    const Model model = cascade_of(path);
    cv::CascadeClassifier classifier(path);
    for (const cv::Mat& picture : pictures) {
      for (const double scale_factor : {1.1, 1.2}) {
        for (const int min_neighbors : {0, 3}) {
          for (const int min_size : {0, 60}) {
            if (!turn()) continue;
            const std::size_t boxes = compare(
                model, classifier, config_with(scale_factor, min_neighbors, min_size), picture);
            (min_neighbors == 0 ? counts.raw : counts.grouped) += boxes;
            ++counts.cases;
          }
        }
      }
    }
  }
  return counts;
}

TEST(DetectEqualsOpenCv, GeneratedPictures) {
  CUFACE_NEEDS_CASCADES();
  const Counts counts =
      compare_all({test::drawn_faces(300, 190, 21), test::smooth_noise(171, 133, 9, 22),
                   test::smooth_noise(140, 150, 5, 23)});
  EXPECT_EQ(counts.cases, Turn::of(17 * 3 * 8));
  EXPECT_GT(counts.raw, fewer(500u));
  EXPECT_GT(counts.grouped, fewer(20u));
  RecordProperty("raw", static_cast<int>(counts.raw));
  RecordProperty("grouped", static_cast<int>(counts.grouped));
}

TEST(DetectEqualsOpenCv, NaturalPictures) {
  CUFACE_NEEDS_CASCADES();
  CUFACE_NEEDS_DATA();
  const std::vector<cv::Mat> pictures = {
      test::natural("scenes/multi_face.jpg", 400), test::natural("lfpw/image_0001.png", 240),
      test::natural("dlib/2007_007763.jpg", 260), test::natural("scenes/astronaut.png", 200)};
  for (const cv::Mat& picture : pictures) ASSERT_FALSE(picture.empty());
  const Counts counts = compare_all(pictures);
  EXPECT_EQ(counts.cases, Turn::of(17 * 4 * 8));
  EXPECT_GT(counts.raw, fewer(2'000u));
  EXPECT_GT(counts.grouped, fewer(100u));
  RecordProperty("raw", static_cast<int>(counts.raw));
  RecordProperty("grouped", static_cast<int>(counts.grouped));
}

// Nothing of it can hold a face, but none of it may go wrong.
TEST(DetectEqualsOpenCv, ExtremePictures) {
  CUFACE_NEEDS_CASCADES();
  std::size_t cases = 0;
  for (const char* name :
       {"frontalface_default", "smile", "fullbody", "licence_plate_rus_16stages"}) {
    const Model model = cascade_of(test::cascade_path(name));
    cv::CascadeClassifier classifier(test::cascade_path(name));
    const int w = model->window_width, h = model->window_height;
    std::vector<cv::Mat> pictures;
    for (const cv::Size size : {cv::Size(1, 1), cv::Size(1, 200), cv::Size(200, 1), cv::Size(w, h),
                                cv::Size(w - 1, h), cv::Size(w, h - 1), cv::Size(w + 1, h + 1),
                                cv::Size(w, 3 * h), cv::Size(5 * w, h), cv::Size(131, 67)}) {
      for (const int grey : {0, 255}) pictures.emplace_back(size, CV_8U, cv::Scalar(grey));
      pictures.push_back(test::noise(size.width, size.height, 31));
      pictures.push_back(test::smooth_noise(size.width, size.height, 7, 32));
    }
    for (const cv::Mat& picture : pictures) {
      for (const int min_size : {0, 60}) {
        compare(model, classifier, config_with(1.1, 0, min_size), picture);
        ++cases;
      }
    }
  }
  EXPECT_EQ(cases, 4u * 40 * 2);
}

// Sizes that leave some scales, one, or none: then OpenCV takes the scale nearest to the minimum.
TEST(DetectEqualsOpenCv, SizeLimits) {
  CUFACE_NEEDS_CASCADES();
  const std::pair<int, int> limits[] = {
      {0, 47},   {47, 47},     {48, 48}, {61, 62}, {100, 100},    {0, 10},
      {0, 19},   {0, 20},      {19, 19}, {5, 3},   {90, 40},      {150, 150},
      {1000, 0}, {1000, 1000}, {20, 0},  {21, 0},  {30000, 30000}};
  std::size_t boxes = 0, fallbacks = 0;
  const cv::Mat picture = test::drawn_faces(300, 190, 21);
  for (const char* name : {"frontalface_alt", "smile", "fullbody"}) {
    const Model model = cascade_of(test::cascade_path(name));
    cv::CascadeClassifier classifier(test::cascade_path(name));
    for (const auto& [smallest, largest] : limits) {
      const std::size_t found =
          compare(model, classifier, config_with(1.1, 0, smallest, largest), picture);
      boxes += found;
      // An unsatisfiable pair that still finds something: the fallback is at work.
      if (largest > 0 && largest < smallest) fallbacks += found;
    }
  }
  EXPECT_GT(boxes, 100u);
  EXPECT_GT(fallbacks, 5u);
}

TEST(DetectEqualsOpenCv, ScaleFactors) {
  CUFACE_NEEDS_CASCADES();
  const Model model = cascade_of(test::cascade_path("frontalface_alt2"));
  cv::CascadeClassifier classifier(test::cascade_path("frontalface_alt2"));
  std::size_t boxes = 0;
  for (const double scale_factor : {1.01, 1.05, 1.3, 1.5, 2.0, 3.7, 100.0}) {
    for (const int min_neighbors : {0, 1, 2, 5, 50}) {
      boxes += compare(model, classifier, config_with(scale_factor, min_neighbors, 0),
                       test::drawn_faces(200, 150, 24));
    }
  }
  EXPECT_GT(boxes, 100u);
}

}  // namespace
}  // namespace cuface
