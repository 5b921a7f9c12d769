// The forest takes lists of up to kMaxFaces faces, so the samples of all faces are laid out behind
// each other in as many lists as there are samples a face: full ones first.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/faces/copy.cuh"
#include "kernels/forest/rules.h"
#include "kernels/forest/samples_cuda.h"

namespace cuface::cuda {
namespace {

constexpr int kMeanThreads = 128;

/// The lists of samples. Sample k of face f is row f * samples + k.
struct Rows {
  std::uint8_t* memory;
  std::size_t list_bytes;

  CUFACE_HD DeviceFaces* list(int i) const {
    return reinterpret_cast<DeviceFaces*>(memory + static_cast<std::size_t>(i) * list_bytes);
  }
  CUFACE_HD Face& face(int row) const { return list(row / kMaxFaces)->faces[row % kMaxFaces]; }
};

/// A block a list, a thread a row.
__global__ void __launch_bounds__(kMaxFaces)
    spread_samples(const DeviceFaces* in, const __grid_constant__ SampleMaps maps, Rows rows,
                   const RollState* rolls) {
  const int list = static_cast<int>(blockIdx.x),
            row = list * kMaxFaces + static_cast<int>(threadIdx.x);
  const int all = in->count * maps.count;
  if (threadIdx.x == 0) rows.list(list)->count = min(max(all - list * kMaxFaces, 0), kMaxFaces);
  if (row >= all) return;
  Face face = in->faces[row / maps.count];
  const Roll roll = rolls ? forest::recall_roll(*rolls, face) : Roll{};
  face.box = maps.map[row % maps.count].apply(face.box, roll);
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
    points[i] =
        usable
            ? mean_of_samples(
                  samples,
                  [&](int k) {
                    const int row = first + k;
                    return rows.list(row / kMaxFaces)->landmarks()[row % kMaxFaces * landmarks + i];
                  })
            : Point{0, 0};
  }
}

}  // namespace

Result<std::unique_ptr<SampledLandmarker>> SampledLandmarker::create(
    std::shared_ptr<const DeviceForest> forest, int iterations, int samples) {
  if (const auto maps = make_sample_maps({}, samples); !maps.ok()) return maps.status();
  auto landmarker = Landmarker::create(std::move(forest), iterations);
  if (!landmarker.ok()) return landmarker.status();
  const std::size_t list_bytes = device_faces_bytes(landmarker.value()->landmarks());
  std::unique_ptr<SampledLandmarker> made(
      new SampledLandmarker(std::move(landmarker.value()), samples));
  if (samples > 1) {
    auto rows = DeviceBuffer<std::uint8_t>::create(static_cast<std::size_t>(samples) * list_bytes);
    if (!rows.ok()) return rows.status();
    made->rows_ = std::move(rows.value());
  }
  return Result<std::unique_ptr<SampledLandmarker>>(std::move(made));
}

Status SampledLandmarker::enqueue(ImageView<const std::uint8_t> luma, const DeviceFaces* in,
                                  const BoxMap& map, DeviceFaces* out, Launcher launch,
                                  const RollState* rolls) {
  if (samples_ == 1) return landmarker_->enqueue(luma, in, map, out, launch, rolls);
  if (!in || !out) return {StatusCode::kInvalidArgument, "landmarks: no faces"};
  const Result<SampleMaps> maps = make_sample_maps(map, samples_);
  if (!maps.ok()) return maps.status();
  const Rows samples{rows_.data(), device_faces_bytes(landmarker_->landmarks())};
  const auto lists = static_cast<unsigned>(samples_);
  if (Status s = launch("landmarks: samples", spread_samples, {lists, kMaxFaces}, in, maps.value(),
                        samples, rolls);
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
