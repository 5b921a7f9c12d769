// The sums of a compact model's leaves, in any order: they are integers. For regress.cuh
// alone.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/landmarks/cuda/landmarker.h"
#include "kernels/landmarks/cuda/team.cuh"

namespace cuface::cuda {
namespace {

/// What Leaves does, of a compact model. Each warp adds up the leaves of the trees that it has
/// walked, all coordinates of them, and each block sends what its warps have found to all: one
/// message a stage, and no block waits for another one's trees. All blocks then make the same
/// shape.
class CompactLeaves {
 public:
  static constexpr bool kAllWait = Team::kBlocks == 1, kTablesFirst = true;

  __device__ CompactLeaves(const Team& team, const ForestTables& forest, const TreeShare& share,
                           int block)
      : team_(team),
        forest_(forest),
        share_(share),
        block_(block),
        size_(forest.compact_size()),
        lane_(static_cast<int>(threadIdx.x) % kWarp),
        warp_(static_cast<int>(threadIdx.x) / kWarp) {}

  __device__ void init() const {}

  /// The first warp makes the shape; others that call this only wait for what it is made of.
  __device__ void wait_for_shape(int number) const {
    team_.wait_for_shape(number);
    if (number == 0) return;
    const Point* const before = team_.shape(number - 1);
    Point* const shape = team_.shape(number);
#pragma unroll
    for (int k = 0; k < kLandmarks; ++k) {
      const int i = static_cast<int>(threadIdx.x) + k * kWarp;
      if (warp_ > 0 || i >= forest_.landmarks) break;
      std::int32_t x = -kCompactBias * forest_.trees, y = x;
#pragma unroll
      for (int block = 0; block < Team::kBlocks; ++block) {
        const int2 part = reinterpret_cast<const int2*>(of_block(number, block))[i];
        x += part.x;
        y += part.y;
      }
      shape[i] = {before[i].x + static_cast<float>(x) * scale_[k].x,
                  before[i].y + static_cast<float>(y) * scale_[k].y};
    }
    __syncwarp();
  }

  __device__ void expect(int stage) const {
    team_.expect(Team::shape_barrier(stage + 1),
                 static_cast<std::size_t>(Team::kBlocks * size_) * sizeof(std::int32_t));
  }

  __device__ TreeWalk walk() const { return {first_tree() + lane_, first_tree() + trees(), kWarp}; }

  /// Kept as where the leaf begins among all pieces.
  __device__ void found(int tree, std::uint32_t row) const {
    team_.s.rows[tree] = row * static_cast<std::uint32_t>(pieces());
  }

  __device__ void add_all(int stage) {
    const auto* scales =
        reinterpret_cast<const float2*>(forest_.leaf_scales) + stage * forest_.landmarks + lane_;
#pragma unroll
    for (int k = 0; k < kLandmarks; ++k)
      if (warp_ == 0 && k * kWarp + lane_ < forest_.landmarks)
        scale_[k] = __ldg(scales + k * kWarp);
    __syncwarp();
    const auto* leaves = reinterpret_cast<const uint4*>(forest_.compact_leaves) +
                         forest_.first_leaf(stage) * pieces();
#pragma unroll 1
    for (int piece = 0; piece < pieces(); piece += kLanes) {
      // dlib's 17th piece: read beside the others.
      const bool one_more = pieces() == piece + kLanes + 1;
      add_pieces(leaves, piece, one_more);
      if (one_more) break;
    }
    __syncthreads();
#pragma unroll 1
    for (int i = 4 * static_cast<int>(threadIdx.x); i < size_; i += 4 * kThreads) {
      std::int32_t sum[4] = {};
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) {
        const int4 part = *reinterpret_cast<const int4*>(of_warp(warp) + i);
        sum[0] += part.x;
        sum[1] += part.y;
        sum[2] += part.z;
        sum[3] += part.w;
      }
      team_.send(of_block(stage + 1, block_) + i, sum, Team::shape_barrier(stage + 1));
    }
  }

 private:
  static constexpr int kCoordinates = 8;  // of a piece of a leaf: what a lane reads at once
  static constexpr int kLanes = 16;       // for a leaf, each with another piece
  static constexpr int kReads = 13;       // of a lane, on their way at once: dlib's 25 trees a warp
  static constexpr int kFitting = 8;      // leaves whose sums fit 16 bits
  static constexpr int kLandmarks = kMaxLandmarks / kWarp;  // of a lane that makes the shape
  static_assert(kFitting * (kCompactBias + kCompactLimit) < 1 << 16 && kWarp == 2 * kLanes);
  static_assert(2 * kReads <= kWarp, "of the piece beside them a lane reads one");

