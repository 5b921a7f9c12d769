// The similarity of 68 point pairs: ours beside dlib's find_similarity_transform, and the robust
// fit.
#include <benchmark/benchmark.h>
#include <dlib/geometry/point_transforms.h>

#include <random>

#include "kernels/similarity/similarity.h"

namespace cuface {
namespace {

constexpr std::size_t kPoints = 68;

struct Pairs {
  std::vector<Point> from, to;
};

/// A face's points before and after a small motion; every fifth went elsewhere.
Pairs moved_face() {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> at(100, 250), error(-0.3f, 0.3f), jump(-20, 20);
  Pairs p;
  for (std::size_t i = 0; i < kPoints; ++i) {
    p.from.push_back({at(random), at(random)});
    const Point q = Similarity{1.01, 0.02, 3, -2}.apply(p.from.back());
    p.to.push_back({q.x + error(random), q.y + (i % 5 ? error(random) : jump(random))});
  }
  return p;
}

void ours(benchmark::State& state) {
  const Pairs p = moved_face();
  Similarity s;
  for (auto _ : state) benchmark::DoNotOptimize(fit_similarity(p.from, p.to, s));
}

void dlib_least_squares(benchmark::State& state) {
  std::vector<dlib::dpoint> from, to;
  for (const Point& q : moved_face().from) from.emplace_back(q.x, q.y);
  for (const Point& q : moved_face().to) to.emplace_back(q.x, q.y);
  for (auto _ : state) benchmark::DoNotOptimize(dlib::find_similarity_transform(from, to));
}

void ours_robust(benchmark::State& state) {
  const Pairs p = moved_face();
  Similarity s;
  std::uint8_t inlier[kPoints];
  std::uint64_t seed = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(fit_similarity_robust(p.from, p.to, 3, seed++, inlier, s));
  }
}

BENCHMARK(ours);
BENCHMARK(dlib_least_squares);
BENCHMARK(ours_robust);

}  // namespace
}  // namespace cuface

BENCHMARK_MAIN();
