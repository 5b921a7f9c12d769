// The flow's Gaussian pyramid (3 levels) of natural frames, ours beside cv::pyrDown.
#include <benchmark/benchmark.h>

#include <opencv2/imgproc.hpp>

#include "kernels/pyramid/pyramid.h"
#include "tests/clip.h"
#include "tests/data.h"

namespace cuface {
namespace {

constexpr int kLevels = 3;

/// Frames of a 640x360 clip, enlarged to the asked height.
const std::vector<cv::Mat>& stream(int height) {
  static std::vector<cv::Mat> frames;
  if (!frames.empty() && frames[0].rows == height) return frames;
  frames = test::read_clip(test::data_dir() + "/videos/WolfgangLanger_Pexels.mp4", 640, 360, 16);
  for (cv::Mat& f : frames)
    cv::resize(f.clone(), f, {height * 16 / 9, height}, 0, 0, cv::INTER_CUBIC);
  return frames;
}

void ours(benchmark::State& state) {
  const auto& frames = stream(static_cast<int>(state.range(0)));
  if (frames.empty()) return state.SkipWithError("no test data: set CUFACE_DATA");
  GaussianPyramid pyramid(frames[0].cols, frames[0].rows, kLevels, 21);
  std::size_t t = 0;
  for (auto _ : state) {
    const cv::Mat& f = frames[t++ % frames.size()];
    pyramid.build({f.data, f.cols, f.rows, static_cast<std::ptrdiff_t>(f.step)});
    benchmark::DoNotOptimize(pyramid.level(kLevels - 1).all().data);
  }
}

void opencv(benchmark::State& state) {
  cv::setNumThreads(1);
  const auto& frames = stream(static_cast<int>(state.range(0)));
  if (frames.empty()) return state.SkipWithError("no test data: set CUFACE_DATA");
  cv::Mat levels[kLevels];
  std::size_t t = 0;
  for (auto _ : state) {
    frames[t++ % frames.size()].copyTo(levels[0]);
    for (int i = 1; i < kLevels; ++i) cv::pyrDown(levels[i - 1], levels[i]);
    benchmark::DoNotOptimize(levels[kLevels - 1].data);
  }
}

BENCHMARK(ours)->Arg(360)->Arg(720)->Arg(1080)->Unit(benchmark::kMicrosecond);
BENCHMARK(opencv)->Arg(360)->Arg(720)->Arg(1080)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cuface

BENCHMARK_MAIN();
