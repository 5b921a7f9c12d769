// A few blocks of threads do all cascades of one face, each for a part of the coordinates: what is
// wide is spread over the blocks, and what has one order only, the sums, is all that a thread waits
// for. docs/design/forest.md has the figures.
#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include <algorithm>
#include <cstddef>

#include "kernels/forest/forest_cuda.h"
#include "kernels/forest/rules.h"
#include "kernels/similarity/fit.h"

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

using forest::PixelReader;
using forest::Turn;

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kThreads = 512;
static_assert(kThreads >= 2 * kMaxLandmarks, "a thread adds up one coordinate");

/// Blocks launched a face. Without clusters the first does the work of all.
constexpr int kFaceBlocks = 4;
constexpr int kStages = 4;      // chunks of leaves in the ring, of which three are on their way
constexpr int kLeafLanes = 16;  // threads that fetch one leaf's part

// Four chunks of 128 trees for 68 points, two blocks a multiprocessor of 228 KiB; and what fits
// into 64 KiB.
constexpr ForestRoom kRooms[] = {{4608, true}, {3072, false}};
static_assert(kRooms[1].stage_floats >= 2 * kMaxLandmarks);

/// The blocks of one face.
struct Team {
#if CUFACE_FOREST_CLUSTERS
  static constexpr int kBlocks = kFaceBlocks;
  __device__ static void sync() { cooperative_groups::this_cluster().sync(); }
  /// `mine`, in shared memory, as block `block` has it.
  template <typename T>
  __device__ static T* of(T* mine, int block) {
    return cooperative_groups::this_cluster().map_shared_rank(mine, block);
  }
#else
  static constexpr int kBlocks = 1;
  __device__ static void sync() { __syncthreads(); }
  template <typename T>
  __device__ static T* of(T* mine, int) {
    return mine;
  }
#endif
};

/// The part of [0, n) that is a block's, in multiples of `unit` but for the end. The first is the
/// largest; the last may be empty.
struct Part {
  int each, first, count;
  CUFACE_HD Part(int n, int unit, int blocks, int block)
      : each(((n + unit - 1) / unit + blocks - 1) / blocks * unit),
        first(block * each < n ? block * each : n),
        count(n - first < each ? n - first : each) {}
};
// Parts of tables start where 16 bytes can be copied, if the table does.
constexpr int kTreeUnit = 4;

CUFACE_HD std::size_t splits_per_tree(const ForestTables& forest) {
  return (std::size_t{1} << forest.depth) - 1;
}

/// What the threads of a block share.
struct Scratch {
  float* leaves;           // [kStages][room.stage_floats]
  ForestSplit* splits;     // [trees of this block][splits_per_tree], if room.tables
  Point* deltas;           // [pool], if room.tables
  std::uint32_t* anchors;  // [pool], if room.tables
  double* products;        // [3][landmarks]
  double* mean_of_mean;    // x, y
  Point* mean;             // [landmarks]
  Point* shape;            // [landmarks]
  Turn* turn;              // [1]
  float* pool;             // [pool]
  std::uint32_t* rows;     // [trees]: the leaf reached, counted from the cascade's first
  std::size_t bytes = 0;

  CUFACE_HD Scratch(unsigned char* memory, const ForestTables& forest, ForestRoom room) {
    const auto landmarks = static_cast<std::size_t>(forest.landmarks);
    const auto pool_size = static_cast<std::size_t>(forest.pool);
    const std::size_t staged = room.tables ? pool_size : 0;
    const auto trees = static_cast<std::size_t>(Part(forest.trees, kTreeUnit, kFaceBlocks, 0).each);
    take(memory, leaves, static_cast<std::size_t>(kStages * room.stage_floats));
    take(memory, splits, room.tables ? trees * splits_per_tree(forest) : 0);
    take(memory, deltas, staged);
    take(memory, anchors, staged);
    take(memory, products, 3 * landmarks);
    take(memory, mean_of_mean, 2);
    take(memory, mean, landmarks);
    take(memory, shape, landmarks);
    take(memory, turn, 1);
    take(memory, pool, pool_size);
    take(memory, rows, static_cast<std::size_t>(forest.trees));
  }

 private:
  template <typename T>
  CUFACE_HD void take(unsigned char* memory, T*& part, std::size_t count) {
    part = reinterpret_cast<T*>(memory + bytes);
    bytes += (count * sizeof(T) + 15) / 16 * 16;
  }
};

