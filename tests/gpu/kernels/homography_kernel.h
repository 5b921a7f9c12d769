// The search for a homography as a kernel of its own: no element searches on a GPU yet.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"
#include "kernels/homography/homography.h"

namespace cuface::test {

/// One set of pairs; they lie at `first` of the arrays.
struct HomographyTask {
  int first, count;
  HomographyConfig config;
  std::uint64_t seed;
  bool is_turned;  ///< there are turns
};
struct HomographyAnswer {
  Homography map;
  int inliers;
};

/// A block a task, all arrays in device memory. `inlier` has an element a pair.
Status find_on_device(const HomographyTask* tasks, int count, const Point* from, const Point* to,
                      const float* turns, HomographyAnswer* answers, std::uint8_t* inlier,
                      cuda::Launcher launch);

}  // namespace cuface::test
