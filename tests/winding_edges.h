// Made-up pictures whose faint edges hang together over the whole picture, without an image
// library: what linking has furthest to go in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "tests/moving_faces.h"

namespace cuface::test {

inline constexpr int kFaint = 30;

inline void draw_bar(Grey& picture, int x, int y, int w, int h, int value = kFaint) {
  for (int j = y; j < y + h; ++j)
    std::fill_n(&picture.view().at(x, j), w, static_cast<std::uint8_t>(value));
}

/// Up and down, to and fro.
inline Grey up_and_down(int width, int height) {
  Grey out(width, height);
  for (int x = 8; x + 16 < width; x += 8) {
    draw_bar(out, x, 8, 4, height - 16);
    draw_bar(out, x, x / 8 % 2 ? 8 : height - 12, 12, 4);
  }
  return out;
}

inline Grey spiral(int width, int height) {
  Grey out(width, height);
  int x = 8;
  for (int at = 8; 2 * at + 24 < height; x = at, at += 8) {
    const int right = width - at - 4, bottom = height - at - 4;
    draw_bar(out, x, at, right - x + 4, 4);
    draw_bar(out, right, at, 4, bottom - at + 4);
    draw_bar(out, at, bottom, right - at + 4, 4);
    draw_bar(out, at, at + 8, 4, bottom - at - 4);
  }
  return out;
}

/// A tree over the whole picture, by a walk that goes back where it is stuck.
inline Grey maze(int width, int height, unsigned seed) {
  Grey out(width, height);
  std::mt19937 random(seed);
  const int columns = (width - 16) / 8, rows = (height - 16) / 8;
  std::vector<bool> seen(static_cast<std::size_t>(columns * rows));
  std::vector<std::pair<int, int>> walk = {{0, 0}};
  seen[0] = true;
  while (!walk.empty()) {
    const auto [x, y] = walk.back();
    std::vector<std::pair<int, int>> open;
    for (const auto& [i, j] : {std::pair{x - 1, y}, {x + 1, y}, {x, y - 1}, {x, y + 1}}) {
      if (i >= 0 && i < columns && j >= 0 && j < rows &&
          !seen[static_cast<std::size_t>(j * columns + i)])
        open.emplace_back(i, j);
    }
    if (open.empty()) {
      walk.pop_back();
      continue;
    }
    const auto [i, j] = open[random() % open.size()];
    seen[static_cast<std::size_t>(j * columns + i)] = true;
    draw_bar(out, 8 + 8 * std::min(x, i), 8 + 8 * std::min(y, j), x == i ? 4 : 12, y == j ? 4 : 12);
    walk.emplace_back(i, j);
  }
  return out;
}

/// By 90 degrees.
inline Grey turned(const Grey& picture) {
  Grey out(picture.height, picture.width);
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x)
      out.view().at(x, y) = picture.view().at(y, picture.height - 1 - x);
  }
  return out;
}

/// A piece of the edge is no faint one.
inline Grey with_strong_piece(Grey picture) {
  draw_bar(picture, 8, 20, 4, 20, 255);
  return picture;
}

}  // namespace cuface::test
