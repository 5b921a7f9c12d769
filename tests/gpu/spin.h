// A kernel that does nothing for a while, to find what does not wait for what.
#pragma once

#include <cuda_runtime_api.h>

namespace cuface::test {

/// Enqueues it on a stream of the current context, whichever made that.
cudaError_t spin(int microseconds, cudaStream_t stream);

}  // namespace cuface::test
