// Rectangles to group, as the curves of grouping have them.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "kernels/common/geometry.h"

namespace cuface::test {

inline constexpr const char* kRectangleCases[] = {"at random", "none overlap", "all overlap",
                                                  "half overlap"};

/// The four published cases (S0.E4, E5): at random, none overlaps, all overlap, half of them.
inline std::vector<Rect> rectangles(const std::string& which, int count) {
  std::mt19937 random(7);
  std::vector<Rect> out;
  const auto apart = [&](int i) { return Rect{i % 64 * 50, i / 64 * 50, 40, 40}; };
  for (int i = 0; i < count; ++i) {
    if (which == "at random") {
      const int side = 24 + static_cast<int>(random() % 100);
      out.push_back(
          {static_cast<int>(random() % 1280), static_cast<int>(random() % 720), side, side});
    } else if (which == "all overlap" || (which == "half overlap" && i % 2 == 0)) {
      out.push_back(
          {4000 + static_cast<int>(random() % 4), static_cast<int>(random() % 4), 60, 60});
    } else {
      out.push_back(apart(i));
    }
  }
  return out;
}

}  // namespace cuface::test