  /// Two coordinates in a word, the lower one first.
  struct Packed {
    std::uint32_t two[kCoordinates / 2] = {};
    __device__ void add(const uint4& v) {
      two[0] += v.x;
      two[1] += v.y;
      two[2] += v.z;
      two[3] += v.w;
    }
    __device__ void add_to(std::int32_t (&sum)[kCoordinates]) const {
#pragma unroll
      for (int i = 0; i < kCoordinates; ++i)
        sum[i] += static_cast<std::int32_t>(i % 2 ? two[i / 2] >> 16 : two[i / 2] & 0xffff);
    }
  };

  const Team& team_;
  const ForestTables& forest_;
  const TreeShare& share_;
  int block_, size_, lane_, warp_;
  float2 scale_[kLandmarks] = {};  // of the stage whose sums come next

  __device__ int pieces() const { return size_ / kCoordinates; }
  /// This warp's trees, counted from the block's first. Their number is known to the compiler where
  /// all warps have as many.
  __device__ int most_trees() const { return (share_.count + kWarps - 1) / kWarps; }
  __device__ int first_tree() const { return warp_ * most_trees(); }
  __device__ int trees() const {
    const bool same = kWarps * most_trees() == share_.count;
    return same ? most_trees() : min(most_trees(), max(share_.count - first_tree(), 0));
  }
  /// What a warp of this block has found.
  __device__ std::int32_t* of_warp(int warp) const { return team_.s.parts + warp * size_; }
  /// What a block has found for that shape; two lie in memory, as of shapes.
  __device__ std::int32_t* of_block(int number, int block) const {
    return team_.s.parts + (kWarps + number % 2 * kFaceBlocks + block) * size_;
  }

  /// Adds up kLanes pieces of the warp's leaves from `piece` on, and the one behind them if that is
  /// one more.
  __device__ void add_pieces(const uint4* leaves, int piece, bool one_more) const {
    const int mine = piece + lane_ % kLanes;
    const bool is_one = piece + kLanes <= pieces() || mine < pieces();
    const std::uint32_t* const rows = team_.s.rows + share_.first + first_tree();
    const uint4 *of_mine = leaves + mine, *of_more = leaves + piece + kLanes;
    asm("" : "+l"(of_mine), "+l"(of_more));  // one addition a leaf
    std::int32_t sum[kCoordinates] = {}, more[kCoordinates] = {};
    for (int first = 0; first < trees(); first += 2 * kReads) {
      uint4 read[kReads], beside = {};
#pragma unroll
      for (int k = 0; k < kReads; ++k) {
        const int tree = first + 2 * k + lane_ / kLanes;
        read[k] = tree < trees() && is_one ? load(of_mine + rows[tree]) : uint4{};
      }
      if (one_more && lane_ < 2 * kReads && first + lane_ < trees())
        beside = load(of_more + rows[first + lane_]);
#pragma unroll
      for (int from = 0; from < kReads; from += kFitting) {
        Packed packed;
#pragma unroll
        for (int k = from; k < kReads && k < from + kFitting; ++k) packed.add(read[k]);
        packed.add_to(sum);
      }
      Packed packed;
      packed.add(beside);
      packed.add_to(more);
    }
    exchange<kCoordinates>(sum);
    if (is_one) {
      *reinterpret_cast<int4*>(of_warp(warp_) + mine * kCoordinates + lane_ / kLanes * 4) = {
          sum[0], sum[1], sum[2], sum[3]};
    }
    if (!one_more) return;
    exchange<kCoordinates>(more);
    exchange<kCoordinates / 2>(more);
    exchange<kCoordinates / 4>(more);
    for (int apart = kWarp / kCoordinates / 2; apart > 0; apart /= 2)
      more[0] += __shfl_xor_sync(kAllLanes, more[0], apart);
    if (lane_ % (kWarp / kCoordinates) == 0)
      of_warp(warp_)[(piece + kLanes) * kCoordinates + lane_ / (kWarp / kCoordinates)] = more[0];
  }

  /// Two lanes that have kCount sums each add them up: the upper one then has the upper half.
  template <int kCount>
  __device__ void exchange(std::int32_t (&sum)[kCoordinates]) const {
    constexpr int kApart = kWarp / 2 * kCount / kCoordinates, kHalf = kCount / 2;
    const bool upper = lane_ & kApart;
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      const std::int32_t keep = upper ? sum[kHalf + i] : sum[i];
      const std::int32_t give = upper ? sum[i] : sum[kHalf + i];
      sum[i] = keep + __shfl_xor_sync(kAllLanes, give, kApart);
    }
  }

  /// Keeps the picture in the nearest cache. Not volatile: may move.
  __device__ static uint4 load(const uint4* at) {
    uint4 v;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(at));
    return v;
  }
};

}  // namespace
}  // namespace cuface::cuda
