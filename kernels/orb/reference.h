// ORB, plainly: what one keypoint of a level needs. (x, y) is its pixel on the level, at least
// kLeastEdge from all sides. Pure functions. [S2.10, S2.14, S2.17]
#pragma once

#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/orb/rules.h"

namespace cuface::orb {

/// Products of Sobel's gradients over the kHarrisBlock^2 pixels around it.
HarrisSums harris_sums(ImageView<const std::uint8_t> level, int x, int y);

/// The sums of x * grey and y * grey over the circle of kRadius around it, x and y from its middle:
/// they point to where it is brighter.
struct Centroid {
  std::int32_t x = 0, y = 0;
};
Centroid centroid(ImageView<const std::uint8_t> level, int x, int y);

/// A pixel of the blurred level: down the columns, then along the row, then rounded.
std::uint8_t blurred(ImageView<const std::uint8_t> level, int x, int y);

/// Writes kBinaryBytes bytes: bit i is 1 where the first blurred pixel of pair i of kPattern is
/// darker than the second. `roll` turns the pattern, as the keypoint's angle says.
void descriptor(ImageView<const std::uint8_t> level, int x, int y, Roll roll, std::uint8_t* out);

}  // namespace cuface::orb
