// The forest takes lists of up to kMaxFaces faces, so the samples of all faces are laid out behind
// each other in as many lists as there are samples a face: full ones first.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/common/lanes.h"
#include "kernels/common/raw.cuh"
#include "kernels/faces/copy.cuh"
#include "kernels/forest/looks.h"
#include "kernels/forest/rules.h"
#include "kernels/forest/samples_cuda.h"

namespace cuface::cuda {
namespace {

constexpr int kMeanThreads = 128;
constexpr int kLookThreads = 256;
constexpr int kLookRows = kLooks * kLookSamples;  // of a face, so lists too

/// The lists of samples. Sample k of face f is row f * samples + k.
struct Rows {
  std::uint8_t* memory;
  std::size_t list_bytes;

  CUFACE_HD DeviceFaces* list(int i) const {
    return reinterpret_cast<DeviceFaces*>(memory + static_cast<std::size_t>(i) * list_bytes);
  }
  CUFACE_HD Face& face(int row) const { return list(row / kMaxFaces)->faces[row % kMaxFaces]; }
  /// The landmarks found in a row.
  __device__ const Point* points(int row, int landmarks) const {
    return list(row / kMaxFaces)->landmarks() + row % kMaxFaces * landmarks;
  }
  /// By a block a list, a thread a row, before `all` rows are written: this thread's row, negative
  /// where it has none.
  __device__ int begin(int all) const {
    const int first = static_cast<int>(blockIdx.x) * kMaxFaces;
    if (threadIdx.x == 0)
      list(static_cast<int>(blockIdx.x))->count = min(max(all - first, 0), kMaxFaces);
    const int row = first + static_cast<int>(threadIdx.x);
    return row < all ? row : -1;
  }
};

/// What the first look at a face has found.
struct FoundHead {
  forest::HeadBox head;
  bool found;
};

/// The rows of the first look at faces that are not known; the others' boxes are empty. A block a
/// list, a thread a row.
__global__ void __launch_bounds__(kMaxFaces)
    spread_looks(const DeviceFaces* in, const __grid_constant__ SampleMaps maps, Rows rows,
                 const RollState* rolls) {
  const int row = rows.begin(in->count * maps.count);
  if (row < 0) return;
  Face face = in->faces[row / maps.count];
  face.box = forest::is_known(*rolls, face)
                 ? Box{}
                 : maps.map[row % maps.count].apply(face.box, forest::recall_roll(*rolls, face));
  rows.face(row) = face;
}

/// A block a face.
__global__ void __launch_bounds__(kLookThreads)
    choose_look(const DeviceFaces* in, Rows rows, const Point* mean, int landmarks,
                FoundHead* found) {
  const int face = static_cast<int>(blockIdx.x);
  if (face >= in->count) return;
  __shared__ Raw<forest::LookScratch> scratch;
  const int first = face * kLookRows;
  FoundHead& out = found[face];
  const BlockLanes lanes;
  lanes.once([&] { out.found = false; });
  for (int k = 0; k < kLookRows; ++k)
    if (!forest::is_usable(rows.face(first + k).box)) return;
  forest::best_look(
      lanes, scratch.get(), {mean, static_cast<std::size_t>(landmarks)},
      [&](int k, int i) { return rows.points(first + k, landmarks)[i]; }, out.found, out.head);
}

/// A block a list, a thread a row. `head_maps`: of a box that the first look gave; null `found`:
/// there was none.
__global__ void __launch_bounds__(kMaxFaces)
    spread_samples(const DeviceFaces* in, const __grid_constant__ SampleMaps maps,
                   const __grid_constant__ SampleMaps head_maps, const FoundHead* found, Rows rows,
                   const RollState* rolls) {
  const int row = rows.begin(in->count * maps.count);
  if (row < 0) return;
  const int f = row / maps.count, sample = row % maps.count;
  Face face = in->faces[f];
  if (found && found[f].found) {
    const forest::HeadBox& head = found[f].head;
    face.box = head_maps.map[sample].apply(head.box, head.roll);
    face.roll = head.roll;  // which is recalled, as the face is not known
  } else {
    const Roll roll = rolls ? forest::recall_roll(*rolls, face) : Roll{};
    face.box = maps.map[sample].apply(face.box, roll);
  }
  rows.face(row) = face;
}

/// A block a face. `out` may be `in`.
__global__ void __launch_bounds__(kMeanThreads)
    mean_samples(const DeviceFaces* in, Rows rows, int samples, int landmarks, DeviceFaces* out) {
  const int face = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  if (face == 0) copy_header<kMeanThreads>(in, out, landmarks);
  if (face >= in->count) return;
  copy_face<kMeanThreads>(in, out, face);
  const int first = face * samples;
  bool usable = true;
  for (int k = 0; k < samples; ++k) usable = usable && forest::is_usable(rows.face(first + k).box);
  Point* const points = out->landmarks() + face * landmarks;
  for (int i = thread; i < landmarks; i += kMeanThreads) {
    points[i] = usable ? mean_of_samples(
                             samples, [&](int k) { return rows.points(first + k, landmarks)[i]; })
                       : Point{0, 0};
  }
}

}  // namespace

Result<std::unique_ptr<SampledLandmarker>> SampledLandmarker::create(
    std::shared_ptr<const DeviceForest> forest, int iterations, int samples, bool refine) {
  const auto maps = make_sample_maps({}, samples);
  if (!maps.ok()) return maps.status();
  auto landmarker = Landmarker::create(forest, iterations);
  if (!landmarker.ok()) return landmarker.status();
  const std::size_t list_bytes = device_faces_bytes(landmarker.value()->landmarks());
  std::unique_ptr<SampledLandmarker> made(
      new SampledLandmarker(std::move(landmarker.value()), std::move(forest), samples, refine));
  made->maps_ = made->head_maps_ = maps.value();
  if (samples > 1 || refine) {
    const int lists = samples + (refine ? kLookRows : 0);
    auto rows = DeviceBuffer<std::uint8_t>::create(static_cast<std::size_t>(lists) * list_bytes +
                                                   (refine ? sizeof(FoundHead[kMaxFaces]) : 0));
    if (!rows.ok()) return rows.status();
    made->rows_ = std::move(rows.value());
  }
  return Result<std::unique_ptr<SampledLandmarker>>(std::move(made));
}

Status SampledLandmarker::enqueue(ImageView<const std::uint8_t> luma, const DeviceFaces* in,
                                  const BoxMap& map, DeviceFaces* out, Launcher launch,
                                  const RollState* rolls) {
  if (samples_ == 1 && !refine_) return landmarker_->enqueue(luma, in, map, out, launch, rolls);
  if (!in || !out || (refine_ && !rolls))
    return {StatusCode::kInvalidArgument, "landmarks: no faces"};
  if (map != map_) {
    const Result<SampleMaps> maps = make_sample_maps(map, samples_);
    if (!maps.ok()) return maps.status();
    maps_ = maps.value();
    map_ = map;
  }
  const std::size_t list_bytes = device_faces_bytes(landmarker_->landmarks());
  const Rows samples{rows_.data(), list_bytes};
  FoundHead* found = nullptr;
  if (refine_) {
    const Rows looks{rows_.data() + static_cast<std::size_t>(samples_) * list_bytes, list_bytes};
    found = reinterpret_cast<FoundHead*>(looks.list(kLookRows));
    if (Status s = launch("landmarks: looks", spread_looks, {kLookRows, kMaxFaces}, in,
                          make_look_maps(map), looks, rolls);
        !s.ok())
      return s;
    if (Status s = landmarker_->enqueue(luma, looks.list(0), BoxMap{}, looks.list(0), launch, rolls,
                                        kLookRows);
        !s.ok())
      return s;
    if (Status s = launch("landmarks: first look", choose_look, {kMaxFaces, kLookThreads}, in,
                          looks, forest_->tables().mean, landmarker_->landmarks(), found);
        !s.ok())
      return s;
  }
  const auto lists = static_cast<unsigned>(samples_);
  if (Status s = launch("landmarks: samples", spread_samples, {lists, kMaxFaces}, in, maps_,
                        head_maps_, found, samples, rolls);
      !s.ok())
    return s;
  if (Status s = landmarker_->enqueue(luma, samples.list(0), BoxMap{}, samples.list(0), launch,
                                      rolls, samples_);
      !s.ok())
    return s;
  return launch("landmarks: mean", mean_samples, {kMaxFaces, kMeanThreads}, in, samples, samples_,
                landmarker_->landmarks(), out);
}

}  // namespace cuface::cuda
