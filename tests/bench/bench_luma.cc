// luma at 1080p beside the nearest OpenCV call.
#include <benchmark/benchmark.h>

#include <opencv2/imgproc.hpp>
#include <vector>

#include "kernels/luma/luma.h"

namespace {

constexpr int kWidth = 1920, kHeight = 1080;

cv::Mat noise(int type) {
  cv::Mat picture(kHeight, kWidth, type);
  cv::randu(picture, 0, 255);
  return picture;
}

void report(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * kWidth * kHeight);
}

void run(benchmark::State& state, const cv::Mat& picture, int depth, bool rgb, bool full) {
  cuface::FrameView frame{kWidth, kHeight, rgb, full, {}};
  for (int c = 0; c < (rgb ? 3 : 1); ++c)
    frame.component[c] = {picture.data + c,
                          static_cast<std::ptrdiff_t>(picture.step),
                          static_cast<int>(picture.elemSize()),
                          depth,
                          0,
                          0,
                          0};
  cuface::Image<std::uint8_t> out(kWidth, kHeight);
  for (auto _ : state) {
    cuface::luma(frame, out.view());
    benchmark::DoNotOptimize(out.view().data);
    benchmark::ClobberMemory();
  }
  report(state);
}

void limited_8bit(benchmark::State& state) { run(state, noise(CV_8UC1), 8, false, false); }
void limited_10bit(benchmark::State& state) { run(state, noise(CV_16UC1), 10, false, false); }
void full_8bit(benchmark::State& state) { run(state, noise(CV_8UC1), 8, false, true); }
void rgb24(benchmark::State& state) { run(state, noise(CV_8UC3), 8, true, true); }
void rgbx(benchmark::State& state) { run(state, noise(CV_8UC4), 8, true, true); }

void opencv_rgb24(benchmark::State& state) {
  cv::setNumThreads(1);
  const cv::Mat picture = noise(CV_8UC3);
  cv::Mat out;
  for (auto _ : state) cv::cvtColor(picture, out, cv::COLOR_RGB2GRAY);
  report(state);
}

BENCHMARK(limited_8bit);
BENCHMARK(limited_10bit);
BENCHMARK(full_8bit);
BENCHMARK(rgb24);
BENCHMARK(rgbx);
BENCHMARK(opencv_rgb24);

}  // namespace

BENCHMARK_MAIN();
