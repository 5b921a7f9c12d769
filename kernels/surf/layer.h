// A layer: one size of the wavelets, and what is computed at its places.
#pragma once

#include <cmath>

#include "kernels/common/image.h"
#include "kernels/features/features.h"
#include "kernels/surf/rules.h"

namespace cuface::surf {

/// A layer of a picture: a place each `step` pixels. Places at its sides, `margin` of them, have no
/// answer: the wavelets do not fit there.
struct LayerPlan {
  int size = 0, step = 0, columns = 0, rows = 0, margin = 0;
  int across = 0, down = 0;  ///< places with an answer
  WaveletBox xx[3], yy[3], xy[4];

  /// Layer `index` of an octave, of a picture of this size.
  LayerPlan(int octave, int index, int width, int height);

  /// The determinant of the Hessian, and its trace. Of a place that has an answer.
  struct Answer {
    float determinant, trace;
  };
  Answer answer_at(const ImageView<const std::uint32_t>& sums, int x, int y) const {
    const int left = (x - margin) * step, top = (y - margin) * step;
    const float dx = answer(xx, sums, left, top), dy = answer(yy, sums, left, top),
                dxy = answer(xy, sums, left, top);
    return {dx * dy - 0.81f * dxy * dxy, dx + dy};
  }
};

/// Determinants around a place: of the layer below, its own and the one above, row by row.
struct ScaleNeighbours {
  float at[3][3][3];
  float centre() const { return at[1][1][1]; }
  /// Greater than all 26 around it.
  bool is_maximum() const;
};

/// The keypoint of a maximum of layers[1], at the top of the parabola through its surroundings.
/// False where that is too far away.
bool keypoint_at(const LayerPlan* layers, const ScaleNeighbours& around, int octave, int x, int y,
                 Keypoint& out);

inline int sign_of(float trace) { return (trace > 0) - (trace < 0); }

}  // namespace cuface::surf
