// The homography of 200 pairs, of which some went elsewhere: ours beside cv::findHomography.
#include <benchmark/benchmark.h>

#include <opencv2/calib3d.hpp>
#include <random>
#include <vector>

#include "kernels/homography/homography.h"

namespace cuface {
namespace {

struct Pairs {
  std::vector<Point> from, to;
};

/// Of a hundred pairs so many went elsewhere.
Pairs seen(int outliers) {
  const Homography h{{0.9, 0.1, 40, -0.15, 1.0, 30, 0.0002, -0.0001, 1}};
  std::mt19937 random(1);
  std::uniform_real_distribution<float> at(0, 400), error(-0.5f, 0.5f);
  Pairs p;
  for (int i = 0; i < 200; ++i) {
    p.from.push_back({at(random), at(random)});
    const Point q = h.apply(p.from.back());
    p.to.push_back(i % 100 < outliers ? Point{at(random), at(random)}
                                      : Point{q.x + error(random), q.y + error(random)});
  }
  return p;
}

void ours(benchmark::State& state) {
  const Pairs p = seen(static_cast<int>(state.range(0)));
  std::vector<std::uint8_t> inlier(p.from.size());
  Homography h;
  std::uint64_t seed = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(find_homography(p.from, p.to, {}, seed++, inlier, h));
}

void opencv(benchmark::State& state, int method) {
  std::vector<cv::Point2f> from, to;
  const Pairs p = seen(static_cast<int>(state.range(0)));
  for (const Point& q : p.from) from.emplace_back(q.x, q.y);
  for (const Point& q : p.to) to.emplace_back(q.x, q.y);
  for (auto _ : state)
    benchmark::DoNotOptimize(cv::findHomography(from, to, method, 3, cv::noArray(), 2048, 0.999));
}

BENCHMARK(ours)->Arg(10)->Arg(50)->Arg(70);
BENCHMARK_CAPTURE(opencv, ransac, cv::RANSAC)->Arg(10)->Arg(50)->Arg(70);
BENCHMARK_CAPTURE(opencv, usac, cv::USAC_DEFAULT)->Arg(10)->Arg(50)->Arg(70);

}  // namespace
}  // namespace cuface

BENCHMARK_MAIN();
