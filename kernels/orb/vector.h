// ORB by vectors: what many keypoints of a level need. All need simd::vectors().
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/orb/reference.h"

namespace cuface::orb {

/// As the functions of reference.h.
HarrisSums harris_sums_vector(ImageView<const std::uint8_t> level, int x, int y);
Centroid centroid_vector(ImageView<const std::uint8_t> level, int x, int y);

/// Where the blurred level is read: parts of it that keypoints have asked for.
class BlurredParts {
 public:
  /// For levels up to a size.
  BlurredParts(int width, int height);

  /// Another level; nothing of it is blurred.
  void begin(ImageView<const std::uint8_t> level);
  /// Asks for what a descriptor at (x, y) reads.
  void want(int x, int y);
  /// Blurs what was asked for.
  void make();
  /// kBinaryBytes bytes, of a keypoint that was asked for.
  void descriptor(int x, int y, Roll roll, std::uint8_t* out) const;

 private:
  /// Of a tile.
  static constexpr int kWidth = 16, kHeight = 4;

  int across_ = 0, down_ = 0;
  ImageView<const std::uint8_t> level_{};
  std::vector<std::uint8_t> wanted_;  ///< of each tile
  std::vector<float> columns_;        ///< of a row, blurred down the columns
  Image<std::uint8_t> blurred_;
};

}  // namespace cuface::orb
