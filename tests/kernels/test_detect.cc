// The detector against cv::CascadeClassifier::detectMultiScale: the same integers, raw and grouped.
// tests/full/detect_matrix runs the whole matrix; this is the part for every day.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <opencv2/objdetect.hpp>
#include <sstream>
#include <thread>
#include <tuple>

#include "kernels/common/simd.h"
#include "kernels/detect/detect.h"
#include "models/cascade_xml.h"
#include "tests/fewer.h"
#include "tests/kernels/allocations.h"
#include "tests/kernels/brute_cascade.h"
#include "tests/kernels/one_node_cascade.h"
#include "tests/kernels/pictures.h"

namespace cuface {
namespace {

using test::view_of;
using Model = std::shared_ptr<const CascadeModel>;

constexpr int kNoLimit = 1 << 20;

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

// Boxes that OpenCV gave; a test failure where any version of ours, with one thread or several,
// gave others.
std::size_t compare(const Model& model, cv::CascadeClassifier& classifier, DetectConfig config,
                    const cv::Mat& picture) {
  const Multiset expected = multiset(opencv(classifier, config, picture));
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

using test::fewer;
using test::Turn;

// Every cascade on every picture, both scale factors, raw and grouped, with and without a limit.
Counts compare_all(const std::vector<cv::Mat>& pictures) {
  Counts counts;
  Turn turn;
  cv::setNumThreads(1);
  for (const std::string& path : test::haar_cascades()) {
    const Model model = load(path);
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
    const Model model = load(test::cascade_path(name));
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
    const Model model = load(test::cascade_path(name));
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
  const Model model = load(test::cascade_path("frontalface_alt2"));
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

TEST(Detect, OnePlanServesManyPictures) {
  CUFACE_NEEDS_CASCADES();
  const Model model = load(test::cascade_path("frontalface_alt"));
  const DetectConfig config = config_with(1.2, 0, 0);
  auto detector = Detector::create(Backend::kCpu, model, config, 220, 140);
  ASSERT_TRUE(detector.ok());
  DetectResult result;
  for (unsigned seed = 50; seed < 58; ++seed) {
    const cv::Mat picture =
        seed % 2 ? test::drawn_faces(220, 140, seed) : test::smooth_noise(220, 140, 6, seed);
    ASSERT_TRUE(detector.value()->enqueue(view_of(picture), result).ok());
    EXPECT_EQ(result.faces, detect(model, config, picture).faces);
  }
}

// What is found is the same, in the same order, however the work is divided, and whether raw
// windows are too many does not depend on it either.
TEST(Detect, ThreadsDoNotChangeTheAnswer) {
  CUFACE_NEEDS_CASCADES();
  const Model model = load(test::cascade_path("frontalface_alt"));
  const cv::Mat picture = test::drawn_faces(640, 400, 27);
  for (const int neighbors : {0, 3}) {
    DetectConfig config = config_with(1.1, neighbors, 0);
    const std::vector<Detection> expected = detect(model, config, picture).faces;
    ASSERT_GT(expected.size(), 2u);
    for (const int threads : {0, 2, 3, 5, 64}) {
      config.threads = threads;
      auto detector = Detector::create(Backend::kCpu, model, config, picture.cols, picture.rows);
      ASSERT_TRUE(detector.ok());
      for (int run = 0; run < fewer(10); ++run) {
        DetectResult result;
        ASSERT_TRUE(detector.value()->enqueue(view_of(picture), result).ok());
        ASSERT_EQ(result.faces, expected) << threads;
      }
    }
  }
}

TEST(Detect, SteadyStateAllocatesNothing) {
  CUFACE_NEEDS_CASCADES();
  const cv::Mat picture = test::drawn_faces(220, 140, 21);
  for (const ScaleMode mode : {ScaleMode::kPyramid, ScaleMode::kWindow}) {
    for (const int detect_scale : {1, 2}) {
      DetectConfig config = config_with(1.2, 2, 0);
      config.scale_mode = mode;
      config.detect_scale = detect_scale;
      auto detector =
          Detector::create(Backend::kCpu, load(test::cascade_path("smile")), config, 220, 140);
      ASSERT_TRUE(detector.ok());
      DetectResult result;
      ASSERT_TRUE(detector.value()->enqueue(view_of(picture), result).ok());
      const long before = test::allocations;
      ASSERT_TRUE(detector.value()->enqueue(view_of(picture), result).ok());
      EXPECT_EQ(test::allocations - before, 0);
      EXPECT_GT(result.faces.size(), 0u);
    }
  }
}

TEST(Detect, DetectorsShareAModelAcrossThreads) {
  CUFACE_NEEDS_CASCADES();
  const Model model = load(test::cascade_path("frontalface_alt2"));
  const cv::Mat picture = test::drawn_faces(220, 140, 21);
  const DetectConfig config = config_with(1.1, 0, 0);
  const DetectResult expected = detect(model, config, picture);
  std::vector<DetectResult> results(3);
  std::vector<std::thread> threads;
  for (DetectResult& r : results) {
    threads.emplace_back([&] { r = detect(model, config, picture); });
  }
  for (std::thread& t : threads) t.join();
  for (const DetectResult& r : results) EXPECT_EQ(r.faces, expected.faces);
}

TEST(Detect, MaxFacesKeepsTheMostNeighbors) {
  CUFACE_NEEDS_CASCADES();
  const Model model = load(test::cascade_path("frontalface_alt"));
  const cv::Mat picture = test::drawn_faces(300, 190, 21);
  DetectConfig config = config_with(1.1, 1, 0);
  const std::vector<Detection> all = detect(model, config, picture).faces;
  ASSERT_GT(all.size(), 3u);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Detection &a = all[i - 1], &b = all[i];
    EXPECT_LE(std::tuple(-a.neighbors, a.box.y, a.box.x),
              std::tuple(-b.neighbors, b.box.y, b.box.x));
  }
  for (const int most : {1, 2, 3}) {
    config.max_faces = most;
    EXPECT_EQ(detect(model, config, picture).faces,
              std::vector<Detection>(all.begin(), all.begin() + most));
  }
}

// The raw windows are OpenCV's; the rule itself is tested in test_group.
TEST(Detect, OverlapGroupingUsesTheSameWindows) {
  CUFACE_NEEDS_CASCADES();
  const Model model = load(test::cascade_path("frontalface_alt"));
  cv::CascadeClassifier classifier(test::cascade_path("frontalface_alt"));
  const cv::Mat picture = test::drawn_faces(300, 190, 21);
  DetectConfig config = config_with(1.1, 0, 0);
  std::vector<Rect> windows;
  for (const Detection& d : opencv(classifier, config, picture)) windows.push_back(d.box);
  config.min_neighbors = 3;
  config.grouping = Grouping::kOverlap;
  GroupScratch scratch;
  std::vector<Detection> expected;
  group(windows, Grouping::kOverlap, 3, scratch, expected);
  EXPECT_GT(windows.size(), 20u);
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(detect(model, config, picture).faces, expected);
}

// [S0.03]: the search in the picture of 1/n, boxes brought back to the full one.
TEST(Detect, DetectScaleSearchesASmallerPicture) {
  CUFACE_NEEDS_CASCADES();
  const Model model = load(test::cascade_path("frontalface_alt"));
  cv::CascadeClassifier classifier(test::cascade_path("frontalface_alt"));
  const cv::Mat picture = test::drawn_faces(451, 287, 21);
  std::size_t boxes = 0;
  for (const int n : {2, 3, 1000}) {
    const int w = std::max(451 / n, 1), h = std::max(287 / n, 1);
    cv::Mat small;
    cv::resize(picture, small, cv::Size(w, h), 0, 0, cv::INTER_LINEAR_EXACT);
    DetectConfig config = config_with(1.1, 1, 71, 0);
    const int limit = (config.min_size + n - 1) / n;
    std::vector<Detection> expected = opencv(classifier, config_with(1.1, 1, limit), small);
    for (Detection& d : expected) {
      const auto full = [](int v, int to, int from) {
        return static_cast<int>(std::floor(static_cast<double>(v) * to / from + 0.5));
      };
      d.box = {full(d.box.x, 451, w), full(d.box.y, 287, h), full(d.box.w, 451, w),
               full(d.box.h, 287, h)};
    }
    config.detect_scale = n;
    EXPECT_EQ(multiset(detect(model, config, picture).faces), multiset(expected)) << n;
    boxes += expected.size();
  }
  EXPECT_GT(boxes, 4u);
}

// A forced step, by the definition: same scales, same rows, another grid.
TEST(Detect, ForcedStepsFollowTheDefinition) {
  CUFACE_NEEDS_CASCADES();
  const Model model = load(test::cascade_path("frontalface_alt"));
  const cv::Mat picture = test::drawn_faces(150, 110, 25);
  for (const int step : {1, 2}) {
    std::vector<Detection> expected;
    int stripes = 0;
    for (double factor = 1; cvRound(20 * factor) <= 110; factor *= 1.1) {
      const float s = static_cast<float>(factor);
      cv::Mat level;
      cv::resize(picture, level, cv::Size(cvRound(150 / s), cvRound(110 / s)), 0, 0,
                 cv::INTER_LINEAR_EXACT);
      const int columns = level.cols - 19, rows = level.rows - 19;
      if (stripes == 0) stripes = (columns + 31) / 32;
      const int stripe = std::max((rows / step + stripes - 1) / stripes, 1) * step;
      const test::BruteCascade brute(*model, level);
      for (const RawWindow& w : brute.search(columns, std::min(rows, stripes * stripe), step, 0)) {
        const int side = cvRound(20 * s);
        const int x = cvRound(static_cast<float>(w.x) * s),
                  y = cvRound(static_cast<float>(w.y) * s);
        expected.push_back({{x, y, std::min(side, 150 - x), std::min(side, 110 - y)}, 1});
      }
    }
    DetectConfig config = config_with(1.1, 0, 0);
    config.step = step;
    EXPECT_GT(expected.size(), 20u);
    EXPECT_EQ(multiset(detect(model, config, picture).faces), multiset(expected)) << step;
  }
}

// [S0.15]: every window of every scaled size on one set of integrals, normed over the whole window.
TEST(Detect, ScaledWindowsFollowTheDefinition) {
  CUFACE_NEEDS_CASCADES();
  const cv::Mat picture = test::drawn_faces(160, 100, 26);
  std::size_t found[2] = {};
  for (const char* name : {"frontalface_alt", "lefteye_2splits", "smile"}) {
    const Model model = load(test::cascade_path(name));
    const test::BruteCascade brute(*model, picture);
    for (const int step : {0, 1, 2}) {
      std::vector<Detection> expected;
      for (double factor = 1;; factor *= 1.2) {
        const float s = static_cast<float>(factor);
        const int w = cvRound(static_cast<float>(model->window_width) * s);
        const int h = cvRound(static_cast<float>(model->window_height) * s);
        if (w > 160 || h > 100) break;
        const auto features = test::scaled_features(*model, s);
        const int distance = step > 0 ? step : std::max(2, cvRound(s));
        for (int y = 0; y + h <= 100; y += distance) {
          for (int x = 0; x + w <= 160; x += distance) {
            const float norm = brute.inverse_norm(x, y, w, h);
            if (norm != 0 && brute.stages_passed(features, x, y, norm) == model->stages.size()) {
              expected.push_back({{x, y, w, h}, 1});
            }
          }
        }
      }
      DetectConfig config = config_with(1.2, 0, 0);
      config.scale_mode = ScaleMode::kWindow;
      config.step = step;
      found[model->has_tilted()] += expected.size();
      EXPECT_EQ(multiset(detect(model, config, picture).faces), multiset(expected))
          << name << " step " << step;
    }
  }
  EXPECT_GT(found[0], 20u);
  EXPECT_GT(found[1], 20u);
}

// One stage that lets every window pass.
Model all_accepting() { return test::one_node_cascade(0, -5); }

TEST(Detect, OverflowMakesTheSearchNone) {
  for (const ScaleMode mode : {ScaleMode::kPyramid, ScaleMode::kWindow}) {
    DetectConfig config = config_with(4, 0, 0);
    config.scale_mode = mode;
    config.step = 1;
    config.threads = 3;
    // Exactly as many windows as there may be: one level of 256 x 256 positions.
    config.max_size = 20;
    const cv::Mat fits = test::noise(275, 275, 60), more = test::noise(276, 275, 61);
    const DetectResult full = detect(all_accepting(), config, fits);
    EXPECT_FALSE(full.overflow);
    EXPECT_EQ(full.faces.size(), static_cast<std::size_t>(kMaxRawWindows));
    auto detector = Detector::create(Backend::kCpu, all_accepting(), config, 276, 275);
    ASSERT_TRUE(detector.ok());
    DetectResult result = full;
    ASSERT_TRUE(detector.value()->enqueue(view_of(more), result).ok());
    EXPECT_TRUE(result.overflow);
    EXPECT_TRUE(result.faces.empty());
    const cv::Mat grey(275, 276, CV_8U, cv::Scalar(9));
    ASSERT_TRUE(detector.value()->enqueue(view_of(grey), result).ok());
    EXPECT_FALSE(result.overflow) << "the flag must not stay";
  }
}

TEST(Detect, CreateRefusesWhatItCannotDo) {
  const auto code = [](DetectConfig config, int width, int height, Backend backend, Model model) {
    return Detector::create(backend, model, config, width, height).status().code();
  };
  const Model model = all_accepting();
  const auto with = [&](auto change, int width = 100, int height = 100) {
    DetectConfig config;
    change(config);
    return code(config, width, height, Backend::kCpu, model);
  };
  const auto same = [](DetectConfig&) {};
  EXPECT_EQ(with(same), StatusCode::kOk);
  EXPECT_EQ(code({}, 100, 100, Backend::kCuda, model), StatusCode::kUnsupported);
  EXPECT_EQ(code({}, 100, 100, Backend::kCpu, nullptr), StatusCode::kInvalidArgument);
  auto broken = std::make_shared<CascadeModel>(*model);
  broken->nodes[0].feature = 7;
  EXPECT_EQ(code({}, 100, 100, Backend::kCpu, broken), StatusCode::kCorrupt);
  using C = DetectConfig;
  const auto invalid = StatusCode::kInvalidArgument;
  EXPECT_EQ(with([](C& c) { c.scale_factor = 1; }), invalid);
  EXPECT_EQ(with([](C& c) { c.scale_factor = -2; }), invalid);
  EXPECT_EQ(with([](C& c) { c.scale_factor = std::nan(""); }), invalid);
  EXPECT_EQ(with([](C& c) { c.scale_factor = INFINITY; }), invalid);
  EXPECT_EQ(with([](C& c) { c.min_neighbors = -1; }), invalid);
  EXPECT_EQ(with([](C& c) { c.min_size = -1; }), invalid);
  EXPECT_EQ(with([](C& c) { c.max_size = -1; }), invalid);
  EXPECT_EQ(with([](C& c) { c.max_faces = 0; }), invalid);
  EXPECT_EQ(with([](C& c) { c.step = 3; }), invalid);
  EXPECT_EQ(with([](C& c) { c.detect_scale = 0; }), invalid);
  EXPECT_EQ(with([](C& c) { c.threads = -1; }), invalid);
  EXPECT_EQ(with(same, 0, 100), invalid);
  EXPECT_EQ(with(same, 100, -1), invalid);
  EXPECT_EQ(with(same, 16385, 1), StatusCode::kUnsupported);
  EXPECT_EQ(with([](C& c) { c.scale_mode = ScaleMode::kWindow; }, 8192, 4096),
            StatusCode::kUnsupported);
  EXPECT_EQ(with([](C& c) { c.scale_factor = 1e10; }), StatusCode::kOk);
  EXPECT_EQ(with([](C& c) { c.scale_factor = 1e300; }), StatusCode::kOk);
  EXPECT_EQ(with([](C& c) { c.min_size = c.max_size = 2147483647; }), StatusCode::kOk);
  EXPECT_EQ(with([](C& c) { c.detect_scale = 2147483647; }), StatusCode::kOk);
}

TEST(Detect, RefusesAPictureOfAnotherSize) {
  auto detector = Detector::create(Backend::kCpu, all_accepting(), {}, 64, 48);
  ASSERT_TRUE(detector.ok());
  DetectResult result;
  const cv::Mat picture = test::noise(64, 49, 1);
  EXPECT_EQ(detector.value()->enqueue(view_of(picture), result).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(detector.value()->enqueue({nullptr, 64, 48, 64}, result).code(),
            StatusCode::kInvalidArgument);
  EXPECT_TRUE(detector.value()->enqueue(view_of(test::noise(64, 48, 1)), result).ok());
}

}  // namespace
}  // namespace cuface
