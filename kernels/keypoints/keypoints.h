// keypoints: one of the detectors and one of the descriptors, chosen by name: FAST and ORB always,
// the Hessian and SURF in builds with the option `surf` [S2.09, S2.10, S2.17].
#pragma once

#include <optional>

#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/features/features.h"
#include "kernels/orb/orb.h"
#include "kernels/surf/surf.h"

namespace cuface {

enum class FeatureDetector { kFast, kHessian };
enum class FeatureDescriptor { kOrb, kSurf };

/// Pictures whose descriptors are compared have the same one.
struct FeatureConfig {
  FeatureDetector detector = FeatureDetector::kFast;
  FeatureDescriptor descriptor = FeatureDescriptor::kOrb;
  OrbConfig orb = {};  ///< counts with FAST
  /// Counts with the Hessian; with FAST and SURF's descriptor only what directions and descriptors
  /// are made of does.
  SurfConfig surf = {};

  /// The floats of a descriptor; 0: it has bytes.
  int floats() const { return descriptor == FeatureDescriptor::kSurf ? surf.descriptor_size : 0; }
  friend bool operator==(const FeatureConfig&, const FeatureConfig&) = default;
};

/// kInvalidArgument, with the value's name, where one is out of range, or where the detector is
/// kHessian and the descriptor kOrb: ORB describes keypoints of the levels of its own pyramid.
/// kUnsupported where the Hessian or SURF is asked for and !has_surf().
Status validate(const FeatureConfig& config);

/// Finds and describes the keypoints of pictures of one size, on the CPU. Serves one thread at a
/// time.
class FeatureFinder {
 public:
  /// As validate(), and kInvalidArgument where the size is none that the detector takes.
  static Result<FeatureFinder> create(const FeatureConfig& config, int width, int height);

  /// `out` := the keypoints, in the detector's order, with bytes or floats. FAST's keypoints in
  /// whose surroundings SURF can sample no gradient are left out. Errors as those of the detectors.
  Status run(ImageView<const std::uint8_t> grey, Features& out, const StopFlag* stop = nullptr);

 private:
  FeatureFinder() = default;

  std::optional<OrbDetector> orb_;
  std::optional<SurfDetector> surf_;
};

/// A FeatureFinder for one picture.
Status find_keypoints(const FeatureConfig& config, ImageView<const std::uint8_t> grey,
                      Features& out, const StopFlag* stop = nullptr);

}  // namespace cuface
