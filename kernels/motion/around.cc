#include "kernels/motion/around.h"

#include <algorithm>

#include "kernels/motion/steps.h"

namespace cuface::motion {

GreyAround::GreyAround(int width)
    : width_(width),
      rows_(zeros<std::uint8_t>(width + 3 * kWordBits, kRows)),
      least_(width, kRows),
      greatest_(width, kRows),
      made_(words_of(width), kRows) {
  // A word before each row, so that vectors are aligned.
  for (int i = 0; i < kRows; ++i)
    slots_[i] = {rows_.view().row(i) + kWordBits, least_.view().row(i), greatest_.view().row(i),
                 made_.view().row(i)};
  for (int i = 0; i < 2 * kRows; ++i) in_turn_[i] = slots_ + i % kRows;
}

void GreyAround::finish(int y) {
  std::uint8_t* at = row(y);
  std::fill_n(at - kNeighbourReach, kNeighbourReach, at[0]);
  std::fill_n(at + width_, kNeighbourReach, at[width_ - 1]);
  std::fill_n(slots_[y % kRows].made, made_.width(), std::uint8_t{0});
}

const GreyAround::Row* const* GreyAround::around(int y, int height) {
  const int first = y - kNeighbourReach;
  if (first >= 0 && first + kRows <= height) return in_turn_ + first % kRows;
  for (int k = 0; k < kRows; ++k)
    at_border_[k] = slots_ + std::clamp(first + k, 0, height - 1) % kRows;
  return at_border_;
}

}  // namespace cuface::motion
