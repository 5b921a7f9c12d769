// The search: a block looks for a landmark of a face, then a block moves all points of a face to
// the nearest legal shape. A face that rests has left the stage that later launches look for.
#include <cstdint>
#include <string>

#include "kernels/common/cuda/raw.cuh"
#include "kernels/common/lanes.h"
#include "kernels/common/try.h"
#include "kernels/shape/cuda/search.h"
#include "kernels/texture/cuda/hat.cuh"
#include "kernels/texture/cuda/line.cuh"
#include "kernels/texture/cuda/patch.cuh"

namespace cuface::cuda {
namespace {

constexpr int kThreads = 256;            // that look for a point
constexpr int kBlocksOfSm = 2;           // that do so side by side
constexpr int kConstraintThreads = 160;  // that constrain a face

// ---- where points fit

/// Of which profiles a kernel knows; one of patches alone needs fewer registers.
enum class Profiles { kPatches, kAll };

/// Rows of a patch's matrix in shared memory, of the point that a block last looked for.
struct Staged {
  float* memory;  ///< null where there is no room
  int point;

  /// For all threads of a block, behind a barrier; whoever reads them waits for another.
  __device__ const float* rows(const float* from, int floats, int of) {
    if (!memory) return from;
    if (point != of) {
      const auto* const source = reinterpret_cast<const float4*>(from);
      auto* const to = reinterpret_cast<float4*>(memory);
#pragma unroll 8
      for (int i = static_cast<int>(threadIdx.x); i < floats / 4; i += kThreads) to[i] = source[i];
    }
    point = of;
    return memory;
  }
};

template <Profiles kProfiles>
__device__ ShapePoint look_for(const ShapeTables& t, const ShapeWork& work, int job, int level,
                               int point, void* memory, Staged& staged, double& cost) {
  const shape::ConstraintTables& c = t.constraint;
  const DeviceProfile& profile = t.profiles[level * c.points + point];
  const ImageView<const std::uint8_t> picture = work.level(job, level);
  const ShapePoint* const points = work.points + job * c.points;
  const ShapePoint from = points[point];
  TextureMatch match;
  if (kProfiles == Profiles::kPatches || profile.kind == ProfileKind::kPatch) {
    const int size = t.patch.size();
    const float* const mean = t.numbers + profile.first;
    const float* const rows = staged.rows(mean + PatchMemory::rounded(size),
                                          profile.blocks * texture::kPatchRows * size, point);
    match = match_patch<kThreads>(texture::PatchPixels{picture}, from, t.patch,
                                  DevicePatch{mean, rows, profile.blocks, profile.edge},
                                  work.strongest[job * t.levels + level], memory);
  } else if (profile.kind == ProfileKind::kLine) {
    const ShapeNeighbours& near = t.neighbours[point];
    const ShapePoint step = texture::step_of(points[near.previous], from, points[near.next]);
    const double* const numbers = t.lines + profile.first;
    match =
        match_line<kThreads>(picture, from, step, t.line, numbers, numbers + t.line.length, memory);
    cost = match.cost;
    return {from.x + match.dx * step.x, from.y + match.dx * step.y};
  } else {
    const DeviceHat tables{t.gradients, t.rows + level * t.hat.rows,
                           t.columns + level * t.hat.columns};
    match = match_hat<kThreads>(picture, from, t.hat, t.patches[level], tables,
                                t.numbers + profile.first, memory);
  }
  cost = match.cost;
  return {from.x + match.dx, from.y + match.dy};
}

/// Blocks divide the points of all faces, one each if there are enough blocks; the faces of a point
/// come one after the other.
/// `staged_at`: bytes before rows in shared memory, or 0 without room for them.
template <Profiles kProfiles>
__global__ void __launch_bounds__(kThreads, kBlocksOfSm)
    suggest(const __grid_constant__ ShapeTables t, const __grid_constant__ ShapeWork work,
            int stage, unsigned staged_at) {
  extern __shared__ uint4 memory[];
  Staged staged{
      staged_at > 0 ? reinterpret_cast<float*>(memory + staged_at / sizeof(uint4)) : nullptr, -1};
  const int points = t.constraint.points, jobs = work.counts[ShapeWork::kJobs];
  const int items = points * jobs, blocks = min(static_cast<int>(gridDim.x), items);
  const auto block = static_cast<int>(blockIdx.x);
  if (block >= blocks) return;
  const auto first_of = [&](int i) {
    return static_cast<int>(static_cast<std::int64_t>(items) * i / blocks);
  };
  const int end = first_of(block + 1);
  for (int item = first_of(block); item < end; ++item) {
    const int point = item / jobs, job = item % jobs;
    if (work.jobs[job].stage != stage) continue;
    const int at = job * points + point;
    if (stage == FaceJob::kRefit) {
      const bool is_bad = work.costs[at] > t.refit_limits[point];
      __syncthreads();  // before one thread writes the cost
      if (threadIdx.x == 0) {
        work.searched[at] = is_bad;
        if (!is_bad) work.found[at] = work.points[at];
      }
      if (!is_bad) continue;
    }
    double cost = 0;
    const ShapePoint found =
        look_for<kProfiles>(t, work, job, stage > 0 ? stage : 0, point, memory, staged, cost);
    if (threadIdx.x == 0) {
      work.found[at] = found;
      work.costs[at] = cost;
    }
    __syncthreads();  // before the memory is used again
  }
}

// ---- the nearest legal shape

struct ShapeMemory {
  ShapePoint points[kMaxShapePoints], modelled[kMaxShapePoints];
  double weights[kMaxShapeModes], parts[shape::ConstraintMemory::kParts * kMaxShapeModes];
  OrderedSums<shape::ConstraintMemory::kSums> sums;
  double point_parts[shape::ConstraintMemory::kPointParts * shape::ConstraintMemory::kSums];
  shape::Affine back, there;
};

/// A block a face. `is_last`: of the stage's iterations. `is_staged`: there is shared memory for
/// the eigenvectors, which are read again and again.
__global__ void __launch_bounds__(kConstraintThreads)
    constrain(const __grid_constant__ ShapeTables t, const __grid_constant__ ShapeWork work,
              int stage, bool is_last, bool is_staged) {
  extern __shared__ uint4 memory[];
  __shared__ Raw<ShapeMemory> shared;
  ShapeMemory& s = shared.get();
  const auto number = static_cast<int>(blockIdx.x);
  if (number >= work.counts[ShapeWork::kJobs]) return;
  FaceJob& job = work.jobs[number];
  if (job.stage != stage) return;
  const BlockLanes lanes;
  shape::ConstraintTables c = t.constraint;
  if (is_staged) {
    auto* const vectors = reinterpret_cast<double*>(memory);
    const double* const from = t.constraint.eigenvectors;
    const int count = 2 * c.points * c.modes;
#pragma unroll 8
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kConstraintThreads)
      vectors[i] = from[i];
    c.eigenvectors = vectors;
    c.by_modes = nullptr;
  }
  const int points = c.points, level = stage > 0 ? stage : 0;
  ShapePoint* const before = work.points + number * points;
  double* const weights = work.weights + number * c.modes;
  const double* const costs = work.costs + number * points;
  lanes.each(points, [&](int i) { s.points[i] = work.found[number * points + i]; });
  lanes.each(c.modes, [&](int k) { s.weights[k] = weights[k]; });
  const shape::ConstraintLevel of_level{t.means + level * points, t.limits + level * c.modes,
                                        t.centres[level], t.mean_squares[level], level};
  const shape::ConstraintMemory lent{s.modelled,    s.weights, s.parts,  &s.sums,
                                     s.point_parts, &s.back,   &s.there, costs};
  shape::Constrain<BlockLanes>{lanes, c, of_level, lent, s.points}.run();

