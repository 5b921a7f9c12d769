// A few blocks of threads do all cascades of one face, each for a part of the coordinates: what is
// wide is spread over the blocks, and what has one order only, the sums, is all that a thread waits
// for. docs/design/forest.md has the figures.
#include <cuda_pipeline.h>

#include <algorithm>
#include <cstddef>

#include "kernels/common/warp.cuh"
#include "kernels/faces/copy.cuh"
#include "kernels/forest/forest_cuda.h"
#include "kernels/forest/rules.h"
#include "kernels/forest/team.cuh"

namespace cuface::cuda {
namespace {

using forest::PixelReader;

constexpr int kThreads = 512;
static_assert(kThreads >= 2 * kMaxLandmarks, "a thread adds up one coordinate");
static_assert(kLeafColumn == kWarp);

// All leaves of dlib's trees for 68 points at once, two blocks a multiprocessor; and what fits into
// 64 KiB.
constexpr int kStagedFloats = 128 * kLeafColumn;
constexpr ForestRoom kRooms[] = {{kStagedFloats, true}, {4096, false}};
static_assert(kRooms[1].stage_floats >=
              (2 * kMaxLandmarks + kLeafColumn - 1) / kLeafColumn * kLeafColumn);

/// sum + values[0] + values[kStride] + ..., in this order. A batch is read while the one before is
/// added: a read takes longer than several sums. Loops are kept short for the sake of the cache of
/// instructions.
template <int kBatch, int kStride, typename T>
__device__ T add_in_order(T sum, int count, const T* values) {
  T even[kBatch], odd[kBatch];
  const auto read = [&](T(&batch)[kBatch], int number) {
#pragma unroll
    for (int k = 0; k < kBatch; ++k) batch[k] = values[(number * kBatch + k) * kStride];
  };
  const auto add = [&](const T(&batch)[kBatch]) {
#pragma unroll
    for (int k = 0; k < kBatch; ++k) sum += batch[k];
  };
  if (count >= kBatch) {
    read(even, 0);
#pragma unroll 1
    for (; count >= 3 * kBatch; count -= 2 * kBatch, values += 2 * kBatch * kStride) {
      read(odd, 1);
      add(even);
      read(even, 2);
      add(odd);
    }
    add(even);
    if (count >= 2 * kBatch) {
      read(odd, 1);
      add(odd);
    }
    values += count / kBatch * kBatch * kStride;
    count %= kBatch;
  }
  if constexpr (kBatch > 4) {
    return add_in_order<4, kStride>(sum, count, values);
  } else {
#pragma unroll 1
    for (; count > 0; --count, values += kStride) sum += *values;
    return sum;
  }
}
constexpr int kFloatBatch = 16;

/// forest::fit_turn() by the block's first warp into s.turn: a half of it has a's parts, the other
/// b's.
__device__ void fit_turn(const Scratch& s, const Point* shape, int n) {
  static_assert(kWarp == 2 * forest::kTurnParts);
  const int part = static_cast<int>(threadIdx.x) % forest::kTurnParts;
  const bool of_b = threadIdx.x >= forest::kTurnParts;
  double sum = 0;
#pragma unroll 5
  for (int i = part; i < n; i += forest::kTurnParts) {
    const forest::Lever lever = s.levers[i];
    sum += (of_b ? lever.quarter_turn() : lever).along(shape[i]);
  }
#pragma unroll
  for (int apart = forest::kTurnParts / 2; apart > 0; apart /= 2)
    sum += __shfl_xor_sync(kAllLanes, sum, apart);
  if (part != 0) return;
  if (of_b) {
    s.turn->b = forest::turn_from(sum, Turn{}.b);
  } else {
    s.turn->a = forest::turn_from(sum, Turn{}.a);
  }
}

/// The leaves of a cascade: this block's columns of each, in a ring of chunks of trees. Whole lines
/// of memory are copied, each by a few threads; and not by those that add, which would wait behind
/// their own copies, unless few others would be left.
class LeafRing {
 public:
  int chunks;
  int coordinate;  // that this thread adds up; negative when it adds none

