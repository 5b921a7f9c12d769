// The sums of a cascade's leaves: some warps read them and lay them out, others add them up in the
// order of the trees. For forest_cuda.cu alone.
#pragma once

#include <cuda_pipeline.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/warp.cuh"
#include "kernels/forest/forest_cuda.h"
#include "kernels/forest/team.cuh"

namespace cuface::cuda {
namespace {

/// This block's columns of all leaves of a cascade, by a block of kWarps warps. One that reads
/// takes four trees of a column at a time (a group), whole lines of memory, and lays each
/// coordinate's values side by side, so that who adds them up gets them by one read. What all
/// readers take at once is a chunk, and lies in a slot. Where all chunks of a cascade have one
/// nobody waits for room. Handovers say that a slot is filled, or free.
template <int kWarps>
class Leaves {
 public:
  __device__ Leaves(const Team& team, const ForestTables& forest, int slots, int block)
      : team_(team), forest_(forest), block_(block) {
    all_ = (2 * forest.landmarks + kLeafColumn - 1) / kLeafColumn;
    // Known to the compiler where it is the same for all blocks, as for dlib's model.
    columns_ = all_ % Team::kBlocks == 0 ? all_ / Team::kBlocks
                                         : (all_ - block + Team::kBlocks - 1) / Team::kBlocks;
    adding_ = max(1, min(columns_, kWarps / 2));
    const int reading = kWarps - adding_;
    chunk_groups_ = reading / adding_;
    all_read_ = all_ % (Team::kBlocks * adding_) == 0 && reading % adding_ == 0;
    groups_ = (forest.trees + kGroup - 1) / kGroup;
    chunks_ = (groups_ + chunk_groups_ - 1) / chunk_groups_;
    slots_ = chunks_ <= slots ? chunks_ : min(slots, kMostInTurns);
    warp_ = static_cast<int>(threadIdx.x) / kWarp;
  }

  /// By one thread, before team.start().
  __device__ void init() const {
    for (int i = 0; i < slots_; ++i) {
      team_.handovers.init(filled(i), (kWarps - adding_) * kWarp);
      team_.handovers.init(free(i), adding_ * kWarp);
    }
  }

  /// By all threads, when the rows of this cascade are there: the sums go to the next one's shape.
  __device__ void add_all(int cascade) {
    // More columns than can be added up at once come one after the other.
#pragma unroll 1
    for (int first = 0; first < columns_; first += adding_) {
      if (first > 0) __syncthreads();
      if (warp_ >= adding_) {
        read(cascade, first);
        continue;
      }
      const int coordinate = column(first + warp_) * kLeafColumn + lane();
      const bool mine = coordinate < 2 * forest_.landmarks;
      const float sum =
          add(mine ? reinterpret_cast<const float*>(team_.shape(cascade))[coordinate] : 0.0f);
      if (mine) team_.send_coordinate(cascade + 1, coordinate, sum);
    }
  }

 private:
  static constexpr int kGroup = 4;                 // trees
  static constexpr int kPieces = kLeafColumn / 4;  // of 16 bytes, in a line
  static constexpr int kAhead = 5;                 // groups in registers before they are added
  static constexpr int kMostInTurns = Handovers::kMost / 2;  // slots: filled and free
  static constexpr int kOnTheirWay = 4;                      // chunks; less than slots
  static constexpr float kNothing = -0.0f;  // changes no sum, not even a zero's sign
  static_assert(kLeafColumn == kWarp && kOnTheirWay < kMostInTurns);

  const Team& team_;
  const ForestTables& forest_;
  int block_, all_, columns_, adding_, chunk_groups_, groups_, chunks_, slots_, warp_;
  bool all_read_;            // no warp that reads has nothing to read; for the compiler
  std::uint32_t waits_ = 0;  // this thread's, as Handovers counts them

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % kWarp; }
  __device__ int column(int mine) const { return block_ + mine * Team::kBlocks; }
  __device__ int slot(int chunk) const { return chunks_ <= slots_ ? chunk : chunk % slots_; }
  __device__ int filled(int chunk) const { return slot(chunk); }
  __device__ int free(int chunk) const { return slots_ + slot(chunk); }
  /// [chunk_groups_][kWarp], a coordinate's four trees each.
  __device__ float4* stage(int chunk, int adding) const {
    return reinterpret_cast<float4*>(team_.s.leaves) +
           (slot(chunk) * adding_ + adding) * (chunk_groups_ * kWarp);
  }