  const bool moved = stage >= 0 && t.rest > 0 && lanes.largest(points, [&](int i) {
    const auto is_near = [&](double a, double b) { return std::abs(a - b) <= t.rest; };
    return is_near(s.points[i].x, before[i].x) && is_near(s.points[i].y, before[i].y) ? 0 : 1;
  }) > 0;
  const bool ends = is_last || (stage >= 0 && t.rest > 0 && !moved);
  const auto is_bad = [&](int i) { return costs[i] > t.refit_limits[i] ? 1 : 0; };
  const bool refits = stage <= 0 && t.refits > 0 && lanes.largest(points, is_bad) > 0;
  const double finer = ends && stage > 0 ? 2 : 1;
  lanes.each(points, [&](int i) { before[i] = {s.points[i].x * finer, s.points[i].y * finer}; });
  lanes.each(c.modes, [&](int k) { weights[k] = ends && stage > 0 ? 0 : s.weights[k]; });
  lanes.once([&] {
    if (stage == FaceJob::kRefit) {
      const std::uint8_t* const searched = work.searched + number * points;
      for (int i = 0; i < points; ++i) job.refitted += searched[i];
      if (is_last || !refits) job.stage = FaceJob::kFound;
      return;
    }
    ++job.iterations;
    if (!ends) return;
    if (stage > 0) {
      job.stage = stage - 1;
    } else {
      job.stage = refits ? FaceJob::kRefit : FaceJob::kFound;
      if (refits) atomicOr(work.counts + ShapeWork::kRefits, 1);
    }
  });
}

/// A block a face.
__global__ void __launch_bounds__(kThreads)
    finish(const __grid_constant__ ShapeTables t, const __grid_constant__ ShapeWork work,
           const __grid_constant__ ShapeFrames frames) {
  const auto number = static_cast<int>(blockIdx.x);
  if (number >= work.counts[ShapeWork::kJobs]) return;
  const FaceJob& job = work.jobs[number];
  if (job.stage != FaceJob::kFound) return;
  const int points = t.constraint.points;
  const ShapeFrame& frame = frames.frame[job.frame];
  Point* const out = frame.out->landmarks() + job.face * points;
  for (int i = static_cast<int>(threadIdx.x); i < points; i += kThreads) {
    const ShapePoint p = work.points[number * points + i];
    out[i] = {static_cast<float>(p.x * job.back + job.window.x),
              static_cast<float>(p.y * job.back + job.window.y)};
  }
  if (!t.confidence.is_known()) return;
  // As on the CPU: doubles, added in the order of the points.
  __shared__ double unusual[kMaxShapePoints];
  const BlockLanes lanes;
  lanes.each(points, [&](int i) {
    unusual[i] = shape::unusual(work.costs[number * points + i], t.usual_costs[i]);
  });
  double mean = 0;
  for (int i = 0; i < points; ++i) mean += unusual[i];
  mean /= static_cast<double>(points);
  float* const confidences = frame.out->confidences(frame.in->count, points) + job.face * points;
  lanes.each(points, [&](int i) {
    confidences[i] = confidence_of_logarithm(t.confidence, shape::score_of_cost(unusual[i], mean));
  });
}

bool has_only_patches(const DeviceShape& model) {
  return !model.has(ProfileKind::kLine) && !model.has(ProfileKind::kHat);
}

auto suggest_of(const DeviceShape& model) {
  return has_only_patches(model) ? suggest<Profiles::kPatches> : suggest<Profiles::kAll>;
}

}  // namespace

