// The search: a block looks for a landmark of a face. The one that looks for a face's last landmark
// moves all its points to the nearest legal shape. A face that rests has left the stage that later
// launches look for.
#include <cuda_pipeline.h>

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

constexpr int kThreads = 256;   // that look for a point
constexpr int kBlocksOfSm = 3;  // that do so side by side

// ---- where points fit

/// Of which profiles a kernel knows; one of patches alone needs fewer registers.
enum class Profiles { kPatches, kAll };
/// Shared memory for what a block reads again and again: the matrix of the point that it last
/// looked for, or tables of the constraint.
struct Staged {
  std::byte* memory;
  std::size_t room;  ///< 0: read from where they are
  int point;         ///< whose matrix it holds, or -1

  /// For all threads of a block, behind a barrier; whoever reads waits for the copies.
  template <typename T>
  __device__ void copy(T* to, const T* from, int count) {
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads)
      __pipeline_memcpy_async(to + i, from + i, sizeof(T));
    __pipeline_commit();
  }
  __device__ const PatchWords* matrix(const PatchWords* from, int words, int of) {
    if (sizeof(PatchWords) * static_cast<std::size_t>(words) > room) return from;
    auto* const to = reinterpret_cast<PatchWords*>(memory);
    if (point != of) copy(to, from, words);
    point = of;
    return to;
  }
  __device__ void tables(shape::ConstraintTables& c, shape::ConstraintLevel& level) {
    const int parts = shape::ConstraintMemory::parts_of(c.modes);
    if (table_bytes(c) > room) return;
    auto* to = reinterpret_cast<double*>(memory);
    const auto keep = [&](const double*& from, int count) {
      copy(to, from, count);
      from = to;
      to += count;
    };
    keep(c.eigenvectors, 2 * c.points * c.modes);
    if (c.kind == ShapeConstraint::kIterated) {
      keep(level.gram, parts * parts);
      keep(level.moments, shape::ConstraintLevel::kMoments * parts);
    }
    point = -1;
    __pipeline_wait_prior(0);
    __syncthreads();
  }
  CUFACE_HD static std::size_t table_bytes(const shape::ConstraintTables& c) {
    const int parts = shape::ConstraintMemory::parts_of(c.modes);
    return sizeof(double) *
           static_cast<std::size_t>(2 * c.points * c.modes +
                                    (parts + shape::ConstraintLevel::kMoments) * parts);
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
    const int words = DevicePatch::words_of_block({t.patch.side});
    const PatchWords* const matrix =
        staged.matrix(t.patch_words + static_cast<std::size_t>(profile.first) * words,
                      profile.blocks * words, point);
    const DevicePatch patch{matrix, t.patch_rows + profile.first, profile.blocks, profile.edge};
    match = match_patch<kThreads>(texture::PatchPixels{picture}, from, t.patch, patch,
                                  t.most_blocks, work.strongest[job * t.levels + level], memory);
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

// ---- the nearest legal shape

/// What a block shares that constrains a face, where it has looked for a point before.
struct ShapeMemory {
  int points, modes;
  bool is_iterated;

  CUFACE_HD explicit ShapeMemory(const shape::ConstraintTables& c)
      : points(c.points), modes(c.modes), is_iterated(c.kind == ShapeConstraint::kIterated) {}
  using Lent = shape::ConstraintMemory;
  using Sums = OrderedSums<Lent::kSums>;
  CUFACE_HD std::size_t bytes() const {
    const std::size_t kind =
        is_iterated ? sizeof(double) * static_cast<std::size_t>(Lent::products_of(modes))
                    : sizeof(Sums);
    return sizeof(ShapePoint) * 2 * static_cast<std::size_t>(points) + 2 * sizeof(shape::Affine) +
           sizeof(double) *
               (Lent::kSums * Lent::kParts + (1 + Lent::kParts) * static_cast<std::size_t>(modes)) +
           kind;
  }

#ifdef __CUDACC__
  __device__ ShapePoint* shape(void* memory) const { return static_cast<ShapePoint*>(memory); }
  __device__ Lent lent(void* memory, const double* costs, double* sums_of_face) const {
    ShapePoint* const modelled = shape(memory) + points;
    auto* const back = reinterpret_cast<shape::Affine*>(modelled + points);
    auto* const sum_parts = reinterpret_cast<double*>(back + 2);
    double* const weights = sum_parts + Lent::kSums * Lent::kParts;
    double* const parts = weights + modes;
    double* const rest = parts + Lent::kParts * modes;
    return {modelled,  weights,     parts,    reinterpret_cast<Sums*>(rest),
            sum_parts, back,        back + 1, rest,
            costs,     sums_of_face};
  }
#endif
};

/// By all threads of a block. `is_last`: of the stage's iterations.
__device__ void constrain(const ShapeTables& t, const ShapeWork& work, int number, int stage,
                          bool is_last, void* memory, Staged& staged) {
  const BlockLanes lanes;
  shape::ConstraintTables c = t.constraint;
  const ShapeMemory layout(c);
  ShapePoint* const legal = layout.shape(memory);
  FaceJob& job = work.jobs[number];
  const int points = c.points, level = stage > 0 ? stage : 0;
  const int parts = shape::ConstraintMemory::parts_of(c.modes);
  ShapePoint* const before = work.points + number * points;
  double* const weights = work.weights + number * c.modes;
  double* const costs = work.costs + number * points;
  const int sums_of_face = shape::ConstraintMemory::weighed_sums_of(c.modes);
  const shape::ConstraintMemory lent =
      layout.lent(memory, costs, work.sums_of_faces + number * sums_of_face);
  lanes.each(points, [&](int i) {
    const FoundPoint& found = work.found[number * points + i];
    legal[i] = found.to;
    costs[i] = found.cost;
  });
  lanes.each(c.modes, [&](int k) { lent.weights[k] = weights[k]; });
  shape::ConstraintLevel of_level{t.means + level * points,
                                  t.limits + level * c.modes,
                                  t.centres[level],
                                  t.mean_squares[level],
                                  level,
                                  t.grams + static_cast<std::ptrdiff_t>(level) * parts * parts,
                                  t.moments + level * shape::ConstraintLevel::kMoments * parts};
  staged.tables(c, of_level);
  shape::Constrain<BlockLanes>{lanes, c, of_level, lent, legal}.run();

  const bool moved = stage >= 0 && t.rest > 0 && lanes.largest(points, [&](int i) {
    const auto is_near = [&](double a, double b) { return std::abs(a - b) <= t.rest; };
    return is_near(legal[i].x, before[i].x) && is_near(legal[i].y, before[i].y) ? 0 : 1;
  }) > 0;
  const bool ends = is_last || (stage >= 0 && t.rest > 0 && !moved);
  const auto is_bad = [&](int i) { return costs[i] > t.refit_limits[i] ? 1 : 0; };
  const bool refits = stage <= 0 && t.refits > 0 && lanes.largest(points, is_bad) > 0;
  const double finer = ends && stage > 0 ? 2 : 1;
  lanes.each(points, [&](int i) { before[i] = {legal[i].x * finer, legal[i].y * finer}; });
  lanes.each(c.modes, [&](int k) { weights[k] = ends && stage > 0 ? 0 : lent.weights[k]; });
  lanes.once([&] {
    job.searched = 0;
    if (stage == FaceJob::kRefit) {
      if (is_last || !refits) job.stage = FaceJob::kFound;
    } else if (ends && stage > 0) {
      job.stage = stage - 1;
    } else if (ends) {
      job.stage = refits ? FaceJob::kRefit : FaceJob::kFound;
      if (refits) atomicOr(work.counts + ShapeWork::kRefits, 1);
    }
  });
}

/// Tells that a point of a face has been searched for, and what it is; for all threads. Whether it
/// was the face's last one.
__device__ bool ends_face(FaceJob& job, int points) {
  bool is_last = false;
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(&job.searched, 1) + 1 == points;
    if (is_last) __threadfence();
  }
  return __syncthreads_or(is_last) != 0;
}

