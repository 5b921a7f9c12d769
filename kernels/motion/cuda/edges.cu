// The mask of the method edges, by strips.
#include <cstdint>
#include <type_traits>

#include "kernels/common/cuda/early.cuh"
#include "kernels/motion/cuda/memory.h"
#include "kernels/motion/cuda/strips.cuh"

namespace cuface::cuda::motion {
namespace {

// At 1080p fewer blocks than a large GPU has multiprocessors: so follow() finds one that is free.
constexpr int kStripRows = 3, kStripWarps = 4, kStripThreads = kStripWarps * kWarp;

/// Edges, which nothing before has kept the frame for.
template <typename Told>
__global__ void __launch_bounds__(kStripThreads)
    edges_kernel(const __grid_constant__ MotionPlan plan, const __grid_constant__ MaskViews views,
                 const __grid_constant__ CellPlaces places, const Strips<kStripRows> strips,
                 Bits edges, Told told, MotionMemory* memory, MotionResult* out) {
  // A block has pixels of no more rows of cells than of pixels.
  __shared__ CellCounts<kStripRows * kStripWarps, kStripThreads> changes;
  allow_next_launch();  // follow()
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const MotionFrame frame = told.get();
  if (block == 0 && thread == 0) memory->frame = frame;
  const CellPart part = mask_strips(plan, views, places, strips, edges, frame, changes);
  clear_cells(out, blockIdx.x * kStripThreads + threadIdx.x, gridDim.x * kStripThreads);
  __syncthreads();
  changes.give(places, part, thread, memory->changed);
}

}  // namespace

Status mask_edges(Bits edges, const MotionPlan& plan, const MotionFrame& frame,
                  const MaskViews& views, MotionMemory* memory, MotionResult* out,
                  MotionCounters* counters, Launcher launch) {
  const Strips<kStripRows> strips(views.mask.width, plan.height, kStripWarps);
  CUFACE_TRY(launch.tell(frame, [&](const auto& told) {
    return launch("a mask of motion", edges_kernel<std::decay_t<decltype(told)>>,
                  {parts(strips.all, kStripWarps), kStripThreads}, plan, views, CellPlaces(plan),
                  strips, edges, told, memory, out);
  }));
  return follow(plan, views.counted, memory, out, counters, launch.early(views.early));
}

}  // namespace cuface::cuda::motion
