// Where a detector that nobody has calibrated puts its boxes, learned from the first faces that it
// finds. docs/design/landmark_samples.md tells what it is worth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces.h"
#include "kernels/landmark_samples/landmark_samples.h"
#include "kernels/landmarks/landmarks.h"

namespace cuface {

/// The map is the middle of those of so many faces.
inline constexpr std::size_t kLearnedFaces = 8;
/// After so many faces, or frames, nothing more is learned: the detector finds something else, or
/// the same face again and again.
inline constexpr int kMostLessons = 32;
/// A face teaches where its samples disagree no more. They do for 19 of 20 faces, and for 2 of 100
/// places of a street without a face in them (docs/log/landmarks.md).
inline constexpr double kMostDisagreement = 0.0038;
/// A learned map scales by no more either way, and moves by no more of the box's side.
inline constexpr float kMostLearnedScale = 2;
inline constexpr float kMostLearnedShift = 0.5f;

/// A first look at one place: SampledLandmarker::look() in the picture.
using Looker =
    std::function<Result<std::optional<FirstLook>>(const Box& box, const BoxMap& map, Roll roll)>;

/// The result depends only on the faces, in their order. Nothing but learn() allocates. One thread
/// at a time.
class LearnedMap {
 public:
  bool is_done() const {
    return maps_.size() >= kLearnedFaces || lessons_ >= kMostLessons || frames_ >= kMostLessons;
  }

  /// `faces`: of a frame on which the detector ran. Each face that a search found for the first
  /// time is evaluated from boxes of several sides, then once more from the head on which a pass's
  /// samples agree best: six passes. A face that fits no head is not learned from. Errors are
  /// look()'s.
  Status learn(std::span<const Face> faces, const Looker& look);

  /// From the detector's box to the model's: the median of each parameter over the faces (the lower
  /// one of an even number), so that a few wrong faces do no harm. The identity before the first.
  const BoxMap& map() const { return map_; }

 private:
  Status look_at(const Face& face, const Looker& look);

  std::vector<BoxMap> maps_;
  int lessons_ = 0, frames_ = 0;
  std::uint64_t last_id_ = 0;  // ids grow
  BoxMap map_;
};

}  // namespace cuface
