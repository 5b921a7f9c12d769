#include "kernels/shape/cuda/searcher.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/common/try.h"

namespace cuface::cuda {
namespace {

/// Pixels of a window's side at level 0 at most. `along`: how far the mean shape's size reaches in
/// this direction. A window's edges are rounded to the picture's pixels, each of less than
/// model.size pixels there.
int most_pixels(const ShapeTables& model, double along) {
  const double reach = 2 * model.window * model.size;
  const double side = reach / (model.start_scale * std::abs(along)) + model.size + 2;
  return side < kMaxShapeWindow ? static_cast<int>(std::ceil(side)) : kMaxShapeWindow;
}

Status refused(const char* why) { return {StatusCode::kInvalidArgument, why}; }

}  // namespace

Result<std::unique_ptr<ShapeSearcher>> ShapeSearcher::create(
    std::shared_ptr<const DeviceShape> model, int faces, bool follows) {
  if (!model || faces < 1) return refused("shape: no model, or no faces");
  CUFACE_TAKE(shape, search_shape(*model));
  std::unique_ptr<ShapeSearcher> made(new ShapeSearcher(std::move(model), shape));
  CUFACE_TRY(made->allocate(faces, follows));
  return Result<std::unique_ptr<ShapeSearcher>>(std::move(made));
}

Status ShapeSearcher::allocate(int faces, bool follows) {
  follows_ = follows;
  const ShapeTables& model = model_->tables();
  const auto count = static_cast<std::size_t>(faces);
  const std::size_t points = count * static_cast<std::size_t>(model.constraint.points);
  const auto rounds = static_cast<std::size_t>(model.rounds());
  // Points that are followed may be a face of any size.
  int width = follows ? kMaxShapeWindow : most_pixels(model, model_->size_across());
  int height = follows ? kMaxShapeWindow : most_pixels(model, model_->size_down());
  std::int64_t bytes = 0;
  for (int i = 0; i < model.levels; ++i) {
    work_.rooms[i] = {bytes, (width + 15) / 16 * 16};
    bytes += work_.rooms[i].stride * height;
    width = width / 2 + 1;
    height = height / 2 + 1;
  }
  CUFACE_TRY(take(DeviceBuffer<FaceJob>::create(count), jobs_));
  CUFACE_TRY(take(DeviceBuffer<std::int32_t>::create(ShapeWork::kCounts), counts_));
  CUFACE_TRY(
      take(DeviceBuffer<std::int32_t>::create(count * static_cast<std::size_t>(model.levels)),
           strongest_));
  CUFACE_TRY(take(DeviceBuffer<ShapePoint>::create(points * (rounds + 1)), points_));
  CUFACE_TRY(take(DeviceBuffer<FoundPoint>::create(points * rounds), found_));
  CUFACE_TRY(
      take(DeviceBuffer<double>::create(count * static_cast<std::size_t>(model.constraint.modes)),
           weights_));
  CUFACE_TRY(take(DeviceBuffer<double>::create(points), costs_));
  if (model.constraint.least_weight < 1) {
    const int sums = shape::ConstraintMemory::weighed_sums_of(model.constraint.modes);
    CUFACE_TRY(
        take(DeviceBuffer<double>::create(count * static_cast<std::size_t>(sums)), sums_of_faces_));
  }
  CUFACE_TRY(
      take(DeviceBuffer<std::uint8_t>::create(count * static_cast<std::size_t>(bytes)), pictures_));
  work_.jobs = jobs_.data();
  work_.counts = counts_.data();
  work_.strongest = strongest_.data();
  work_.points = points_.data();
  work_.found = found_.data();
  work_.weights = weights_.data();
  work_.costs = costs_.data();
  work_.sums_of_faces = sums_of_faces_.data();
  work_.pictures = pictures_.data();
  work_.picture_bytes = bytes;
  work_.faces = faces;
  work_.rounds = model.rounds();
  work_.landmarks = model.constraint.points;
  return {};
}

Status ShapeSearcher::enqueue(std::span<const ShapeFrame> frames, Launcher launch) const {
  if (frames.empty() || frames.size() > kMostFrames)
    return refused("shape: no frame, or too many of them");
  ShapeFrames all{};
  all.follows = follows_;
  for (const ShapeFrame& frame : frames) {
    if (!frame.luma.data || frame.luma.width < 1 || frame.luma.height < 1 || !frame.in ||
        !frame.out)
      return refused("shape: no picture, or no faces");
    all.frame[all.count++] = frame;
  }
  CUFACE_TRY(start_searches(*model_, work_, all, launch));
  CUFACE_TRY(make_levels(*model_, shape_, work_, all, launch));
  return search_all(*model_, shape_, work_, all, launch);
}

}  // namespace cuface::cuda
