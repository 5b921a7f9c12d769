// Landmarks over time in device memory: the bits of inertia.h, smooth.h and gap.h. A function is
// one launch, and kInvalidArgument where one of its lists is null.
#pragma once

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/status.h"
#include "kernels/common/try.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/landmark_filter/inertia.h"
#include "kernels/landmark_filter/smooth.h"

namespace cuface::cuda {

/// A filter's state of each face: its InertiaState or SmoothState. One a chain; one stream, or
/// streams ordered by the caller.
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

/// `faces` have landmarks, in the boxes of `tracked`, which is of the same frame and has the
/// followed ones, if any; all as forest::add_inertia().
Status add_inertia(FilterMemory<InertiaState>& memory, const DeviceFaces* tracked,
                   DeviceFaces* faces, float inertia, Launcher launch);

/// `to`, which is not `from` (kInvalidArgument), gets the faces with their landmarks smoothed; all
/// as forest::smooth_landmarks().
Status smooth_landmarks(FilterMemory<SmoothState>& memory, const DeviceFaces* from, DeviceFaces* to,
                        double seconds, float smooth, Launcher launch);

/// On a frame whose picture says nothing: as forest::keep_landmarks(), which keeps no memory.
/// Nothing where the lists have different numbers of landmarks.
Status keep_landmarks(const DeviceFaces* before, DeviceFaces* faces, Launcher launch);

}  // namespace cuface::cuda
