#include "kernels/common/lanes.h"
#include "kernels/landmark_filter/cuda/inertia.h"

namespace cuface::cuda {
namespace {

static_assert(InertiaState::kFaces == kMaxFaces);

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    inertia_kernel(InertiaState* state, const DeviceFaces* tracked, DeviceFaces* faces,
                   float inertia, bool forget) {
  __shared__ forest::InertiaScratch scratch;
  const BlockLanes lanes;
  const int landmarks = faces->landmarks_per_face;
  const bool followed =
      !(tracked->landmarks_per_face > 0 || tracked->followed_per_face != landmarks);
  if (forget) lanes.each(kMaxFaces, [&](int s) { state->id[s] = 0; });
  forest::add_inertia(lanes, *state, faces->faces, faces->count, landmarks,
                      followed ? tracked->landmarks() : nullptr, faces->landmarks(), inertia,
                      scratch);
}

}  // namespace

Status add_inertia(FilterMemory<InertiaState>& memory, const DeviceFaces* tracked,
                   DeviceFaces* faces, float inertia, Launcher launch) {
  if (!tracked || !faces) return {StatusCode::kInvalidArgument, "landmarks: no faces"};
  return memory.use([&](InertiaState* state, bool forget) {
    return launch("landmarks: inertia", inertia_kernel, {1, kThreads}, state, tracked, faces,
                  inertia, forget);
  });
}

}  // namespace cuface::cuda
