#include "kernels/cascade/cuda/plan.h"

#include <algorithm>
#include <cstddef>

namespace cuface::cuda {
namespace {

constexpr int kLowRows = 16;  // as many as leave no warp without a row of pairs
constexpr int kLowOf = 3;     // so many of those that run at once, one is low at the end

}  // namespace

std::uint64_t tiles_of(const WindowLevel& level) {
  return std::uint64_t{level.tiles_across} *
         static_cast<std::uint64_t>((level.end - level.begin - 1) / level.tile_rows + 1);
}

void cut_tiles(std::vector<WindowLevel>& levels, int at_once) {
  std::uint64_t all = 0;
  for (const WindowLevel& level : levels) all += tiles_of(level);
  if (all < static_cast<std::uint64_t>(at_once)) return;
  int left = at_once / kLowOf;
  for (std::size_t i = levels.size(); i-- > 0 && left > 0;) {
    const int full = levels[i].tile_rows;
    if (full <= kLowRows) continue;
    const int across = static_cast<int>(levels[i].tiles_across);
    const int rows = levels[i].end - levels[i].begin;
    const int low_rows = (left - 1) / across * kLowRows + kLowRows;
    const int above = std::max(rows - low_rows, 0) / full * full;
    if (above == 0) {
      levels[i].tile_rows = kLowRows;
      left -= static_cast<int>(tiles_of(levels[i]));
      continue;
    }
    WindowLevel below = levels[i];
    levels[i].end = below.begin += above;
    below.tile_rows = kLowRows;
    levels.insert(levels.begin() + static_cast<std::ptrdiff_t>(i) + 1, below);
    return;
  }
}

}  // namespace cuface::cuda