/// sum + at(0) + at(1) + ..., in this order. The next values are read while a batch is added: a
/// read takes longer than several sums.
template <int kBatch, typename T, typename At>
__device__ T add_in_order(T sum, int count, At at) {
  T now[kBatch];
  int i = 0;
  if (count >= kBatch) {
#pragma unroll
    for (int k = 0; k < kBatch; ++k) now[k] = at(k);
    for (; i + 2 * kBatch <= count; i += kBatch) {
      T next[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) next[k] = at(i + kBatch + k);
#pragma unroll
      for (int k = 0; k < kBatch; ++k) sum += now[k];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) now[k] = next[k];
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) sum += now[k];
    i += kBatch;
  }
  if (i == count) return sum;
#pragma unroll
  for (int k = 0; k < kBatch; ++k)
    if (i + k < count) now[k] = at(i + k);
#pragma unroll
  for (int k = 0; k < kBatch; ++k)
    if (i + k < count) sum += now[k];
  return sum;
}
constexpr int kFloatBatch = 8, kDoubleBatch = 4;

/// fit_similarity() by the block's first warp: the sums side by side, each in the order of the
/// landmarks. All lanes return the same. The mean shape's own mean is that of the `first` cascade,
/// where it is the shape.
__device__ Turn fit_turn(const Scratch& s, int n, bool first) {
  if (n < 2) return {};
  const int lane = static_cast<int>(threadIdx.x);
  const float* coordinate = reinterpret_cast<const float*>(s.shape) + (lane & 1);
  const double sum =
      add_in_order<kDoubleBatch>(0.0, n, [&](int i) -> double { return coordinate[2 * i]; }) / n;
  if (first && lane < 2) s.mean_of_mean[lane] = sum;
  __syncwarp();
  const similarity::Means mean{s.mean_of_mean[0], s.mean_of_mean[1], __shfl_sync(kAllLanes, sum, 0),
                               __shfl_sync(kAllLanes, sum, 1)};
  for (int i = lane; i < n; i += kWarp) {
    const similarity::Moments pair = similarity::moments_of(s.mean[i], s.shape[i], mean);
    s.products[i] = pair.extent;
    s.products[n + i] = pair.dot;
    s.products[2 * n + i] = pair.cross;
  }
  __syncwarp();
  const double* products = s.products + n * min(lane, 2);
  const double total = add_in_order<kDoubleBatch>(0.0, n, [&](int i) { return products[i]; });
  const similarity::Moments moments{__shfl_sync(kAllLanes, total, 0),
                                    __shfl_sync(kAllLanes, total, 1),
                                    __shfl_sync(kAllLanes, total, 2)};
  Similarity fit;
  if (!similarity::solve(mean, moments, fit)) return {};
  return {static_cast<float>(fit.a), static_cast<float>(fit.b)};
}

/// `count` values by all threads of the block, on their way when it returns. `to` is aligned to 16
/// bytes.
template <typename T>
__device__ void copy_async(const T* from, T* to, std::size_t count) {
  const std::size_t bytes = count * sizeof(T);
  const auto* source = reinterpret_cast<const unsigned char*>(from);
  auto* target = reinterpret_cast<unsigned char*>(to);
  if ((reinterpret_cast<std::uintptr_t>(from) | bytes) % 16 == 0) {
    for (std::size_t i = 16 * threadIdx.x; i < bytes; i += 16 * kThreads)
      __pipeline_memcpy_async(target + i, source + i, 16);
  } else {
    for (std::size_t i = 4 * threadIdx.x; i < bytes; i += 4 * kThreads)
      __pipeline_memcpy_async(target + i, source + i, 4);
  }
}

/// The threads of a leaf copy `size` floats in pieces as large as every leaf's alignment allows.
template <int kBytes>
__device__ void fetch_leaf(const float* from, float* to, int size) {
  constexpr int kFloats = kBytes / static_cast<int>(sizeof(float));
  const int lane = static_cast<int>(threadIdx.x) % kLeafLanes;
  for (int i = lane * kFloats; i < size; i += kLeafLanes * kFloats)
    __pipeline_memcpy_async(to + i, from + i, kBytes);
}

