// The blocks of threads of one face: what each of them has in shared memory, and how they send to
// each other. For regress.cuh alone.
#pragma once

#include <cooperative_groups.h>

#include <cstddef>
#include <cstdint>
#include <cuda/ptx>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/landmarks/cuda/landmarker.h"
#include "kernels/landmarks/regression.h"

// Blocks that reach into each other's shared memory: since Hopper.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define CUFACE_FOREST_CLUSTERS 1
#define CUFACE_FOREST_CLUSTER_DIMS __cluster_dims__(kFaceBlocks, 1, 1)
#else
#define CUFACE_FOREST_CLUSTERS 0
#define CUFACE_FOREST_CLUSTER_DIMS
#endif

namespace cuface::cuda {
namespace {

using forest::ScaledRotation;
namespace ptx = ::cuda::ptx;

/// Blocks launched a face: one for each column of 136 coordinates. Without clusters the first does
/// the work of all.
constexpr int kFaceBlocks = 5;

/// Of a block. Few, with many registers: those of dlib's trees are four segments of Leaves.
constexpr int kThreads = 128, kWarps = kThreads / kWarp;

/// Which trees of a block's share a thread walks.
struct TreeWalk {
  int first, end, step;
};

/// The trees that are a block's to walk. A number of them, but for the end, whose splits are copied
/// in whole pieces of 16 bytes.
struct TreeShare {
  int each, first, count;
  CUFACE_HD TreeShare(int trees, int blocks, int block)
      : each(((trees + 3) / 4 + blocks - 1) / blocks * 4),
        first(block * each < trees ? block * each : trees),
        // Known to the compiler where all blocks have as many.
        count(blocks * each == trees ? each
              : trees - first < each ? trees - first
                                     : each) {}
  CUFACE_HD static std::size_t bytes(int count, const ForestTables& forest) {
    return StageLayout(0, count, forest.splits_per_tree()).splits;
  }
};

/// What the threads of a block share.
struct TeamMemory {
  float* sums;               // [kMostHandovers][kLeafColumn]: of leaves, from warp to warp
  std::int32_t* parts;       // of a compact model, as CompactLeaves says
  unsigned char* tables;     // StageLayout with this block's share of the trees, if staged
  forest::Lever* levers;     // [2][landmarks]: of a rotation's a and b
  Point* shapes;             // [2][landmarks]: that of a stage, and the next one's as it comes
  std::uint64_t* barriers;   // [kBarriers], then those of Handovers
  ScaledRotation* rotation;  // [1]
  std::uint8_t* pool;        // [pool]
  std::uint32_t* rows;       // [trees]: the leaf reached, counted from the stage's first
  std::size_t bytes = 0;

  enum Barrier { kShapes, kRows = kShapes + 2, kTables, kTablesRead, kBarriers };
  static constexpr int kMostHandovers = 20;

  CUFACE_HD TeamMemory(unsigned char* memory, const ForestTables& forest, bool staged) {
    const auto landmarks = static_cast<std::size_t>(forest.landmarks);
    const bool compact = forest.leaves == nullptr;
    take(memory, sums, compact ? 0 : kMostHandovers * kLeafColumn);
    take(memory, parts, compact ? (kWarps + 2 * kFaceBlocks) * forest.compact_size() : 0);
    const int share = TreeShare(forest.trees, kFaceBlocks, 0).each;
    take(memory, tables, staged ? forest.layout().pixels + TreeShare::bytes(share, forest) : 0);
    take(memory, levers, 2 * landmarks);
    take(memory, shapes, 2 * landmarks);
    take(memory, barriers, kBarriers + kMostHandovers);
    take(memory, rotation, 1);
    take(memory, pool, static_cast<std::size_t>(forest.pool));
    take(memory, rows, static_cast<std::size_t>(forest.trees));
  }

 private:
  template <typename T>
  CUFACE_HD void take(unsigned char* memory, T*& part, std::size_t count) {
    part = reinterpret_cast<T*>(memory + bytes);
    bytes += (count * sizeof(T) + 15) / 16 * 16;
  }
};

/// What a stage reads of the model besides its leaves; `splits` from the block's share on.
struct CascadeTables {
  const unsigned char* pixels;
  const forest::PackedSplit* splits;
  int pool, splits_per_tree;

  __device__ CascadeTables(const ForestTables& forest, const unsigned char* tables, int first_tree)
      : pixels(tables),
        splits(reinterpret_cast<const forest::PackedSplit*>(tables + forest.layout().pixels) +
               static_cast<std::size_t>(first_tree) * forest.splits_per_tree()),
        pool(forest.pool),
        splits_per_tree(forest.splits_per_tree()) {}

  __device__ Point delta(int i) const { return reinterpret_cast<const Point*>(pixels)[i]; }
  __device__ std::uint32_t anchor(int i) const {
    return reinterpret_cast<const std::uint32_t*>(pixels + pool * sizeof(Point))[i];
  }
  /// Tree i of the share, as forest::walk_tree() reads it.
  struct Tree {
    const forest::PackedSplit* splits;
    __device__ forest::PackedSplit::Fields operator[](std::uint32_t node) const {
      return splits[node].fields();
    }
  };
  __device__ Tree tree(int i) const {
    return {splits + static_cast<std::size_t>(i) * splits_per_tree};
  }
};

/// Barriers by which a warp tells another one that memory is filled. Who waits keeps a number, of a
/// bit for each barrier's phase.
struct Handovers {
#if CUFACE_FOREST_CLUSTERS
  static constexpr int kMost = TeamMemory::kMostHandovers;
  std::uint64_t* barriers;

