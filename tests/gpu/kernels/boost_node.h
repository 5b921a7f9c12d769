// A node of a training on a GPU, and what goes there and comes back.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/boost/search.h"
#include "kernels/common/cuda/runtime.h"
#include "tests/kernels/boost_samples.h"

namespace cuface::test {

/// A node of some of the samples, of uneven weights; with trimming others have none.
class Node {
 public:
  Node(const DrawnSamples& samples, Boosting boosting, bool trimmed)
      : boosting_(boosting), weights_(samples.labels.size()), responses_(samples.labels.size()) {
    const auto count = static_cast<std::int64_t>(weights_.size());
    for (std::int64_t i = 0; i < count; ++i) {
      if (trimmed && i % 3 != 1) continue;
      const std::size_t at = static_cast<std::size_t>(i);
      weights_[at] = static_cast<std::int32_t>((i * 5 % 17 + 1) * (1 << 30) / 17 / count);
      const std::int32_t size =
          boosting == Boosting::kLogit ? weights_[at] / (1 + weights_[at] % 9) : weights_[at];
      responses_[at] = samples.labels[at] ? size : -size;
      all_.weight += weights_[at];
      all_.response += responses_[at];
    }
  }
  boost::NodeSamples samples() const { return {weights_, responses_, all_, boosting_}; }

 private:
  Boosting boosting_;
  std::vector<std::int32_t> weights_, responses_;
  boost::BoostSums all_;
};

template <typename T>
cuda::DeviceBuffer<T> uploaded(const std::vector<T>& values) {
  auto buffer = cuda::DeviceBuffer<T>::create(values.size());
  EXPECT_TRUE(buffer.ok());
  EXPECT_EQ(cudaMemcpy(buffer.value().data(), values.data(), values.size() * sizeof(T),
                       cudaMemcpyHostToDevice),
            cudaSuccess);
  return std::move(buffer.value());
}

template <typename T>
std::vector<T> downloaded(const cuda::DeviceBuffer<T>& buffer) {
  std::vector<T> values(buffer.size());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(
      cudaMemcpy(values.data(), buffer.data(), values.size() * sizeof(T), cudaMemcpyDeviceToHost),
      cudaSuccess);
  return values;
}

}  // namespace cuface::test
