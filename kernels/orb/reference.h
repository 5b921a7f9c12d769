// ORB, plainly: what one keypoint of a level needs. It lies at least kLeastEdge from all sides.
#pragma once

#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/orb/rules.h"

namespace cuface::orb {

HarrisSums harris_sums(ImageView<const std::uint8_t> level, int x, int y);

/// The sums of x * grey and y * grey over the circle.
struct Centroid {
  std::int32_t x = 0, y = 0;
};
Centroid centroid(ImageView<const std::uint8_t> level, int x, int y);

/// A pixel of the blurred level: down the columns, then along the row, then rounded.
std::uint8_t blurred(ImageView<const std::uint8_t> level, int x, int y);

/// kBinaryBytes bytes.
void descriptor(ImageView<const std::uint8_t> level, int x, int y, Roll roll, std::uint8_t* out);

}  // namespace cuface::orb
