// The direction of a keypoint, and its descriptor [S2.04 to S2.06, S2.14].
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/features/features.h"
#include "kernels/surf/mipmap.h"
#include "kernels/surf/window.h"

namespace cuface::surf {

/// Keeps its memory from keypoint to keypoint; serves one thread at a time.
class Describer {
 public:
  /// Of descriptors of 64 or 36 floats.
  explicit Describer(int floats);

  /// The direction of the strongest gradients around the keypoint; of an upright one 270 degrees.
  /// False where no gradient can be sampled there.
  bool orient(ImageView<const std::uint32_t> sums, bool upright, Keypoint& k);

  /// Writes the floats: of each of 4 x 4 cells, or 3 x 3, the sums of dx, dy, |dx| and |dy|, of a
  /// window that is turned by the keypoint's direction and resized to 21 x 21 pixels, or 16 x 16.
  void describe(ImageView<const std::uint8_t> grey, bool upright, const Keypoint& k, float* out);

  /// The same of wavelets in the sums, two scales wide, a scale apart along the keypoint's
  /// direction. One that is not all in the picture counts for nothing.
  void describe_by_sums(ImageView<const std::uint32_t> sums, const Keypoint& k, float* out) const;

  /// The same of means: each quarter of a wavelet is one of them, of the level of its size.
  void describe_by_mipmap(const Mipmap& mipmap, const Keypoint& k, float* out) const;

 private:
  int side() const { return cells_ * kCell; }
  /// Of gradient(x, y, dx, dy), which says whether there is one.
  template <typename Gradient>
  void describe_by(const Keypoint& k, Gradient gradient, float* out) const;

  struct Sample {
    int x, y;
    float weight;
  };
  static constexpr int kCell = 5;  ///< gradients along a side of a cell

  int cells_;                    ///< along a side of a window
  std::vector<Sample> samples_;  ///< of a direction
  std::vector<float> weights_;   ///< of a descriptor's gradients
  Gradients gradients_;
  WindowPlace place_;
  WindowResize resize_;
};

}  // namespace cuface::surf
