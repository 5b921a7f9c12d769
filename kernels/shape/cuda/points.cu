// The search: a block looks for a landmark of a face or a few; another one waits for all landmarks
// of a face and moves them to the nearest legal shape. A face that rests skips the rounds before
// its next stage.
#include <cstdint>
#include <string>

#include "kernels/common/cuda/attributes.h"
#include "kernels/common/cuda/early.cuh"
#include "kernels/common/cuda/raw.cuh"
#include "kernels/common/try.h"
#include "kernels/shape/cuda/constrain.cuh"
#include "kernels/shape/cuda/rounds.cuh"
#include "kernels/shape/cuda/search.h"
#include "kernels/texture/cuda/hat.cuh"
#include "kernels/texture/cuda/line.cuh"
#include "kernels/texture/cuda/patch.cuh"

namespace cuface::cuda {
namespace {

constexpr int kThreads = kShapeThreads;

// ---- where points fit

/// Of which profiles a kernel knows; one of patches alone needs fewer registers.
enum class Profiles { kPatches, kAll };

/// A patch's model; it is on its way to shared memory if there is room.
__device__ DevicePatch stage_patch(const ShapeTables& t, const DeviceProfile& profile,
                                   Staged& staged) {
  const int words = DevicePatch::words_of_block({t.patch.side});
  return staged.patch({t.patch_words + static_cast<std::size_t>(profile.first) * words,
                       t.patch_rows + profile.first, profile.blocks, profile.edge, profile.base},
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
                         const DeviceProfile& profile, int round, int point, void* memory,
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
        const ShapePoint* const points = work.points_of(job, round);
        step = texture::step_of(when_there(points[near.previous]), from,
                                when_there(points[near.next]));
        const double* const numbers = t.lines + profile.first;
        match = match_line<kThreads>(picture, from, step, t.line, numbers, numbers + t.line.length,
                                     memory);
        match.dy = match.dx;  // along the step
      } else {
        const int level = max(stage_of(t, round), 0);
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

// ---- rounds

/// By one of the blocks that constrain, of faces `first`, `first` + kConstrainBlocks ...
__device__ void constrain_faces(const ShapeTables& t, const ShapeWork& work, const Rounds& rounds,
                                int first, int jobs, void* memory, Staged& staged) {
  int level_here = -1;
#pragma unroll 1
  for (int round = rounds.first; round < rounds.end; ++round) {
    const int stage = stage_of(t, round), level = max(stage, 0);
    if (level != level_here && first < jobs) {
      staged.clear();
      staged.copy_tables(t, level);
      level_here = level;
    }
    if (round == rounds.first) begin_rounds();
#pragma unroll 1
    for (int job = first; job < jobs; job += kConstrainBlocks) {
      if (__ldcg(&work.jobs[job].stage) != stage) continue;
      if (staged.has_room_for(t.constraint))
        constrain<true>(t, work, job, round, memory, staged);
      else
        constrain<false>(t, work, job, round, memory, staged);
    }
  }
}

/// By the other blocks, each of which has faces of one point, `most_faces` at once.
template <Profiles kProfiles>
__device__ void search_points(const ShapeTables& t, const ShapeWork& work, const Rounds& rounds,
                              const FaceGroup& of, int jobs, FacesAtOnce& faces, void* memory,
                              Staged& staged, int most_faces) {
  const int points = t.constraint.points, point = of.point;
  const auto thread = static_cast<int>(threadIdx.x);
  const int halves = rounds.are_many() && jobs >= kLeastInHalves ? 2 : 1;
  DeviceProfile profile{};
  int level_here = -1;
#pragma unroll 1
  for (int round = rounds.first; round < rounds.end; ++round) {
    const int stage = stage_of(t, round), level = max(stage, 0);
    if (level != level_here) {
      profile = t.profiles[level * points + point];
      staged.clear();
      if (stage != FaceJob::kRefit &&
          (kProfiles == Profiles::kPatches || profile.kind == ProfileKind::kPatch))
        stage_patch(t, profile, staged);
      level_here = level;
    }
    // What is read before does not change.
    if (round == rounds.first) begin_rounds();
#pragma unroll 1
    for (int half = 0; half < halves; ++half) {
      const int begin = jobs * half / halves, end = jobs * (half + 1) / halves;
      // The groups of both halves together are even.
      const int skipped = begin % of.groups, to = of.group - skipped;
#pragma unroll 1
      for (int first = begin + (to < 0 ? to + of.groups : to); first < end;
           first += most_faces * of.groups) {
        if (thread < kWarp) {
          const int job = first + thread * of.groups, at = job * points + point;
          FaceHere here{};
          bool is_wanted = thread < most_faces && job < end;
          if (is_wanted) {
            here = {
                work.level(job, level), {}, job, __ldcg(work.strongest + job * t.levels + level)};
            here.from = when_there(work.points_of(job, round)[point]);
            is_wanted = !is_skipped(here.from.x);
          }
          if (is_wanted && stage == FaceJob::kRefit) {
            const FoundPoint before{here.from, work.costs[at]};
            is_wanted = before.cost > t.refit_limits[point];
            if (!is_wanted) put(before, work.found_of(job, round)[point]);
          }
          const unsigned wanted = __ballot_sync(kAllLanes, is_wanted);
          if (is_wanted) faces.faces[__popc(wanted & ((1u << thread) - 1))] = here;
          if (thread == 0) faces.count = __popc(wanted);
        }
        __syncthreads();
        if (faces.count > 0)
          look_for<kProfiles>(t, work, faces, profile, round, point, memory, staged, most_faces,
                              [&](int face, const FoundPoint& found) {
                                put(found, work.found_of(faces.faces[face].job, round)[point]);
                              });
        __syncthreads();  // the memory is used again
      }
    }
  }
}

/// Some rounds. Where these are more than one, blocks wait for each other, so all of them must run
/// at once. `staged_at`: bytes of shared memory before `room` for copies.
template <Profiles kProfiles>
__global__ void __launch_bounds__(kThreads, kBlocksOfSm)
    iterate(const __grid_constant__ ShapeTables t, const __grid_constant__ ShapeWork work,
            Rounds rounds, int most_faces, unsigned staged_at, unsigned room) {
  extern __shared__ uint4 all_memory[];
  auto& faces = *reinterpret_cast<FacesAtOnce*>(all_memory);
  void* const memory = reinterpret_cast<std::byte*>(all_memory) + kFacesBytes;
  Staged staged{reinterpret_cast<std::byte*>(all_memory) + staged_at, room};
  const int points = t.constraint.points, jobs = work.counts[ShapeWork::kJobs];
  const int block = begin_in_order(work, rounds, faces.number);
  const int others = static_cast<int>(gridDim.x) - kConstrainBlocks;
  const int items = min(points * jobs, others);
  if (block >= others)
    constrain_faces(t, work, rounds, block - others, jobs, memory, staged);
  else if (block < items)
    search_points<kProfiles>(t, work, rounds, FaceGroup(block, items, points), jobs, faces, memory,
                             staged, most_faces);
  else
    begin_rounds();
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
    const ShapePoint p = when_there(work.points_of(number, work.rounds)[i]);
    out[i] = {static_cast<float>(p.x * job.back + job.window.x),
              static_cast<float>(p.y * job.back + job.window.y)};
  }
  if (!t.confidence.is_known()) return;
  __shared__ double unusual[kMaxShapePoints + 1];
  const BlockLanes lanes;
  lanes.each(t.costs, [&](int i) {
    const int modes = t.constraint.modes;
    const double cost = i < points
                            ? work.costs[number * points + i]
                            : shape::shape_cost(work.weights + number * modes, t.limits, modes);
    unusual[i] = shape::unusual(cost, t.usual_costs[i], t.score_parts);
  });
  const double* const offsets = t.scores + (points + 1) * points;
  float* const confidences = frame.out->confidences(frame.in->count, points) + job.face * points;
  lanes.each(points, [&](int i) {
    confidences[i] = confidence_of_logarithm(
        t.confidence, shape::score_of_costs(t.scores, unusual, t.costs, points, i, offsets[i]));
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
  for (int many = most_faces; many > faces; --many) {
    const std::size_t of_many = shared_bytes(model, many);
    if (!fits(of_many + matrix)) continue;
    faces = many;
    bytes = of_many;
  }
  std::size_t room = 0;
  for (const std::size_t some : {Staged::table_bytes(t.constraint), matrix})
    if (fits(bytes + some)) room = std::max(room, some);
  const int blocks = std::max(processors * kBlocksOfSm, t.constraint.points + kConstrainBlocks);
  CUFACE_TAKE(at_once, blocks_at_once(reinterpret_cast<const void*>(iterate_of(model)), kThreads,
                                      bytes + room));
  return SearchShape{static_cast<unsigned>(blocks),
                     static_cast<unsigned>(bytes),
                     static_cast<unsigned>(room),
                     faces,
                     early,
                     blocks <= at_once};
}

Status search_all(const DeviceShape& model, const SearchShape& shape, const ShapeWork& work,
                  const ShapeFrames& frames, Launcher launch) {
  const ShapeTables& t = model.tables();
  const LaunchShape points{dim3(shape.blocks), dim3(kThreads), shape.staged_at + shape.room};
  bool early = shape.early;
  const auto run = [&](const Launcher& how, Rounds rounds) -> Status {
    const Launcher now = how.early(early);
    early = shape.early;
    return now("shape: iterations", iterate_of(model), points, t, work, rounds, shape.faces,
               shape.staged_at, shape.room);
  };
  const auto one_by_one = [&](int first, int end) -> Status {
    for (int round = first; round < end; ++round) CUFACE_TRY(run(launch, {round, round + 1}));
    return {};
  };
  const int refits_from = t.rounds_of_levels();
  CUFACE_TRY(shape.cooperative ? run(launch.cooperative(), {0, refits_from})
                               : one_by_one(0, refits_from));
  if (t.refits > 0) {
    launch.begin_if(work.counts + ShapeWork::kRefits);
    early = false;  // behind no kernel
    const Status refits = one_by_one(refits_from, t.rounds());
    launch.end_if();
    CUFACE_TRY(refits);
  }
  return launch.early(early && t.refits == 0)(
      "shape: finish", finish, {static_cast<unsigned>(work.faces), kThreads}, t, work, frames);
}

}  // namespace cuface::cuda
