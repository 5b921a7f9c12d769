// Names for the 32 threads that CUDA runs together.
#pragma once

namespace cuface::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

}  // namespace cuface::cuda