/// shape += the leaves of all trees, in the shape of all blocks: a thread a coordinate of this
/// block's, in the order of the trees. `fetch_more()` starts copies of the caller's; all are there
/// when it returns, for the threads that made them.
template <typename FetchMore>
__device__ void add_leaves(const Scratch& s, const float* leaves, int trees, int size, int block,
                           int stage_floats, FetchMore fetch_more) {
  const int thread = static_cast<int>(threadIdx.x);
  const Part mine(size, size % 4 == 0 ? 4 : 2, Team::kBlocks, block);
  const int fitting = stage_floats / mine.each;
  const int chunk_trees = fitting < kFloatBatch ? fitting : fitting / kFloatBatch * kFloatBatch;
  const int chunks = (trees - 1) / chunk_trees + 1;
  const auto trees_of = [&](int chunk) { return min(chunk_trees, trees - chunk * chunk_trees); };
  const auto stage = [&](int chunk) { return s.leaves + (chunk % kStages) * stage_floats; };
  const auto fetch = [&](int chunk) {
    for (int t = thread / kLeafLanes; chunk < chunks && t < trees_of(chunk);
         t += kThreads / kLeafLanes) {
      const float* from = leaves +
                          static_cast<std::size_t>(s.rows[chunk * chunk_trees + t]) *
                              static_cast<std::size_t>(size) +
                          mine.first;
      float* to = stage(chunk) + t * mine.each;
      if (size % 4 == 0)
        fetch_leaf<16>(from, to, mine.count);
      else
        fetch_leaf<8>(from, to, mine.count);
    }
    __pipeline_commit();  // an empty one behind the last chunk, so that the wait counts right
  };

  for (int chunk = 0; chunk < kStages - 1; ++chunk) fetch(chunk);
  fetch_more();  // behind the first chunks, which are waited for
  float* const coordinates = reinterpret_cast<float*>(s.shape) + mine.first;
  const bool adds = thread < mine.count;
  float sum = adds ? coordinates[thread] : 0.0f;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();  // this chunk is there, and nobody reads the one before any more
    fetch(chunk + kStages - 1);
    if (!adds) continue;
    const float* leaf = stage(chunk) + thread;
    sum =
        add_in_order<kFloatBatch>(sum, trees_of(chunk), [&](int t) { return leaf[t * mine.each]; });
  }
  __pipeline_wait_prior(0);
  if (!adds) return;
  for (int other = 0; other < Team::kBlocks; ++other) Team::of(coordinates, other)[thread] = sum;
}

/// `bytes`, a multiple of 4, by all threads of the block.
__device__ void copy_words(const void* from, void* to, std::size_t bytes) {
  for (std::size_t i = threadIdx.x; i < bytes / 4; i += kThreads)
    static_cast<std::uint32_t*>(to)[i] = static_cast<const std::uint32_t*>(from)[i];
}

/// What a cascade reads of the model besides its leaves, from this block's first tree on.
struct CascadeTables {
  const std::uint32_t* anchors;
  const Point* deltas;
  const ForestSplit* splits;

  __device__ CascadeTables(const ForestTables& forest, int cascade, const Part& trees)
      : anchors(forest.anchors + static_cast<std::size_t>(cascade) * forest.pool),
        deltas(forest.deltas + static_cast<std::size_t>(cascade) * forest.pool),
        splits(forest.splits + (static_cast<std::size_t>(cascade) * forest.trees + trees.first) *
                                   splits_per_tree(forest)) {}
  __device__ explicit CascadeTables(const Scratch& s)
      : anchors(s.anchors), deltas(s.deltas), splits(s.splits) {}
};

__global__ void __launch_bounds__(kThreads, 2) CUFACE_FOREST_CLUSTER_DIMS
    forest_kernel(ForestTables forest, ForestRoom room, int cascades,
                  ImageView<const std::uint8_t> luma, const DeviceFaces* in, BoxMap map,
                  DeviceFaces* out) {
  extern __shared__ __align__(16) unsigned char memory[];
  const int face = static_cast<int>(blockIdx.x) / kFaceBlocks;
  const int block = static_cast<int>(blockIdx.x) % kFaceBlocks;
  const int thread = static_cast<int>(threadIdx.x);
  const int landmarks = forest.landmarks;
  if (block >= Team::kBlocks) return;

  if (blockIdx.x == 0) {
    if (in != out) copy_words(in, out, offsetof(DeviceFaces, faces));
    __syncthreads();
    if (thread == 0) out->landmarks_per_face = landmarks;
  }
  if (face >= in->count) return;
  if (block == 0 && in != out) copy_words(in->faces + face, out->faces + face, sizeof(Face));

  Point* const points = out->landmarks() + face * landmarks;
  const bool writes = block == 0 && thread < landmarks;
  const Box box = map.apply(in->faces[face].box);
  if (!forest::is_usable(box)) {
    if (writes) points[thread] = {0, 0};
    return;
  }

  const Scratch s(memory, forest, room);
  const PixelReader pixels(luma, box);
  const Part trees(forest.trees, kTreeUnit, Team::kBlocks, block);
  // One block's trees would not fit where those of a few have room.
  const bool staged = room.tables && Team::kBlocks == kFaceBlocks;
  const auto stage_tables = [&](int cascade) {
    if (!staged || cascade >= cascades) return;
    const CascadeTables tables(forest, cascade, trees);
    copy_async(tables.anchors, s.anchors, static_cast<std::size_t>(forest.pool));
    copy_async(tables.deltas, s.deltas, static_cast<std::size_t>(forest.pool));
    copy_async(tables.splits, s.splits,
               static_cast<std::size_t>(trees.count) * splits_per_tree(forest));
  };

  stage_tables(0);
  __pipeline_commit();
  if (thread < landmarks) s.mean[thread] = s.shape[thread] = forest.mean[thread];
  __pipeline_wait_prior(0);
  Team::sync();  // before anything is written into a block, it has to run
  for (int cascade = 0; cascade < cascades; ++cascade) {
    if (thread < kWarp) {
      const Turn turn = fit_turn(s, landmarks, cascade == 0);
      if (thread == 0) *s.turn = turn;
    }
    __syncthreads();
    const Turn turn = *s.turn;
    const CascadeTables tables = staged ? CascadeTables(s) : CascadeTables(forest, cascade, trees);
    for (int i = thread; i < forest.pool; i += kThreads)
      s.pool[i] = pixels.at(turn.place(s.shape[tables.anchors[i]], tables.deltas[i]));
    __syncthreads();
    for (int i = thread; i < trees.count; i += kThreads) {
      const int tree = trees.first + i;
      const std::uint32_t row =
          (static_cast<std::uint32_t>(tree) << forest.depth) +
          forest::walk_tree(tables.splits + static_cast<std::size_t>(i) * splits_per_tree(forest),
                            forest.depth, s.pool);
      for (int other = 0; other < Team::kBlocks; ++other) Team::of(s.rows, other)[tree] = row;
    }
    Team::sync();
    const std::size_t first_leaf = (static_cast<std::size_t>(cascade) * forest.trees)
                                   << forest.depth;
    add_leaves(s, forest.leaves + first_leaf * (2 * landmarks), forest.trees, 2 * landmarks, block,
               room.stage_floats, [&] { stage_tables(cascade + 1); });
    // All coordinates are there; and, of the last cascade, no block writes into another any more.
    Team::sync();
  }
  if (writes) points[thread] = pixels.to_picture(s.shape[thread]);
}

