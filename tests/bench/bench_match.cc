// 1,020 descriptors against 1,020, beside cv::BFMatcher.
#include <benchmark/benchmark.h>

#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>

#include "kernels/match/match.h"

namespace cuface {
namespace {

constexpr int kCount = 1020;

cv::Mat some(int size, int type, int seed) {
  cv::RNG random(static_cast<std::uint64_t>(seed));
  cv::Mat out(kCount, size, type);
  random.fill(out, cv::RNG::UNIFORM, 0, type == CV_8U ? 256 : 1);
  return out;
}

template <typename T>
void ours(benchmark::State& state, int size, int type) {
  const cv::Mat a = some(size, type, 1), b = some(size, type, 2);
  Matcher matcher = std::move(Matcher::create({}).value());
  std::vector<Match> out;
  for (auto _ : state) {
    const Status status = matcher.run(DescriptorSet<T>{a.ptr<T>(), a.rows, a.cols},
                                      DescriptorSet<T>{b.ptr<T>(), b.rows, b.cols}, out);
    if (!status.ok()) return state.SkipWithError(status.message().c_str());
  }
}

void opencv(benchmark::State& state, int size, int type, int norm) {
  cv::setNumThreads(1);
  const cv::Mat a = some(size, type, 1), b = some(size, type, 2);
  const cv::BFMatcher matcher(norm);
  std::vector<std::vector<cv::DMatch>> out;
  for (auto _ : state) matcher.knnMatch(a, b, out, 2);
}

void bytes(benchmark::State& state) { ours<std::uint8_t>(state, kBinaryBytes, CV_8U); }
void floats(benchmark::State& state) { ours<float>(state, 64, CV_32F); }
void opencv_bytes(benchmark::State& state) { opencv(state, kBinaryBytes, CV_8U, cv::NORM_HAMMING); }
void opencv_floats(benchmark::State& state) { opencv(state, 64, CV_32F, cv::NORM_L2); }

BENCHMARK(bytes)->Unit(benchmark::kMicrosecond);
BENCHMARK(opencv_bytes)->Unit(benchmark::kMicrosecond);
BENCHMARK(floats)->Unit(benchmark::kMicrosecond);
BENCHMARK(opencv_floats)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cuface

BENCHMARK_MAIN();