/// Beside FaceJob::searched: a block constrains the face.
constexpr std::int32_t kTaken = 1 << 30;

/// A face of which all points have been searched for, and that no other block constrains; -1
/// without one. For all threads. `place`: shared.
__device__ int take_face(const ShapeWork& work, int jobs, int points, int* place) {
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread < kWarp) {
    int taken = -1;
    for (int first = 0; first < jobs && taken < 0; first += kWarp) {
      // Blocks begin with different faces.
      const auto job_of = [&](int lane) {
        return (first + lane + static_cast<int>(blockIdx.x)) % jobs;
      };
      const volatile std::int32_t* const searched = &work.jobs[job_of(thread)].searched;
      unsigned complete = __ballot_sync(kAllLanes, first + thread < jobs && *searched == points);
      for (; complete != 0 && taken < 0; complete &= complete - 1) {
        const int job = job_of(__ffs(static_cast<int>(complete)) - 1);
        bool is_ours = false;
        if (thread == 0) is_ours = atomicOr(&work.jobs[job].searched, kTaken) == points;
        if (__any_sync(kAllLanes, is_ours)) taken = job;
      }
    }
    if (thread == 0) {
      __threadfence();
      *place = taken;
    }
  }
  __syncthreads();
  const int taken = *place;
  __syncthreads();
  return taken;
}

