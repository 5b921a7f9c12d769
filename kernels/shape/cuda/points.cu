// The search: a block looks for a landmark of a face or a few; another one waits for all landmarks
// of a face and moves them to the nearest legal shape. A face that rests has left the stage that
// later launches look for.
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

/// A patch's model; it is on its way to shared memory if there is room.
__device__ DevicePatch stage_patch(const ShapeTables& t, const DeviceProfile& profile,
                                   Staged& staged) {
  const int words = DevicePatch::words_of_block({t.patch.side});
  return staged.patch({t.patch_words + static_cast<std::size_t>(profile.first) * words,
                       t.patch_rows + profile.first, profile.blocks, profile.edge},
                      words);
}

/// A face's search for a point.
struct FaceHere {
  ImageView<const std::uint8_t> picture;
  ShapePoint from;
  std::int32_t job, strongest;  ///< square of the strongest edge
};
/// Faces of which a block looks for the same point at once.
struct FacesAtOnce {
  static constexpr int kMost = PatchMemory::kMostFaces;
  FaceHere faces[kMost];
  std::int32_t count;
  std::int32_t number;  ///< of the block
};
/// Of the block's memory what they take, before all else.
constexpr std::size_t kFacesBytes = (sizeof(FacesAtOnce) + 15) / 16 * 16;

