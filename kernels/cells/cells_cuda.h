// A map of active cells as it lives in device memory.
#pragma once

#include <cstdint>

#include "kernels/cells/cells.h"

namespace cuface::cuda {

/// A map in device memory, of so many cells; null = none, all windows are looked at.
struct DeviceMap {
  const ActivityMap* map;
  std::int32_t columns, rows;
};

}  // namespace cuface::cuda
