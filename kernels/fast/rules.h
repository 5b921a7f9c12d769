// What makes a pixel a corner, for the CPU and CUDA.
#pragma once

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

}  // namespace cuface::fast
