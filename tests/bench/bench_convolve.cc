// The Gaussian blur of a natural 640x360 picture, beside OpenCV's. General filters are timed by
// tests/eval/edges.cc.
#include <benchmark/benchmark.h>

#include <opencv2/imgproc.hpp>

#include "kernels/convolve/convolve.h"
#include "tests/bench/naturals.h"

namespace cuface {
namespace {

const cv::Mat& picture() {
  static const cv::Mat frame = bench::video_frame();
  return frame;
}

void blur(benchmark::State& state) {
  if (picture().empty()) return state.SkipWithError("no test data, or no ffmpeg");
  cv::Mat out(picture().size(), CV_8U);
  const std::vector<int> weights = gaussian_weights(static_cast<int>(state.range(0)), 0).value();
  for (auto _ : state) {
    gaussian_blur({picture().data, picture().cols, picture().rows,
                   static_cast<std::ptrdiff_t>(picture().step)},
                  weights, {out.data, out.cols, out.rows, static_cast<std::ptrdiff_t>(out.step)});
  }
}

void opencv_blur(benchmark::State& state) {
  cv::setNumThreads(1);
  const int size = static_cast<int>(state.range(0));
  cv::Mat out;
  for (auto _ : state) cv::GaussianBlur(picture(), out, {size, size}, 0);
}

BENCHMARK(blur)->Arg(3)->Arg(5)->Arg(9)->Unit(benchmark::kMicrosecond);
BENCHMARK(opencv_blur)->Arg(3)->Arg(5)->Arg(9)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cuface

BENCHMARK_MAIN();
