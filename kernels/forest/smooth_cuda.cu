#include <utility>

#include "kernels/common/lanes.h"
#include "kernels/forest/smooth_cuda.h"

namespace cuface::cuda {
namespace {

static_assert(SmoothState::kFaces == kMaxFaces);

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    smooth_faces(SmoothState* state, DeviceFaces* faces, double seconds, float smooth,
                 bool forget) {
  __shared__ forest::SmoothScratch scratch;
  const BlockLanes lanes;
  if (forget) lanes.each(kMaxFaces, [&](int s) { state->id[s] = 0; });
  forest::smooth_landmarks(lanes, *state, faces->faces, faces->landmarks(), faces->count,
                           faces->landmarks_per_face, seconds, smooth, scratch);
}

}  // namespace

Result<std::unique_ptr<LandmarkSmoother>> LandmarkSmoother::create() {
  std::unique_ptr<LandmarkSmoother> made(new LandmarkSmoother);
  auto state = DeviceBuffer<SmoothState>::create(1);
  if (!state.ok()) return state.status();
  made->state_ = std::move(state.value());
  return Result<std::unique_ptr<LandmarkSmoother>>(std::move(made));
}

Status LandmarkSmoother::enqueue(DeviceFaces* faces, double seconds, float smooth,
                                 Launcher launch) {
  if (!faces) return {StatusCode::kInvalidArgument, "landmarks: no faces to smooth"};
  const Status status = launch("landmarks: smooth", smooth_faces, {1, kThreads}, state_.data(),
                               faces, seconds, smooth, forget_);
  if (status.ok()) forget_ = false;
  return status;
}

}  // namespace cuface::cuda
