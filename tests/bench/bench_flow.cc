// Flow of 68 points over a stream: each frame one new pyramid and one pass. Ours and OpenCV's on
// the same frames, one thread, natural video; 720p is the 360p clip enlarged 2x.
#include <benchmark/benchmark.h>

#include <opencv2/imgproc.hpp>
#include <opencv2/video/tracking.hpp>

#include "kernels/flow/flow.h"
#include "tests/clip.h"
#include "tests/data.h"

namespace cuface {
namespace {

constexpr int kFrames = 60;

const std::vector<cv::Mat>& stream(int height) {
  static const std::vector<cv::Mat> small =
      test::read_clip(test::data_dir() + "/videos/WolfgangLanger_Pexels.mp4", 640, 360, kFrames);
  static const std::vector<cv::Mat> large = [] {
    std::vector<cv::Mat> frames;
    for (const cv::Mat& f : small) {
      cv::Mat big;
      cv::resize(f, big, {}, 2, 2, cv::INTER_CUBIC);
      frames.push_back(big);
    }
    return frames;
  }();
  return height == 360 ? small : large;
}

/// 68 points over the face of the clip, which hardly moves in its first seconds.
std::vector<Point> face_points(int height) {
  std::vector<Point> points;
  const float unit = static_cast<float>(height) / 360;
  for (int i = 0; i < 68; ++i) {
    points.push_back({(250 + 16 * static_cast<float>(i % 9)) * unit,
                      (90 + 18 * static_cast<float>(i / 9)) * unit});
  }
  return points;
}

ImageView<const std::uint8_t> view_of(const cv::Mat& m) {
  return {m.data, m.cols, m.rows, static_cast<std::ptrdiff_t>(m.step)};
}

/// range(0): height; range(1): passes (2 = forward and backward).
void ours(benchmark::State& state) {
  const int height = static_cast<int>(state.range(0));
  const auto& frames = stream(height);
  if (frames.size() < 2) return state.SkipWithError("no test data: set CUFACE_DATA");
  const FlowConfig config;
  const std::vector<Point> points = face_points(height);
  GaussianPyramid pyramids[2] = {{frames[0].cols, height, config.levels, config.window},
                                 {frames[0].cols, height, config.levels, config.window}};
  FlowScratch scratch(config);
  std::vector<Point> to(points.size()), back(points.size());
  std::vector<std::uint8_t> status(points.size());
  pyramids[0].build(view_of(frames[0]));
  std::size_t t = 0;
  for (auto _ : state) {
    ++t;
    pyramids[t % 2].build(view_of(frames[t % frames.size()]));
    flow(pyramids[(t + 1) % 2], pyramids[t % 2], points, to, status, config, scratch);
    if (state.range(1) == 2) {
      flow(pyramids[t % 2], pyramids[(t + 1) % 2], to, back, status, config, scratch);
    }
    benchmark::DoNotOptimize(to.data());
  }
}

void opencv(benchmark::State& state) {
  cv::setNumThreads(1);
  const int height = static_cast<int>(state.range(0));
  const auto& frames = stream(height);
  if (frames.size() < 2) return state.SkipWithError("no test data: set CUFACE_DATA");
  const FlowConfig config;
  const cv::Size window(config.window, config.window);
  const cv::TermCriteria criteria(cv::TermCriteria::COUNT | cv::TermCriteria::EPS,
                                  config.max_iterations, static_cast<double>(config.epsilon));
  std::vector<cv::Point2f> points, to, back;
  for (const Point& p : face_points(height)) points.emplace_back(p.x, p.y);
  std::vector<std::uint8_t> status;
  std::vector<float> error;
  std::vector<cv::Mat> pyramids[2];
  cv::buildOpticalFlowPyramid(frames[0], pyramids[0], window, config.levels - 1);
  std::size_t t = 0;
  for (auto _ : state) {
    ++t;
    cv::buildOpticalFlowPyramid(frames[t % frames.size()], pyramids[t % 2], window,
                                config.levels - 1);
    cv::calcOpticalFlowPyrLK(pyramids[(t + 1) % 2], pyramids[t % 2], points, to, status, error,
                             window, config.levels - 1, criteria);
    if (state.range(1) == 2) {
      cv::calcOpticalFlowPyrLK(pyramids[t % 2], pyramids[(t + 1) % 2], to, back, status, error,
                               window, config.levels - 1, criteria);
    }
    benchmark::DoNotOptimize(to.data());
  }
}

BENCHMARK(ours)->ArgsProduct({{360, 720}, {1, 2}})->Unit(benchmark::kMicrosecond);
BENCHMARK(opencv)->ArgsProduct({{360, 720}, {1, 2}})->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cuface

BENCHMARK_MAIN();
