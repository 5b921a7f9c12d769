// How a kernel that adds landmarks hands on the faces it was given. Where `out` is `in` they are
// there already.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/faces/faces_cuda.h"

namespace cuface::cuda {

/// `bytes`, a multiple of 4, by all kThreads threads of a block.
template <int kThreads>
__device__ void copy_words(const void* from, void* to, std::size_t bytes) {
  for (std::size_t i = threadIdx.x; i < bytes / 4; i += kThreads)
    static_cast<std::uint32_t*>(to)[i] = static_cast<const std::uint32_t*>(from)[i];
}

/// The header, by all threads of one block; `landmarks` is what is to be said of each face's, and
/// `confident` whether each has a confidence.
template <int kThreads>
__device__ void copy_header(const DeviceFaces* in, DeviceFaces* out, int landmarks,
                            bool confident = false) {
  if (in != out) copy_words<kThreads>(in, out, offsetof(DeviceFaces, faces));
  __syncthreads();
  if (threadIdx.x == 0) {
    out->landmarks_per_face = landmarks;
    out->followed_per_face = 0;
    out->has_confidences = confident;
  }
}

/// One face without its landmarks, by all threads of one block.
template <int kThreads>
__device__ void copy_face(const DeviceFaces* in, DeviceFaces* out, int face) {
  if (in != out) copy_words<kThreads>(in->faces + face, out->faces + face, sizeof(Face));
}

}  // namespace cuface::cuda
