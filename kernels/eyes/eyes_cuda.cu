#include <limits>
#include <utility>
#include <vector>

#include "kernels/common/cuda/raw.cuh"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/lanes.h"
#include "kernels/common/try.h"
#include "kernels/eyes/eyes.h"
#include "kernels/eyes/eyes_cuda.h"
#include "kernels/pyramid/tap.h"

namespace cuface::cuda {
namespace {

using eyes::kHeight;
using eyes::kWidth;

constexpr int kCutThreads = 256, kPlaceThreads = 128;

/// A block a face: the part of the picture in which its eyes are.
__global__ void __launch_bounds__(kCutThreads)
    cut_parts(ImageView<const std::uint8_t> luma, const DeviceFaces* faces, std::uint8_t* parts,
              std::int32_t* due, DeviceFaces* found) {
  __shared__ Raw<LinearResize::Tap[kWidth]> columns;
  __shared__ Raw<LinearResize::Tap[kHeight]> rows;
  const int face = static_cast<int>(blockIdx.x);
  const Rect part = face < faces->count
                        ? eyes::upper_part(faces->faces[face].box, luma.width, luma.height)
                        : Rect{};
  const BlockLanes lanes;
  lanes.once([&] {
    due[face] = part.w > 0;
    found[face].count = 0;
  });
  if (part.w == 0) return;
  lanes.each(kWidth, [&](int x) { columns.get()[x] = resize_tap(x, part.w, kWidth); });
  lanes.each(kHeight, [&](int y) { rows.get()[y] = resize_tap(y, part.h, kHeight); });
  std::uint8_t* const to = parts + face * kWidth * kHeight;
  lanes.each(kWidth * kHeight, [&](int i) {
    const LinearResize::Tap column = columns.get()[i % kWidth], row = rows.get()[i / kWidth];
    to[i] =
        LinearResize::blend(LinearResize::along_row(luma.row(part.y + row.first) + part.x, column),
                            LinearResize::along_row(luma.row(part.y + row.second) + part.x, column),
                            row.weight_first, row.weight_second);
  });
}

/// A block a face.
__global__ void __launch_bounds__(kPlaceThreads)
    place_starts(const DeviceFaces* faces, int width, int height, const DeviceFaces* found,
                 const eyes::EyePair pair, const Point* mean, int points, Point* starts) {
  __shared__ Raw<Similarity> shared;
  __shared__ bool has_eyes;
  const int face = static_cast<int>(blockIdx.x);
  if (face >= faces->count) return;
  const BlockLanes lanes;
  lanes.once([&] {
    const Box& box = faces->faces[face].box;
    const DeviceFaces& finds = found[face];
    Similarity map;
    has_eyes = eyes::onto_eyes(
        pair, box, eyes::upper_part(box, width, height), finds.count,
        [&](int k) { return finds.faces[k].box; }, map);
    shared.get() = map;
  });
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  lanes.each(points, [&](int i) {
    starts[face * points + i] = has_eyes ? shared.get().apply(mean[i]) : Point{kNone, kNone};
  });
}

}  // namespace

Result<std::unique_ptr<EyeStart>> EyeStart::create(std::shared_ptr<const CascadeModel> cascade,
                                                   const ShapeModel& model, const StopFlag& stop) {
  const std::vector<Point> mean = mean_points(model);
  CUFACE_TAKE(pair, eyes::eyes_of(model, mean));
  CUFACE_TAKE(detector, Detector::create(std::move(cascade), eyes::search_config(), kWidth, kHeight,
                                         Scratch::create, &stop));
  std::unique_ptr<EyeStart> made(new EyeStart(std::move(detector), pair, model.points));
  CUFACE_TRY(made->allocate(mean));
  return Result<std::unique_ptr<EyeStart>>(std::move(made));
}

Status EyeStart::allocate(const std::vector<Point>& mean) {
  CUFACE_TRY(take(upload(mean), mean_));
  CUFACE_TRY(take(DeviceBuffer<Point>::create(kMaxFaces * mean.size()), starts_));
  CUFACE_TRY(take(DeviceBuffer<std::uint8_t>::create(kMaxFaces * kWidth * kHeight), parts_));
  CUFACE_TRY(take(DeviceBuffer<std::int32_t>::create(kMaxFaces), due_));
  return take(DeviceBuffer<DeviceFaces>::create(kMaxFaces), found_);
}

Status EyeStart::enqueue(ImageView<const std::uint8_t> luma, const DeviceFaces* faces,
                         Launcher launch) {
  CUFACE_TRY(launch("eyes: parts", cut_parts, {kMaxFaces, kCutThreads}, luma, faces, parts_.data(),
                    due_.data(), found_.data()));
  for (int i = 0; i < kMaxFaces; ++i) {
    const ImageView<const std::uint8_t> part{parts_.data() + i * kWidth * kHeight, kWidth, kHeight,
                                             kWidth};
    CUFACE_TRY(detector_->enqueue(part, due_.data() + i, found_.data() + i, launch));
  }
  return launch("eyes: starts", place_starts, {kMaxFaces, kPlaceThreads}, faces, luma.width,
                luma.height, found_.data(), pair_, mean_.data(), points_, starts_.data());
}

}  // namespace cuface::cuda
