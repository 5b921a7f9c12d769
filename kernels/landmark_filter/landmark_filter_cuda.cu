#include "kernels/common/cuda/raw.cuh"
#include "kernels/common/lanes.h"
#include "kernels/faces/copy.cuh"
#include "kernels/landmark_filter/gap.h"
#include "kernels/landmark_filter/landmark_filter_cuda.h"

namespace cuface::cuda {
namespace {

static_assert(InertiaState::kFaces == kMaxFaces && SmoothState::kFaces == kMaxFaces);

constexpr int kThreads = 256;

template <typename State>
__device__ void forget_faces(const BlockLanes& lanes, State* state) {
  lanes.each(kMaxFaces, [&](int s) { state->id[s] = 0; });
}

__global__ void __launch_bounds__(kThreads)
    inertia_kernel(InertiaState* state, const DeviceFaces* tracked, DeviceFaces* faces,
                   float inertia, bool forget) {
  __shared__ forest::InertiaScratch scratch;
  const BlockLanes lanes;
  const int landmarks = faces->landmarks_per_face;
  const bool followed =
      !(tracked->landmarks_per_face > 0 || tracked->followed_per_face != landmarks);
  if (forget) forget_faces(lanes, state);
  forest::add_inertia(lanes, *state, faces->faces, faces->count, landmarks,
                      followed ? tracked->landmarks() : nullptr, faces->landmarks(), inertia,
                      scratch);
}

__global__ void __launch_bounds__(kThreads)
    smooth_kernel(SmoothState* state, const DeviceFaces* from, DeviceFaces* to, double seconds,
                  float smooth, bool forget) {
  __shared__ Raw<forest::SmoothScratch> scratch;
  const BlockLanes lanes;
  const int count = from->count, landmarks = from->landmarks_per_face;
  const bool confident = from->has_confidences != 0;
  copy_header<kThreads>(from, to, landmarks, confident);
  for (int face = 0; face < count; ++face) copy_face<kThreads>(from, to, face);
  lanes.each(count * landmarks, [&](int i) { to->landmarks()[i] = from->landmarks()[i]; });
  if (confident) {
    const float* const confidences = from->confidences(count, landmarks);
    float* const copied = to->confidences(count, landmarks);
    lanes.each(count * landmarks, [&](int i) { copied[i] = confidences[i]; });
  }
  if (forget) forget_faces(lanes, state);
  forest::smooth_landmarks(lanes, *state, to->faces, to->landmarks(), count, landmarks, seconds,
                           smooth, scratch.get());
}

__global__ void __launch_bounds__(kThreads)
    gap_kernel(const DeviceFaces* before, DeviceFaces* faces) {
  const int landmarks = faces->landmarks_per_face;
  if (before->landmarks_per_face != landmarks) return;
  forest::keep_landmarks(BlockLanes{}, before->faces, before->count, before->landmarks(),
                         faces->faces, faces->count, landmarks, faces->landmarks());
  // Confidences of points that are kept are kept as well; without them the list has none.
  const BlockLanes lanes;
  const bool confident = before->has_confidences && faces->has_confidences;
  if (confident)
    forest::keep_landmarks(lanes, before->faces, before->count,
                           before->confidences(before->count, landmarks), faces->faces,
                           faces->count, landmarks, faces->confidences(faces->count, landmarks));
  lanes.once([&] { faces->has_confidences = confident; });
}

Status no_faces() { return {StatusCode::kInvalidArgument, "landmarks over time: no faces"}; }

}  // namespace

Status add_inertia(FilterMemory<InertiaState>& memory, const DeviceFaces* tracked,
                   DeviceFaces* faces, float inertia, Launcher launch) {
  if (!tracked || !faces) return no_faces();
  return memory.use([&](InertiaState* state, bool forget) {
    return launch("landmarks: inertia", inertia_kernel, {1, kThreads}, state, tracked, faces,
                  inertia, forget);
  });
}

Status smooth_landmarks(FilterMemory<SmoothState>& memory, const DeviceFaces* from, DeviceFaces* to,
                        double seconds, float smooth, Launcher launch) {
  if (!from || !to || from == to) return no_faces();
  return memory.use([&](SmoothState* state, bool forget) {
    return launch("landmarks: smooth", smooth_kernel, {1, kThreads}, state, from, to, seconds,
                  smooth, forget);
  });
}

Status keep_landmarks(const DeviceFaces* before, DeviceFaces* faces, Launcher launch) {
  if (!before || !faces) return no_faces();
  return launch("landmarks: gap", gap_kernel, {1, kThreads}, before, faces);
}

}  // namespace cuface::cuda
