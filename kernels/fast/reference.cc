#include "kernels/fast/reference.h"

#include <algorithm>

#include "kernels/fast/rules.h"

namespace cuface::fast {

int score_of(ImageView<const std::uint8_t> grey, int x, int y, int threshold) {
  const int centre = grey.at(x, y);
  // Of each arc the pixel that differs least decides, and the best arc of all.
  int best = 0;
  for (int start = 0; start < kCircle; ++start) {
    int brighter = 255, darker = 255;
    for (int i = 0; i < kArc; ++i) {
      const Offset at = kRing[(start + i) % kCircle];
      const int difference = grey.at(x + at.x, y + at.y) - centre;
      brighter = std::min(brighter, difference);
      darker = std::min(darker, -difference);
    }
    best = std::max({best, brighter, darker});
  }
  return best > threshold ? best - 1 : 0;
}

void pick_plain(const std::uint8_t* above, const std::uint8_t* here, const std::uint8_t* below,
                int y, int first, int end, std::vector<Corner>& corners) {
  for (int x = first; x < end; ++x) {
    const int score = here[x];
    int around = std::max(here[x - 1], here[x + 1]);
    for (int i = -1; i <= 1; ++i) around = std::max({around, int{above[x + i]}, int{below[x + i]}});
    if (score > around)
      corners.push_back({static_cast<std::int16_t>(x), static_cast<std::int16_t>(y), score});
  }
}

}  // namespace cuface::fast
