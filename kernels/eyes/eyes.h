// eyes: where the search of a shape model starts. The eyes are searched for in the upper part of
// the face's box, which is scaled to one size first. Rules of both processors: eye_rules.h.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/cascade/cascade.h"
#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/detect/detect.h"
#include "kernels/eyes/eye_rules.h"
#include "kernels/shape/shape_model.h"

namespace cuface {

class EyeStart {
 public:
  /// `cascade` finds an eye of either side. kUnsupported where the model's scheme has no eyes:
  /// where to start is not known then.
  static Result<std::unique_ptr<EyeStart>> create(std::shared_ptr<const CascadeModel> cascade,
                                                  const ShapeModel& model, const StopFlag& stop);

  /// The model's mean shape, turned, scaled and moved so that its eyes are where those of the face
  /// are, in pixels of `luma`. False, and `out` untouched, where not both eyes are found: one on
  /// either side of the box's middle, apart as eyes are. If there are several on a side, the one
  /// with the most neighbours.
  Result<bool> find(ImageView<const std::uint8_t> luma, const Box& box, std::span<Point> out);

 private:
  EyeStart(std::unique_ptr<Detector> detector, std::vector<Point> mean, const eyes::EyePair& pair)
      : detector_(std::move(detector)),
        mean_(std::move(mean)),
        pair_(pair),
        part_(eyes::kWidth, eyes::kHeight) {}

  const std::unique_ptr<Detector> detector_;
  const std::vector<Point> mean_;
  const eyes::EyePair pair_;  ///< of the mean shape
  Image<std::uint8_t> part_;
  DetectResult found_;
};

namespace eyes {

/// How a part is searched.
inline DetectConfig search_config() {
  DetectConfig config;
  config.min_neighbors = 1;
  return config;
}

/// The eyes of a model's mean shape. kUnsupported as EyeStart::create().
Result<EyePair> eyes_of(const ShapeModel& model, std::span<const Point> mean);

}  // namespace eyes
}  // namespace cuface
