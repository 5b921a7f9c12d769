// The box a head would best be found in again. One source for the CPU and CUDA.
#pragma once

#include <cmath>
#include <span>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/similarity/fit.h"

namespace cuface::forest {

/// Where a head is in the picture: the box in which the mean shape (unit box, square) fits its
/// landmarks best when it is turned about its centre.
struct HeadBox {
  Box box;
  Roll roll;
};

/// False, and `out` untouched, where the landmarks have no extent or are not finite.
CUFACE_HD inline bool fit_head(std::span<const Point> mean, std::span<const Point> landmarks,
                               HeadBox& out) {
  Similarity s;
  if (!similarity::fit(mean, landmarks, nullptr, s)) return false;
  const double side = std::sqrt(s.a * s.a + s.b * s.b);
  if (!(side > 0)) return false;
  const double x = (s.a - s.b) / 2 + s.tx, y = (s.a + s.b) / 2 + s.ty;
  // Sizes are dlib's, inclusive: the unit box is a pixel less than the box.
  const float size = static_cast<float>(side + 1);
  out = {{static_cast<float>(x - side / 2), static_cast<float>(y - side / 2), size, size},
         {static_cast<float>(s.a / side), static_cast<float>(s.b / side)}};
  return true;
}

}  // namespace cuface::forest
