// Backgrounds in a GPU's memory, where they stay from stage to stage.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/common/cuda/runtime.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/try.h"
#include "models/train/gpu_mining.h"

namespace cuface::train {

class GpuPictures {
 public:
  /// Where the picture is, in rows `stride` apart; null where there is no room for it. Those that
  /// are asked for one after the other lie so.
  Result<const std::uint8_t*> find(ImageView<const std::uint8_t> picture, std::size_t stride) {
    const auto known = at_.find(picture.data);
    if (known != at_.end()) return known->second;
    const std::size_t bytes = stride * static_cast<std::size_t>(picture.height);
    // No picture ends with a part, so no copy of neighbours spans two allocations.
    if (is_full_ || bytes >= kPart) return nullptr;
    if (parts_.empty() || used_ + bytes >= kPart) {
      auto part = cuda::DeviceBuffer<std::uint8_t>::create(kPart);
      is_full_ = !part.ok() || parts_.size() == kMostParts;
      if (is_full_) return nullptr;
      parts_.push_back(std::move(part.value()));
      used_ = 0;
    }
    std::uint8_t* const to = parts_.back().data() + used_;
    CUFACE_TRY(cuda::check(
        cudaMemcpy2DAsync(to, stride, picture.data, static_cast<std::size_t>(picture.stride),
                          static_cast<std::size_t>(picture.width),
                          static_cast<std::size_t>(picture.height), cudaMemcpyHostToDevice,
                          nullptr),
        "copying a background to the GPU"));
    CUFACE_TRY(cuda::check(cudaStreamSynchronize(nullptr), "copying a background to the GPU"));
    used_ += bytes;
    at_.emplace(picture.data, to);
    return to;
  }

  /// Sorts `numbers` by where the pictures of these tasks lie on the GPU, and copies them in that
  /// order to `to` in device memory, `apart` bytes each. Neighbours are one copy.
  Status copy(std::span<const SearchTask> tasks, std::vector<std::size_t>& numbers,
              ImageView<std::uint8_t> to, std::size_t apart, cudaStream_t stream) {
    const auto stride = static_cast<std::size_t>(to.stride);
    const std::size_t bytes = stride * static_cast<std::size_t>(to.height);
    std::vector<std::pair<const std::uint8_t*, std::size_t>> places;
    for (const std::size_t number : numbers) {
      CUFACE_TAKE(at, find(tasks[number].picture, stride));
      places.emplace_back(at, number);
    }
    std::ranges::sort(places);
    for (std::size_t i = 0; i < places.size(); ++i) numbers[i] = places[i].second;
    for (std::size_t first = 0, end = 0; first < places.size(); first = end) {
      const std::uint8_t* const from = places[first].first;
      while (end < places.size() && places[end].first == from + (end - first) * bytes) ++end;
      CUFACE_TRY(cuda::check(cudaMemcpy2DAsync(to.data + first * apart, apart, from, bytes, bytes,
                                               end - first, cudaMemcpyDeviceToDevice, stream),
                             "copying backgrounds on the GPU"));
    }
    return {};
  }

 private:
  static constexpr std::size_t kPart = std::size_t{32} << 20, kMostParts = 32;

  std::unordered_map<const std::uint8_t*, const std::uint8_t*> at_;  ///< by host memory
  std::vector<cuda::DeviceBuffer<std::uint8_t>> parts_;
  std::size_t used_ = 0;  ///< of the last part
  bool is_full_ = false;
};

}  // namespace cuface::train
