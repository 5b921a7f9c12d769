// The faces that a tracker follows as they live in device memory.
#pragma once

#include <cstdint>

#include "kernels/faces/faces_cuda.h"
#include "kernels/faces/followed.h"

namespace cuface::cuda {

struct FollowedFaces {
  std::int32_t count;  ///< 0..kMaxFaces
  Followed faces[kMaxFaces];
};

}  // namespace cuface::cuda
