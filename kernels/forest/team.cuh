// The blocks of threads of one face: what each of them has in shared memory, and how they send to
// each other. For forest_cuda.cu alone.
#pragma once

#include <cooperative_groups.h>

#include <cstddef>
#include <cstdint>
#include <cuda/ptx>

#include "kernels/forest/forest_cuda.h"
#include "kernels/forest/rules.h"

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

using forest::Turn;
namespace ptx = ::cuda::ptx;

/// Blocks launched a face: one for each column of 136 coordinates. Without clusters the first does
/// the work of all.
constexpr int kFaceBlocks = 5;

constexpr int kAhead = 2;  // chunks of leaves on their way while one is added
constexpr int kStages = kAhead + 1;

/// The trees that are a block's to walk. An even number, but for the end, of 16 bytes in splits.
struct Share {
  int each, first, count;
  CUFACE_HD Share(int trees, int blocks, int block)
      : each(((trees + 1) / 2 + blocks - 1) / blocks * 2),
        first(block * each < trees ? block * each : trees),
        count(trees - first < each ? trees - first : each) {}
  CUFACE_HD static std::size_t bytes(int count, const ForestTables& forest) {
    return CascadeLayout(0, count, forest.splits_per_tree()).splits;
  }
};

/// What the threads of a block share.
struct Scratch {
  float* leaves;            // [kStages][room.stage_floats]
  unsigned char* pixels;    // CascadeLayout::pixels, if room.tables
  DeviceSplit* splits;      // of this block's share, if room.tables
  forest::Lever* levers;    // [landmarks]
  Point* shapes;            // [2][landmarks]: that of a cascade, and the next one's as it comes
  std::uint64_t* barriers;  // [kBarriers]
  Turn* turn;               // [1]
  float* pool;              // [pool]
  std::uint32_t* rows;      // [trees]: the leaf reached, counted from the cascade's first
  std::size_t bytes = 0;

  enum Barrier { kShapes, kRows = kShapes + 2, kTables, kBarriers };

