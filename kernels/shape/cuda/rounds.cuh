// The rounds of a launch, and how its blocks divide the work.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/early.cuh"
#include "kernels/shape/cuda/search.h"

namespace cuface::cuda {

constexpr int kBlocksOfSm = 2;  // that look for points side by side; three have too few registers
/// Blocks that constrain faces. All that look for points have begun when one of these waits for
/// them.
constexpr int kConstrainBlocks = 16;
/// Of so many faces one half is searched while the other one is constrained.
constexpr int kLeastInHalves = 8;

__device__ inline int multiprocessor() {
  unsigned number = 0;
#ifdef __NVCC__
  asm("mov.u32 %0, %%smid;" : "=r"(number));
#endif
  return static_cast<int>(number);
}

/// The rounds of a launch.
struct Rounds {
  int first, end;
  __device__ bool are_many() const { return end - first > 1; }
};

/// For all threads: the block's number, which is not that of blockIdx. The last kConstrainBlocks
/// numbers are of blocks that constrain. Where all blocks run at once these are those of a few
/// multiprocessors, which have no others, so that nothing slows them down; else the last ones that
/// begin. Of the others, of two of a multiprocessor one has a small number and one a large number,
/// so that they are a large group of faces and a small one, or a group and nothing. All blocks of a
/// launch call it before the next launch may begin.
__device__ inline int begin_in_order(const ShapeWork& work, const Rounds& rounds,
                                     std::int32_t& shared) {
  if (threadIdx.x == 0) {
    const int processor = multiprocessor(), blocks = static_cast<int>(gridDim.x);
    const int there = ShapeWork::kBegunThere + processor % ShapeWork::kMultiprocessors;
    const int launch = atomicAdd(work.counts + ShapeWork::kBegun, 1) / blocks;
    const bool is_first = atomicAdd(work.counts + there, 1) % kBlocksOfSm == 0;
    const int others = blocks - kConstrainBlocks;
    std::int32_t* const taken =
        work.counts + ShapeWork::kTaken + launch * ShapeWork::kTakenOfLaunch;
    int number = -1;
    if (rounds.are_many() && processor >= others / kBlocksOfSm) {
      const int last = blocks - 1 - atomicAdd(taken, 1);
      if (last >= others) number = last;
    }
    if (number < 0) {
      const int turn = atomicAdd(taken + 1, 1);
      number = turn >= others ? turn
               : is_first     ? atomicAdd(taken + 2, 1)
                              : others - 1 - atomicAdd(taken + 3, 1);
    }
    shared = number;
  }
  __syncthreads();
  return shared;
}

__device__ inline void begin_rounds() {
  wait_for_launch();
  allow_next_launch();
}

/// The faces of which a block looks for a point: the group'th of `groups` of them, or of each half.
struct FaceGroup {
  int point, group, groups;

  /// Blocks 0 .. items - 1 divide the points of all faces. The last points have fewer groups of
  /// faces, which are larger: a face's outline, which comes first, has more rows, and edges.
  __device__ FaceGroup(int block, int items, int points) {
    const int fewer = items / points, large = points - items % points;
    const int of_rest = block - large * fewer;
    groups = max(1, of_rest < 0 ? fewer : fewer + 1);
    point = points - 1 - (of_rest < 0 ? block / groups : large + of_rest / groups);
    group = (of_rest < 0 ? block : of_rest) % groups;
  }
};

}  // namespace cuface::cuda
