// An atlas: pictures of several sizes side by side in one block of memory with one stride, so that
// offsets inside a picture are the same for all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace cuface {

/// A picture's place; x and y are its corner in the atlas.
struct AtlasSlot {
  int x = 0, y = 0, width = 0, height = 0;
};

struct Atlas {
  int width = 0, height = 0;
  std::vector<AtlasSlot> slots;
};

/// Gives every slot its corner: one after the other as near to the top as those before let it, in
/// an atlas as wide as the two widest. Largest first wastes least: a tenth of all, for the levels
/// of a search.
inline Atlas make_atlas(std::vector<AtlasSlot> slots) {
  Atlas atlas;
  int second = 0;
  for (const AtlasSlot& s : slots) {
    second = std::max(second, std::min(atlas.width, s.width));
    atlas.width = std::max(atlas.width, s.width);
  }
  atlas.width += second;
  std::vector<int> free(static_cast<std::size_t>(atlas.width));  // first free row of each column
  for (AtlasSlot& s : slots) {
    int top = std::numeric_limits<int>::max();
    for (int x = 0; x + s.width <= atlas.width; ++x) {
      const auto begin = free.begin() + x;
      if (x > 0 && *begin == *(begin - 1)) continue;  // further left is as good
      const int y = *std::max_element(begin, begin + s.width);
      if (y >= top) continue;
      top = y;
      s.x = x;
    }
    s.y = top;
    std::fill_n(free.begin() + s.x, s.width, top + s.height);
    atlas.height = std::max(atlas.height, top + s.height);
  }
  atlas.slots = std::move(slots);
  return atlas;
}

}  // namespace cuface
