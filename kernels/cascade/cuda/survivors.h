// Windows that got far: what the tiles of a search hand to blocks that have no tile left.
#pragma once

#include <cstdint>

#include "kernels/cascade/cuda/search_tables.h"

namespace cuface::cuda {

/// A window that got far, and the stage that it is to go through next.
struct alignas(16) Survivor {
  static constexpr std::uint16_t kNone = 0xffff;  ///< as the stage: there is no window
  std::uint32_t place;                            ///< of its first pixel: bytes from the atlas's
  float norm;
  std::uint16_t level, stage, x, y;  ///< the first pixel, in the level
};

/// Words of a row of a survivor's pixels in shared memory, where it may begin at any byte.
inline constexpr int kSurvivorRowWords = 8;
constexpr bool survivor_row_fits(int width) {
  return width + kWordBytes - 1 <= kSurvivorRowWords * kWordBytes;
}

/// Words of its sums, and with its pixels; multiples of four.
constexpr int survivor_sum_words(int width, int height) {
  return ((width + 1) * (height + 1) + 3) / 4 * 4;
}
constexpr int survivor_patch_words(int width, int height) {
  return survivor_sum_words(width, height) +
         (survivor_row_fits(width) ? height * kSurvivorRowWords : 0);
}

/// Of a place in the queue of survivors: whether its window is there. kNone where all tiles are
/// done and none will be.
enum class SurvivorState : std::uint8_t { kAwaited, kQueued, kNone };

}  // namespace cuface::cuda
