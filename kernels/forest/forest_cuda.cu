// A block of threads does all cascades of one face. What takes the time is to fetch 500 leaves a
// cascade from all over the model, so they stream through shared memory a few chunks ahead of the
// sums, which have one order only.
#include <cuda_pipeline.h>

#include <algorithm>
#include <cstddef>

#include "kernels/forest/forest_cuda.h"
#include "kernels/forest/rules.h"
#include "kernels/similarity/fit.h"

namespace cuface::cuda {
namespace {

using forest::PixelReader;
using forest::Turn;

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kThreads = 512;
static_assert(kThreads >= 2 * kMaxLandmarks, "a thread adds up one coordinate");

// The ring of chunks: 48 KiB, of which three quarters are on their way.
constexpr int kStages = 4;
constexpr int kStageFloats = 3072;
static_assert(kStageFloats >= 2 * kMaxLandmarks);

/// What the threads of a block share.
struct Scratch {
  float* leaves;        // [kStages][kStageFloats]
  double* products;     // [3][landmarks]
  Point* mean;          // [landmarks]
  Point* shape;         // [landmarks]
  Turn* turn;           // [1]
  float* pool;          // [pool]
  std::uint32_t* rows;  // [trees]: the leaf reached, counted from the cascade's first

  __device__ Scratch(unsigned char* memory, const ForestTables& forest) {
    leaves = reinterpret_cast<float*>(memory);
    products = reinterpret_cast<double*>(leaves + kStages * kStageFloats);
    mean = reinterpret_cast<Point*>(products + 3 * forest.landmarks);
    shape = mean + forest.landmarks;
    turn = reinterpret_cast<Turn*>(shape + forest.landmarks);
    pool = reinterpret_cast<float*>(turn + 1);
    rows = reinterpret_cast<std::uint32_t*>(pool + forest.pool);
  }
  static std::size_t bytes(const ForestTables& forest) {
    const auto landmarks = static_cast<std::size_t>(forest.landmarks);
    return sizeof(float) * kStages * kStageFloats + landmarks * (3 * sizeof(double)) +
           landmarks * (2 * sizeof(Point)) + sizeof(Turn) +
           static_cast<std::size_t>(forest.pool) * sizeof(float) +
           static_cast<std::size_t>(forest.trees) * sizeof(std::uint32_t);
  }
};

/// fit_similarity() by the block's first warp: the sums side by side, each in the order of the
/// landmarks. All lanes return the same.
__device__ Turn fit_turn(const Scratch& s, int n) {
  if (n < 2) return {};
  const int lane = static_cast<int>(threadIdx.x);
  const float* coordinate = reinterpret_cast<const float*>((lane & 2) ? s.shape : s.mean);
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += coordinate[2 * i + (lane & 1)];
  sum /= n;
  const similarity::Means mean{__shfl_sync(kAllLanes, sum, 0), __shfl_sync(kAllLanes, sum, 1),
                               __shfl_sync(kAllLanes, sum, 2), __shfl_sync(kAllLanes, sum, 3)};
  for (int i = lane; i < n; i += kWarp) {
    const similarity::Moments pair = similarity::moments_of(s.mean[i], s.shape[i], mean);
    s.products[i] = pair.extent;
    s.products[n + i] = pair.dot;
    s.products[2 * n + i] = pair.cross;
  }
  __syncwarp();
  const double* products = s.products + n * min(lane, 2);
  double total = 0;
  for (int i = 0; i < n; ++i) total += products[i];
  const similarity::Moments moments{__shfl_sync(kAllLanes, total, 0),
                                    __shfl_sync(kAllLanes, total, 1),
                                    __shfl_sync(kAllLanes, total, 2)};
  Similarity fit;
  if (!similarity::solve(mean, moments, fit)) return {};
  return {static_cast<float>(fit.a), static_cast<float>(fit.b)};
}

/// One warp copies a leaf, in pieces as large as every leaf's alignment allows.
template <int kBytes>
__device__ void fetch_leaf(const float* from, float* to, int size) {
  constexpr int kFloats = kBytes / static_cast<int>(sizeof(float));
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int i = lane * kFloats; i < size; i += kWarp * kFloats)
    __pipeline_memcpy_async(to + i, from + i, kBytes);
}

/// shape += the leaves of all trees: a thread a coordinate, in the order of the trees.
__device__ void add_leaves(const Scratch& s, const float* leaves, int trees, int size) {
  const int thread = static_cast<int>(threadIdx.x);
  const int chunk_trees = kStageFloats / size;
  const int chunks = (trees - 1) / chunk_trees + 1;
  const auto trees_of = [&](int chunk) { return min(chunk_trees, trees - chunk * chunk_trees); };
  const auto stage = [&](int chunk) { return s.leaves + (chunk % kStages) * kStageFloats; };
  const auto fetch = [&](int chunk) {
    for (int t = thread / kWarp; chunk < chunks && t < trees_of(chunk); t += kThreads / kWarp) {
      const float* from = leaves + static_cast<std::size_t>(s.rows[chunk * chunk_trees + t]) *
                                       static_cast<std::size_t>(size);
      float* to = stage(chunk) + t * size;
      if (size % 4 == 0)
        fetch_leaf<16>(from, to, size);
      else
        fetch_leaf<8>(from, to, size);
    }
    __pipeline_commit();  // an empty one behind the last chunk, so that the wait counts right
  };

  for (int chunk = 0; chunk < kStages - 1; ++chunk) fetch(chunk);
  float* const coordinates = reinterpret_cast<float*>(s.shape);
  float sum = thread < size ? coordinates[thread] : 0.0f;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();  // this chunk is there, and nobody reads the one before any more
    fetch(chunk + kStages - 1);
    if (thread >= size) continue;
    const float* leaf = stage(chunk) + thread;
    const int count = trees_of(chunk);
#pragma unroll 8
    for (int t = 0; t < count; ++t) sum += leaf[t * size];
  }
  if (thread < size) coordinates[thread] = sum;
}

