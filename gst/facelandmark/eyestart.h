// Where a shape model starts by the eyes: they are searched for in the upper part of the face's
// box, which is scaled to one size first. On the CPU.
#pragma once

#include <memory>
#include <span>

#include "kernels/cascade/cascade.h"
#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/detect/detect.h"
#include "kernels/shape/shape_model.h"

namespace cuface::gst {

class EyeStart {
 public:
  /// `cascade` finds an eye of either side. kUnsupported where the model's scheme has no eyes:
  /// where to start is not known then.
  static Result<std::unique_ptr<EyeStart>> create(std::shared_ptr<const CascadeModel> cascade,
                                                  const ShapeModel& model, const StopFlag& stop);

  /// The model's mean shape, turned, scaled and moved so that its eyes are where those of the face
  /// are, in pixels of `luma`. False, and `out` untouched, where not both eyes are found: one on
  /// either side of the box's middle, apart as eyes are. Of several on a side that with the most
  /// neighbours.
  Result<bool> find(ImageView<const std::uint8_t> luma, const Box& box, std::span<Point> out);

 private:
  EyeStart(std::unique_ptr<Detector> detector, std::vector<Point> mean, Point left, Point right);

  const std::unique_ptr<Detector> detector_;
  const std::vector<Point> mean_;
  const Point left_, right_;  ///< the eyes of the mean shape
  Image<std::uint8_t> part_;
  DetectResult found_;
};

}  // namespace cuface::gst