  __device__ LeafRing(const Scratch& s, const ForestTables& forest, int stage_floats, int block)
      : scratch_(s), forest_(forest), stage_floats_(stage_floats), block_(block) {
    const int thread = static_cast<int>(threadIdx.x);
    const int all = (2 * forest.landmarks + kLeafColumn - 1) / kLeafColumn;
    columns_ = (all - block + Team::kBlocks - 1) / Team::kBlocks;
    coordinate =
        (block + thread / kLeafColumn * Team::kBlocks) * kLeafColumn + thread % kLeafColumn;
    if (coordinate >= 2 * forest.landmarks) coordinate = -1;
    const int widest = (all + Team::kBlocks - 1) / Team::kBlocks * kLeafColumn;
    const int fitting = stage_floats / widest;
    chunk_trees_ = fitting < kFloatBatch ? fitting : fitting / kFloatBatch * kFloatBatch;
    chunks = (forest.trees - 1) / chunk_trees_ + 1;
    const int first = columns_ * kWarp <= kThreads / 2 ? columns_ * kWarp : 0;
    line_ = thread < first ? -1 : (thread - first) / kLineThreads;
    lines_at_once_ = (kThreads - first) / kLineThreads;
  }

  /// This thread's pieces of the chunk are on their way when it returns.
  __device__ void fetch(int cascade, int chunk) const {
    if (line_ < 0) return;
    if (chunk < chunks) {
      const int count = trees_of(chunk), piece = static_cast<int>(threadIdx.x) % kLineThreads * 4;
      for (int column = 0; column < columns_; ++column) {
        const std::size_t first =
            static_cast<std::size_t>(block_ + column * Team::kBlocks) * forest_.column_leaves +
            ((static_cast<std::size_t>(cascade) * forest_.trees) << forest_.depth);
        const float* const from = forest_.leaves + first * kLeafColumn + piece;
        float* const to = stage(chunk) + column * chunk_trees_ * kLeafColumn + piece;
#pragma unroll 3
        for (int t = line_; t < count; t += lines_at_once_)
          __pipeline_memcpy_async(
              to + t * kLeafColumn,
              from +
                  static_cast<std::size_t>(scratch_.rows[chunk * chunk_trees_ + t]) * kLeafColumn,
              16);
      }
    }
    __pipeline_commit();  // an empty one behind the last chunk, so that the wait counts right
  }

  /// sum + this thread's coordinate of each leaf of the chunk, in the order of the trees.
  __device__ float add(float sum, int chunk) const {
    const int thread = static_cast<int>(threadIdx.x);
    const float* const from =
        stage(chunk) + thread / kLeafColumn * chunk_trees_ * kLeafColumn + thread % kLeafColumn;
    return add_in_order<kFloatBatch, kLeafColumn>(sum, trees_of(chunk), from);
  }

 private:
  static constexpr int kLineThreads = kLeafColumn / 4;
  const Scratch& scratch_;
  const ForestTables& forest_;
  int stage_floats_, block_, columns_, chunk_trees_, line_, lines_at_once_;