std::size_t shared_bytes(const DeviceShape& model) {
  const ShapeTables& t = model.tables();
  std::size_t bytes = 0;
  if (model.has(ProfileKind::kPatch)) bytes = PatchMemory(t.patch).bytes();
  if (model.has(ProfileKind::kLine)) bytes = std::max(bytes, LineMemory(t.line).bytes());
  for (int i = 0; i < t.levels && model.has(ProfileKind::kHat); ++i)
    bytes = std::max(bytes, HatMemory(t.hat, t.patches[i], kThreads / kWarp).bytes());
  return bytes;
}

Result<SearchShape> search_shape(const DeviceShape& model) {
  int device = 0, most = 0, multiprocessors = 0;
  const auto ask = [&](cudaDeviceAttr what, int& value) {
    return check(cudaDeviceGetAttribute(&value, what, device), "shape");
  };
  CUFACE_TRY(check(cudaGetDevice(&device), "shape"));
  CUFACE_TRY(ask(cudaDevAttrMaxSharedMemoryPerBlockOptin, most));
  CUFACE_TRY(ask(cudaDevAttrMultiProcessorCount, multiprocessors));
  const std::size_t bytes = (shared_bytes(model) + 15) / 16 * 16;
  const auto all = static_cast<std::size_t>(most);
  if (bytes > all)
    return Status(StatusCode::kUnsupported,
                  "the shape model's HAT descriptors are larger than this GPU's shared memory "
                  "holds (" +
                      std::to_string(bytes) + " bytes of " + std::to_string(most) +
                      "): search on the CPU, or take a model of smaller patches or reach");
  // The limit belongs to the kernel, so that no searcher may set one of its own.
  for (const auto search : {suggest<Profiles::kPatches>, suggest<Profiles::kAll>})
    CUFACE_TRY(check(cudaFuncSetAttribute(reinterpret_cast<const void*>(search),
                                          cudaFuncAttributeMaxDynamicSharedMemorySize, most),
                     "shape"));
  constexpr std::size_t kShape = (sizeof(ShapeMemory) + 255) / 256 * 256;
  const std::size_t left = all > kShape ? all - kShape : 0;
  CUFACE_TRY(check(
      cudaFuncSetAttribute(reinterpret_cast<const void*>(constrain),
                           cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(left)),
      "shape"));
  const shape::ConstraintTables& c = model.tables().constraint;
  const std::size_t vectors =
      sizeof(double) * 2 * static_cast<std::size_t>(c.points) * static_cast<std::size_t>(c.modes);
  const std::size_t rows = sizeof(float) * static_cast<std::size_t>(model.most_blocks()) *
                           texture::kPatchRows *
                           static_cast<std::size_t>(model.tables().patch.size());
  const bool is_staged = rows > 0 && kBlocksOfSm * (bytes + rows) <= all;
  return SearchShape{static_cast<unsigned>(multiprocessors * kBlocksOfSm),
                     static_cast<unsigned>(is_staged ? bytes : 0), bytes + (is_staged ? rows : 0),
                     vectors <= left ? vectors : 0};
}

