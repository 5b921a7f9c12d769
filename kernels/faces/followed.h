// The data of a followed face that the tracker passes to a detector.
#pragma once

#include "kernels/common/geometry.h"

namespace cuface {

/// As the tracker followed it to the frame before.
struct Followed {
  Box box;
  Roll roll;
};

}  // namespace cuface
