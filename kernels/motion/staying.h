// What stays where something was on the frame before (mixture.h: stay_reach()).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/motion/steps.h"

namespace cuface::motion {

/// Only the spread along rows is stored. Rows above and below are looked up where something moved,
/// as most words are empty.
class Staying {
 public:
  Staying() = default;
  Staying(int width, int height, int reach);
  /// What moved on the frame before.
  void prepare(Bits before);
  /// Keeps of `moved` what has a pixel of those within `reach` along either axis.
  void keep(Bits moved, ImageView<std::uint64_t> out) const;

 private:
  void spread(const std::uint64_t* in, std::uint64_t* out);

  int width_ = 0, reach_ = 0;
  BitImage across_;                       ///< what is near along the rows
  std::vector<std::uint64_t> from_, to_;  ///< a row, with a word before it and one behind
};

}  // namespace cuface::motion
