#include "kernels/common/cuda/stop.h"

namespace cuface::cuda {
namespace {

/// One thread. `run` changes between launches only: blocks of one wait for each other, and must all
/// see the same.
__global__ void look_kernel(StopLook look) {
  if (*static_cast<const volatile std::uint32_t*>(look.stop) != 0) *look.run = 0;
}

}  // namespace

Status look(const StopLook& look, Launcher launch) {
  if (!look.stop) return {};
  return launch("looking whether to stop", look_kernel, {1, 1}, look);
}

}  // namespace cuface::cuda
