// Corners of a natural picture, beside cv::FAST.
#include <benchmark/benchmark.h>

#include <opencv2/features2d.hpp>

#include "kernels/fast/fast.h"
#include "tests/bench/naturals.h"

namespace cuface {
namespace {

const cv::Mat& picture() {
  static const cv::Mat frame = bench::mosaic(720);
  return frame;
}

void ours(benchmark::State& state) {
  if (picture().empty()) return state.SkipWithError("no test data, or no ffmpeg");
  const cv::Mat& grey = picture();
  FastDetector detector = std::move(FastDetector::create(grey.cols, grey.rows).value());
  std::vector<Corner> corners;
  for (auto _ : state) {
    const Status status =
        detector.run({grey.data, grey.cols, grey.rows, static_cast<std::ptrdiff_t>(grey.step)},
                     static_cast<int>(state.range(0)), {0, 0, grey.cols, grey.rows}, corners);
    if (!status.ok()) return state.SkipWithError(status.message().c_str());
  }
}

void opencv(benchmark::State& state) {
  if (picture().empty()) return state.SkipWithError("no test data, or no ffmpeg");
  cv::setNumThreads(1);
  std::vector<cv::KeyPoint> corners;
  for (auto _ : state) cv::FAST(picture(), corners, static_cast<int>(state.range(0)), true);
}

BENCHMARK(ours)->Arg(10)->Arg(20)->Arg(40)->Unit(benchmark::kMicrosecond);
BENCHMARK(opencv)->Arg(10)->Arg(20)->Arg(40)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cuface

BENCHMARK_MAIN();
