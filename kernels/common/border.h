// What lies outside a picture.
#pragma once

#include "kernels/common/host_device.h"

namespace cuface {

/// Index into [0, n) that OpenCV's BORDER_REFLECT_101 (dcb|abcd|cba) reads for position i; n >= 1.
CUFACE_HD inline int reflect_101(int i, int n) {
  if (n == 1) return 0;
  while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
  return i;
}

}  // namespace cuface