/// For all threads of a block, one of which calls found(face, point and cost) for each face.
template <Profiles kProfiles, typename Found>
__device__ void look_for(const ShapeTables& t, const ShapeWork& work, const FacesAtOnce& faces,
                         const DeviceProfile& profile, int level, int point, void* memory,
                         Staged& staged, int most_faces, Found found) {
  if (kProfiles == Profiles::kPatches || profile.kind == ProfileKind::kPatch) {
    DevicePatch patch = stage_patch(t, profile, staged);
    if (static_cast<const void*>(patch.words) == staged.memory)
      patch.staged_at = static_cast<std::int32_t>(staged.memory - static_cast<std::byte*>(memory));
    const PatchMemory layout(t.patch, t.most_blocks, most_faces);
    if (const auto face = static_cast<int>(threadIdx.x); face < faces.count) {
      const FaceHere& here = faces.faces[face];
      layout.face(memory)[face] = {
          here.picture, texture::BetweenPixels::of(here.from.x, here.from.y, t.patch.is_bilinear),
          patch.edge > 0 ? std::sqrt(static_cast<float>(here.strongest)) : 0.0f};
    }
    __syncthreads();
    match_patch<kThreads>(
        t.patch, patch, layout, memory, faces.count, [&](int face, const TextureMatch& match) {
          const ShapePoint from = faces.faces[face].from;
          found(face, FoundPoint{{from.x + match.dx, from.y + match.dy}, match.cost});
        });
  } else {
    for (int face = 0; face < faces.count; ++face) {
      const auto& [picture, from, job, strongest] = faces.faces[face];
      ShapePoint step{1, 1};
      TextureMatch match;
      if (face > 0) __syncthreads();
      if (profile.kind == ProfileKind::kLine) {
        const ShapeNeighbours& near = t.neighbours[point];
        const ShapePoint* const points = work.points + job * t.constraint.points;
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

/// Blocks that constrain faces. They are the last ones that begin, so that all that look for points
/// have begun when one of these waits for them.
constexpr int kConstrainBlocks = 16;

__device__ unsigned multiprocessor() {
  unsigned number = 0;
#ifdef __NVCC__
  asm("mov.u32 %0, %%smid;" : "=r"(number));
#endif
  return number;
}

/// For all threads: the block's number, by the order in which blocks begin, which need not be that
/// of blockIdx. Of two blocks of a multiprocessor one has a small number and one a large number, so
/// that they are a large group of faces and a small one, or a group and nothing. All blocks of a
/// launch call it before the next launch may begin.
__device__ int begin_in_order(const ShapeWork& work, FacesAtOnce& shared) {
  if (threadIdx.x == 0) {
    const int there = ShapeWork::kBegunThere + multiprocessor() % ShapeWork::kMultiprocessors;
    const int turn = atomicAdd(work.counts + ShapeWork::kBegun, 1);
    const bool is_first = atomicAdd(work.counts + there, 1) % 2 == 0;
    const auto blocks = static_cast<int>(gridDim.x);
    const int others = blocks - kConstrainBlocks;
    std::int32_t* const taken = work.counts + ShapeWork::kTaken + turn / blocks * 2;
    shared.number = turn % blocks >= others ? turn % blocks
                    : is_first              ? atomicAdd(taken, 1)
                                            : others - 1 - atomicAdd(taken + 1, 1);
  }
  __syncthreads();
  return shared.number;
}

/// Between two looks at a counter, which others count up meanwhile.
__device__ void wait_a_little() {
#ifdef __NVCC__  // in tests/gpu/emulator nobody waits
  __nanosleep(20);
#endif
}

/// For all threads: until all points of a face have been looked for.
__device__ void wait_for_points(const FaceJob& job, int points) {
  if (threadIdx.x == 0) {
    const volatile std::int32_t* const searched = &job.searched;
    while (*searched != points) wait_a_little();
    __threadfence();
  }
  __syncthreads();
}

/// Whether blocks do their part once before the launch before has ended, on what is there by then,
/// and drop what comes out: the second time their instructions and pixels lie near. There is room
/// beside the launch before where blocks are few, and nothing but points and stages may change: not
/// in the first iteration, before which pixels are written.
__device__ bool rehearses_of(const ShapeTables& t, int stage, bool is_first, int items,
                             int blocks) {
  return waits_for_launch() && !is_first && 2 * items <= blocks && stage != FaceJob::kRefit &&
         t.constraint.kind == ShapeConstraint::kIterated && t.constraint.least_weight >= 1;
}

/// An iteration. Blocks divide the points of all faces, one each if there are enough blocks; else
/// each has faces of one point, `most_faces` at once. The last blocks constrain a face each as soon
/// as all its points are found. `is_first`: of all iterations. `is_last`: of the stage's.
/// `staged_at`: bytes of shared memory before `room` for copies.
template <Profiles kProfiles>
__global__ void __launch_bounds__(kThreads, kBlocksOfSm)
    iterate(const __grid_constant__ ShapeTables t, const __grid_constant__ ShapeWork work,
            int stage, bool is_first, bool is_last, int most_faces, unsigned staged_at,
            unsigned room) {
  extern __shared__ uint4 all_memory[];
  auto& faces = *reinterpret_cast<FacesAtOnce*>(all_memory);
  void* const memory = reinterpret_cast<std::byte*>(all_memory) + kFacesBytes;
  Staged staged{reinterpret_cast<std::byte*>(all_memory) + staged_at, room};
  const int points = t.constraint.points, jobs = work.counts[ShapeWork::kJobs];
  const int block = begin_in_order(work, faces), blocks = static_cast<int>(gridDim.x);
  const auto thread = static_cast<int>(threadIdx.x);
  const int items = min(points * jobs, blocks - kConstrainBlocks);
  const int level = stage > 0 ? stage : 0;
  // The first points have fewer groups of faces, which are larger.
  const int fewer = items / points, large = points - items % points;
  const int of_rest = block - large * fewer, groups = max(1, of_rest < 0 ? fewer : fewer + 1);
  const int point = of_rest < 0 ? block / groups : large + of_rest / groups;
  const int group = (of_rest < 0 ? block : of_rest) % groups;
  const int of_block = block - (blocks - kConstrainBlocks);  // that constrain
  const bool constrains = of_block >= 0 && of_block < jobs;
  DeviceProfile profile{};
  if (constrains) staged.copy_tables(t, level);
  if (block < items) {
    profile = t.profiles[level * points + point];
    if (stage != FaceJob::kRefit &&
        (kProfiles == Profiles::kPatches || profile.kind == ProfileKind::kPatch))
      stage_patch(t, profile, staged);
  }
  // Iterations write what follows, and read nothing else of what others write.
  bool rehearses = kProfiles == Profiles::kPatches && (block < items || constrains) &&
                   rehearses_of(t, stage, is_first, items, blocks);
  const auto begin = [] {
    wait_for_launch();
    allow_next_launch();
  };
  if (!rehearses) begin();
#pragma unroll 1
  for (int turn = rehearses ? -1 : 0; of_block >= 0; ++turn) {
    const int job = of_block + max(turn, 0) * kConstrainBlocks;
    if (job >= jobs) break;
    if (!rehearses) {
      if (__ldcg(&work.jobs[job].stage) != stage) continue;
      wait_for_points(work.jobs[job], points);
    }
    if (staged.has_room_for(t.constraint))
      constrain<true>(t, work, job, stage, is_last, memory, staged, rehearses);
    else
      constrain<false>(t, work, job, stage, is_last, memory, staged, rehearses);
    if (rehearses) begin();
    rehearses = false;
  }
  const int end = jobs * (group + 1) / groups;
#pragma unroll 1
  for (int first = jobs * group / groups; block < items && first < end;) {
    const int job = first + thread, at = job * points + point;
    bool is_here = thread < most_faces && job < end;
    if (thread < kWarp) {
      // All that is read is asked for at once.
      FaceHere here{};
      if (is_here) {
        // Not from where a rehearsal has left them.
        const ShapePoint& from = work.points[at];
        here = {work.level(job, level),
                {__ldcg(&from.x), __ldcg(&from.y)},
                job,
                __ldcg(work.strongest + job * t.levels + level)};
        const std::int32_t stage_of_face = __ldcg(&work.jobs[job].stage);
        is_here = rehearses ? stage_of_face >= 0 : stage_of_face == stage;
      }
      bool is_wanted = is_here;
      if (is_here && stage == FaceJob::kRefit) {
        const FoundPoint before{work.points[at], work.costs[at]};
        is_wanted = before.cost > t.refit_limits[point];
        if (!is_wanted) work.found[at] = before;
      }
      const unsigned wanted = __ballot_sync(kAllLanes, is_wanted);
      if (is_wanted) faces.faces[__popc(wanted & ((1u << thread) - 1))] = here;
      if (thread == 0) faces.count = __popc(wanted);
    }
    __syncthreads();
    if (faces.count > 0)
      look_for<kProfiles>(t, work, faces, profile, level, point, memory, staged, most_faces,
                          [&](int face, const FoundPoint& found) {
                            if (!rehearses)
                              work.found[faces.faces[face].job * points + point] = found;
                          });
    __syncthreads();  // the memory is used again
    if (rehearses) {
      rehearses = false;
      begin();
      continue;
    }
    first += most_faces;
    if (is_here) {
      __threadfence();
      atomicAdd(&work.jobs[job].searched, 1);
    }
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
  const auto words = static_cast<std::size_t>(DevicePatch::words_of_block({t.patch.side}));
  const std::size_t matrix = static_cast<std::size_t>(t.most_blocks) *
                             (sizeof(PatchWords) * words + sizeof(texture::PatchUnits));
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
  const int blocks = std::max(processors * kBlocksOfSm, t.constraint.points + kConstrainBlocks);
  return SearchShape{static_cast<unsigned>(blocks), static_cast<unsigned>(bytes),
                     static_cast<unsigned>(room), faces, early};
}

Status search_all(const DeviceShape& model, const SearchShape& shape, const ShapeWork& work,
                  const ShapeFrames& frames, Launcher launch) {
  const ShapeTables& t = model.tables();
  const LaunchShape points{dim3(shape.blocks), dim3(kThreads), shape.staged_at + shape.room};
  bool early = shape.early, is_first = true;
  const auto repeat = [&](int stage, int iterations) -> Status {
    for (int i = 0; i < iterations; ++i) {
      CUFACE_TRY(launch.early(early)("shape: iteration", iterate_of(model), points, t, work, stage,
                                     is_first, i + 1 == iterations, shape.faces, shape.staged_at,
                                     shape.room));
      early = shape.early;
      is_first = false;
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
