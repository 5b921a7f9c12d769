// The grey levels around a pixel of the background, as they were before a frame.
#pragma once

#include <cstdint>

#include "kernels/common/image.h"
#include "kernels/motion/mixture.h"

namespace cuface::motion {

/// The last rows of the background, and the least and greatest of what is within kNeighbourReach of
/// a pixel along them. Vector code makes these a word's pixels at a time, where it needs them.
class GreyAround {
 public:
  static constexpr int kRows = 2 * kNeighbourReach + 1;

  explicit GreyAround(int width);
  GreyAround(const GreyAround&) = delete;
  GreyAround& operator=(const GreyAround&) = delete;
  /// Where row y is to be written, up to the next multiple of 64 pixels, and then finish().
  std::uint8_t* row(int y) { return slots_[y % kRows].grey; }
  void finish(int y);

  /// What vector code reads. Rows may be read kNeighbourReach pixels beside their ends.
  struct Row {
    std::uint8_t *grey = nullptr, *least = nullptr, *greatest = nullptr;
    std::uint8_t* made = nullptr;  ///< whether a word's pixels have these
  };
  /// The kRows rows around row y of `height`, until the next call; one that is not there is as the
  /// nearest.
  const Row* const* around(int y, int height);

 private:
  int width_;
  Image<std::uint8_t> rows_, least_, greatest_, made_;
  Row slots_[kRows];  ///< row y is in slot y % kRows
  const Row *in_turn_[2 * kRows], *at_border_[kRows];
};

}  // namespace cuface::motion
