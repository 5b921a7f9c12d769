// A few blocks of threads do all cascades of one face, each for a part of the coordinates: what is
// wide is spread over the blocks, and what has one order only, the sums, is all that a thread waits
// for. docs/design/forest.md has the figures.
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

// What is added of dlib's model for 68 points takes longer than what is read meanwhile. Without the
// tables a block fits into 64 KiB.
constexpr int kTreesAtOnce = 4, kStagedFloats = 128 * kLeafColumn;
constexpr ForestRoom kRooms[] = {{kStagedFloats, true}, {kStagedFloats, false}};
static_assert(kStagedFloats >= kTreesAtOnce * 2 * kMaxLandmarks);
static_assert(2 * kMaxLandmarks % kLeafColumn == 0);

/// forest::fit_turn() by the block's first warp into s.turn: a half of it has a's parts, the other
/// b's.
__device__ void fit_turn(const Scratch& s, const Point* shape, int n) {
  static_assert(kWarp == 2 * forest::kTurnParts);
  const int part = static_cast<int>(threadIdx.x) % forest::kTurnParts;
  const bool of_b = threadIdx.x >= forest::kTurnParts;
  const forest::Lever* const levers = s.levers + (of_b ? n : 0);
  double sum = 0;
#pragma unroll 5
  for (int first = 0; first < n; first += forest::kTurnParts) {
    const int i = min(first + part, n - 1);  // so that all are read at once
    const double product = levers[i].along(shape[i]);
    if (first + part < n) sum += product;
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

/// The leaves of a cascade: this block's columns of each, by chunks of trees. A warp reads whole
/// lines of memory, those of a few trees at once, and lays each coordinate's values of these trees
/// side by side, so that who adds them up gets them by one read. Not by those that add, which would
/// wait for what they read, unless few others would be left.
class LeafRing {
 public:
  int chunks;
  int coordinate;  // that this thread adds up; negative when it adds none

  __device__ LeafRing(const Scratch& s, const ForestTables& forest, int stage_floats, int block)
      : scratch_(s), forest_(forest), stage_floats_(stage_floats), block_(block) {
    const int thread = static_cast<int>(threadIdx.x);
    const int all = (2 * forest.landmarks + kLeafColumn - 1) / kLeafColumn;
    // Known to the compiler where it is the same for all blocks, as for dlib's model.
    columns_ = all % Team::kBlocks == 0 ? all / Team::kBlocks
                                        : (all - block + Team::kBlocks - 1) / Team::kBlocks;
    coordinate =
        (block + thread / kLeafColumn * Team::kBlocks) * kLeafColumn + thread % kLeafColumn;
    if (coordinate >= 2 * forest.landmarks) coordinate = -1;
    const int widest = (all + Team::kBlocks - 1) / Team::kBlocks;
    chunk_groups_ = stage_floats / kGroupFloats / widest;
    chunks = (forest.trees - 1) / (chunk_groups_ * kGroup) + 1;
    const int adding = columns_ <= kWarps / 2 ? columns_ : 0;
    reader_ = thread / kWarp - adding;
    readers_ = kWarps - adding;
  }

  /// This thread's part of the chunk is on its way when it returns.
  __device__ void read(int cascade, int chunk) {
    if (reader_ < 0 || chunk >= chunks) return;
    const int trees = trees_of(chunk), groups = groups_of(trees);
    const std::size_t leaf = (static_cast<std::size_t>(cascade) * forest_.trees) << forest_.depth;
    const uint4* const rows = reinterpret_cast<const uint4*>(scratch_.rows) + chunk * chunk_groups_;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const int item = reader_ + i * readers_;
      if (item >= groups * columns_) break;
      const int group = item / columns_, column = block_ + item % columns_ * Team::kBlocks;
      const float* const from =
          forest_.leaves + (column * forest_.column_leaves + leaf) * kLeafColumn + lane();
      const uint4 row = rows[group];
      const int left = forest_.trees % kGroup == 0 ? kGroup : trees - group * kGroup;
      const auto value = [&](std::uint32_t k, std::uint32_t of) {
        return k < left ? __ldcg(from + of * kLeafColumn) : kNothing;
      };
      held_[i] = make_float4(value(0, row.x), value(1, row.y), value(2, row.z), value(3, row.w));
    }
  }
  /// What read() got of this chunk.
  __device__ void store(int chunk) const {
    if (reader_ < 0 || chunk >= chunks) return;
    const int groups = groups_of(trees_of(chunk));
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const int item = reader_ + i * readers_;
      if (item >= groups * columns_) break;
      stage(chunk, item % columns_)[item / columns_ * kLeafColumn] = held_[i];
    }
  }

  /// sum + this thread's coordinate of each leaf of the chunk, in the order of the trees. Reads
  /// take longer than a few sums, so they are some groups ahead.
  __device__ float add(float sum, int chunk) const {
    const float4* from = stage(chunk, static_cast<int>(threadIdx.x) / kLeafColumn);
    int groups = groups_of(trees_of(chunk));
    const auto add = [&sum](const float4& v) {
      sum += v.x;
      sum += v.y;
      sum += v.z;
      sum += v.w;
    };
    if (groups >= kReadAhead) {
      float4 next[kReadAhead];
#pragma unroll
      for (int k = 0; k < kReadAhead; ++k) next[k] = from[k * kLeafColumn];
#pragma unroll 1
      for (; groups >= 2 * kReadAhead; groups -= kReadAhead) {
        from += kReadAhead * kLeafColumn;
#pragma unroll
        for (int k = 0; k < kReadAhead; ++k) {
          add(next[k]);
          next[k] = from[k * kLeafColumn];
        }
      }
#pragma unroll
      for (int k = 0; k < kReadAhead; ++k) add(next[k]);
      from += kReadAhead * kLeafColumn;
      groups -= kReadAhead;
    }
#pragma unroll 1
    for (; groups > 0; --groups, from += kLeafColumn) add(*from);
    return sum;
  }

 private:
  static constexpr int kWarps = kThreads / kWarp;
  static constexpr int kGroup = kTreesAtOnce;
  static constexpr int kGroupFloats = kGroup * kLeafColumn;
  static constexpr int kReadAhead = 4;
  static constexpr float kNothing = -0.0f;  // changes no sum, not even a zero's sign
  static constexpr int kHeld = (kStagedFloats / kGroupFloats - 1) / (kWarps / 2) + 1;

  const Scratch& scratch_;
  const ForestTables& forest_;
  int stage_floats_, block_, columns_, chunk_groups_, reader_, readers_;
  float4 held_[kHeld];

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % kWarp; }
  __device__ int trees_of(int chunk) const {
    return min(chunk_groups_ * kGroup, forest_.trees - chunk * chunk_groups_ * kGroup);
  }
  __device__ static int groups_of(int trees) { return (trees + kGroup - 1) / kGroup; }
  __device__ float4* stage(int chunk, int column) const {
    return reinterpret_cast<float4*>(scratch_.leaves + (chunk % kStages) * stage_floats_) +
           column * chunk_groups_ * kLeafColumn + lane();
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
  const int face = static_cast<int>(blockIdx.x) / kFaceBlocks % kMaxFaces;
  const int block = static_cast<int>(blockIdx.x) % kFaceBlocks;
  const int thread = static_cast<int>(threadIdx.x);
  const int landmarks = forest.landmarks;
  if (block >= Team::kBlocks) return;
  const std::size_t before =
      blockIdx.x / (kFaceBlocks * kMaxFaces) * device_faces_bytes(forest.landmarks);
  in = reinterpret_cast<const DeviceFaces*>(reinterpret_cast<const std::byte*>(in) + before);
  out = reinterpret_cast<DeviceFaces*>(reinterpret_cast<std::byte*>(out) + before);

  if (face == 0 && block == 0) copy_header<kThreads>(in, out, landmarks);
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
  LeafRing ring(s, forest, room.stage_floats, block);
  // One block's share would not fit where those of a few have room.
  constexpr bool kStaged = kFit != Fit::kUnstaged && Team::kBlocks == kFaceBlocks;

  if (thread < landmarks) {
    team.shape(0)[thread] = forest.mean[thread];
    s.levers[thread] = forest.levers[thread];
    s.levers[landmarks + thread] = forest.levers[thread].quarter_turn();
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
        kStaged ? CascadeTables(forest, s.tables, 0)
                : CascadeTables(forest, forest.cascades + cascade * forest.layout().bytes(),
                                share.first);
    if (kStaged) team.wait_for_tables(cascade);
#pragma unroll 1
    for (int i = thread; i < forest.pool; i += kThreads)
      s.pool[i] = pixels.at(turn.place(shape[tables.anchor(i)], tables.delta(i)));
    __syncthreads();
#pragma unroll 1
    for (int i = thread; i < share.count; i += kThreads) {
      const int tree = share.first + i;
      team.send_row(tree, (static_cast<std::uint32_t>(tree) << forest.depth) +
                              forest::walk_tree(tables.tree(i), forest.depth, s.pool));
    }
    team.wait_for_rows(cascade);
    ring.read(cascade, 0);
#pragma unroll 1
    for (int chunk = 0; chunk < ring.chunks; ++chunk) {
      ring.store(chunk);
      ring.read(cascade, chunk + 1);
      __syncthreads();  // this chunk is there, and nobody reads the one before any more
      if (kStaged && chunk == 0 && thread == kThreads - 1 && cascade + 1 < cascades)
        team.fetch_tables(forest, cascade + 1, share);
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
                           const RollState* rolls, int lists) const {
  if (!luma.data || luma.width < 1 || luma.height < 1 || !in || !out || lists < 1)
    return {StatusCode::kInvalidArgument, "landmarks: no picture, or no faces"};
  const ForestTables forest = forest_->tables();
  const Scratch scratch(nullptr, forest, room_);
  const auto kernel = !room_.tables     ? forest_kernel<Fit::kUnstaged>
                      : is_dlib(forest) ? forest_kernel<Fit::kDlib>
                                        : forest_kernel<Fit::kStaged>;
  return launch("landmarks", kernel,
                {static_cast<unsigned>(lists) * kMaxFaces * kFaceBlocks, kThreads, scratch.bytes},
                forest, room_, cascades_, luma, in, map, out, rolls);
}

}  // namespace cuface::cuda
