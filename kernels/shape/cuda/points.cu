// The search: a block looks for a landmark of a face. The one that looks for a face's last landmark
// moves all its points to the nearest legal shape. A face that rests has left the stage that later
// launches look for.
#include <cstdint>
#include <string>

#include "kernels/common/cuda/attributes.h"
#include "kernels/common/cuda/early.cuh"
#include "kernels/common/cuda/raw.cuh"
#include "kernels/common/try.h"
#include "kernels/shape/cuda/constrain.cuh"
#include "kernels/shape/cuda/search.h"
#include "kernels/texture/cuda/hat.cuh"
#include "kernels/texture/cuda/line.cuh"
#include "kernels/texture/cuda/patch.cuh"

namespace cuface::cuda {
namespace {

constexpr int kThreads = kShapeThreads;
constexpr int kBlocksOfSm = 2;  // that look for points side by side; three have too few registers

// ---- where points fit

/// Of which profiles a kernel knows; one of patches alone needs fewer registers.
enum class Profiles { kPatches, kAll };

/// A patch's model; its matrix is on its way to shared memory if there is room.
__device__ DevicePatch stage_patch(const ShapeTables& t, const DeviceProfile& profile, int point,
                                   Staged& staged) {
  const int words = DevicePatch::words_of_block({t.patch.side});
  const PatchWords* const matrix =
      staged.matrix(t.patch_words + static_cast<std::size_t>(profile.first) * words,
                    profile.blocks * words, point);
  return {matrix, t.patch_rows + profile.first, profile.blocks, profile.edge};
}

/// Faces of which a block looks for the same point at once.
struct FacesAtOnce {
  static constexpr int kMost = PatchMemory::kMostFaces;
  std::int32_t count, jobs[kMost];
};
/// Of the block's memory what they take, before all else.
constexpr std::size_t kFacesBytes = 32;
static_assert(sizeof(FacesAtOnce) <= kFacesBytes);

/// For all threads of a block, one of which calls found(face, point and cost) for each face.
template <Profiles kProfiles, typename Found>
__device__ void look_for(const ShapeTables& t, const ShapeWork& work, const FacesAtOnce& faces,
                         int level, int point, void* memory, Staged& staged, int most_faces,
                         Found found) {
  const shape::ConstraintTables& c = t.constraint;
  const DeviceProfile& profile = t.profiles[level * c.points + point];
  const auto start_of = [&](int job) { return work.points[job * c.points + point]; };
  if (kProfiles == Profiles::kPatches || profile.kind == ProfileKind::kPatch) {
    const DevicePatch patch = stage_patch(t, profile, point, staged);
    const PatchMemory layout(t.patch, t.most_blocks, most_faces);
    if (const auto face = static_cast<int>(threadIdx.x); face < faces.count) {
      const int job = faces.jobs[face];
      const ShapePoint from = start_of(job);
      const int strongest = work.strongest[job * t.levels + level];
      layout.face(memory)[face] = {
          work.level(job, level), texture::BetweenPixels::of(from.x, from.y, t.patch.is_bilinear),
          patch.edge > 0 ? std::sqrt(static_cast<float>(strongest)) : 0.0f};
    }
    __syncthreads();
    match_patch<kThreads>(
        t.patch, patch, layout, memory, faces.count, [&](int face, const TextureMatch& match) {
          const ShapePoint from = start_of(faces.jobs[face]);
          found(face, FoundPoint{{from.x + match.dx, from.y + match.dy}, match.cost});
        });
  } else {
    for (int face = 0; face < faces.count; ++face) {
      const int job = faces.jobs[face];
      const ImageView<const std::uint8_t> picture = work.level(job, level);
      const ShapePoint* const points = work.points + job * c.points;
      const ShapePoint from = points[point];
      ShapePoint step{1, 1};
      TextureMatch match;
      if (face > 0) __syncthreads();
      if (profile.kind == ProfileKind::kLine) {
        const ShapeNeighbours& near = t.neighbours[point];
        step = texture::step_of(points[near.previous], from, points[near.next]);
        const double* const numbers = t.lines + profile.first;
        match = match_line<kThreads>(picture, from, step, t.line, numbers, numbers + t.line.length,
                                     memory);
        match.dy = match.dx;  // along the step
      } else {
        const DeviceHat tables{t.gradients, t.rows + level * t.hat.rows,
                               t.columns + level * t.hat.columns};
        match = match_hat<kThreads>(picture, from, t.hat, t.patches[level], tables,
                                    t.numbers + profile.first, memory);
      }
      if (threadIdx.x == 0)
        found(face,
              FoundPoint{{from.x + match.dx * step.x, from.y + match.dy * step.y}, match.cost});
    }
  }
}

// ---- an iteration

/// Beside FaceJob::searched: a block constrains the face.
constexpr std::int32_t kTaken = 1 << 30;

/// A face of which all points have been searched for, and that no other block constrains; -1
/// without one. For all threads. `place`: shared.
__device__ int take_face(const ShapeWork& work, int jobs, int points, std::int32_t* place) {
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

/// An iteration. Blocks divide the points of all faces, one each if there are enough blocks; else
/// each has faces of one point, `most_faces` at once. Who is done with that constrains faces.
/// `is_last`: of the stage's iterations. `staged_at`: bytes of shared memory before `room` for
/// copies.
template <Profiles kProfiles>
__global__ void __launch_bounds__(kThreads, kBlocksOfSm)
    iterate(const __grid_constant__ ShapeTables t, const __grid_constant__ ShapeWork work,
            int stage, bool is_last, int most_faces, unsigned staged_at, unsigned room) {
  extern __shared__ uint4 all_memory[];
  auto& faces = *reinterpret_cast<FacesAtOnce*>(all_memory);
  void* const memory = reinterpret_cast<std::byte*>(all_memory) + kFacesBytes;
  Staged staged{reinterpret_cast<std::byte*>(all_memory) + staged_at, room};
  const int points = t.constraint.points, jobs = work.counts[ShapeWork::kJobs];
  const auto block = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
  const auto thread = static_cast<int>(threadIdx.x);
  const int groups = min(jobs, max(1, blocks / points)), items = points * groups;
  const int level = stage > 0 ? stage : 0;
  if (block < items && stage != FaceJob::kRefit) {
    const int point = block / groups;
    const DeviceProfile& profile = t.profiles[level * points + point];
    if (kProfiles == Profiles::kPatches || profile.kind == ProfileKind::kPatch)
      stage_patch(t, profile, point, staged);
  }
  // Iterations write what follows, and read nothing else of what others write.
  wait_for_launch();
  allow_next_launch();
  if (block >= items) return;
  const bool has_one = groups == jobs && items <= blocks;
  bool ends_face = false;
  for (int item = block; item < items; item += blocks) {
    const int point = item / groups, group = item % groups, end = jobs * (group + 1) / groups;
    for (int first = jobs * group / groups; first < end; first += most_faces) {
      const int job = first + thread, at = job * points + point;
      bool is_here = thread < most_faces && job < end && work.jobs[job].stage == stage;
      if (thread < kWarp) {
        bool is_wanted = is_here;
        if (is_here && stage == FaceJob::kRefit) {
          const FoundPoint before{work.points[at], work.costs[at]};
          is_wanted = before.cost > t.refit_limits[point];
          if (!is_wanted) work.found[at] = before;
        }
        const unsigned wanted = __ballot_sync(kAllLanes, is_wanted);
        if (is_wanted) faces.jobs[__popc(wanted & ((1u << thread) - 1))] = job;
        if (thread == 0) faces.count = __popc(wanted);
      }
      __syncthreads();
      if (faces.count > 0)
        look_for<kProfiles>(t, work, faces, level, point, memory, staged, most_faces,
                            [&](int face, const FoundPoint& found) {
                              work.found[faces.jobs[face] * points + point] = found;
                            });
      __syncthreads();  // the memory is used again
      // Until it is known which block needs them.
      if (has_one && faces.count > 0) staged.copy_tables(t, level);
      if (is_here) {
        __threadfence();
        is_here = atomicAdd(&work.jobs[job].searched, 1) + 1 == points;
        if (is_here) __threadfence();
      }
      if (has_one) ends_face = __syncthreads_or(is_here) != 0;
    }
  }
  __syncthreads();
  const auto next_face = [&] {
    if (!has_one) return take_face(work, jobs, points, &faces.count);
    const bool is_first = ends_face;
    ends_face = false;
    return is_first ? block % groups : -1;
  };
  for (int job = next_face(); job >= 0; job = next_face()) {
    staged.copy_tables(t, level);
    if (staged.has_room_for(t.constraint))
      constrain<true>(t, work, job, stage, is_last, memory, staged);
    else
      constrain<false>(t, work, job, stage, is_last, memory, staged);
  }
  staged.wait();
}

/// A block a face.
__global__ void __launch_bounds__(kThreads)
    finish(const __grid_constant__ ShapeTables t, const __grid_constant__ ShapeWork work,
           const __grid_constant__ ShapeFrames frames) {
  wait_for_launch();
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
  __shared__ double unusual[kMaxShapePoints];
  const BlockLanes lanes;
  lanes.each(points, [&](int i) {
    unusual[i] = shape::unusual(work.costs[number * points + i], t.usual_costs[i]);
  });
  const double* const offsets = t.scores + points * points;
  float* const confidences = frame.out->confidences(frame.in->count, points) + job.face * points;
  lanes.each(points, [&](int i) {
    confidences[i] = confidence_of_logarithm(
        t.confidence, shape::score_of_costs(t.scores, unusual, points, i, offsets[i]));
  });
}

bool has_only_patches(const DeviceShape& model) {
  return !model.has(ProfileKind::kLine) && !model.has(ProfileKind::kHat);
}

auto iterate_of(const DeviceShape& model) {
  return has_only_patches(model) ? iterate<Profiles::kPatches> : iterate<Profiles::kAll>;
}

}  // namespace

std::size_t shared_bytes(const DeviceShape& model, int faces) {
  const ShapeTables& t = model.tables();
  std::size_t bytes = ShapeMemory(t.constraint).bytes();
  if (model.has(ProfileKind::kPatch))
    bytes = std::max(bytes, PatchMemory(t.patch, t.most_blocks, faces).bytes());
  if (model.has(ProfileKind::kLine)) bytes = std::max(bytes, LineMemory(t.line).bytes());
  for (int i = 0; i < t.levels && model.has(ProfileKind::kHat); ++i)
    bytes = std::max(bytes, HatMemory(t.hat, t.patches[i], kThreads / kWarp).bytes());
  return kFacesBytes + (bytes + 15) / 16 * 16;
}

Result<SearchShape> search_shape(const DeviceShape& model) {
  CUFACE_TAKE(most, most_shared_memory());
  CUFACE_TAKE(processors, multiprocessors());
  std::size_t bytes = shared_bytes(model);
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
  CUFACE_TAKE(early, can_be_early(reinterpret_cast<const void*>(iterate_of(model))));
  const ShapeTables& t = model.tables();
  const std::size_t matrix = sizeof(PatchWords) * static_cast<std::size_t>(t.most_blocks) *
                             static_cast<std::size_t>(DevicePatch::words_of_block({t.patch.side}));
  const auto fits = [&](std::size_t some) { return kBlocksOfSm * some <= all; };
  int faces = 1;
  const int most_faces = model.has(ProfileKind::kPatch)
                             ? PatchMemory(t.patch, t.most_blocks, FacesAtOnce::kMost).faces
                             : FacesAtOnce::kMost;
  if (const std::size_t of_many = shared_bytes(model, most_faces); fits(of_many + matrix)) {
    faces = most_faces;
    bytes = of_many;
  }
  std::size_t room = 0;
  for (const std::size_t some : {Staged::table_bytes(t.constraint), matrix})
    if (fits(bytes + some)) room = std::max(room, some);
  return SearchShape{static_cast<unsigned>(processors * kBlocksOfSm), static_cast<unsigned>(bytes),
                     static_cast<unsigned>(room), faces, early};
}

Status search_all(const DeviceShape& model, const SearchShape& shape, const ShapeWork& work,
                  const ShapeFrames& frames, Launcher launch) {
  const ShapeTables& t = model.tables();
  const LaunchShape points{dim3(shape.blocks), dim3(kThreads), shape.staged_at + shape.room};
  bool early = shape.early;
  const auto repeat = [&](int stage, int iterations) -> Status {
    for (int i = 0; i < iterations; ++i) {
      CUFACE_TRY(launch.early(early)("shape: iteration", iterate_of(model), points, t, work, stage,
                                     i + 1 == iterations, shape.faces, shape.staged_at,
                                     shape.room));
      early = shape.early;
    }
    return {};
  };
  for (int level = t.levels - 1; level >= 0; --level) CUFACE_TRY(repeat(level, t.iterations));
  if (t.refits > 0) {
    launch.begin_if(work.counts + ShapeWork::kRefits);
    early = false;  // behind no kernel
    const Status refits = repeat(FaceJob::kRefit, t.refits);
    launch.end_if();
    CUFACE_TRY(refits);
  }
  return launch.early(early && t.refits == 0)(
      "shape: finish", finish, {static_cast<unsigned>(work.faces), kThreads}, t, work, frames);
}

}  // namespace cuface::cuda
