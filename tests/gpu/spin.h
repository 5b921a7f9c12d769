// Kernels that show how others bear with them.
#pragma once

#include <cuda_runtime_api.h>

namespace cuface::test {

/// Enqueues a kernel that does nothing for a while, to find what does not wait for what, on a
/// stream of the current context, whichever made that.
cudaError_t spin(int microseconds, cudaStream_t stream);

/// The same of one that traps: from then on all calls in its context fail.
cudaError_t lose_context(cudaStream_t stream);

}  // namespace cuface::test
