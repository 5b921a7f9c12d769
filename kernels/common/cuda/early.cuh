// Launches that start early (Launcher::early()): what their kernels call.
#pragma once

namespace cuface::cuda {

#ifdef __CUDACC__
/// Until the launch before has ended, and what it wrote can be read. By all blocks, before they
/// read that or write anything: who does not call it ends before the launch before, perhaps.
__device__ inline void wait_for_launch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/// Whether that waits at all: else launches are not early.
__device__ constexpr bool waits_for_launch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return true;
#else
  return false;
#endif
}

/// The next launch may start, when all blocks have called this or have ended. Behind
/// wait_for_launch(), so that no launch meets one but the last before it.
__device__ inline void allow_next_launch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}
#endif

}  // namespace cuface::cuda
