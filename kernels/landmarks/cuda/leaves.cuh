// The sums of a stage's leaves, in the order of the trees. For regress.cuh alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/landmarks/cuda/landmarker.h"
#include "kernels/landmarks/cuda/team.cuh"

namespace cuface::cuda {
namespace {

/// This block's columns of all leaves of a stage. The trees are cut into segments, and warp after
/// warp takes the next one: it reads its segment's leaves into registers, a lane a coordinate, gets
/// the sum of those before from the warp that has added them, adds its own and hands the sum on. So
/// all leaves are on their way at once, and nothing but the sums goes through shared memory.
class Leaves {
 public:
  /// Who calls wait_for_shape() for a stage: all threads, or the first warp alone.
  static constexpr bool kAllWait = Team::kBlocks == 1;
  /// Whether the next stage's tables are fetched before leaves are added, or behind it.
  static constexpr bool kTablesFirst = false;

  __device__ Leaves(const Team& team, const ForestTables& forest, const TreeShare& share, int block)
      : team_(team), forest_(forest), share_(share), block_(block), columns_(team.columns(block)) {
    segments_ = (forest.trees + kSegment - 1) / kSegment;
    missing_ = (segments_ * kSegment - forest.trees) / kQuad * kQuad;
  }

  /// By one thread, before team.start().
  __device__ void init() const {
    for (int i = 0; i < kColumns * kWarps; ++i) team_.handovers.init(i);
  }

  __device__ void wait_for_shape(int number) const { team_.wait_for_shape(number); }

  /// By one thread, before anything of the stage is sent.
  __device__ void expect(int stage) const {
    team_.expect(TeamMemory::kRows, forest_.trees * sizeof(std::uint32_t));
    team_.expect(Team::shape_barrier(stage + 1), forest_.landmarks * sizeof(Point));
  }

  __device__ TreeWalk walk() const {
    return {static_cast<int>(threadIdx.x), share_.count, kThreads};
  }

  /// A tree's leaf, counted from the stage's first: all blocks need all of them.
  __device__ void found(int tree, std::uint32_t row) const {
    team_.send(team_.s.rows + tree, row, TeamMemory::kRows);
  }

  /// By all threads: the sums go to the next stage's shape.
  __device__ void add_all(int stage) {
    team_.wait(TeamMemory::kRows, stage);
#pragma unroll 1
    for (int mine = 0; mine < columns_; ++mine) {
      if (mine > 0 && mine % kColumns == 0) __syncthreads();  // their sums' places are free again
      add_column(stage, block_ + mine * Team::kBlocks, mine % kColumns);
    }
  }

 private:
  static constexpr int kSegment = 128;  // trees; as many registers of a thread
  static constexpr int kQuad = 4;       // trees whose rows are read at once
  static constexpr int kColumns = Handovers::kMost / kWarps;  // whose sums are handed on at a time
  static constexpr float kNothing = -0.0f;  // changes no sum, not even a zero's sign
  static_assert(kLeafColumn == kWarp && kColumns > 0);

  const Team& team_;
  const ForestTables& forest_;
  const TreeShare& share_;
  int block_, columns_, segments_;
  int missing_;              // trees that the first segment has less, in whole quads
  std::uint32_t waits_ = 0;  // this thread's, as Handovers counts them

  __device__ void add_column(int stage, int column, int place) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int coordinate = column * kLeafColumn + lane;
    const bool is_one = coordinate < 2 * forest_.landmarks;
    const std::size_t first_leaf = column * forest_.column_leaves + forest_.first_leaf(stage);
    const float* from = forest_.leaves + first_leaf * kLeafColumn + lane;
    asm("" : "+l"(from));  // one addition a leaf, not the parts of the sum each time
#pragma unroll 1
    for (int segment = static_cast<int>(threadIdx.x) / kWarp; segment < segments_;
         segment += kWarps) {
      float leaf[kSegment];
      read(from, segment, leaf);
      // So written the compiler leaves the reads in front of the wait (docs/design/landmarks.md).
      float sum = 0;
      if (segment == 0) {
        if (is_one) sum = reinterpret_cast<const float*>(team_.shape(stage))[coordinate];
      } else {
        const int here = place * kWarps + segment % kWarps;
        team_.handovers.wait(here, waits_);
        sum = team_.s.sums[here * kWarp + lane];
      }
#pragma unroll
      for (int k = 0; k < kSegment; ++k) sum += leaf[k];
      if (segment + 1 < segments_) {
        const int next = place * kWarps + (segment + 1) % kWarps;
        team_.s.sums[next * kWarp + lane] = sum;
        team_.handovers.arrive(next);
      } else if (is_one) {
        team_.send(reinterpret_cast<float*>(team_.shape(stage + 1)) + coordinate, sum,
                   Team::shape_barrier(stage + 1));
      }
    }
  }

  /// The first segment has nothing in front of its trees, the last one behind them.
  __device__ void read(const float* from, int segment, float (&leaf)[kSegment]) const {
    const int first = segment * kSegment - missing_;
    const bool whole = forest_.trees % kQuad == 0;
#pragma unroll
    for (int k = 0; k < kSegment; k += kQuad) {
      const bool there = k >= missing_ || segment > 0;
      const auto rows = there ? *reinterpret_cast<const uint4*>(team_.s.rows + first + k) : uint4{};
      const std::uint32_t row[kQuad] = {rows.x, rows.y, rows.z, rows.w};
#pragma unroll
      for (int i = 0; i < kQuad; ++i) {
        const bool is_tree = there && (whole || first + k + i < forest_.trees);
        leaf[k + i] = is_tree ? load(from + std::size_t{row[i]} * kLeafColumn) : kNothing;
      }
    }
  }

  /// Keeps the picture in the nearest cache. Not volatile: may move.
  __device__ static float load(const float* at) {
    float value;
    asm("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(value) : "l"(at));
    return value;
  }
};

}  // namespace
}  // namespace cuface::cuda
