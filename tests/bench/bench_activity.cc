// The map of active parts of one 720p picture beside OpenCV's reduction and difference.
#include <benchmark/benchmark.h>

#include <opencv2/imgproc.hpp>

#include "kernels/activity/activity.h"
#include "tests/bench/naturals.h"

namespace cuface {
namespace {

void ours(benchmark::State& state) {
  const cv::Mat picture = bench::mosaic();
  if (picture.empty()) return state.SkipWithError("no test data, or no ffmpeg");
  Activity activity(picture.cols, picture.rows, picture.cols, picture.rows);
  const ImageView<const std::uint8_t> view{picture.data, picture.cols, picture.rows,
                                           static_cast<std::ptrdiff_t>(picture.step)};
  activity.take(view);
  for (auto _ : state) benchmark::DoNotOptimize(&activity.look(view, {}));
}

void opencv(benchmark::State& state) {
  cv::setNumThreads(1);
  const cv::Mat picture = bench::mosaic();
  if (picture.empty()) return state.SkipWithError("no test data, or no ffmpeg");
  cv::Mat then, now, apart;
  const auto reduce = [&](cv::Mat& out) {
    cv::resize(picture, out, {picture.cols / kBlock, picture.rows / kBlock}, 0, 0, cv::INTER_AREA);
  };
  reduce(then);
  for (auto _ : state) {
    reduce(now);
    cv::absdiff(now, then, apart);
    benchmark::DoNotOptimize(cv::countNonZero(apart > kTolerance));
  }
}

BENCHMARK(ours)->Unit(benchmark::kMicrosecond);
BENCHMARK(opencv)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cuface

BENCHMARK_MAIN();
