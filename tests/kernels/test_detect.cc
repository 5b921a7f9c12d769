// The detector against cv::CascadeClassifier::detectMultiScale: the same integers, raw and grouped.
// tests/full/detect_matrix runs the whole matrix; this is the part for every day.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <opencv2/objdetect.hpp>
#include <sstream>
#include <tuple>

#include "kernels/detect/detect.h"
#include "models/cascade_xml.h"
#include "tests/kernels/pictures.h"

namespace cuface {
namespace {

using test::view_of;
using Model = std::shared_ptr<const CascadeModel>;

#define CUFACE_NEEDS_CASCADES() \
  if (!std::filesystem::is_directory(test::kCascadeDir)) GTEST_SKIP() << "no opencv-data"

constexpr int kNoLimit = 1 << 20;

std::string cascade_path(const std::string& name) {
  return std::string(test::kCascadeDir) + "/haarcascade_" + name + ".xml";
}

Model load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  auto parsed = parse_cascade_xml(text.str(), path);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() ? parsed.value() : nullptr;
}

DetectConfig config_with(double scale_factor, int min_neighbors, int min_size, int max_size = 0) {
  DetectConfig config;
  config.scale_factor = scale_factor;
  config.min_neighbors = min_neighbors;
  config.min_size = min_size;
  config.max_size = max_size;
  config.max_faces = kNoLimit;
  return config;
}

DetectResult detect(const Model& model, const DetectConfig& config, const cv::Mat& picture) {
  auto detector = Detector::create(Backend::kCpu, model, config, picture.cols, picture.rows);
  EXPECT_TRUE(detector.ok()) << detector.status().message();
  DetectResult result;
  EXPECT_TRUE(detector.value()->enqueue(view_of(picture), result).ok());
  return result;
}

std::vector<Detection> opencv(cv::CascadeClassifier& classifier, const DetectConfig& config,
                              const cv::Mat& picture) {
  std::vector<cv::Rect> rects;
  std::vector<int> neighbors;
  classifier.detectMultiScale(picture, rects, neighbors, config.scale_factor, config.min_neighbors,
                              0, {config.min_size, config.min_size},
                              {config.max_size, config.max_size});
  std::vector<Detection> out;
  for (std::size_t i = 0; i < rects.size(); ++i) {
    const cv::Rect& r = rects[i];
    out.push_back({{r.x, r.y, r.width, r.height}, neighbors[i]});
  }
  return out;
}

using Multiset = std::map<std::tuple<int, int, int, int, int>, int>;

Multiset multiset(const std::vector<Detection>& detections) {
  Multiset out;
  for (const Detection& d : detections) {
    ++out[{d.box.x, d.box.y, d.box.w, d.box.h, d.neighbors}];
  }
  return out;
}

// Boxes that both gave; a test failure where they differ.
std::size_t compare(const Model& model, cv::CascadeClassifier& classifier,
                    const DetectConfig& config, const cv::Mat& picture) {
  const std::vector<Detection> expected = opencv(classifier, config, picture);
  const DetectResult result = detect(model, config, picture);
  EXPECT_FALSE(result.overflow);
  EXPECT_EQ(multiset(result.faces), multiset(expected))
      << model->name << " on " << picture.size() << " scale factor " << config.scale_factor
      << " min neighbors " << config.min_neighbors << " sizes " << config.min_size << ".."
      << config.max_size;
  return expected.size();
}

struct Counts {
  std::size_t cases = 0, raw = 0, grouped = 0;
};

// Every cascade on every picture, both scale factors, raw and grouped, with and without a limit.
Counts compare_all(const std::vector<cv::Mat>& pictures) {
  Counts counts;
  cv::setNumThreads(1);
  for (const std::string& path : test::haar_cascades()) {
    const Model model = load(path);
    cv::CascadeClassifier classifier(path);
    for (const cv::Mat& picture : pictures) {
      for (const double scale_factor : {1.1, 1.2}) {
        for (const int min_neighbors : {0, 3}) {
          for (const int min_size : {0, 60}) {
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
  EXPECT_EQ(counts.cases, 17u * 3 * 8);
  EXPECT_GT(counts.raw, 500u);
  EXPECT_GT(counts.grouped, 20u);
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
  EXPECT_EQ(counts.cases, 17u * 4 * 8);
  EXPECT_GT(counts.raw, 2'000u);
  EXPECT_GT(counts.grouped, 100u);
  RecordProperty("raw", static_cast<int>(counts.raw));
  RecordProperty("grouped", static_cast<int>(counts.grouped));
}

// Nothing of it can hold a face, but none of it may go wrong.
TEST(DetectEqualsOpenCv, ExtremePictures) {
  CUFACE_NEEDS_CASCADES();
  std::size_t cases = 0;
  for (const char* name :
       {"frontalface_default", "smile", "fullbody", "licence_plate_rus_16stages"}) {
    const Model model = load(cascade_path(name));
    cv::CascadeClassifier classifier(cascade_path(name));
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

}  // namespace
}  // namespace cuface