Status search_all(const DeviceShape& model, const SearchShape& shape, const ShapeWork& work,
                  const ShapeFrames& frames, Launcher launch) {
  const ShapeTables& t = model.tables();
  const auto faces = static_cast<unsigned>(work.faces);
  const LaunchShape points{dim3(shape.blocks), dim3(kThreads), shape.shared};
  const LaunchShape legal{dim3(faces), dim3(kConstraintThreads), shape.vectors};
  const auto iterate = [&](int stage, int iterations) -> Status {
    for (int i = 0; i < iterations; ++i) {
      CUFACE_TRY(
          launch("shape: search", suggest_of(model), points, t, work, stage, shape.staged_at));
      CUFACE_TRY(launch("shape: constraint", constrain, legal, t, work, stage, i + 1 == iterations,
                        shape.vectors > 0));
    }
    return {};
  };
  for (int level = t.levels - 1; level >= 0; --level) CUFACE_TRY(iterate(level, t.iterations));
  if (t.refits > 0) {
    launch.begin_if(work.counts + ShapeWork::kRefits);
    const Status refits = iterate(FaceJob::kRefit, t.refits);
    launch.end_if();
    CUFACE_TRY(refits);
  }
  return launch("shape: finish", finish, {faces, kThreads}, t, work, frames);
}

}  // namespace cuface::cuda
