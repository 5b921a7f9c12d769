// What a filter remembers of each face in device memory.
#pragma once

#include "kernels/common/cuda/runtime.h"
#include "kernels/common/status.h"
#include "kernels/common/try.h"

namespace cuface::cuda {

/// The State of one filter (inertia.h, smooth.h). One a chain; one stream, or streams ordered by
/// the caller.
template <typename State>
class FilterMemory {
 public:
  /// Once, before all else.
  Status allocate() { return take(DeviceBuffer<State>::create(1), state_); }
  /// The next frame's faces have nothing to do with those before.
  void forget() { forget_ = true; }
  /// For the filter: enqueue(State*, bool forget), where `forget` asks the kernel to free all ids.
  template <typename Enqueue>
  Status use(const Enqueue& enqueue) {
    CUFACE_TRY(enqueue(state_.data(), forget_));
    forget_ = false;
    return {};
  }

 private:
  DeviceBuffer<State> state_;
  bool forget_ = true;  // what is in new memory is anything
};

}  // namespace cuface::cuda