/// An iteration. Blocks divide the points of all faces, one each if there are enough blocks; the
/// faces of a point come one after the other. Who is done with that constrains faces. `is_last`: of
/// the stage's iterations. `staged_at`: bytes of shared memory before `room` for copies.
template <Profiles kProfiles>
__global__ void __launch_bounds__(kThreads, kBlocksOfSm)
    iterate(const __grid_constant__ ShapeTables t, const __grid_constant__ ShapeWork work,
            int stage, bool is_last, unsigned staged_at, unsigned room) {
  extern __shared__ uint4 memory[];
  Staged staged{reinterpret_cast<std::byte*>(memory) + staged_at, room, -1};
  const int points = t.constraint.points, jobs = work.counts[ShapeWork::kJobs];
  const int items = points * jobs, blocks = min(static_cast<int>(gridDim.x), items);
  const auto block = static_cast<int>(blockIdx.x);
  if (block >= blocks) return;
  const auto first_of = [&](int i) {
    return static_cast<int>(static_cast<std::int64_t>(items) * i / blocks);
  };
  const int end = first_of(block + 1);
  const bool has_one = blocks == items;
  int ended = -1;
  for (int item = first_of(block); item < end; ++item) {
    const int job = item % jobs, point = item / jobs;
    if (work.jobs[job].stage != stage) continue;
    const int at = job * points + point;
    FoundPoint found{work.points[at], work.costs[at]};
    if (stage != FaceJob::kRefit || found.cost > t.refit_limits[point])
      found.to = look_for<kProfiles>(t, work, job, stage > 0 ? stage : 0, point, memory, staged,
                                     found.cost);
    if (threadIdx.x == 0) work.found[at] = found;
    __syncthreads();  // all have read the job, and the memory is used again
    if (ends_face(work.jobs[job], points)) ended = job;
  }
  const auto next_face = [&] {
    const int one = ended;
    ended = -1;
    return has_one ? one : take_face(work, jobs, points, reinterpret_cast<int*>(memory));
  };
  for (int job = next_face(); job >= 0; job = next_face())
    constrain(t, work, job, stage, is_last, memory, staged);
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

auto iterate_of(const DeviceShape& model) {
  return has_only_patches(model) ? iterate<Profiles::kPatches> : iterate<Profiles::kAll>;
}

}  // namespace

std::size_t shared_bytes(const DeviceShape& model) {
  const ShapeTables& t = model.tables();
  std::size_t bytes = ShapeMemory(t.constraint).bytes();
  if (model.has(ProfileKind::kPatch))
    bytes = std::max(bytes, PatchMemory(t.patch, t.most_blocks).bytes());
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
                  "the shape model's descriptors or patches are larger than this GPU's shared "
                  "memory holds (" +
                      std::to_string(bytes) + " bytes of " + std::to_string(most) +
                      "): search on the CPU, or take a model of smaller patches or reach");
  // The limit belongs to the kernel, so that no searcher may set one of its own. It is all there is
  // as the kernel has no other shared memory.
  for (const auto search : {iterate<Profiles::kPatches>, iterate<Profiles::kAll>})
    CUFACE_TRY(check(cudaFuncSetAttribute(reinterpret_cast<const void*>(search),
                                          cudaFuncAttributeMaxDynamicSharedMemorySize, most),
                     "shape"));
  const ShapeTables& t = model.tables();
  std::size_t room = 0;
  for (const std::size_t some :
       {Staged::table_bytes(t.constraint),
        sizeof(PatchWords) * static_cast<std::size_t>(t.most_blocks) *
            static_cast<std::size_t>(DevicePatch::words_of_block({t.patch.side}))})
    if (kBlocksOfSm * (bytes + some) <= all) room = std::max(room, some);
  return SearchShape{static_cast<unsigned>(multiprocessors * kBlocksOfSm),
                     static_cast<unsigned>(bytes), static_cast<unsigned>(room)};
}

Status search_all(const DeviceShape& model, const SearchShape& shape, const ShapeWork& work,
                  const ShapeFrames& frames, Launcher launch) {
  const ShapeTables& t = model.tables();
  const LaunchShape points{dim3(shape.blocks), dim3(kThreads), shape.staged_at + shape.room};
  const auto repeat = [&](int stage, int iterations) -> Status {
    for (int i = 0; i < iterations; ++i)
      CUFACE_TRY(launch("shape: iteration", iterate_of(model), points, t, work, stage,
                        i + 1 == iterations, shape.staged_at, shape.room));
    return {};
  };
  for (int level = t.levels - 1; level >= 0; --level) CUFACE_TRY(repeat(level, t.iterations));
  if (t.refits > 0) {
    launch.begin_if(work.counts + ShapeWork::kRefits);
    const Status refits = repeat(FaceJob::kRefit, t.refits);
    launch.end_if();
    CUFACE_TRY(refits);
  }
  return launch("shape: finish", finish, {static_cast<unsigned>(work.faces), kThreads}, t, work,
                frames);
}

}  // namespace cuface::cuda
