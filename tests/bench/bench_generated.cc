// A generated background, quickly and pixel by pixel.
#include <benchmark/benchmark.h>

#include "kernels/generated/generated.h"

namespace cuface {
namespace {

void whole(benchmark::State& state) {
  std::uint64_t picture = 0;
  for (auto _ : state) benchmark::DoNotOptimize(generate_background(38, picture++));
}

void by_pixels(benchmark::State& state) {
  std::uint64_t picture = 0;
  Image<std::uint8_t> out(kGeneratedWidth, kGeneratedHeight);
  for (auto _ : state) {
    const GeneratedScene scene = generated_scene(38, picture++);
    for (int y = 0; y < kGeneratedHeight; ++y)
      for (int x = 0; x < kGeneratedWidth; ++x) out.view().at(x, y) = generated_pixel(scene, x, y);
    benchmark::DoNotOptimize(out);
  }
}

BENCHMARK(whole)->Unit(benchmark::kMillisecond);
BENCHMARK(by_pixels)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cuface

BENCHMARK_MAIN();
