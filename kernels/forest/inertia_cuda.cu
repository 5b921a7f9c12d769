#include "kernels/common/lanes.h"
#include "kernels/forest/inertia.h"
#include "kernels/forest/inertia_cuda.h"

namespace cuface::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    inertia_kernel(const DeviceFaces* tracked, DeviceFaces* faces, float inertia) {
  __shared__ bool jumped[kMaxFaces];
  const int landmarks = faces->landmarks_per_face;
  if (tracked->landmarks_per_face > 0 || tracked->followed_per_face != landmarks) return;
  forest::add_inertia(BlockLanes{}, faces->faces, faces->count, landmarks, tracked->landmarks(),
                      faces->landmarks(), inertia, jumped);
}

}  // namespace

Status add_inertia(const DeviceFaces* tracked, DeviceFaces* faces, float inertia, Launcher launch) {
  if (!tracked || !faces) return {StatusCode::kInvalidArgument, "landmarks: no faces"};
  return launch("landmarks: inertia", inertia_kernel, {1, kThreads}, tracked, faces, inertia);
}

}  // namespace cuface::cuda
