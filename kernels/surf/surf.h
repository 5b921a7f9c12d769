// surf: keypoints where the determinant of the Hessian has a maximum in place and scale, and
// descriptors of 64 or 36 sums of gradients, as OpenCV's SURF has 64 [S2.04 to S2.06, S2.09,
// S2.14]. Only in a build with the option `surf`: docs/design/surf.md says why. In others all that
// is here gives kUnsupported.
//
// hessian.h: where keypoints are, plainly; vector.h: the same by vectors; layer.h: one size of
// them. describe.h: their directions and descriptors; window.h: of what, plainly and by vectors;
// rules.h: formulas.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/features/features.h"

namespace cuface {

inline constexpr int kMostSurfOctaves = 8, kMostSurfLayers = 16;
/// Most pixels of a picture, so that its sums fit into 32 bits.
inline constexpr std::int64_t kMostSurfPixels = std::int64_t{1} << 24;

/// Whether the build has the option `surf`.
bool has_surf();

/// Least size of a keypoint that is described, so that its window is larger than the descriptor's
/// pixels.
inline constexpr float kLeastSurfSize = 7.5f;

/// What a descriptor's gradients are of: differences of a window that is resized, as OpenCV does
/// it, or wavelets at each place [S2.04], of sums or of a mipmap [S2.02].
enum class SurfSampling { kPatch, kIntegral, kMipmap };

/// How a direction is found [S2.14]: the longest sum of gradients in 72 windows of 60 degrees, as
/// OpenCV does it; in such a window from each gradient on, as Bay describes it; or the way to the
/// centroid of grey levels.
enum class SurfOrientation { kHaar, kSliding, kCentroid };

/// Cells of 5 x 5 gradients side by side, or of 9 x 9 that overlap by 4, each with a Gaussian of
/// its own, and one over the cells [S2.15].
enum class SurfWindow { kGrid, kOverlap };

/// How gradients, sums, lengths and floats of a descriptor are kept [S2.08]: as floats, as halves,
/// or in the published code for numbers from -128 to 128, whose fraction is cut to 8, 10, 13, 16,
/// 23 or 24 bits.
enum class SurfPrecision { kFp32, kFp16, k8, k10, k13, k16, k23, k24 };

struct SurfConfig {
  int max_keypoints = 1020;  ///< 1 to kMostKeypoints: the strongest
  float threshold = 100;     ///< of the determinant, 0 or more
  int octaves = 4;           ///< 1 to kMostSurfOctaves
  int layers = 3;            ///< of an octave, 1 to kMostSurfLayers
  bool upright = false;      ///< the direction is 270 degrees
  /// Floats of a descriptor: 64, or 36 of a window that is three quarters as wide [S2.07].
  int descriptor_size = 64;
  SurfSampling sampling = SurfSampling::kPatch;
  SurfOrientation orientation = SurfOrientation::kHaar;
  SurfWindow window = SurfWindow::kGrid;
  SurfPrecision precision = SurfPrecision::kFp32;
  friend bool operator==(const SurfConfig&, const SurfConfig&) = default;
};

/// kInvalidArgument, with the value's name, where one is out of the range that SurfConfig gives it.
Status validate(const SurfConfig& config);

/// Finds and describes keypoints. Allocates when it meets larger pictures than before; serves one
/// thread at a time.
class SurfDetector {
 public:
  SurfDetector(SurfDetector&&) noexcept = default;
  SurfDetector& operator=(SurfDetector&&) noexcept = default;

  static Result<SurfDetector> create(const SurfConfig& config);

  /// `out` := the strongest keypoints, by response, then size, octave, larger y, smaller x.
  /// Keypoints around which no gradient can be sampled are left out before the strongest are
  /// chosen. kInvalidArgument: a picture without pixels or of more than kMostSurfPixels.
  /// kCancelled, with nothing, once `stop` is raised.
  Status run(ImageView<const std::uint8_t> grey, FloatFeatures& out,
             const StopFlag* stop = nullptr);

  /// `out` := those of `given` that are in the picture, of kLeastSurfSize to its shorter side, and
  /// in whose surroundings a gradient can be sampled, in their order: with directions, sign 0 and
  /// descriptors. The configuration's `upright` counts. Errors as run(), and kInvalidArgument where
  /// more than kMostKeypoints are given.
  Status describe(ImageView<const std::uint8_t> grey, std::span<const Keypoint> given,
                  FloatFeatures& out, const StopFlag* stop = nullptr);

 private:
  class Impl;
  explicit SurfDetector(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;  ///< its only owner; a build without SURF does not know Impl
};

}  // namespace cuface
