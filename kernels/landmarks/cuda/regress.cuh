// The kernel of one regression, for any job: which boxes of a list of faces are looked at, and what
// becomes of what is found there. A few blocks of threads do all stages of one box, each for a
// part of the coordinates: what is wide is spread over the blocks, and what has one order only, the
// sums, is all that a thread waits for. docs/design/landmarks.md has the figures.
//
// A Job is a kernel's argument with a type Row, what one box needs, all members for the device:
//   Row(const Job&, int number, bool first_block)  by all threads; number: of the box, 0 .. rows -
//   1 bool is_wanted; Box box; Roll roll;            nothing is done without is_wanted Point*
//   points;                                 where what is found goes void finish() const  by all
//   threads of the first block, when they have written the points: what
//                        was found, or (0, 0) where the box is not usable
// Its bytes are compared from frame to frame, so that it has no padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/common/cuda/attributes.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/try.h"
#include "kernels/landmarks/cuda/compact_leaves.cuh"
#include "kernels/landmarks/cuda/landmarker.h"
#include "kernels/landmarks/cuda/leaves.cuh"
#include "kernels/landmarks/cuda/team.cuh"
#include "kernels/landmarks/regression.h"

namespace cuface::cuda {
namespace {

using forest::PixelReader;

constexpr int kPixels = 4;  // of a thread, on their way at once

/// forest::fit_scaled_rotation() by the block's first warp into s.rotation: a half of it has a's
/// parts, the other b's.
__device__ void fit_scaled_rotation(const TeamMemory& s, const Point* shape, int n) {
  static_assert(kWarp == 2 * forest::kFitParts);
  const int part = static_cast<int>(threadIdx.x) % forest::kFitParts;
  const bool of_b = threadIdx.x >= forest::kFitParts;
  const forest::Lever* const levers = s.levers + (of_b ? n : 0);
  double sum = 0;
#pragma unroll 5
  for (int first = 0; first < n; first += forest::kFitParts) {
    const int i = min(first + part, n - 1);  // so that all are read at once
    const double product = levers[i].along(shape[i]);
    if (first + part < n) sum += product;
  }
#pragma unroll
  for (int apart = forest::kFitParts / 2; apart > 0; apart /= 2)
    sum += __shfl_xor_sync(kAllLanes, sum, apart);
  if (part != 0) return;
  if (of_b) {
    s.rotation->b = forest::coefficient_from(sum, ScaledRotation{}.b);
  } else {
    s.rotation->a = forest::coefficient_from(sum, ScaledRotation{}.a);
  }
}

/// What a kernel is made for.
enum class Fit {
  kDlib,    // dlib's model for 68 points: with its sizes known, half of the instructions go
  kStaged,  // a stage's tables in shared memory
  kUnstaged,
};

constexpr int kDlibLandmarks = 68, kDlibTrees = 500, kDlibDepth = 4, kDlibPool = 500;

bool is_dlib(const ForestTables& forest) {
  return forest.landmarks == kDlibLandmarks && forest.trees == kDlibTrees &&
         forest.depth == kDlibDepth && forest.pool == kDlibPool;
}

/// kFaceBlocks blocks a box.
template <Fit kFit, typename AnyLeaves, typename Job>
__global__ void __launch_bounds__(kThreads, 3) CUFACE_FOREST_CLUSTER_DIMS
    forest_kernel(ForestTables forest, int stages, ImageView<const std::uint8_t> luma,
                  const __grid_constant__ Job job) {
  extern __shared__ __align__(16) unsigned char memory[];
  if constexpr (kFit == Fit::kDlib) {
    forest.landmarks = kDlibLandmarks;
    forest.trees = kDlibTrees;
    forest.depth = kDlibDepth;
    forest.pool = kDlibPool;
  }
  const int block = static_cast<int>(blockIdx.x) % kFaceBlocks;
  const int thread = static_cast<int>(threadIdx.x);
  const int landmarks = forest.landmarks;
  if (block >= Team::kBlocks) return;
  const typename Job::Row row(job, static_cast<int>(blockIdx.x) / kFaceBlocks, block == 0);
  if (!row.is_wanted) return;
  Point* const points = row.points;
  if (!forest::is_usable(row.box)) {
    if (block > 0) return;
    for (int i = thread; i < landmarks; i += kThreads) points[i] = {0, 0};
    row.finish();
    return;
  }

  // One block's share would not fit where those of a few have room.
  constexpr bool kStaged = kFit != Fit::kUnstaged && Team::kBlocks == kFaceBlocks;
  const TeamMemory s(memory, forest, kFit != Fit::kUnstaged);
  const Team team{s, landmarks, forest.trees};
  const PixelReader pixels(luma, row.box, row.roll);
  const TreeShare share(forest.trees, Team::kBlocks, block);
  AnyLeaves leaves(team, forest, share, block);

  for (int i = thread; i < landmarks; i += kThreads) {
    team.shape(0)[i] = forest.mean[i];
    s.levers[i] = forest.levers[i];
    s.levers[landmarks + i] = forest.levers[i].quarter_turn();
  }
  if (thread == 0) leaves.init();
  team.start();
  if (kStaged && thread == 0) team.fetch_tables(forest, 0, share);
#pragma unroll 1
  for (int stage = 0; stage < stages; ++stage) {
    const Point* const shape = team.shape(stage);
    if (AnyLeaves::kAllWait || thread < kWarp) leaves.wait_for_shape(stage);
    if (thread < kWarp) {
      if (kStaged) team.wait_for_tables(stage);
      if (thread == 0) leaves.expect(stage);
      fit_scaled_rotation(s, shape, landmarks);
    }
    __syncthreads();
    const ScaledRotation rotation = *s.rotation;
    const CascadeTables tables =
        kStaged
            ? CascadeTables(forest, s.tables, 0)
            : CascadeTables(forest, forest.stages + stage * forest.layout().bytes(), share.first);
#pragma unroll 1
    for (int first = thread; first < forest.pool; first += kPixels * kThreads) {
      std::uint8_t pixel[kPixels];
#pragma unroll
      for (int k = 0; k < kPixels; ++k) {
        const int i = min(first + k * kThreads, forest.pool - 1);
        pixel[k] = pixels.at(rotation.place(shape[tables.anchor(i)], tables.delta(i)));
      }
#pragma unroll
      for (int k = 0; k < kPixels; ++k)
        if (first + k * kThreads < forest.pool) s.pool[first + k * kThreads] = pixel[k];
    }
    __syncthreads();
    const TreeWalk walk = leaves.walk();
#pragma unroll 1
    for (int i = walk.first; i < walk.end; i += walk.step) {
      const int tree = share.first + i;
      leaves.found(tree, (static_cast<std::uint32_t>(tree) << forest.depth) +
                             forest::walk_tree(tables.tree(i), forest.depth, s.pool));
    }
    if (kStaged) team.tables_read();
    const bool fetches = kStaged && thread == 0 && stage + 1 < stages;
    if (AnyLeaves::kTablesFirst && fetches) team.fetch_tables(forest, stage + 1, share);
    leaves.add_all(stage);
    if (!AnyLeaves::kTablesFirst && fetches) team.fetch_tables(forest, stage + 1, share);
  }
  leaves.wait_for_shape(stages);  // also so that a block runs as long as anything is sent to it
  __syncthreads();
  if (block > 0) return;
  for (int i = thread; i < landmarks; i += kThreads)
    points[i] = pixels.to_picture(team.shape(stages)[i]);
  row.finish();
}

template <typename Job>
using ForestKernel = decltype(&forest_kernel<Fit::kDlib, Leaves, Job>);

template <typename Job, typename AnyLeaves>
constexpr ForestKernel<Job> kernel_of(Fit fit) {
  return fit == Fit::kDlib     ? forest_kernel<Fit::kDlib, AnyLeaves, Job>
         : fit == Fit::kStaged ? forest_kernel<Fit::kStaged, AnyLeaves, Job>
                               : forest_kernel<Fit::kUnstaged, AnyLeaves, Job>;
}

template <typename Job>
ForestKernel<Job> kernel_of(Fit fit, const ForestTables& forest) {
  return forest.leaves ? kernel_of<Job, Leaves>(fit) : kernel_of<Job, CompactLeaves>(fit);
}

/// Lets the kernel have as much shared memory as the device gives: the limit belongs to the kernel,
/// so that no landmarker may set one of its own. Returns whether this model's tables fit.
template <typename Job>
Result<bool> allow_shared_memory(const ForestTables& forest) {
  CUFACE_TAKE(most, most_shared_memory());
  for (const Fit fit : {Fit::kDlib, Fit::kStaged, Fit::kUnstaged}) {
    CUFACE_TRY(check(cudaFuncSetAttribute(kernel_of<Job>(fit, forest),
                                          cudaFuncAttributeMaxDynamicSharedMemorySize, most),
                     "landmarks"));
  }
  std::size_t needed = 0;
  for (const bool staged : {true, false}) {
    needed = TeamMemory(nullptr, forest, staged).bytes;
    if (needed <= static_cast<std::size_t>(most)) return staged;
  }
  return Status(StatusCode::kUnsupported,
                "the landmark model has more feature pixels and trees a stage than this GPU's "
                "shared memory holds (" +
                    std::to_string(needed) + " bytes of " + std::to_string(most) + ")");
}

/// One launch for `rows` boxes. `staged`: as allow_shared_memory() says.
template <typename Job>
Status launch_forest(const ForestTables& forest, bool staged, int stages,
                     ImageView<const std::uint8_t> luma, const Job& job, int rows,
                     Launcher launch) {
  const TeamMemory scratch(nullptr, forest, staged);
  const Fit fit = !staged ? Fit::kUnstaged : is_dlib(forest) ? Fit::kDlib : Fit::kStaged;
  return launch("landmarks", kernel_of<Job>(fit, forest),
                {static_cast<unsigned>(rows * kFaceBlocks), kThreads, scratch.bytes}, forest,
                stages, luma, job);
}

}  // namespace
}  // namespace cuface::cuda