  __device__ int trees_of(int chunk) const {
    return min(chunk_trees_, forest_.trees - chunk * chunk_trees_);
  }
  __device__ float* stage(int chunk) const {
    return scratch_.leaves + (chunk % kStages) * stage_floats_;
  }
};

/// What a kernel is made for.
enum class Fit {
  kDlib,    // dlib's model for 68 points: with its sizes known, half of the instructions go
  kStaged,  // room.tables
  kUnstaged,
};

constexpr int kDlibLandmarks = 68, kDlibTrees = 500, kDlibDepth = 4, kDlibPool = 500;

bool is_dlib(const ForestTables& forest) {
  return forest.landmarks == kDlibLandmarks && forest.trees == kDlibTrees &&
         forest.depth == kDlibDepth && forest.pool == kDlibPool;
}

template <Fit kFit>
__global__ void __launch_bounds__(kThreads, 2) CUFACE_FOREST_CLUSTER_DIMS
    forest_kernel(ForestTables forest, ForestRoom room, int cascades,
                  ImageView<const std::uint8_t> luma, const DeviceFaces* in, BoxMap map,
                  DeviceFaces* out, const RollState* rolls) {
  extern __shared__ __align__(16) unsigned char memory[];
  if constexpr (kFit == Fit::kDlib) {
    forest.landmarks = kDlibLandmarks;
    forest.trees = kDlibTrees;
    forest.depth = kDlibDepth;
    forest.pool = kDlibPool;
    room = {kStagedFloats, true};
  }
  const int face = static_cast<int>(blockIdx.x) / kFaceBlocks;
  const int block = static_cast<int>(blockIdx.x) % kFaceBlocks;
  const int thread = static_cast<int>(threadIdx.x);
  const int landmarks = forest.landmarks;
  if (block >= Team::kBlocks) return;

  if (blockIdx.x == 0) copy_header<kThreads>(in, out, landmarks);
  if (face >= in->count) return;
  if (block == 0) copy_face<kThreads>(in, out, face);

  Point* const points = out->landmarks() + face * landmarks;
  const bool writes = block == 0 && thread < landmarks;
  const Roll roll = rolls ? forest::recall_roll(*rolls, in->faces[face]) : Roll{};
  const Box box = map.apply(in->faces[face].box, roll);
  if (!forest::is_usable(box)) {
    if (writes) points[thread] = {0, 0};
    return;
  }

  const Scratch s(memory, forest, room);
  const Team team{s, landmarks, forest.trees};
  const PixelReader pixels(luma, box, roll);
  const Share share(forest.trees, Team::kBlocks, block);
  const LeafRing ring(s, forest, room.stage_floats, block);
  // One block's share would not fit where those of a few have room.
  constexpr bool kStaged = kFit != Fit::kUnstaged && Team::kBlocks == kFaceBlocks;

  if (thread < landmarks) {
    team.shape(0)[thread] = forest.mean[thread];
    s.levers[thread] = forest.levers[thread];
  }
  team.start();
  if (kStaged && thread == 0) team.fetch_tables(forest, 0, share);
  float sum =
      ring.coordinate < 0 ? 0.0f : reinterpret_cast<const float*>(team.shape(0))[ring.coordinate];
#pragma unroll 1
  for (int cascade = 0; cascade < cascades; ++cascade) {
    const Point* const shape = team.shape(cascade);
    if (Team::kBlocks == 1 || thread < kWarp) team.wait_for_shape(cascade);
    if (thread < kWarp) {
      if (thread == 0) team.expect(cascade);
      fit_turn(s, shape, landmarks);
    }
    __syncthreads();
    const Turn turn = *s.turn;
    const CascadeTables tables =
        kStaged ? CascadeTables(forest, s) : CascadeTables(forest, cascade, share);
    if (kStaged) team.wait_for_tables(cascade);
#pragma unroll 1
    for (int i = thread; i < forest.pool; i += kThreads)
      s.pool[i] = pixels.at(turn.place(shape[tables.anchor(i)], tables.delta(i)));
    __syncthreads();
#pragma unroll 1
    for (int i = thread; i < share.count; i += kThreads) {
      const int tree = share.first + i;
      team.send_row(tree,
                    (static_cast<std::uint32_t>(tree) << forest.depth) +
                        forest::walk_tree(TreeSplits{tables.splits + static_cast<std::size_t>(i) *
                                                                         forest.splits_per_tree()},
                                          forest.depth, s.pool));
    }
    team.wait_for_rows(cascade);
#pragma unroll 1
    for (int chunk = 0; chunk < kAhead; ++chunk) ring.fetch(cascade, chunk);
#pragma unroll 1
    for (int chunk = 0; chunk < ring.chunks; ++chunk) {
      __pipeline_wait_prior(kAhead - 1);
      __syncthreads();  // this chunk is there, and nobody reads the one before any more
      if (kStaged && chunk == 0 && thread == kThreads - 1 && cascade + 1 < cascades)
        team.fetch_tables(forest, cascade + 1, share);
      ring.fetch(cascade, chunk + kAhead);
      if (ring.coordinate >= 0) sum = ring.add(sum, chunk);
    }
    if (ring.coordinate >= 0) team.send_coordinate(cascade + 1, ring.coordinate, sum);
  }
  team.wait_for_shape(cascades);  // also so that a block runs as long as anything is sent to it
  if (writes) points[thread] = pixels.to_picture(team.shape(cascades)[thread]);
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
  for (const auto kernel :
       {forest_kernel<Fit::kDlib>, forest_kernel<Fit::kStaged>, forest_kernel<Fit::kUnstaged>}) {
    if (Status s =
            check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
                  "landmarks");
        !s.ok())
      return s;
  }
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
                           const BoxMap& map, DeviceFaces* out, Launcher launch,
                           const RollState* rolls) const {
  if (!luma.data || luma.width < 1 || luma.height < 1 || !in || !out)
    return {StatusCode::kInvalidArgument, "landmarks: no picture, or no faces"};
  const ForestTables forest = forest_->tables();
  const Scratch scratch(nullptr, forest, room_);
  const auto kernel = !room_.tables     ? forest_kernel<Fit::kUnstaged>
                      : is_dlib(forest) ? forest_kernel<Fit::kDlib>
                                        : forest_kernel<Fit::kStaged>;
  return launch("landmarks", kernel, {kMaxFaces * kFaceBlocks, kThreads, scratch.bytes}, forest,
                room_, cascades_, luma, in, map, out, rolls);
}

}  // namespace cuface::cuda
