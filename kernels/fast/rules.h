// The definition of a corner, for the CPU and CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"

namespace cuface::fast {

inline constexpr int kRadius = 3;  ///< of the circle
inline constexpr int kCircle = 16;
inline constexpr int kArc = 9;

struct Offset {
  int x, y;
};
/// The circle, from below the pixel on: one after the other, each the neighbour of the next.
inline constexpr Offset kRing[kCircle] = {{0, 3},  {1, 3},  {2, 2},  {3, 1},   {3, 0},   {3, -1},
                                          {2, -2}, {1, -3}, {0, -3}, {-1, -3}, {-2, -2}, {-3, -1},
                                          {-3, 0}, {-3, 1}, {-2, 2}, {-1, 3}};

/// 1 where most of the circle is brighter than the pixel, -1 where most is darker, else 0. An arc
/// has most of it: so a corner is 1 where it is dark on light, and never 0.
CUFACE_HD inline std::int8_t sign_of(ImageView<const std::uint8_t> grey, int x, int y) {
  const int pixel = grey.row(y)[x];
  const auto count = [&]<std::size_t... I>(std::index_sequence<I...>, int side) {
    return (0 + ... + int{side * (grey.row(y + kRing[I].y)[x + kRing[I].x] - pixel) > 0});
  };
  constexpr std::make_index_sequence<kCircle> kAll;
  if (count(kAll, 1) >= kArc) return 1;
  return count(kAll, -1) >= kArc ? -1 : 0;
}

}  // namespace cuface::fast
