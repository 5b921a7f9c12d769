// The fits of similarity as a kernel of their own: in the plugin they are steps of the tracker's.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"
#include "kernels/similarity/similarity.h"

namespace cuface::test {

/// One set of pairs and what is made of it; the pairs lie at `first` of the arrays.
struct FitTask {
  int first, count;
  float threshold;
  std::uint64_t seed;
};
struct FitAnswer {
  Similarity plain, robust;
  int fits, agreeing;
};

/// A block a task, all arrays in device memory. `inlier` has an element a pair.
Status fit_on_device(const FitTask* tasks, int count, const Point* from, const Point* to,
                     FitAnswer* answers, std::uint8_t* inlier, cuda::Launcher launch);

}  // namespace cuface::test
