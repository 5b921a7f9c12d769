// The integrals of one 720p picture beside cv::integral.
#include <benchmark/benchmark.h>

#include <opencv2/imgproc.hpp>

#include "kernels/integral/integral.h"
#include "kernels/pyramid/pyramid.h"
#include "tests/bench/naturals.h"
#include "tests/mat_view.h"

namespace cuface {
namespace {

using test::view_of;

template <typename Run>
void with_picture(benchmark::State& state, Run run) {
  cv::setNumThreads(1);
  const cv::Mat picture = bench::mosaic();
  if (picture.empty()) return state.SkipWithError("no test data, or no ffmpeg");
  for (auto _ : state) {
    run(picture);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(picture.total()));
}

void ours_sum_and_squares(benchmark::State& state) {
  Image<std::uint32_t> sum(1281, 721), squared(1281, 721);
  with_picture(state,
               [&](const cv::Mat& p) { integral_squared(view_of(p), sum.view(), squared.view()); });
}

void opencv_sum_and_squares(benchmark::State& state) {
  cv::Mat sum, squared;
  with_picture(state, [&](const cv::Mat& p) { cv::integral(p, sum, squared, CV_32S, CV_32S); });
}

void ours_tilted(benchmark::State& state) {
  Image<std::uint32_t> sum(1281, 721), squared(1281, 721), tilted(1281, 721);
  with_picture(state, [&](const cv::Mat& p) {
    integral_squared(view_of(p), sum.view(), squared.view());
    integral_tilted(view_of(p), tilted.view());
  });
}

void opencv_tilted(benchmark::State& state) {
  cv::Mat sum, squared, tilted;
  with_picture(state,
               [&](const cv::Mat& p) { cv::integral(p, sum, squared, tilted, CV_32S, CV_32S); });
}

void ours_resize(benchmark::State& state) {
  const LinearResize plan(1280, 720, 1164, 655);
  Image<std::uint8_t> out(1164, 655);
  with_picture(state, [&](const cv::Mat& p) { plan.run(view_of(p), out.view()); });
}

void opencv_resize(benchmark::State& state) {
  cv::Mat out;
  with_picture(state, [&](const cv::Mat& p) {
    cv::resize(p, out, cv::Size(1164, 655), 0, 0, cv::INTER_LINEAR_EXACT);
  });
}

BENCHMARK(ours_sum_and_squares)->Unit(benchmark::kMicrosecond);
BENCHMARK(opencv_sum_and_squares)->Unit(benchmark::kMicrosecond);
BENCHMARK(ours_tilted)->Unit(benchmark::kMicrosecond);
BENCHMARK(opencv_tilted)->Unit(benchmark::kMicrosecond);
BENCHMARK(ours_resize)->Unit(benchmark::kMicrosecond);
BENCHMARK(opencv_resize)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cuface

BENCHMARK_MAIN();
