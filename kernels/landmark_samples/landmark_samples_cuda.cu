// Every box that is looked at has blocks of its own, for all faces in one launch, and what comes of
// a face's boxes, the mean or the head to look at again, is made by whoever is done with the last
// of them. So nothing is laid out before and nothing collected behind it: a launch for each look.
#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/lanes.h"
#include "kernels/common/try.h"
#include "kernels/faces/copy.cuh"
#include "kernels/landmark_samples/landmark_samples_cuda.h"
#include "kernels/landmark_samples/spread.h"
#include "kernels/landmark_samples/starts.h"
#include "kernels/landmarks/cuda/regress.cuh"

namespace cuface::cuda {
namespace {

constexpr int kStartBoxes = kStarts * kStartSamples;  // of a face

/// The boxes of all faces in one launch.
struct Boxes {
  enum class Pass : std::int32_t {
    kOnly,    ///< there is no second look
    kFirst,   ///< samples of faces that are known, the first look at the others
    kSecond,  ///< samples of the others
  };
  const DeviceFaces* in;
  DeviceFaces* out;
  const RollState* rolls;
  const Point* mean;
  Point* points;                  ///< [kMaxFaces][boxes][landmarks]
  FaceOfSamples* faces;           ///< [kMaxFaces]
  forest::StartScratch* scratch;  ///< [kMaxFaces], to look twice
  SampleMaps maps, looks, heads;  ///< of a face's box, the same at first, of what was found then
  std::int32_t landmarks, boxes;  ///< a face may have
  Pass pass;
  ConfidenceTable table;

  /// Samples of faces that are known come first: they are most of the work.
  static int rows(int samples, bool refine) {
    return kMaxFaces * (refine && samples < kStartBoxes ? kStartBoxes : samples);
  }
  struct Row;
};

struct Boxes::Row {
  const Boxes& job;
  int face;
  bool looks_first = false;
  const SampleMaps* maps;  ///< of `seen`
  Box seen;
  bool is_wanted = false;
  Box box;
  Roll roll;
  Point* points;

  __device__ Row(const Boxes& all, int number, bool first_block) : job(all) {
    const DeviceFaces& in = *job.in;
    const int samples = job.maps.count, first = kMaxFaces * samples;
    const int others = number < first ? samples : kStartBoxes - samples;
    const int from = number < first ? 0 : first;
    face = (number - from) / others;
    const int k = (number - from) % others + (number < first ? 0 : samples);
    const bool copies = first_block && k == 0 && job.pass != Pass::kSecond;
    if (copies && face == 0)
      copy_header<kThreads>(&in, job.out, job.landmarks, job.table.is_known());
    if (face >= in.count) return;
    if (copies) copy_face<kThreads>(&in, job.out, face);
    const Face& of = in.faces[face];
    const bool is_new = job.pass != Pass::kOnly && !forest::is_known(*job.rolls, of);
    looks_first = is_new && job.pass == Pass::kFirst;
    maps = looks_first ? &job.looks : &job.maps;
    if (k >= maps->count || (job.pass == Pass::kSecond && !is_new)) return;
    is_wanted = true;
    seen = of.box;
    if (job.pass == Pass::kSecond && job.faces[face].found) {
      maps = &job.heads;
      seen = job.faces[face].head.box;
      roll = job.faces[face].head.roll;
    } else if (job.rolls) {
      roll = forest::recall_roll(*job.rolls, of);
    }
    box = maps->map[k].apply(seen, roll);
    points = points_of(k);
  }

  __device__ Point* points_of(int k) const {
    return job.points + (face * job.boxes + k) * job.landmarks;
  }

