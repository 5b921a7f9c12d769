// The search of the first level alone, for every Haar cascade: ours beside OpenCV with the same one
// size allowed. OpenCV's figure includes resizing and integrals, and so does ours.
#include <benchmark/benchmark.h>

#include <opencv2/objdetect.hpp>

#include "kernels/detect/detect.h"
#include "tests/bench/naturals.h"
#include "tests/kernels/pictures.h"

namespace cuface {
namespace {

void ours(benchmark::State& state, const std::string& name, const cv::Mat& picture) {
  const auto model = bench::cascade(name);
  DetectConfig config;
  config.max_size = std::max(model->window_width, model->window_height);
  auto detector = Detector::create(Backend::kCpu, model, config, picture.cols, picture.rows);
  if (!detector.ok()) return state.SkipWithError(detector.status().message().c_str());
  DetectResult result;
  for (auto _ : state) {
    const Status status = detector.value()->enqueue(test::view_of(picture), result);
    benchmark::DoNotOptimize(status.ok());
  }
}

void opencv(benchmark::State& state, const std::string& name, const cv::Mat& picture) {
  cv::CascadeClassifier classifier(test::cascade_path(name));
  const cv::Size window = classifier.getOriginalWindowSize();
  const int side = std::max(window.width, window.height);
  std::vector<cv::Rect> faces;
  for (auto _ : state) {
    classifier.detectMultiScale(picture, faces, 1.1, 3, 0, {}, {side, side});
  }
}

void register_all() {
  const cv::Mat frame = bench::video_frame();
  if (frame.empty()) return;
  for (const std::string& path : test::haar_cascades()) {
    constexpr std::size_t kPrefix = sizeof("haarcascade_") - 1;
    const std::string name = std::filesystem::path(path).stem().string().substr(kPrefix);
    benchmark::RegisterBenchmark(("ours/" + name).c_str(), ours, name, frame)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("opencv/" + name).c_str(), opencv, name, frame)
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace cuface

int main(int argc, char** argv) {
  cv::setNumThreads(1);
  benchmark::Initialize(&argc, argv);
  cuface::register_all();
  benchmark::RunSpecifiedBenchmarks();
}
