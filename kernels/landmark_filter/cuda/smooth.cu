#include "kernels/common/cuda/raw.cuh"
#include "kernels/common/lanes.h"
#include "kernels/faces/copy.cuh"
#include "kernels/landmark_filter/cuda/smooth.h"

namespace cuface::cuda {
namespace {

static_assert(SmoothState::kFaces == kMaxFaces);

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    smooth_faces(SmoothState* state, const DeviceFaces* from, DeviceFaces* to, double seconds,
                 float smooth, bool forget) {
  __shared__ Raw<forest::SmoothScratch> scratch;
  const BlockLanes lanes;
  const int count = from->count, landmarks = from->landmarks_per_face;
  copy_header<kThreads>(from, to, landmarks);
  for (int face = 0; face < count; ++face) copy_face<kThreads>(from, to, face);
  lanes.each(count * landmarks, [&](int i) { to->landmarks()[i] = from->landmarks()[i]; });
  if (forget) lanes.each(kMaxFaces, [&](int s) { state->id[s] = 0; });
  forest::smooth_landmarks(lanes, *state, to->faces, to->landmarks(), count, landmarks, seconds,
                           smooth, scratch.get());
}

}  // namespace

Status smooth_landmarks(FilterMemory<SmoothState>& memory, const DeviceFaces* from, DeviceFaces* to,
                        double seconds, float smooth, Launcher launch) {
  if (!from || !to || from == to)
    return {StatusCode::kInvalidArgument, "landmarks: no faces to smooth"};
  return memory.use([&](SmoothState* state, bool forget) {
    return launch("landmarks: smooth", smooth_faces, {1, kThreads}, state, from, to, seconds,
                  smooth, forget);
  });
}

}  // namespace cuface::cuda
