// Motion in 640 x 480, one thread: with edges at hand, of frames, and against the background,
// beside MOG2 and beside frame differences as OpenCV's users write them.
#include <benchmark/benchmark.h>

#include <opencv2/imgproc.hpp>
#include <opencv2/video/background_segm.hpp>

#include "kernels/motion/motion.h"
#include "tests/bench/naturals.h"
#include "tests/mat_view.h"

namespace cuface {
namespace {

using test::view_of;

constexpr int kWidth = 640, kHeight = 480, kFrames = 16;
constexpr std::int64_t kFrame = 40'000'000;

/// A natural picture with a disc that moves and a camera's noise.
const std::vector<cv::Mat>& frames() {
  static const std::vector<cv::Mat> all = [] {
    std::vector<cv::Mat> out;
    const cv::Mat picture = bench::mosaic();
    if (picture.empty()) return out;
    cv::RNG random(1);
    for (int i = 0; i < kFrames; ++i) {
      cv::Mat frame = picture(cv::Rect(100, 100, kWidth, kHeight)).clone();
      cv::Mat noise(frame.size(), CV_8S);
      random.fill(noise, cv::RNG::NORMAL, 0, 2);
      cv::add(frame, noise, frame, cv::noArray(), CV_8U);
      cv::circle(frame, {40 + 30 * i, 240}, 60, cv::Scalar(200), cv::FILLED);
      out.push_back(frame);
    }
    return out;
  }();
  return all;
}

void ours(benchmark::State& state, MotionMethod method) {
  std::vector<cv::Mat> pictures = frames();
  if (pictures.empty()) return state.SkipWithError("no test data, or no ffmpeg");
  if (method == MotionMethod::kEdges)
    for (cv::Mat& picture : pictures) cv::Canny(picture, picture, 50, 150);
  MotionConfig config;
  config.method = method;
  auto motion = MotionDetector::create(config, kWidth, kHeight);
  if (!motion.ok()) return state.SkipWithError(motion.status().message().c_str());
  std::int64_t number = 0;
  for (auto _ : state) {
    const cv::Mat& picture = pictures[static_cast<std::size_t>(number % kFrames)];
    benchmark::DoNotOptimize(motion.value().look(view_of(picture), number * kFrame));
    ++number;
  }
}

void mog2(benchmark::State& state) {
  cv::setNumThreads(1);
  if (frames().empty()) return state.SkipWithError("no test data, or no ffmpeg");
  const auto model = cv::createBackgroundSubtractorMOG2(500, 16, false);
  cv::Mat mask;
  std::size_t number = 0;
  for (auto _ : state) model->apply(frames()[number++ % kFrames], mask);
}

void opencv_difference(benchmark::State& state) {
  cv::setNumThreads(1);
  if (frames().empty()) return state.SkipWithError("no test data, or no ffmpeg");
  cv::Mat mask;
  std::size_t number = 0;
  for (auto _ : state) {
    const cv::Mat& then = frames()[number++ % kFrames];
    cv::absdiff(frames()[number % kFrames], then, mask);
    cv::threshold(mask, mask, 15, 255, cv::THRESH_BINARY);
    cv::medianBlur(mask, mask, 5);
    benchmark::DoNotOptimize(cv::countNonZero(mask));
  }
}

BENCHMARK_CAPTURE(ours, edges, MotionMethod::kEdges)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(ours, difference, MotionMethod::kDifference)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(ours, background, MotionMethod::kBackground)->Unit(benchmark::kMicrosecond);
BENCHMARK(mog2)->Unit(benchmark::kMicrosecond);
BENCHMARK(opencv_difference)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cuface

BENCHMARK_MAIN();
