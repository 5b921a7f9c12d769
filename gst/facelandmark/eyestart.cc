#include "gst/facelandmark/eyestart.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/common/try.h"
#include "kernels/detect/boxes.h"
#include "kernels/pyramid/pyramid.h"
#include "kernels/similarity/similarity.h"

namespace cuface::gst {
namespace {

/// The part of a box in which the eyes are, in its sides, and what it is scaled to: a face of 160
/// pixels, whose eyes fill the cascade's window of 20 one and a half times.
constexpr double kHigh = 0.6;
constexpr int kWidth = 160, kHeight = 96;
/// How far eyes are apart, in the box's width, and how much one may be above the other.
constexpr float kLeastApart = 0.25f, kMostApart = 0.65f, kMostTilt = 0.2f;

Point middle(std::span<const Point> shape, int first, int count) {
  Point sum;
  for (const Point& p :
       shape.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)))
    sum = {sum.x + p.x, sum.y + p.y};
  return {sum.x / static_cast<float>(count), sum.y / static_cast<float>(count)};
}

/// Whole pixels of the picture; empty where the box's upper part is not all in it.
Rect upper_part(const Box& box, int width, int height) {
  const auto whole = [](float v) { return static_cast<int>(std::lrint(v)); };
  constexpr float kFar = 1e6f;
  if (!(std::fabs(box.x) < kFar && std::fabs(box.y) < kFar && box.w < kFar && box.h < kFar))
    return {};
  const int left = whole(box.x), top = whole(box.y);
  Rect part{left, top, whole(box.x + box.w) - left,
            whole(box.y + static_cast<float>(kHigh) * box.h) - top};
  clip(part, width, height);
  return part;
}

}  // namespace

Result<std::unique_ptr<EyeStart>> EyeStart::create(std::shared_ptr<const CascadeModel> cascade,
                                                   const ShapeModel& model, const StopFlag& stop) {
  const Eyes eyes = scheme_for(&model.scheme, model.points).eyes;
  if (eyes.count == 0)
    return Status(
        StatusCode::kUnsupported,
        "start=eyes: which points of this model are the eyes is not known; set start=box, "
        "or tell it by cuface-model convert --scheme");
  DetectConfig config;
  config.min_neighbors = 1;
  CUFACE_TAKE(detector,
              Detector::create(Backend::kCpu, std::move(cascade), config, kWidth, kHeight, &stop));
  std::vector<Point> mean = mean_points(model);
  const Point left = middle(mean, eyes.left, eyes.count);
  const Point right = middle(mean, eyes.right, eyes.count);
  return std::unique_ptr<EyeStart>(new EyeStart(std::move(detector), std::move(mean), left, right));
}

EyeStart::EyeStart(std::unique_ptr<Detector> detector, std::vector<Point> mean, Point left,
                   Point right)
    : detector_(std::move(detector)),
      mean_(std::move(mean)),
      left_(left),
      right_(right),
      part_(kWidth, kHeight) {}

Result<bool> EyeStart::find(ImageView<const std::uint8_t> luma, const Box& box,
                            std::span<Point> out) {
  const Rect part = upper_part(box, luma.width, luma.height);
  if (part.w < 2 || part.h < 2) return false;
  resize_linear_exact({luma.row(part.y) + part.x, part.w, part.h, luma.stride}, part_.view());
  CUFACE_TRY(detector_->enqueue(part_.view(), found_));
  // The detector's order is most neighbours first.
  const Point* places[2] = {};
  Point eyes[2];
  const float sx = static_cast<float>(part.w) / kWidth, sy = static_cast<float>(part.h) / kHeight;
  const float centre = box.x + box.w / 2;
  for (const Detection& d : found_.faces) {
    const Point at{static_cast<float>(part.x) +
                       (static_cast<float>(d.box.x) + static_cast<float>(d.box.w) / 2) * sx - 0.5f,
                   static_cast<float>(part.y) +
                       (static_cast<float>(d.box.y) + static_cast<float>(d.box.h) / 2) * sy - 0.5f};
    const int side = at.x < centre ? 0 : 1;
    if (places[side]) continue;
    eyes[side] = at;
    places[side] = &eyes[side];
  }
  if (!places[0] || !places[1]) return false;
  const float across = eyes[1].x - eyes[0].x, tilt = std::fabs(eyes[1].y - eyes[0].y);
  if (!(across >= kLeastApart * box.w && across <= kMostApart * box.w && tilt <= kMostTilt * box.w))
    return false;
  const Point from[2] = {left_, right_};
  Similarity map;
  if (!fit_similarity(from, eyes, map)) return false;
  std::transform(mean_.begin(), mean_.end(), out.begin(), [&](Point p) { return map.apply(p); });
  return true;
}

}  // namespace cuface::gst
