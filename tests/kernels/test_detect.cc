// The detector by its contract: scales and steps by their definition, threads, limits, what is
// refused. test_detect_opencv.cc holds it against OpenCV.
#include <gtest/gtest.h>

#include <thread>
#include <tuple>

#include "tests/fewer.h"
#include "tests/kernels/allocations.h"
#include "tests/kernels/brute_cascade.h"
#include "tests/kernels/detections.h"
#include "tests/kernels/one_node_cascade.h"
#include "tests/kernels/pictures.h"

namespace cuface {
namespace {

using test::cascade_of;
using test::config_with;
using test::detect;
using test::fewer;
using test::multiset;
using test::opencv_detections;
using test::view_of;
using Model = std::shared_ptr<const CascadeModel>;

TEST(Detect, OnePlanServesManyPictures) {
  CUFACE_NEEDS_CASCADES();
  const Model model = cascade_of(test::cascade_path("frontalface_alt"));
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
  const Model model = cascade_of(test::cascade_path("frontalface_alt"));
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
      auto detector = Detector::create(Backend::kCpu, cascade_of(test::cascade_path("smile")),
                                       config, 220, 140);
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
  const Model model = cascade_of(test::cascade_path("frontalface_alt2"));
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
  const Model model = cascade_of(test::cascade_path("frontalface_alt"));
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
  const Model model = cascade_of(test::cascade_path("frontalface_alt"));
  cv::CascadeClassifier classifier(test::cascade_path("frontalface_alt"));
  const cv::Mat picture = test::drawn_faces(300, 190, 21);
  DetectConfig config = config_with(1.1, 0, 0);
  std::vector<Rect> windows;
  for (const Detection& d : opencv_detections(classifier, config, picture))
    windows.push_back(d.box);
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
  const Model model = cascade_of(test::cascade_path("frontalface_alt"));
  cv::CascadeClassifier classifier(test::cascade_path("frontalface_alt"));
  const cv::Mat picture = test::drawn_faces(451, 287, 21);
  std::size_t boxes = 0;
  for (const int n : {2, 3, 1000}) {
    const int w = std::max(451 / n, 1), h = std::max(287 / n, 1);
    cv::Mat small;
    cv::resize(picture, small, cv::Size(w, h), 0, 0, cv::INTER_LINEAR_EXACT);
    DetectConfig config = config_with(1.1, 1, 71, 0);
    const int limit = (config.min_size + n - 1) / n;
    std::vector<Detection> expected =
        opencv_detections(classifier, config_with(1.1, 1, limit), small);
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
  const Model model = cascade_of(test::cascade_path("frontalface_alt"));
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
    const Model model = cascade_of(test::cascade_path(name));
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
