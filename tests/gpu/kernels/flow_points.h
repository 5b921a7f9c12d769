// Points to follow: made up, in device memory, and what the reference says about them.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/flow/cuda/lucas_kanade.h"
#include "kernels/flow/flow.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/moving_faces.h"

namespace cuface::test {

/// Over all of the picture and `rim` pixels around it.
inline std::vector<Point> random_points(int count, float rim, int width, int height,
                                        unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> x(-rim, static_cast<float>(width) + rim),
      y(-rim, static_cast<float>(height) + rim);
  std::vector<Point> points;
  for (int i = 0; i < count; ++i) points.push_back({x(random), y(random)});
  return points;
}

/// What the reference says about points, forward and back.
struct Answers {
  std::vector<Point> to, back;
  std::vector<std::uint8_t> forward, both;
};

inline Answers reference(const Grey& a, const Grey& b, const std::vector<Point>& points,
                         const FlowConfig& config) {
  GaussianPyramid prev(a.width, a.height, config.levels, config.window);
  GaussianPyramid next(a.width, a.height, config.levels, config.window);
  prev.build(a.view());
  next.build(b.view());
  FlowScratch scratch(config);
  const std::size_t n = points.size();
  Answers out{std::vector<Point>(n), std::vector<Point>(n), std::vector<std::uint8_t>(n),
              std::vector<std::uint8_t>(n)};
  flow(prev, next, points, out.to, out.forward, config, scratch);
  flow(next, prev, out.to, out.back, out.both, config, scratch);
  for (std::size_t i = 0; i < n; ++i) {
    if (!out.forward[i]) out.back[i] = out.to[i];
    out.both[i] = out.both[i] && out.forward[i];
  }
  return out;
}

/// Arrays of points in guarded device memory, with canaries in the answers.
struct DevicePoints {
  DevicePoints(const std::vector<Point>& points, std::int32_t count, int max_count)
      : from(bytes_of(points)),
        counted(bytes_of(std::vector<std::int32_t>{count})),
        to(points.size() * sizeof(Point), kCanary),
        back(points.size() * sizeof(Point), kCanary),
        status(points.size(), kCanary) {
    arrays.from = reinterpret_cast<const Point*>(from.data());
    arrays.count = reinterpret_cast<const std::int32_t*>(counted.data());
    arrays.max_count = max_count;
    arrays.to = reinterpret_cast<Point*>(to.data());
    arrays.back = reinterpret_cast<Point*>(back.data());
    arrays.status = status.data();
  }
  GuardedBytes from, counted, to, back, status;
  cuda::FlowPoints arrays;
};

}  // namespace cuface::test
