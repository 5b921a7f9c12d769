// Takes a GPU's memory, so that others find none.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace cuface::test {

/// All of a GPU's memory that can be had.
class Hog {
 public:
  /// `device`: of another GPU than the thread's. The thread has the first one afterwards.
  explicit Hog(int device = 0) {
    if (device > 0) {
      EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    }
    std::size_t free = 0, total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    for (std::size_t size = free; size >= 1 << 16;) {
      void* block = nullptr;
      if (cudaMalloc(&block, size) == cudaSuccess) {
        blocks_.push_back(block);
        bytes_ += size;
      } else {
        size /= 2;
      }
    }
    cudaGetLastError();
    EXPECT_GE(bytes_, free / 10 * 9);
    if (device > 0) {
      EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    }
  }
  ~Hog() {
    for (void* block : blocks_) cudaFree(block);
  }
  Hog(const Hog&) = delete;
  Hog& operator=(const Hog&) = delete;
  double gib() const { return static_cast<double>(bytes_) / (1 << 30); }

 private:
  std::vector<void*> blocks_;
  std::size_t bytes_ = 0;
};

}  // namespace cuface::test
