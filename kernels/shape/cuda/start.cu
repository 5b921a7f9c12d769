// The start of a search: a block lays out a face's window and levels, and puts its points there.
#include "kernels/common/cuda/early.cuh"
#include "kernels/common/cuda/raw.cuh"
#include "kernels/faces/copy.cuh"
#include "kernels/shape/cuda/once.cuh"
#include "kernels/shape/cuda/search.h"
#include "kernels/shape/pyramid_rules.h"
#include "kernels/shape/start_rules.h"

namespace cuface::cuda {
namespace {

constexpr int kThreads = 256;

/// The search of a face, all but its points; start_of(i) is where one of these starts.
template <typename Start>
__device__ FaceJob make_job(const ShapeTables& t, const ShapeFrame& frame, const Box& box,
                            const Start& start_of) {
  FaceJob job{};
  job.window = shape::window_of(t.window, box, frame.luma.width, frame.luma.height);
  const auto start = [&](int i) {
    const ShapePoint p = start_of(i);
    return ShapePoint{p.x - job.window.x, p.y - job.window.y};
  };
  const shape::ConstraintTables& c = t.constraint;
  const double size =
      shape::size_between(start(c.size_left), start(c.size_right), start(c.size_below));
  job.stage = FaceJob::kRefused;
  if (!(size > 1)) return job;
  job.scale = t.size / size;
  job.back = 1 / job.scale;
  const double coarsest = job.scale / (1 << (t.levels - 1));
  if (!shape::is_searchable(job.window.w, job.window.h, job.scale, coarsest, kMaxShapeWindow))
    return job;
  for (int i = 0; i < 2; ++i) {
    int side = shape::resized_side(i == 0 ? job.window.w : job.window.h, job.scale);
    job.sides[0][i] = side;
    for (int level = 1; level < t.levels; ++level)
      job.sides[level][i] = t.pyramid == ShapePyramid::kGaussian
                                ? (job.sides[level - 1][i] + 1) / 2
                                : shape::resized_side(side, 1.0 / (1 << level));
  }
  job.stage = t.levels - 1;
  return job;
}

/// A block a face that there can be, of all frames.
__global__ void __launch_bounds__(kThreads)
    start(const __grid_constant__ ShapeTables t, const __grid_constant__ ShapeWork work,
          const __grid_constant__ ShapeFrames frames) {
  allow_next_launch();
  __shared__ Raw<FaceJob> shared;
  FaceJob& job = shared.get();
  const int number = static_cast<int>(blockIdx.x) / kMaxFaces;
  const int face = static_cast<int>(blockIdx.x) % kMaxFaces;
  const ShapeFrame& frame = frames.frame[number];
  const int points = t.constraint.points;
  if (face == 0) copy_header<kThreads>(frame.in, frame.out, points, t.confidence.is_known());
  int first = 0, all = 0;
  for (int i = 0; i < frames.count; ++i) {
    if (i == number) first = all;
    all += frames.frame[i].in->count;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    work.counts[ShapeWork::kJobs] = all < work.faces ? all : static_cast<int>(work.faces);
    work.counts[ShapeWork::kRefits] = 0;
  }
  for (int i = ShapeWork::kBegun + static_cast<int>(threadIdx.x);
       blockIdx.x == 0 && i < ShapeWork::kCounts; i += kThreads)
    work.counts[i] = 0;
  if (face >= frame.in->count) return;
  copy_face<kThreads>(frame.in, frame.out, face);
  const int place = first + face;
  const bool has_room = place < work.faces;
  const Box box = frame.in->faces[face].box;
  const bool is_usable = shape::is_usable(box);
  const auto thread = static_cast<int>(threadIdx.x);
  bool is_told = frames.follows != 0 && (frame.starts || (frame.in->landmarks_per_face == 0 &&
                                                          frame.in->followed_per_face == points));
  const Point* const told = (frame.starts ? frame.starts : frame.in->landmarks()) + face * points;
  for (int i = thread; is_told && i < points; i += kThreads) is_told = shape::is_near(told[i]);
  is_told = __syncthreads_and(is_told) != 0;
  const auto start_of = [&](int i) {
    if (is_told) return ShapePoint{told[i].x, told[i].y};
    return shape::start_point(box, t.start_scale, t.mean_shape[2 * i], t.mean_shape[2 * i + 1]);
  };
  if (thread == 0) {
    job = make_job(t, frame, is_usable ? box : Box{0, 0, 1, 1}, start_of);
    if (!is_usable || !has_room) job.stage = FaceJob::kRefused;
    job.frame = number;
    job.face = face;
    if (has_room) work.jobs[place] = job;
  }
  __syncthreads();
  const double to_coarsest = 1.0 / (1 << (t.levels - 1));
  Point* const out = frame.out->landmarks() + face * points;
  const bool is_refused = job.stage == FaceJob::kRefused;
  for (int i = thread; i < points; i += kThreads) {
    ShapePoint p = start_of(i);
    p = {p.x - job.window.x, p.y - job.window.y};
    if (is_refused)
      out[i] = is_usable ? Point{static_cast<float>(p.x + job.window.x),
                                 static_cast<float>(p.y + job.window.y)}
                         : Point{0, 0};
    if (is_refused && t.confidence.is_known())
      frame.out->confidences(frame.in->count, points)[face * points + i] = 0;
    if (!has_room) continue;
    for (int round = 0; is_refused && round < work.rounds; ++round)
      skip(work.points_of(place, round)[i]);
    if (!is_refused)
      put(ShapePoint{p.x * job.scale * to_coarsest, p.y * job.scale * to_coarsest},
          work.points_of(place, 0)[i]);
    work.costs[place * points + i] = kDearest;
  }
  if (!has_room) return;
  for (int k = static_cast<int>(threadIdx.x); k < t.constraint.modes; k += kThreads)
    work.weights[place * t.constraint.modes + k] = 0;
  for (int level = static_cast<int>(threadIdx.x); level < t.levels; level += kThreads)
    work.strongest[place * t.levels + level] = 0;
}

}  // namespace

Status start_searches(const DeviceShape& model, const ShapeWork& work, const ShapeFrames& frames,
                      Launcher launch) {
  return launch("shape: start", start, {static_cast<unsigned>(frames.count) * kMaxFaces, kThreads},
                model.tables(), work, frames);
}

}  // namespace cuface::cuda
