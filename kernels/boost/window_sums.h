// One training window as a detector reads it: sums and norm.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/boost/boost.h"

namespace cuface::boost {

/// kInvalidArgument where the samples are not windows of that size, or too many.
Status check_windows(const TrainingSamples& samples, int width, int height);

class WindowSums {
 public:
  WindowSums(int width, int height, bool tilted);

  void make(const std::uint8_t* pixels);

  const SumLayout& layout() const { return layout_; }
  /// In that layout, the tilted ones behind the others.
  const std::vector<std::uint32_t>& sums() const { return sums_; }
  float norm() const;  ///< the inverse; 0 where flat

 private:
  int width_, height_;
  SumLayout layout_;
  std::vector<std::uint32_t> sums_, squared_;
};

}  // namespace cuface::boost