/// `bytes`, a multiple of 4, by all threads of the block.
__device__ void copy_words(const void* from, void* to, std::size_t bytes) {
  for (std::size_t i = threadIdx.x; i < bytes / 4; i += kThreads)
    static_cast<std::uint32_t*>(to)[i] = static_cast<const std::uint32_t*>(from)[i];
}

__global__ void __launch_bounds__(kThreads)
    forest_kernel(ForestTables forest, int cascades, ImageView<const std::uint8_t> luma,
                  const DeviceFaces* in, BoxMap map, DeviceFaces* out) {
  extern __shared__ __align__(16) unsigned char memory[];
  const int face = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  const int landmarks = forest.landmarks;

  if (face == 0) {
    if (in != out) copy_words(in, out, offsetof(DeviceFaces, faces));
    __syncthreads();
    if (thread == 0) out->landmarks_per_face = landmarks;
  }
  if (face >= in->count) return;
  if (in != out) copy_words(in->faces + face, out->faces + face, sizeof(Face));

  Point* const points = out->landmarks() + face * landmarks;
  const Box box = map.apply(in->faces[face].box);
  if (!forest::is_usable(box)) {
    if (thread < landmarks) points[thread] = {0, 0};
    return;
  }

  const Scratch s(memory, forest);
  const PixelReader pixels(luma, box);
  if (thread < landmarks) s.mean[thread] = s.shape[thread] = forest.mean[thread];
  __syncthreads();
  for (int cascade = 0; cascade < cascades; ++cascade) {
    if (thread < kWarp) {
      const Turn turn = fit_turn(s, landmarks);
      if (thread == 0) *s.turn = turn;
    }
    __syncthreads();
    const Turn turn = *s.turn;
    const std::uint32_t* anchors = forest.anchors + static_cast<std::size_t>(cascade) * forest.pool;
    const Point* deltas = forest.deltas + static_cast<std::size_t>(cascade) * forest.pool;
    for (int i = thread; i < forest.pool; i += kThreads)
      s.pool[i] = pixels.at(turn.place(s.shape[anchors[i]], deltas[i]));
    __syncthreads();
    const std::size_t first_tree = static_cast<std::size_t>(cascade) * forest.trees;
    const std::size_t tree_splits = (std::size_t{1} << forest.depth) - 1;
    for (int tree = thread; tree < forest.trees; tree += kThreads)
      s.rows[tree] = (static_cast<std::uint32_t>(tree) << forest.depth) +
                     forest::walk_tree(forest.splits + (first_tree + tree) * tree_splits,
                                       forest.depth, s.pool);
    __syncthreads();
    add_leaves(s, forest.leaves + (first_tree << forest.depth) * (2 * landmarks), forest.trees,
               2 * landmarks);
    __syncthreads();
  }
  if (thread < landmarks) points[thread] = pixels.to_picture(s.shape[thread]);
}

