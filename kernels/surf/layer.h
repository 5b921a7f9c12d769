// A layer: one size of the wavelets, and the determinants at its places.
#pragma once

#include <math.h>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/features/features.h"
#include "kernels/surf/rules.h"

namespace cuface::surf {

/// kInvalidArgument for a picture without pixels or of more than kMostSurfPixels.
Status validate_size(int width, int height);

/// The determinant of the Hessian, and its trace.
struct Answer {
  float determinant, trace;
};

CUFACE_HD inline Answer answer_of(float dx, float dy, float dxy) {
  return {dx * dy - 0.81f * dxy * dxy, dx + dy};
}

/// How far determinants may be apart that are computed from whole numbers, all of a wavelet less
/// three times its middle, or as answer_at() does. Each second derivative is at most 510.
/// Both ways round one by less than 3.1e-4 in all: four roundings of 2^-24 of parts that are at
/// most 1,020 together. So a product of two is off by 0.32 at most, 0.81 times a square by 0.26,
/// and what is left is less than 0.14.
inline constexpr float kTolerance = 0.75f;
/// Above it a wavelet's sum may not fit into 32 bits.
inline constexpr int kMostWholeSize = 2048;

/// Where a layer's places are in the picture: one each `step` pixels, the first of them beyond a
/// margin.
struct LayerScale {
  int size = 0, step = 0, margin = 0;
};

/// A layer of a picture. Places at its sides, `margin` of them, have no answer: the wavelets do not
/// fit there.
struct LayerPlan : LayerScale {
  int columns = 0, rows = 0;
  int across = 0, down = 0;  ///< places with an answer
  WaveletBox xx[3], yy[3], xy[4];

  /// Layer `index` of an octave, of a picture of this size.
  LayerPlan(int octave, int index, int width, int height);

  /// The place must have an answer.
  Answer answer_at(const ImageView<const std::uint32_t>& sums, int x, int y) const {
    const int left = (x - margin) * step, top = (y - margin) * step;
    return answer_of(answer(xx, sums, left, top), answer(yy, sums, left, top),
                     answer(xy, sums, left, top));
  }
};

/// Determinants around a place: of the layer below, its own and the one above, row by row.
struct ScaleNeighbours {
  float at[3][3][3];
  CUFACE_HD float centre() const { return at[1][1][1]; }
  /// Greater than all 26 around it.
  CUFACE_HD bool is_maximum() const {
    for (int layer = 0; layer < 3; ++layer)
      for (int v = 0; v < 3; ++v)
        for (int u = 0; u < 3; ++u)
          if (!(layer == 1 && v == 1 && u == 1) && !(centre() > at[layer][v][u])) return false;
    return true;
  }
};

/// The keypoint of a maximum of `layer`, at the top of the parabola through its surroundings;
/// `size_below` is that of the layer below. False where the top is too far away.
CUFACE_HD inline bool keypoint_at(const LayerScale& layer, int size_below,
                                  const ScaleNeighbours& around, int octave, int x, int y,
                                  Keypoint& out) {
  const auto n = [&](int l, int u, int v) { return around.at[l][v + 1][u + 1]; };
  const float b[3] = {-(n(1, 1, 0) - n(1, -1, 0)) / 2, -(n(1, 0, 1) - n(1, 0, -1)) / 2,
                      -(n(2, 0, 0) - n(0, 0, 0)) / 2};
  const float xy = (n(1, 1, 1) - n(1, -1, 1) - n(1, 1, -1) + n(1, -1, -1)) / 4;
  const float xs = (n(2, 1, 0) - n(2, -1, 0) - n(0, 1, 0) + n(0, -1, 0)) / 4;
  const float ys = (n(2, 0, 1) - n(2, 0, -1) - n(0, 0, 1) + n(0, 0, -1)) / 4;
  const float a[3][3] = {{n(1, -1, 0) - 2 * n(1, 0, 0) + n(1, 1, 0), xy, xs},
                         {xy, n(1, 0, -1) - 2 * n(1, 0, 0) + n(1, 0, 1), ys},
                         {xs, ys, n(0, 0, 0) - 2 * n(1, 0, 0) + n(2, 0, 0)}};
  float by[3];
  if (!solve(a, b, by)) return false;
  const bool moves = by[0] != 0 || by[1] != 0 || by[2] != 0;
  if (!moves || !(fabsf(by[0]) <= 1 && fabsf(by[1]) <= 1 && fabsf(by[2]) <= 1)) return false;
  const auto centre = [&](int v) {
    return static_cast<float>(layer.step * (v - layer.margin)) +
           static_cast<float>(layer.size - 1) * 0.5f;
  };
  const auto step = static_cast<float>(layer.step);
  out = {centre(x) + by[0] * step, centre(y) + by[1] * step, 0, 0, around.centre(), octave};
  out.size = nearbyintf(static_cast<float>(layer.size) +
                        by[2] * static_cast<float>(layer.size - size_below));
  return true;
}

CUFACE_HD inline int sign_of(float trace) { return (trace > 0) - (trace < 0); }

}  // namespace cuface::surf