  CUFACE_HD Scratch(unsigned char* memory, const ForestTables& forest, ForestRoom room) {
    const auto landmarks = static_cast<std::size_t>(forest.landmarks);
    const std::size_t share = Share::bytes(Share(forest.trees, kFaceBlocks, 0).each, forest);
    take(memory, leaves, static_cast<std::size_t>(kStages * room.stage_floats));
    take(memory, pixels, room.tables ? forest.layout().pixels : 0);
    take(memory, splits, room.tables ? share / sizeof(DeviceSplit) : 0);
    take(memory, levers, landmarks);
    take(memory, shapes, 2 * landmarks);
    take(memory, barriers, kBarriers);
    take(memory, turn, 1);
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

/// What a cascade reads of the model besides its leaves; `splits` from the block's share on.
struct CascadeTables {
  const unsigned char* pixels;
  const DeviceSplit* splits;
  int pool;

  __device__ CascadeTables(const ForestTables& forest, int cascade, const Share& share)
      : pixels(forest.cascades + static_cast<std::size_t>(cascade) * forest.layout().bytes()),
        splits(reinterpret_cast<const DeviceSplit*>(pixels + forest.layout().pixels) +
               static_cast<std::size_t>(share.first) * forest.splits_per_tree()),
        pool(forest.pool) {}
  __device__ CascadeTables(const ForestTables& forest, const Scratch& s)
      : pixels(s.pixels), splits(s.splits), pool(forest.pool) {}

  __device__ Point delta(int i) const { return reinterpret_cast<const Point*>(pixels)[i]; }
  __device__ std::uint32_t anchor(int i) const {
    return reinterpret_cast<const std::uint32_t*>(pixels + pool * sizeof(Point))[i];
  }
};

/// A tree's splits, each read at once.
struct TreeSplits {
  const DeviceSplit* splits;
  __device__ DeviceSplit operator[](std::uint32_t node) const {
    const uint2 words = reinterpret_cast<const uint2*>(splits)[node];
    return {static_cast<std::uint16_t>(words.x), static_cast<std::uint16_t>(words.x >> 16),
            __uint_as_float(words.y)};
  }
};

/// The blocks of one face. Each walks its share of the trees and adds up its columns of the
/// coordinates, and sends what it found to all. Shape `number` is that before cascade `number`; the
/// first is everybody's own. Two lie in memory, and one set of rows: who sends shape n + 1 or the
/// rows of cascade n has got all of shape n, whose senders are done with shape n - 1 and with the
/// rows before.
struct Team {
  const Scratch& s;
  int landmarks, trees;

  __device__ Point* shape(int number) const { return s.shapes + number % 2 * landmarks; }

#if CUFACE_FOREST_CLUSTERS
  static constexpr int kBlocks = kFaceBlocks;

  /// By all threads, once; and all see what was written before.
  __device__ void start() const {
    if (threadIdx.x == 0) {
      for (int i = 0; i < Scratch::kBarriers; ++i) ptx::mbarrier_init(s.barriers + i, 1);
      ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    cooperative_groups::this_cluster().sync();  // a block must run before anything is sent to it
  }
  /// By one thread, before this block sends anything of the cascade.
  __device__ void expect(int cascade) const {
    expect(Scratch::kRows, trees * sizeof(std::uint32_t));
    expect(shape_barrier(cascade + 1), landmarks * sizeof(Point));
  }
  __device__ void send_row(int tree, std::uint32_t row) const {
    send(s.rows + tree, row, Scratch::kRows);
  }
  __device__ void send_coordinate(int number, int coordinate, float value) const {
    send(reinterpret_cast<float*>(shape(number)) + coordinate, value, shape_barrier(number));
  }
  /// For the threads that call them, when all threads have sent.
  __device__ void wait_for_rows(int cascade) const { wait(Scratch::kRows, cascade); }
  __device__ void wait_for_shape(int number) const {
    if (number > 0) wait(shape_barrier(number), (number - 1) / 2);
  }
  /// A block's tables of that cascade, by one thread when no other reads those of the one before.
  __device__ void fetch_tables(const ForestTables& forest, int cascade, const Share& share) const {
    const CascadeTables from(forest, cascade, share);
    const auto pixels = static_cast<std::uint32_t>(forest.layout().pixels);
    const auto splits = static_cast<std::uint32_t>(Share::bytes(share.count, forest));
    ptx::fence_proxy_async(ptx::space_shared);
    expect(Scratch::kTables, pixels + splits);
    copy(from.pixels, s.pixels, pixels);
    if (splits > 0) copy(from.splits, s.splits, splits);
  }
  __device__ void wait_for_tables(int cascade) const { wait(Scratch::kTables, cascade); }

 private:
  __device__ static int shape_barrier(int number) { return Scratch::kShapes + number % 2; }
  __device__ void expect(int barrier, std::size_t bytes) const {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                   s.barriers + barrier, static_cast<std::uint32_t>(bytes));
  }
  template <typename T>
  __device__ void send(T* mine, T value, int barrier) const {
    const auto cluster = cooperative_groups::this_cluster();
#pragma unroll
    for (int block = 0; block < kBlocks; ++block)
      ptx::st_async(cluster.map_shared_rank(mine, block), value,
                    cluster.map_shared_rank(s.barriers + barrier, block));
  }
  __device__ void copy(const void* from, void* to, std::uint32_t bytes) const {
    ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, to, from, bytes,
                       s.barriers + Scratch::kTables);
  }
  __device__ void wait(int barrier, int phase) const {
    const auto parity = static_cast<std::uint32_t>(phase % 2);
    while (!ptx::mbarrier_try_wait_parity(s.barriers + barrier, parity)) {
    }
  }
#else
  static constexpr int kBlocks = 1;

  __device__ void start() const { __syncthreads(); }
  __device__ void expect(int) const {}
  __device__ void send_row(int tree, std::uint32_t row) const { s.rows[tree] = row; }
  __device__ void send_coordinate(int number, int coordinate, float value) const {
    reinterpret_cast<float*>(shape(number))[coordinate] = value;
  }
  __device__ void wait_for_rows(int) const { __syncthreads(); }
  __device__ void wait_for_shape(int) const { __syncthreads(); }
  __device__ void fetch_tables(const ForestTables&, int, const Share&) const {}
  __device__ void wait_for_tables(int) const {}
#endif
};

}  // namespace
}  // namespace cuface::cuda
