// Which points of a picture are followed: strong ones, spread over all of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/features/features.h"

namespace cuface::planar {

/// Cells of a picture, each way.
inline constexpr int kCells = 8;

/// At most `most` of the keypoints of a picture of width x height, in its pixels: the strongest of
/// each cell, then the second of each, and so on; of equals the earlier one. None is within 3
/// pixels of another, each way. So an object is still known by the part that is not covered.
inline std::vector<Point> spread_points(std::span<const Keypoint> keypoints, int width, int height,
                                        int most) {
  std::vector<std::vector<const Keypoint*>> cells(kCells * kCells);
  for (const Keypoint& k : keypoints) {
    const auto cell = [](float at, int size) {
      return std::clamp(static_cast<int>(at * kCells / static_cast<float>(size)), 0, kCells - 1);
    };
    cells[static_cast<std::size_t>(cell(k.y, height) * kCells + cell(k.x, width))].push_back(&k);
  }
  for (auto& cell : cells)
    std::ranges::stable_sort(
        cell, [](const Keypoint* a, const Keypoint* b) { return a->response > b->response; });
  std::vector<Point> points;
  const auto wanted = static_cast<std::size_t>(most);
  bool more = true;
  for (std::size_t round = 0; more && points.size() < wanted; ++round) {
    more = false;
    for (const auto& cell : cells) {
      if (round >= cell.size() || points.size() == wanted) continue;
      more = true;
      // The same corner on another level is no other point.
      const Point at{cell[round]->x, cell[round]->y};
      const auto near = [&](const Point& p) {
        return std::abs(p.x - at.x) < 3 && std::abs(p.y - at.y) < 3;
      };
      if (std::ranges::none_of(points, near)) points.push_back(at);
    }
  }
  return points;
}

}  // namespace cuface::planar
