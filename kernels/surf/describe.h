// The direction of a keypoint, and its descriptor [S2.04 to S2.06, S2.14].
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/features/features.h"
#include "kernels/surf/mipmap.h"
#include "kernels/surf/samples.h"
#include "kernels/surf/window.h"

namespace cuface::surf {

/// Keeps its memory from keypoint to keypoint; serves one thread at a time.
class Describer {
 public:
  /// What counts of it is how directions and descriptors are made.
  explicit Describer(const SurfConfig& config);

  /// The direction of the keypoint; of an upright one 270 degrees. False where no gradient can be
  /// sampled there.
  bool orient(ImageView<const std::uint32_t> sums, Keypoint& k);

  /// Writes the floats: of each of 4 x 4 cells, or 3 x 3, the sums of dx, dy, |dx| and |dy|, of a
  /// window that is turned by the keypoint's direction and resized: to 21 x 21 pixels, or 16 x 16.
  void describe(ImageView<const std::uint8_t> grey, const Keypoint& k, float* out);

  /// The same of wavelets in the sums, two scales wide, a scale apart along the keypoint's
  /// direction. One that is not all in the picture counts for nothing.
  void describe_by_sums(ImageView<const std::uint32_t> sums, const Keypoint& k, float* out);

  /// The same of means: each quarter of a wavelet is one of them, of the level of its size.
  void describe_by_mipmap(const Mipmap& mipmap, const Keypoint& k, float* out);

 private:
  /// Sums of a Gradient at each place of a turned grid.
  template <typename Gradient>
  void describe_by(const Keypoint& k, const Gradient& gradient, float* out);
  /// Writes the sums of dx_ and dy_.
  void sum(float* out) const;
  /// The direction of the longest sum of gradients_.
  float longest_turn() const;
  float longest_window() const;
  float to_centroid(ImageView<const std::uint32_t> sums, const GradientRing& ring,
                    const Keypoint& k) const;

  bool upright_;
  SurfOrientation orientation_;
  DescriptorShape shape_;
  Coding coding_;
  std::vector<RingSample> samples_;  ///< of a direction
  std::vector<float> weights_;       ///< of a descriptor's gradients
  std::vector<float> dx_, dy_;       ///< these
  Gradients gradients_;
  WindowPlace place_{};
  WindowResize resize_;
};

}  // namespace cuface::surf