  __device__ explicit Handovers(const TeamMemory& s)
      : barriers(s.barriers + TeamMemory::kBarriers) {}
  __device__ void init(int barrier) const { ptx::mbarrier_init(barriers + barrier, kWarp); }
  /// Does not wait for the other warp.
  __device__ void arrive(int barrier) const { ptx::mbarrier_arrive(barriers + barrier); }
  __device__ void wait(int barrier, std::uint32_t& waits) const {
    while (!ptx::mbarrier_try_wait_parity(barriers + barrier, waits >> barrier & 1)) {
    }
    waits ^= 1u << barrier;
  }
#else
  // The first of the processor's 16 barriers is __syncthreads()'s.
  static constexpr int kMost = 15;

  __device__ explicit Handovers(const TeamMemory&) {}
  __device__ void init(int) const {}
  __device__ void arrive(int barrier) const { __barrier_sync_count(1u + barrier, 2 * kWarp); }
  __device__ void wait(int barrier, std::uint32_t&) const { arrive(barrier); }
#endif
};

/// The blocks of one face. Each walks its share of the trees and adds up its columns of the
/// coordinates, and sends what it found to all. Shape `number` is that before stage `number`; the
/// first is everybody's own. Two lie in memory, and one set of rows: who sends shape n + 1 or the
/// rows of stage n has got all of shape n, whose senders are done with shape n - 1 and with the
/// rows before.
struct Team {
  const TeamMemory& s;
  int landmarks, trees;
  Handovers handovers{s};

  __device__ Point* shape(int number) const { return s.shapes + number % 2 * landmarks; }
  __device__ static int shape_barrier(int number) { return TeamMemory::kShapes + number % 2; }
  /// For the threads that call it: what was sent for that shape is there.
  __device__ void wait_for_shape(int number) const {
    if (number > 0 || kBlocks == 1) wait(shape_barrier(number), (number - 1) / 2);
  }

  /// How many columns of a leaf's coordinates are the block's: block, block + kBlocks and so on.
  __device__ int columns(int block) const {
    const int all = (2 * landmarks + kLeafColumn - 1) / kLeafColumn;
    // Known to the compiler where it is the same for all blocks, as for dlib's model.
    return all % kBlocks == 0 ? all / kBlocks : (all - block + kBlocks - 1) / kBlocks;
  }

#if CUFACE_FOREST_CLUSTERS
  static constexpr int kBlocks = kFaceBlocks;

  /// By all threads, once; and all see what was written before.
  __device__ void start() const {
    if (threadIdx.x == 0) {
      for (int i = 0; i < TeamMemory::kBarriers; ++i)
        ptx::mbarrier_init(s.barriers + i, i == TeamMemory::kTablesRead ? blockDim.x : 1);
      ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    cooperative_groups::this_cluster().sync();  // a block must run before anything is sent to it
  }
  /// By one thread, before this block sends anything that is sent with it: so much comes to
  /// `barrier`.
  __device__ void expect(int barrier, std::size_t bytes) const {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                   s.barriers + barrier, static_cast<std::uint32_t>(bytes));
  }
  /// To the same place of all blocks' shared memory. Value: of four bytes, or an array of four
  /// such.
  template <typename T, typename Value>
  __device__ void send(T* mine, const Value& value, int barrier) const {
    const auto cluster = cooperative_groups::this_cluster();
#pragma unroll
    for (int block = 0; block < kBlocks; ++block)
      ptx::st_async(cluster.map_shared_rank(mine, block), value,
                    cluster.map_shared_rank(s.barriers + barrier, block));
  }
  /// For the threads that call it, until all is there that comes to `barrier` for the `phase`th
  /// time.
  __device__ void wait(int barrier, int phase) const {
    const auto parity = static_cast<std::uint32_t>(phase % 2);
    while (!ptx::mbarrier_try_wait_parity(s.barriers + barrier, parity)) {
    }
  }
  /// By each thread that has read a stage's tables.
  __device__ void tables_read() const {
    ptx::mbarrier_arrive(s.barriers + TeamMemory::kTablesRead);
  }
  /// A block's tables of that stage, by one thread; waits until those of the one before are read.
  __device__ void fetch_tables(const ForestTables& forest, int stage,
                               const TreeShare& share) const {
    const StageLayout layout = forest.layout();
    const unsigned char* const from = forest.stages + stage * layout.bytes();
    const std::size_t before = TreeShare::bytes(share.first, forest);
    const std::size_t splits = TreeShare::bytes(share.count, forest);
    if (stage > 0) wait(TeamMemory::kTablesRead, stage - 1);
    ptx::fence_proxy_async(ptx::space_shared);
    expect(TeamMemory::kTables, layout.pixels + splits);
    copy(from, s.tables, layout.pixels);
    if (splits > 0) copy(from + layout.pixels + before, s.tables + layout.pixels, splits);
  }
  __device__ void wait_for_tables(int stage) const { wait(TeamMemory::kTables, stage); }

 private:
  __device__ void copy(const void* from, void* to, std::size_t bytes) const {
    ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, to, from,
                       static_cast<std::uint32_t>(bytes), s.barriers + TeamMemory::kTables);
  }
#else
  static constexpr int kBlocks = 1;

  __device__ void start() const { __syncthreads(); }
  __device__ void expect(int, std::size_t) const {}
  template <typename T>
  __device__ void send(T* mine, const T& value, int) const {
    *mine = value;
  }
  template <typename T>
  __device__ void send(T* mine, const T (&value)[4], int) const {
    for (int i = 0; i < 4; ++i) mine[i] = value[i];
  }
  __device__ void wait(int, int) const { __syncthreads(); }
  __device__ void tables_read() const {}
  __device__ void fetch_tables(const ForestTables&, int, const TreeShare&) const {}
  __device__ void wait_for_tables(int) const {}
#endif
};

}  // namespace
}  // namespace cuface::cuda
