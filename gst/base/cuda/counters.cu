#include "gst/base/cuda/counters.h"
#include "kernels/common/cuda.h"

namespace cuface::cuda {
namespace {

__device__ void add_over(std::uint64_t* over) {
  __threadfence_system();
  volatile std::uint64_t* seen = over;
  *seen = *seen + 1;
}

__global__ void over_kernel(std::uint64_t* over) { add_over(over); }

__global__ void count_kernel(const DeviceFaces* faces, CountedWork work, Counters* counters) {
  // Host memory is far: it is read and written once.
  Counters sum = *counters;
  if (work.searched && *work.searched) {
    if (*work.searched == 1) ++sum.searches;
    if (faces->overflow) ++sum.overflows;
  }
  if (work.skipped && *work.skipped) ++sum.skipped_searches;
  sum.faces += static_cast<std::uint64_t>(faces->count);
  if (work.tracks) sum.lost_tracks += static_cast<std::uint64_t>(faces->lost);
  for (int i = 0; i < faces->count; ++i)
    if (faces->faces[i].id > sum.last_id) sum.last_id = faces->faces[i].id;
  *counters = sum;
  if (work.over) add_over(work.over);
}

}  // namespace

Status count_faces(const DeviceFaces* faces, const CountedWork& work, Counters* counters,
                   Launcher launch) {
  return launch("counting faces", count_kernel, {1, 1}, faces, work, counters);
}

Status count_over(std::uint64_t* over, Launcher launch) {
  return launch("counting work", over_kernel, {1, 1}, over);
}

}  // namespace cuface::cuda
