// Chains on two GPUs of one process.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/gpu/pipelines/chains.h"

namespace cuface::test {

class TwoGpus : public ChainsCuda {
 protected:
  explicit TwoGpus(int seconds = 240) : ChainsCuda(seconds) {}
  void SetUp() override {
    ChainsCuda::SetUp();
    if (IsSkipped()) return;
    int devices = 0;
    ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
    if (devices < 2) GTEST_SKIP() << "one GPU only";
  }

  static std::string decoded_on(int gpu, const std::string& file) {
    return decoded_on_gpu(file, gpu == 0 ? "nvh264dec" : "nvh264device1dec");
  }
  /// `chains` of the first GPU and of the second. A bin for each, as a bin remembers one CUDA
  /// context: in one bin each element would find the other GPU's and make its own.
  static std::string bins(const std::string (&chains)[2]) {
    if (chains[1].empty()) return chains[0];  // gst_parse_launch() makes no pipeline of one bin
    std::string all;
    for (const std::string& of_one : chains)
      if (!of_one.empty()) all += "( " + of_one + ") ";
    return all;
  }

  const std::string first_ = decoded_on(0, clip(kPexels)), second_ = decoded_on(1, clip(kPexels));
};

}  // namespace cuface::test
