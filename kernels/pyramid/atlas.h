// An atlas: pictures of several sizes side by side in one block of memory with one stride, so that
// offsets inside a picture are the same for all.
#pragma once

#include <algorithm>
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

/// Gives every slot its corner: in shelves as wide as the widest, in the order given (largest first
/// wastes least).
inline Atlas make_atlas(std::vector<AtlasSlot> slots) {
  Atlas atlas;
  for (const AtlasSlot& s : slots) atlas.width = std::max(atlas.width, s.width);
  int x = 0;  // the end of the current shelf
  int top = 0;
  for (AtlasSlot& s : slots) {
    if (x + s.width > atlas.width) {
      x = 0;
      top = atlas.height;
    }
    s.x = x;
    s.y = top;
    x += s.width;
    atlas.height = std::max(atlas.height, top + s.height);
  }
  atlas.slots = std::move(slots);
  return atlas;
}

}  // namespace cuface
