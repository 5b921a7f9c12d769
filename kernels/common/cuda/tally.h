// What kernels count and the host reads meanwhile.
#pragma once

#include <utility>
#include <vector>

#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/try.h"

namespace cuface::cuda {

/// Host memory is far from a GPU: to read it takes longer than a kernel. So kernels change `own`,
/// in device memory, and only write `told`, which is pinned.
template <typename T>
struct Tally {
  T* own = nullptr;
  T* told = nullptr;
};

/// Zero at the beginning.
template <typename T>
class TallyBuffer {
 public:
  TallyBuffer() = default;
  static Result<TallyBuffer> create() {
    TallyBuffer made;
    CUFACE_TRY(take(upload(std::vector<T>(1)), made.own_));
    CUFACE_TRY(take(PinnedBuffer<T>::create(1), made.told_));
    *made.told_.data() = {};
    return Result<TallyBuffer>(std::move(made));  // nvcc does not move by itself
  }

  Tally<T> get() { return {own_.data(), told_.data()}; }
  bool is_there() const { return told_.size() > 0; }
  T* told() { return told_.data(); }
  const T* told() const { return told_.data(); }

 private:
  DeviceBuffer<T> own_;
  PinnedBuffer<T> told_;
};

}  // namespace cuface::cuda