template <typename T>
Status upload(std::span<const T> from, DeviceBuffer<T>& to) {
  auto buffer = DeviceBuffer<T>::create(from.size());
  if (!buffer.ok()) return buffer.status();
  to = std::move(buffer.value());
  return check(cudaMemcpy(to.data(), from.data(), from.size_bytes(), cudaMemcpyHostToDevice),
               "uploading the landmark model");
}

/// Lets the kernel have as much shared memory as the device gives: the limit belongs to the kernel,
/// so that no landmarker may set one of its own.
Status allow_shared_memory(std::size_t needed) {
  int device = 0, most = 0;
  if (Status s = check(cudaGetDevice(&device), "landmarks"); !s.ok()) return s;
  if (Status s =
          check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                "landmarks");
      !s.ok())
    return s;
  if (needed > static_cast<std::size_t>(most))
    return {StatusCode::kUnsupported,
            "the landmark model has more feature pixels and trees a cascade than this GPU's "
            "shared memory holds (" +
                std::to_string(needed) + " bytes of " + std::to_string(most) + ")"};
  return check(
      cudaFuncSetAttribute(forest_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
      "landmarks");
}

}  // namespace

Result<std::shared_ptr<const DeviceForest>> DeviceForest::create(const ForestModel& model) {
  const auto forest = std::make_shared<DeviceForest>();
  forest->landmarks_ = model.landmarks;
  forest->cascades_ = model.cascades;
  forest->trees_ = model.trees;
  forest->depth_ = model.depth;
  forest->pool_ = model.pool;
  if (Status s = upload(model.mean_shape, forest->mean_); !s.ok()) return s;
  if (Status s = upload(model.anchors, forest->anchors_); !s.ok()) return s;
  if (Status s = upload(model.deltas, forest->deltas_); !s.ok()) return s;
  if (Status s = upload(model.splits, forest->splits_); !s.ok()) return s;
  if (Status s = upload(model.leaves, forest->leaves_); !s.ok()) return s;
  // Streams that do not wait for the default stream must not see half of it.
  if (Status s = check(cudaStreamSynchronize(nullptr), "uploading the landmark model"); !s.ok())
    return s;
  return std::shared_ptr<const DeviceForest>(forest);
}

ForestTables DeviceForest::tables() const {
  // Points are read from rows of coordinates.
  static_assert(sizeof(Point) == 2 * sizeof(float) && alignof(Point) == alignof(float));
  return {reinterpret_cast<const Point*>(mean_.data()),
          anchors_.data(),
          reinterpret_cast<const Point*>(deltas_.data()),
          splits_.data(),
          leaves_.data(),
          landmarks_,
          trees_,
          depth_,
          pool_};
}

Result<std::unique_ptr<Landmarker>> Landmarker::create(std::shared_ptr<const DeviceForest> forest,
                                                       int iterations) {
  if (!forest) return Status(StatusCode::kInvalidArgument, "landmarks need a model");
  const Result<int> cascades = forest::cascades_to_run(iterations, forest->cascades());
  if (!cascades.ok()) return cascades.status();
  if (Status s = allow_shared_memory(Scratch::bytes(forest->tables())); !s.ok()) return s;
  return std::unique_ptr<Landmarker>(new Landmarker(std::move(forest), cascades.value()));
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
  return launch("landmarks", forest_kernel, {kMaxFaces, kThreads, Scratch::bytes(forest)}, forest,
                cascades_, luma, in, map, out);
}

}  // namespace cuface::cuda
