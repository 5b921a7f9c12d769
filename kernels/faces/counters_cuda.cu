#include <cstddef>
#include <type_traits>

#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/submissions.cuh"
#include "kernels/faces/copy.cuh"
#include "kernels/faces/counters_cuda.h"

namespace cuface::cuda {
namespace {

constexpr int kThreads = 128;

/// What there is of a list, by all threads of the block.
__device__ void copy_list(const DeviceFaces* from, DeviceFaces* to) {
  const auto faces = static_cast<std::size_t>(from->count);
  copy_words<kThreads>(from, to, offsetof(DeviceFaces, faces) + faces * sizeof(Face));
  const auto points = faces * static_cast<std::size_t>(points_per_face(*from));
  // Confidences lie behind the points.
  const std::size_t each = sizeof(Point) + (from->has_confidences ? sizeof(float) : 0);
  copy_words<kThreads>(from->landmarks(), to->landmarks(), points * each);
}

template <typename Told>
__global__ void __launch_bounds__(kThreads)
    count_kernel(const DeviceFaces* faces, const __grid_constant__ CountedWork work,
                 Tally<FaceCounters> counters, const __grid_constant__ Delivery::From from,
                 const __grid_constant__ Told told) {
  for (int i = 0; i < Delivery::kMost; ++i)
    if (DeviceFaces* to = told.get().list[i]) copy_list(from.list[i], to);
  __syncthreads();
  if (threadIdx.x != 0) return;
  FaceCounters sum = *counters.own;
  if (work.searched && *work.searched) {
    if (*work.searched == 1) ++sum.searches;
    if (faces->overflow) ++sum.overflows;
  }
  if (work.skipped && *work.skipped) ++sum.skipped_searches;
  sum.faces += static_cast<std::uint64_t>(faces->count);
  if (work.tracks) sum.lost_tracks += static_cast<std::uint64_t>(faces->lost);
  for (int i = 0; i < faces->count; ++i)
    if (faces->faces[i].id > sum.last_id) sum.last_id = faces->faces[i].id;
  *counters.own = *counters.told = sum;
  if (work.wants_search) *work.wants_search = faces->search_wanted.count > 0;
  if (work.over.own) add_over(work.over);
}

}  // namespace

Status count_faces(const DeviceFaces* faces, const CountedWork& work, Tally<FaceCounters> counters,
                   Launcher launch, const Delivery& delivery) {
  return launch.tell(delivery.to, [&](const auto& told) {
    return launch("counting faces", count_kernel<std::decay_t<decltype(told)>>, {1, kThreads},
                  faces, work, counters, delivery.from, told);
  });
}

}  // namespace cuface::cuda
