// What a landmark's texture takes to learn: eigenvectors of its covariance, ours beside OpenCV's,
// and all of it.
#include <benchmark/benchmark.h>

#include <opencv2/core.hpp>
#include <random>

#include "kernels/shape_training/eigen.h"
#include "kernels/shape_training/shape_training.h"

namespace cuface {
namespace {

constexpr int kSize = 169;

/// Of 200 random patches.
std::vector<float> samples() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> out(200 * kSize);
  for (float& v : out) v = normal(random);
  return out;
}

cv::Mat_<double> covariance() {
  std::vector<float> from = samples();
  cv::Mat_<double> all, out, mean;
  cv::Mat(200, kSize, CV_32F, from.data()).convertTo(all, CV_64F);
  cv::calcCovarMatrix(all, out, mean, cv::COVAR_NORMAL | cv::COVAR_ROWS, CV_64F);
  return out;
}

void ours(benchmark::State& state) {
  const cv::Mat_<double> matrix = covariance();
  for (auto _ : state)
    benchmark::DoNotOptimize(shape::eigen({matrix[0], std::size_t{kSize} * kSize}, kSize));
}

void opencv(benchmark::State& state) {
  const cv::Mat_<double> matrix = covariance();
  cv::Mat_<double> values, vectors;
  for (auto _ : state) cv::eigen(matrix, values, vectors);
}

void learn_patch(benchmark::State& state) {
  const std::vector<float> from = samples();
  for (auto _ : state) benchmark::DoNotOptimize(shape::learn_patch(from, kSize, {}));
}

BENCHMARK(ours);
BENCHMARK(opencv);
BENCHMARK(learn_patch);

}  // namespace
}  // namespace cuface

BENCHMARK_MAIN();
