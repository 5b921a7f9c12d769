// Training a forest beside dlib's trainer, both with two threads. The faces are made up: how long
// training takes depends little on what it sees.
//
//   build/tests/bench/cpu_grow [docs/results/cpu-grow.json]
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "kernels/grow/grow.h"
#include "tests/bench/dlib_native_trainer.h"
#include "tests/bench/ratio.h"
#include "tests/kernels/labelled_faces.h"

namespace {

using namespace cuface;

constexpr int kThreads = 2, kLandmarks = 68;

struct Case {
  int faces, oversampling, stages, trees, passes;
};
// dlib's defaults are 10 stages of 500 trees: all trees but the first of a stage cost the same.
constexpr Case kCases[] = {{600, 20, 1, 40, 5}, {6700, 20, 1, 10, 3}};

/// By the wall clock, and of all threads' processor time, which a busy machine changes least.
struct Seconds {
  double wall, processor;

  static Seconds of(const std::function<void()>& run) {
    const auto processor = [] {
      timespec t;
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
      return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    };
    const auto begin = std::chrono::steady_clock::now();
    const double before = processor();
    run();
    return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
            processor() - before};
  }
};

nlohmann::ordered_json measure(const Case& c) {
  const test::MadeUpFaces faces(c.faces, 1, kLandmarks);
  const LabelledFaces view = faces.view();
  bench::DlibNativeTrainer peer;
  for (std::size_t face = 0; face < view.count(); ++face) {
    const auto& picture = view.pictures[view.picture_of[face]];
    if (face == 0 || view.picture_of[face] != view.picture_of[face - 1])
      peer.add_picture(picture.data, picture.width, picture.height, picture.stride);
    const Box& box = view.boxes[face];
    peer.add_face(std::lround(box.x), std::lround(box.y), std::lround(box.x + box.w) - 1,
                  std::lround(box.y + box.h) - 1, &view.points[face * kLandmarks].x, kLandmarks);
  }
  ForestOptions options;
  options.cascade_depth = c.stages;
  options.num_trees_per_cascade_level = c.trees;
  options.oversampling_amount = c.oversampling;
  ForestRun run;
  run.threads = kThreads;
  ForestCost cost;
  std::vector<double> ours, peers, ratios, processor_ratios;
  for (int pass = 0; pass < c.passes; ++pass) {
    const Seconds mine = Seconds::of([&] {
      cost = {};
      if (!grow_forest(view, options, run, {}, &cost).ok()) std::abort();
    });
    const Seconds its =
        Seconds::of([&] { peer.train(c.stages, c.trees, c.oversampling, kThreads); });
    ours.push_back(mine.wall);
    peers.push_back(its.wall);
    ratios.push_back(its.wall / mine.wall);
    processor_ratios.push_back(its.processor / mine.processor);
  }
  const auto rounded = [](double value) { return std::round(value * 1e4) / 1e4; };
  nlohmann::ordered_json result = {{"faces", c.faces},
                                   {"oversampling", c.oversampling},
                                   {"stages", c.stages},
                                   {"trees", c.trees},
                                   {"ours_s", rounded(bench::median(ours))},
                                   {"ours_prepare_s", rounded(cost.prepare_seconds)},
                                   {"ours_mb", rounded(static_cast<double>(cost.bytes) * 1e-6)},
                                   {"peer_s", rounded(bench::median(peers))},
                                   {"ratio", rounded(bench::median(ratios))},
                                   {"ratio_processor", rounded(bench::median(processor_ratios))},
                                   {"goal", 3}};
  std::printf("%s\n", result.dump().c_str());
  std::fflush(stdout);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  nlohmann::ordered_json report = {
      {"what", "training of a forest of 68 landmarks, wall time, ours and the peer in turn"},
      {"peer", "dlib's shape_predictor_trainer, -O3 -march=native"},
      {"processor", bench::processor()},
      {"instruction_set", simd::chosen()},
      {"threads", kThreads}};
  for (const Case& c : kCases) report["cases"].push_back(measure(c));
  return bench::write_json(report, argc, argv);
}
