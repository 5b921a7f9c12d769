// similarity: the scale, rotation and shift that best carry one point set onto another (Umeyama
// 1991) [S0.13], in closed form without an SVD, plain and robust.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"

namespace cuface {

/// q = [a -b; b a] p + (tx, ty): scale = hypot(a, b), rotation = atan2(b, a), y downwards.
struct Similarity {
  double a = 1, b = 0, tx = 0, ty = 0;
  CUFACE_HD Point apply(Point p) const {
    return {static_cast<float>(a * p.x - b * p.y + tx), static_cast<float>(b * p.x + a * p.y + ty)};
  }
};

/// Least squares over all pairs, sums in index order, double. False (and `out` untouched) with
/// fewer than two pairs, when `from` has no extent, or when a value is not finite. Thread-safe.
bool fit_similarity(std::span<const Point> from, std::span<const Point> to, Similarity& out);

/// Robust fit (RANSAC): a counter-based generator keyed by `seed` draws a fixed number of two-point
/// samples. The sample with the most pairs within `threshold` px wins (ties: the earlier), then
/// least squares on its inliers. inlier[i] := 0/1, of as many as there are pairs. Returns the
/// number of inliers, 0 = no fit. Pairs that are not finite are never inliers. Deterministic,
/// thread-safe.
int fit_similarity_robust(std::span<const Point> from, std::span<const Point> to, float threshold,
                          std::uint64_t seed, std::span<std::uint8_t> inlier, Similarity& out);

}  // namespace cuface