  /// Whoever is the last of a face's boxes goes on with all of them.
  __device__ void finish() const {
    const int thread = static_cast<int>(threadIdx.x), boxes = maps->count;
    FaceOfSamples& of = job.faces[face];
    bool is_last = false;
    __syncthreads();
    if (thread == 0) {
      __threadfence();
      is_last = atomicAdd(&of.done, 1u) == static_cast<unsigned>(boxes) - 1;
      __threadfence();
      if (is_last) of.done = 0;
    }
    if (!__syncthreads_or(is_last)) return;
    const bool usable = __syncthreads_and(
        thread >= boxes || forest::is_usable(maps->map[min(thread, boxes - 1)].apply(seen, roll)));
    const auto at = [&](int k, int i) { return points_of(k)[i]; };
    if (looks_first) {
      const BlockLanes lanes;
      lanes.once([&] { of.found = false; });
      if (usable)
        forest::best_look(lanes, job.scratch[face],
                          {job.mean, static_cast<std::size_t>(job.landmarks)}, at, of.found,
                          of.head);
      return;
    }
    Point* const points_out = job.out->landmarks() + face * job.landmarks;
    float* const spreads =
        job.table.is_known()
            ? job.out->confidences(job.in->count, job.landmarks) + face * job.landmarks
            : nullptr;
    const auto side = static_cast<double>(maps->map[0].apply(seen, roll).w);
    for (int i = thread; i < job.landmarks; i += kThreads) {
      const auto sample = [&](int k) { return at(k, i); };
      const Point mean = usable ? mean_of_samples(boxes, sample) : Point{0, 0};
      points_out[i] = mean;
      if (spreads) spreads[i] = usable ? forest::spread_of_samples(boxes, mean, side, sample) : 0;
    }
    if (!spreads) return;
    __syncthreads();
    const double mean = forest::mean_spread(spreads, job.landmarks);
    __syncthreads();
    for (int i = thread; i < job.landmarks; i += kThreads)
      spreads[i] = usable ? forest::confidence_of_spread(job.table, spreads[i], mean) : 0;
  }
};

static_assert(kMaxSamples <= kThreads);

}  // namespace

Result<std::unique_ptr<SampledLandmarker>> SampledLandmarker::create(
    std::shared_ptr<const DeviceForest> forest, int iterations, int samples, bool refine) {
  CUFACE_TAKE(maps, make_sample_maps({}, samples));
  CUFACE_TAKE(alone, Landmarker::create(forest, iterations));
  std::unique_ptr<SampledLandmarker> made(
      new SampledLandmarker(std::move(alone), std::move(forest), samples, refine));
  made->maps_ = made->head_maps_ = maps;
  made->look_maps_ = make_start_maps({});
  if (samples == 1 && !refine) return Result<std::unique_ptr<SampledLandmarker>>(std::move(made));

  const ForestTables tables = made->forest_->tables();
  CUFACE_TRY(take(allow_shared_memory<Boxes>(tables), made->staged_));
  made->stages_ = forest::cascades_to_run(iterations, made->forest_->stages()).value();
  const auto rows = static_cast<std::size_t>(Boxes::rows(samples, refine));
  const auto landmarks = static_cast<std::size_t>(tables.landmarks);
  CUFACE_TRY(take(DeviceBuffer<Point>::create(rows * landmarks), made->points_));
  CUFACE_TRY(take(upload(std::vector<FaceOfSamples>(kMaxFaces)), made->faces_));
  if (refine)
    CUFACE_TRY(take(DeviceBuffer<forest::StartScratch>::create(kMaxFaces), made->scratch_));
  return Result<std::unique_ptr<SampledLandmarker>>(std::move(made));
}

Status SampledLandmarker::enqueue(ImageView<const std::uint8_t> luma, const DeviceFaces* in,
                                  const BoxMap& map, DeviceFaces* out, Launcher launch,
                                  const RollState* rolls) {
  if (samples_ == 1 && !refine_) return alone_->enqueue(luma, in, map, out, launch, rolls);
  if (!luma.data || luma.width < 1 || luma.height < 1 || !in || !out || (refine_ && !rolls))
    return {StatusCode::kInvalidArgument, "landmarks: no picture, or no faces"};
  if (map != map_) {
    CUFACE_TRY(take(make_sample_maps(map, samples_), maps_));
    look_maps_ = make_start_maps(map);
    map_ = map;
  }
  const ForestTables tables = forest_->tables();
  const int rows = Boxes::rows(samples_, refine_);
  Boxes boxes{in,
              out,
              rolls,
              tables.mean,
              points_.data(),
              faces_.data(),
              scratch_.data(),
              maps_,
              look_maps_,
              head_maps_,
              tables.landmarks,
              rows / kMaxFaces,
              refine_ ? Boxes::Pass::kFirst : Boxes::Pass::kOnly,
              samples_ > 1 ? forest_->confidence() : ConfidenceTable{}};
  if (Status s = launch_forest(tables, staged_, stages_, luma, boxes, rows, launch);
      !s.ok() || !refine_)
    return s;
  boxes.pass = Boxes::Pass::kSecond;
  return launch_forest(tables, staged_, stages_, luma, boxes, kMaxFaces * samples_, launch);
}

}  // namespace cuface::cuda