  /// A warp's groups of the cascade. Copied as they lie in memory, and turned over when they are
  /// there.
  __device__ void read(int cascade, int first) {
    const int reader = warp_ - adding_;
    const int group = reader / adding_, adding = reader % adding_;
    const bool has_room = all_read_ || group < chunk_groups_;
    const bool reads = all_read_ || (has_room && column(first + adding) < all_);
    const int tree = lane() / kPieces, piece = lane() % kPieces;
    const std::size_t leaf = (static_cast<std::size_t>(cascade) * forest_.trees) << forest_.depth;
    const float4* const from =
        reinterpret_cast<const float4*>(forest_.leaves) + piece +
        (reads ? column(first + adding) * forest_.column_leaves + leaf : 0) * kPieces;
#pragma unroll 1
    for (int next = 0; next < chunks_ + kOnTheirWay; ++next) {
      if (next < chunks_) {
        if (next >= slots_) team_.handovers.wait(free(next), waits_);
        const int at = (next * chunk_groups_ + group) * kGroup + tree;
        if (reads && at < forest_.trees)
          __pipeline_memcpy_async(stage(next, adding) + group * kWarp + lane(),
                                  from + std::size_t{team_.s.rows[at]} * kPieces, sizeof(float4));
      }
      __pipeline_commit();
      __pipeline_wait_prior(kOnTheirWay);
      const int chunk = next - kOnTheirWay;
      if (chunk < 0) continue;
      __syncwarp();
      if (has_room) {
        float4* const to = stage(chunk, adding) + group * kWarp;
        const float* const values = reinterpret_cast<const float*>(to) + lane();
        const float4 turned = make_float4(values[0], values[kLeafColumn], values[2 * kLeafColumn],
                                          values[3 * kLeafColumn]);
        __syncwarp();
        to[lane()] = turned;
      }
      team_.handovers.arrive(filled(chunk));
    }
  }

  /// sum + this thread's coordinate of each leaf, in the order of the trees.
  __device__ float add(float sum) {
    int chunk = -1, left = 0, tree = 0;
    const float4* from = nullptr;
    const auto next_chunk = [&] {
      if (chunk >= 0 && chunk + slots_ < chunks_) team_.handovers.arrive(free(chunk));
      ++chunk;
      team_.handovers.wait(filled(chunk), waits_);
      from = stage(chunk, warp_) + lane();
      left = chunk_groups_;
    };
    const auto add = [&sum](const float4& v) {
      sum += v.x;
      sum += v.y;
      sum += v.z;
      sum += v.w;
    };
    // Whole chunks, of one column: reads take longer than a few sums, so they are some groups
    // ahead.
    constexpr int kParts = 3;
    const int whole = forest_.trees / kGroup / (kParts * kAhead);
    if (chunk_groups_ == kParts * kAhead && whole > 0) {
      float4 ahead[kAhead];
#pragma unroll
      for (int k = 0; k < kAhead; ++k) ahead[k] = {kNothing, kNothing, kNothing, kNothing};
      const auto read_part = [&](int part) {
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
          add(ahead[k]);
          ahead[k] = from[(part * kAhead + k) * kWarp];
        }
      };
#pragma unroll 1
      while (chunk + 1 < whole) {
        next_chunk();
#pragma unroll
        for (int part = 0; part < kParts; ++part) read_part(part);
      }
      tree = whole * chunk_groups_ * kGroup;
      left = 0;
      if (forest_.trees - tree >= kAhead * kGroup) {
        next_chunk();
        read_part(0);
        tree += kAhead * kGroup;
        left -= kAhead;
        from += kAhead * kWarp;
      }
#pragma unroll
      for (int k = 0; k < kAhead; ++k) add(ahead[k]);
    }
#pragma unroll 1
    for (; tree < forest_.trees; tree += kGroup, --left, from += kWarp) {
      if (left == 0) next_chunk();
      const float4 v = *from;
      sum += v.x;
      if (tree + 1 < forest_.trees) sum += v.y;
      if (tree + 2 < forest_.trees) sum += v.z;
      if (tree + 3 < forest_.trees) sum += v.w;
    }
    return sum;
  }
};

}  // namespace
}  // namespace cuface::cuda
