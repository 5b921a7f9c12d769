// A whole search beside cv::CascadeClassifier's on one thread, same picture, same options.
#include <benchmark/benchmark.h>

#include <opencv2/objdetect.hpp>

#include "kernels/detect/detect.h"
#include "tests/bench/naturals.h"

namespace cuface {
namespace {

struct Case {
  const char* cascade;
  const char* picture_name;
  cv::Mat picture;
  int min_size;
};

void ours(benchmark::State& state, const Case& c) {
  DetectConfig config;
  config.min_size = c.min_size;
  auto detector = Detector::create(Backend::kCpu, bench::cascade(c.cascade), config, c.picture.cols,
                                   c.picture.rows);
  if (!detector.ok()) return state.SkipWithError(detector.status().message().c_str());
  const ImageView<const std::uint8_t> view{c.picture.data, c.picture.cols, c.picture.rows,
                                           static_cast<std::ptrdiff_t>(c.picture.step)};
  DetectResult result;
  for (auto _ : state) {
    const Status status = detector.value()->enqueue(view, result);
    benchmark::DoNotOptimize(status.ok());
  }
  state.counters["faces"] = static_cast<double>(result.faces.size());
}

void opencv(benchmark::State& state, const Case& c) {
  cv::CascadeClassifier classifier(test::cascade_path(c.cascade));
  std::vector<cv::Rect> faces;
  for (auto _ : state) {
    classifier.detectMultiScale(c.picture, faces, 1.1, 3, 0, {c.min_size, c.min_size});
  }
  state.counters["faces"] = static_cast<double>(faces.size());
}

void register_all() {
  const cv::Mat frame = bench::video_frame(), mosaic = bench::mosaic();
  for (const char* cascade : {"frontalface_alt", "frontalface_alt2", "frontalface_default"}) {
    for (const Case& c :
         {Case{cascade, "frame360", frame, 0}, Case{cascade, "frame360", frame, 24},
          Case{cascade, "frame360", frame, 60}, Case{cascade, "mosaic720", mosaic, 0}}) {
      if (c.picture.empty()) continue;
      const std::string name =
          std::string("/") + c.cascade + "/" + c.picture_name + "/min" + std::to_string(c.min_size);
      benchmark::RegisterBenchmark(("ours" + name).c_str(), ours, c)->Unit(benchmark::kMillisecond);
      benchmark::RegisterBenchmark(("opencv" + name).c_str(), opencv, c)
          ->Unit(benchmark::kMillisecond);
    }
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
