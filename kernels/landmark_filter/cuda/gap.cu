#include "kernels/common/lanes.h"
#include "kernels/landmark_filter/cuda/gap.h"
#include "kernels/landmark_filter/gap.h"

namespace cuface::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    gap_kernel(const DeviceFaces* before, DeviceFaces* faces) {
  const int landmarks = faces->landmarks_per_face;
  if (before->landmarks_per_face != landmarks) return;
  forest::keep_landmarks(BlockLanes{}, before->faces, before->count, before->landmarks(),
                         faces->faces, faces->count, landmarks, faces->landmarks());
}

}  // namespace

Status keep_landmarks(const DeviceFaces* before, DeviceFaces* faces, Launcher launch) {
  if (!before || !faces) return {StatusCode::kInvalidArgument, "landmarks: no faces"};
  return launch("landmarks: gap", gap_kernel, {1, kThreads}, before, faces);
}

}  // namespace cuface::cuda