/// Lets the kernel have as much shared memory as the device gives: the limit belongs to the kernel,
/// so that no landmarker may set one of its own. Returns what of it this model is to use.
Result<ForestRoom> allow_shared_memory(const ForestTables& forest) {
  int device = 0, most = 0;
  if (Status s = check(cudaGetDevice(&device), "landmarks"); !s.ok()) return s;
  if (Status s =
          check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                "landmarks");
      !s.ok())
    return s;
  if (Status s = check(
          cudaFuncSetAttribute(forest_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
          "landmarks");
      !s.ok())
    return s;
  std::size_t needed = 0;
  for (const ForestRoom& room : kRooms) {
    needed = Scratch(nullptr, forest, room).bytes;
    if (needed <= static_cast<std::size_t>(most)) return room;
  }
  return Status(StatusCode::kUnsupported,
                "the landmark model has more feature pixels and trees a cascade than this GPU's "
                "shared memory holds (" +
                    std::to_string(needed) + " bytes of " + std::to_string(most) + ")");
}

}  // namespace

Result<std::unique_ptr<Landmarker>> Landmarker::create(std::shared_ptr<const DeviceForest> forest,
                                                       int iterations) {
  if (!forest) return Status(StatusCode::kInvalidArgument, "landmarks need a model");
  const Result<int> cascades = forest::cascades_to_run(iterations, forest->cascades());
  if (!cascades.ok()) return cascades.status();
  const Result<ForestRoom> room = allow_shared_memory(forest->tables());
  if (!room.ok()) return room.status();
  return std::unique_ptr<Landmarker>(
      new Landmarker(std::move(forest), cascades.value(), room.value()));
}

Result<std::unique_ptr<Landmarker>> Landmarker::create(std::shared_ptr<const ForestModel> model,
                                                       int iterations) {
  if (!model) return Status(StatusCode::kInvalidArgument, "landmarks need a model");
  if (const auto cascades = forest::cascades_to_run(iterations, model->cascades); !cascades.ok())
    return cascades.status();
  auto forest = DeviceForest::create(*model);
  if (!forest.ok()) return forest.status();
  return create(std::move(forest.value()), iterations);
}

Status Landmarker::enqueue(ImageView<const std::uint8_t> luma, const DeviceFaces* in,
                           const BoxMap& map, DeviceFaces* out, Launcher launch) const {
  if (!luma.data || luma.width < 1 || luma.height < 1 || !in || !out)
    return {StatusCode::kInvalidArgument, "landmarks: no picture, or no faces"};
  const ForestTables forest = forest_->tables();
  const Scratch scratch(nullptr, forest, room_);
  return launch("landmarks", forest_kernel, {kMaxFaces * kFaceBlocks, kThreads, scratch.bytes},
                forest, room_, cascades_, luma, in, map, out);
}

}  // namespace cuface::cuda
