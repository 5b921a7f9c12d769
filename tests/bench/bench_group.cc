// Grouping the raw windows of a natural picture, beside cv::groupRectangles on the same windows.
#include <benchmark/benchmark.h>

#include <opencv2/objdetect.hpp>
#include <vector>

#include "kernels/detect/detect.h"
#include "tests/bench/naturals.h"

namespace cuface {
namespace {

constexpr int kMinNeighbors = 3;

std::vector<Rect> raw_windows(const cv::Mat& picture) {
  DetectConfig config;
  config.min_neighbors = 0;
  config.max_faces = kMaxRawWindows;
  auto detector = Detector::create(Backend::kCpu, bench::cascade("frontalface_default"), config,
                                   picture.cols, picture.rows);
  DetectResult result;
  std::vector<Rect> out;
  if (!detector.ok() || !detector.value()
                             ->enqueue({picture.data, picture.cols, picture.rows,
                                        static_cast<std::ptrdiff_t>(picture.step)},
                                       result)
                             .ok())
    return out;
  for (const Detection& d : result.faces) out.push_back(d.box);
  return out;
}

void ours(benchmark::State& state, const std::vector<Rect>& windows, Grouping rule) {
  GroupScratch scratch;
  std::vector<Detection> faces;
  for (auto _ : state) {
    group(windows, rule, kMinNeighbors, scratch, faces);
    benchmark::DoNotOptimize(faces.data());
  }
  state.counters["windows"] = static_cast<double>(windows.size());
  state.counters["faces"] = static_cast<double>(faces.size());
}

void opencv(benchmark::State& state, const std::vector<Rect>& windows) {
  std::vector<cv::Rect> input, faces;
  for (const Rect& r : windows) input.emplace_back(r.x, r.y, r.w, r.h);
  for (auto _ : state) {
    faces = input;
    cv::groupRectangles(faces, kMinNeighbors, 0.2);
    benchmark::DoNotOptimize(faces.data());
  }
  state.counters["windows"] = static_cast<double>(windows.size());
  state.counters["faces"] = static_cast<double>(faces.size());
}

void register_all() {
  const cv::Mat mosaic = bench::mosaic();
  if (mosaic.empty()) return;
  const std::vector<Rect> windows = raw_windows(mosaic);
  benchmark::RegisterBenchmark("ours/opencv-rule/mosaic720", ours, windows, Grouping::kOpenCv);
  benchmark::RegisterBenchmark("ours/overlap/mosaic720", ours, windows, Grouping::kOverlap);
  benchmark::RegisterBenchmark("opencv/mosaic720", opencv, windows);
}

}  // namespace
}  // namespace cuface

int main(int argc, char** argv) {
  cv::setNumThreads(1);
  benchmark::Initialize(&argc, argv);
  cuface::register_all();
  benchmark::RunSpecifiedBenchmarks();
}
