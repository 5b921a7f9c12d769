// Several flat objects in the frames of a video: each is followed, and those that are not visible
// are looked for among the frame's keypoints.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/features/features.h"
#include "kernels/keypoints/keypoints.h"
#include "kernels/match/match.h"
#include "kernels/planar/planar.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface {

struct PlanarSearchConfig {
  PlanarConfig planar;
  FeatureConfig features;  ///< of frames, where nobody has found their keypoints
  /// Lowe's ratio. If descriptors have signs, light blobs match only light blobs [S2.13].
  MatchConfig match{.ratio = 0.85f};
  int interval = 1;  ///< frames from one search to the next, at least; >= 1
};

/// kInvalidArgument, with the value's name, where one is out of its range.
Status validate(const PlanarSearchConfig& config);

/// The objects of frames of one size. One thread at a time.
class PlanarObjects {
 public:
  /// What is looked for. The picture is copied. The features must outlive the PlanarObjects, and
  /// have the frames' kind of descriptor.
  struct Reference {
    ImageView<const std::uint8_t> picture;
    const Features* features;
  };
  struct Object {
    PlanarTracker tracker;
    const Features* features;
    std::uint64_t id = 0;  ///< 0 until it is found; then for good. They count from 1 on.
  };

  /// For frames of a size that resize() is yet to say. `ids`, of as many as references or none:
  /// those that others have given them. Errors as validate() and PlanarTracker::create().
  static Result<PlanarObjects> create(const std::vector<Reference>& references,
                                      const PlanarSearchConfig& config,
                                      const std::vector<std::uint64_t>& ids = {});

  /// Frames have this size from now on. Nothing is visible; ids stay. Errors as
  /// FeatureFinder::create().
  Status resize(int width, int height);

  /// Tracks visible objects and, on each interval-th frame, searches for the others. Call resize()
  /// first. `now`: the pyramid of frame number `frame`. `before`: that of the frame before; if it
  /// is null, no object is visible any more. `known`: the frame's keypoints, of which no copy is
  /// kept; if null, they are found here when needed. kCancelled, with some of the objects, once
  /// `stop` is raised.
  Status step(GaussianPyramid* before, GaussianPyramid& now, const Features* known,
              std::uint64_t frame, const StopFlag* stop = nullptr);

  /// Forgets where they were: nothing is visible until the next step; ids stay.
  void lose();

  /// Whether the last step looked for something by descriptors.
  bool searched() const { return searched_; }
  /// In the order of the references.
  const std::vector<Object>& objects() const { return objects_; }
  std::vector<std::uint64_t> ids() const;  ///< 0 of those that have none yet

 private:
  PlanarObjects(const PlanarSearchConfig& config, Matcher bytes, Matcher floats)
      : config_(config), match_bytes_(std::move(bytes)), match_floats_(std::move(floats)) {}
  Status search(Object& object, const Features& features, GaussianPyramid& now, std::uint64_t seed,
                const StopFlag* stop);

  PlanarSearchConfig config_;
  std::vector<Object> objects_;
  std::optional<PlanarScratch> scratch_;
  std::optional<FeatureFinder> finder_;
  Matcher match_bytes_, match_floats_;
  Features found_;
  std::vector<Match> matches_;
  std::vector<Point> in_picture_, in_frame_;
  std::vector<float> turns_;
  std::uint64_t ids_ = 0;
  bool searched_ = false;
};

}  // namespace cuface
