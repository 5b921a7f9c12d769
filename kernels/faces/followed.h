// What a detector is told of a face that a tracker follows.
#pragma once

#include "kernels/common/geometry.h"

namespace cuface {

/// As the tracker followed it to the frame before.
struct Followed {
  Box box;
  Roll roll;
};

}  // namespace cuface
