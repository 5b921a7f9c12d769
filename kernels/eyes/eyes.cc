#include "kernels/eyes/eyes.h"

#include <algorithm>
#include <utility>

#include "kernels/common/try.h"
#include "kernels/detect/boxes.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface {
namespace eyes {
namespace {

Point middle(std::span<const Point> shape, int first, int count) {
  Point sum;
  for (const Point& p :
       shape.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)))
    sum = {sum.x + p.x, sum.y + p.y};
  return {sum.x / static_cast<float>(count), sum.y / static_cast<float>(count)};
}

}  // namespace

Result<EyePair> eyes_of(const ShapeModel& model, std::span<const Point> mean) {
  const Eyes eyes = scheme_for(&model.scheme, model.points).eyes;
  if (eyes.count == 0)
    return Status(
        StatusCode::kUnsupported,
        "start=eyes: which points of this model are the eyes is not known; set start=box, "
        "or tell it by cuface-model convert --scheme");
  return EyePair{{middle(mean, eyes.left, eyes.count), middle(mean, eyes.right, eyes.count)}};
}

}  // namespace eyes

Result<std::unique_ptr<EyeStart>> EyeStart::create(std::shared_ptr<const CascadeModel> cascade,
                                                   const ShapeModel& model, const StopFlag& stop) {
  std::vector<Point> mean = mean_points(model);
  CUFACE_TAKE(pair, eyes::eyes_of(model, mean));
  CUFACE_TAKE(detector, Detector::create(Backend::kCpu, std::move(cascade), eyes::search_config(),
                                         eyes::kWidth, eyes::kHeight, &stop));
  return std::unique_ptr<EyeStart>(new EyeStart(std::move(detector), std::move(mean), pair));
}

Result<bool> EyeStart::find(ImageView<const std::uint8_t> luma, const Box& box,
                            std::span<Point> out) {
  const Rect part = eyes::upper_part(box, luma.width, luma.height);
  if (part.w == 0) return false;
  resize_linear_exact({luma.row(part.y) + part.x, part.w, part.h, luma.stride}, part_.view());
  CUFACE_TRY(detector_->enqueue(part_.view(), found_));
  Similarity map;
  const auto box_of = [&](int k) { return as_box(found_.faces[static_cast<std::size_t>(k)].box); };
  if (!eyes::onto_eyes(pair_, box, part, static_cast<int>(found_.faces.size()), box_of, map))
    return false;
  std::transform(mean_.begin(), mean_.end(), out.begin(), [&](Point p) { return map.apply(p); });
  return true;
}

}  // namespace cuface
