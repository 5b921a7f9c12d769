// What a plan puts into device memory once, and how one launch is divided over parts of different
// sizes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/common/cuda/runtime.h"
#include "kernels/common/status.h"
#include "kernels/common/try.h"

namespace cuface::cuda {

/// A table in device memory, complete for every stream when this returns. Plan time only.
template <typename T>
Result<DeviceBuffer<T>> upload(std::span<const T> table) {
  auto buffer = DeviceBuffer<T>::create(table.size());
  if (!buffer.ok() || table.empty()) return buffer;
  CUFACE_TRY(check(cudaMemcpyAsync(buffer.value().data(), table.data(), table.size_bytes(),
                                   cudaMemcpyHostToDevice, nullptr),
                   "copying a table to the GPU"));
  CUFACE_TRY(check(cudaStreamSynchronize(nullptr), "copying a table to the GPU"));
  return buffer;
}

template <typename T>
Result<DeviceBuffer<T>> upload(const std::vector<T>& table) {
  return upload(std::span<const T>(table));
}

/// Memory that a kernel fills with zeros besides what it is there for: instead of a launch.
struct Zeros {
  uint4* data;
  std::uint64_t count;  // no padding: Launcher::begin_if()

#ifdef __CUDACC__
  /// For all threads of a launch whose blocks and threads are in a row.
  __device__ void write() const {
    for (std::uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * blockDim.x)
      data[i] = {0, 0, 0, 0};
  }
#endif
};

#ifdef __CUDACC__
/// Which part a task belongs to: the last whose first task is not behind it. parts[0] has the task
/// 0; parts without tasks are skipped.
template <auto kFirst, typename Part>
__device__ int part_of(const Part* parts, int count, std::uint32_t task) {
  int low = 0, high = count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (parts[middle].*kFirst <= task) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Is the stage told not to work on this frame?
__device__ inline bool idle(const std::int32_t* run) { return run && *run == 0; }
#endif

}  // namespace cuface::cuda
