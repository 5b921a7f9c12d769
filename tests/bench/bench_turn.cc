// Turning one 720p picture beside cv::warpAffine.
#include <benchmark/benchmark.h>

#include <cmath>
#include <opencv2/imgproc.hpp>

#include "kernels/turn/turn.h"
#include "tests/bench/naturals.h"

namespace cuface {
namespace {

constexpr double kDegrees = 22.5;

template <typename Run>
void with_canvas(benchmark::State& state, Run run) {
  cv::setNumThreads(1);
  const cv::Mat picture = bench::mosaic();
  if (picture.empty()) return state.SkipWithError("no test data, or no ffmpeg");
  const Turn turn = make_turn(kDegrees, picture.cols, picture.rows);
  cv::Mat canvas(turn.canvas_height, turn.canvas_width, CV_8U);
  for (auto _ : state) {
    run(picture, turn, canvas);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(canvas.total()));
}

void ours(benchmark::State& state) {
  with_canvas(state, [&](const cv::Mat& p, const Turn& turn, cv::Mat& canvas) {
    const Status status = turn_picture(
        {p.data, p.cols, p.rows, static_cast<std::ptrdiff_t>(p.step)}, turn,
        {canvas.data, canvas.cols, canvas.rows, static_cast<std::ptrdiff_t>(canvas.step)});
    if (!status.ok()) state.SkipWithError(status.message().c_str());
  });
}

void opencv(benchmark::State& state) {
  with_canvas(state, [&](const cv::Mat& p, const Turn& turn, cv::Mat& canvas) {
    const double c = std::cos(kDegrees * CV_PI / 180), s = std::sin(kDegrees * CV_PI / 180);
    const double u = (turn.canvas_width - 1) / 2.0, v = (turn.canvas_height - 1) / 2.0;
    const cv::Mat way = (cv::Mat_<double>(2, 3) << c, -s, (p.cols - 1) / 2.0 - c * u + s * v, s, c,
                         (p.rows - 1) / 2.0 - s * u - c * v);
    cv::warpAffine(p, canvas, way, canvas.size(), cv::INTER_LINEAR | cv::WARP_INVERSE_MAP,
                   cv::BORDER_CONSTANT, cv::Scalar(kOutside));
  });
}

BENCHMARK(ours)->Unit(benchmark::kMicrosecond);
BENCHMARK(opencv)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cuface

BENCHMARK_MAIN();
