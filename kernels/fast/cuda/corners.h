// fast on CUDA: the corners of several pictures by one launch, those of FastDetector in any order.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/fast/fast.h"

namespace cuface::cuda::fast {

inline constexpr int kMostPictures = 32;
inline constexpr int kScores = kMostFastThreshold + 1;

/// A block's pixels.
inline constexpr int kTileWidth = 64, kTileHeight = 32;

struct Picture {
  ImageView<const std::uint8_t> grey;
  Rect part;                  ///< where corners are wanted, at least kRadius + 1 from all sides
  std::uint32_t first_tile;   ///< of all pictures' tiles
  std::int32_t tiles_across;  ///< from the multiple of four before the part on
  std::uint32_t first;        ///< of its corners, in the lists: there is room for most_corners()
};

struct Pictures {
  std::int32_t count;
  std::uint32_t tiles;  ///< of all
  Picture all[kMostPictures];
};

/// A place as one word.
CUFACE_HD inline std::uint32_t packed_place(int x, int y) {
  return static_cast<std::uint32_t>(x) | static_cast<std::uint32_t>(y) << 16;
}
CUFACE_HD inline int x_of(std::uint32_t place) { return static_cast<int>(place & 0xffff); }
CUFACE_HD inline int y_of(std::uint32_t place) { return static_cast<int>(place >> 16); }

/// What is found. Counts and scores begin at 0.
struct Corners {
  std::uint32_t* places;
  std::uint8_t* scores;
  std::uint32_t* counts;     ///< of each picture
  std::uint32_t* of_scores;  ///< kScores of each picture: how many of its corners have a score
};

/// Appends a picture with a part that is not empty. False where there are kMostPictures.
bool add_picture(Pictures& to, ImageView<const std::uint8_t> grey, Rect part, std::uint32_t first);

Status find_corners(const Pictures& pictures, int threshold, const Corners& out, Launcher launch);

}  // namespace cuface::cuda::fast
