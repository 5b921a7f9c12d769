// Pictures in two sides, one to train with and one to test with, so that the second is news to
// whoever has seen the first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/image.h"

namespace cuface::train {

/// What is left of a picture at a glance: the means of 16 x 16 equal parts. It hardly changes when
/// a picture is scaled or compressed anew.
struct PictureSketch {
  static constexpr int kSide = 16;
  std::array<std::uint8_t, kSide * kSide> means{};
};
PictureSketch sketch_of(ImageView<const std::uint8_t> picture);

/// The measure of near-duplicates: the sum of absolute differences of two sketches.
int sketch_distance(const PictureSketch& a, const PictureSketch& b);
/// Two pictures are near-duplicates where it is no more: six grey levels on average.
inline constexpr int kNearDuplicate = 6 * PictureSketch::kSide * PictureSketch::kSide;

struct SplitPicture {
  std::uint64_t hash = 0;  ///< hash_of() its pixels
  PictureSketch sketch;
  std::size_t samples = 1;  ///< that it gives
};

/// Of each picture a number that it shares with its duplicates and near-duplicates, and with
/// theirs: 0, 1 ... in the order of the first of each.
std::vector<std::size_t> groups_of(const std::vector<SplitPicture>& pictures);

/// For each picture 1 where it is for the test. A group is on one side. Groups come in an order
/// drawn by `seed` and their pixels, whatever the order of the list, and go to the test as long as
/// it then has no more than `share` of all samples.
std::vector<std::uint8_t> choose_test(const std::vector<SplitPicture>& pictures, double share,
                                      std::uint64_t seed);

}  // namespace cuface::train
