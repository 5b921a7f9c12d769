// One tracked frame of natural video: pyramid, flow forward and back, fit, decisions. 64 points of
// its own a face, no landmarks fed back, one thread.
#include <benchmark/benchmark.h>

#include <memory>
#include <opencv2/core.hpp>

#include "kernels/track/track.h"
#include "tests/clip.h"
#include "tests/data.h"

namespace cuface {
namespace {

void track_faces(benchmark::State& state) {
  static const std::vector<cv::Mat> frames =
      test::read_clip(test::data_dir() + "/videos/WolfgangLanger_Pexels.mp4", 640, 360, 60);
  if (frames.empty()) return state.SkipWithError("no test data: set CUFACE_DATA");
  FaceList found;
  found.searched = true;
  for (int i = 0; i < state.range(0); ++i) {  // boxes beside each other over the still first frames
    Face f;
    f.box = {150.0f + 45 * static_cast<float>(i % 6), 60.0f + 60 * static_cast<float>(i / 6), 150,
             150};
    found.faces.push_back(f);
  }
  auto made = Tracker::create(Backend::kCpu, {}, 640, 360);
  if (!made.ok()) return state.SkipWithError("no tracker");
  TrackOutput out;
  std::shared_ptr<GaussianPyramid> pyramids[2];  // in turns, as in culktrack
  for (auto& pyramid : pyramids) pyramid = std::make_shared<GaussianPyramid>(640, 360);
  TrackInput input;
  std::int64_t tracked = 0;
  for (auto _ : state) {
    // Forth and back through the frames, so that there is no cut; found again once a round.
    const std::size_t n = frames.size(), k = input.frame % (2 * n - 2);
    const cv::Mat& f = frames[k < n ? k : 2 * n - 2 - k];
    input.pyramid = pyramids[input.frame % 2];
    input.pyramid->refer({f.data, f.cols, f.rows, static_cast<std::ptrdiff_t>(f.step)});
    input.faces = k == 0 ? &found : nullptr;
    if (!made.value()->enqueue(input, out).ok()) state.SkipWithError("refused");
    ++input.frame;
    tracked += static_cast<std::int64_t>(out.faces.faces.size());
  }
  state.counters["faces"] = static_cast<double>(tracked) / static_cast<double>(state.iterations());
}

BENCHMARK(track_faces)->Arg(1)->Arg(4)->Arg(12)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cuface

BENCHMARK_MAIN();
