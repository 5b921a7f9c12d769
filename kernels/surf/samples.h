// Gradients at places around a keypoint, whose sums give direction and descriptor, for the CPU and
// CUDA.
#pragma once

#include <math.h>

#include <cfloat>
#include <climits>
#include <cstdint>
#include <vector>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/features/direction.h"
#include "kernels/features/features.h"
#include "kernels/surf/mipmap.h"
#include "kernels/surf/rules.h"
#include "kernels/surf/surf.h"
#include "kernels/surf/window.h"

namespace cuface::surf {

/// A gradient's place around a keypoint, in its scale, and its weight.
struct RingSample {
  int x, y;
  float weight;
};

/// Both wavelets of a size. Whether down is positive is the caller's matter.
struct Wavelets {
  int size;
  float middle;  ///< of one, from its corner
  WaveletBox across[2], down[2];

  CUFACE_HD static Wavelets of(int size, bool down_is_positive) {
    // In quarters of their side.
    constexpr WaveletPart kAcross[] = {{0, 0, 2, 4, -1}, {2, 0, 4, 4, 1}};
    constexpr WaveletPart kDown[] = {{0, 0, 4, 2, 1}, {0, 2, 4, 4, -1}};
    Wavelets out;
    out.size = size;
    out.middle = static_cast<float>(size - 1) / 2;
    for (int i = 0; i < 2; ++i) {
      out.across[i] = scaled(kAcross[i], 4, size);
      out.down[i] = scaled(kDown[i], 4, size);
      if (down_is_positive) out.down[i].weight = -out.down[i].weight;
    }
    return out;
  }
  /// Whether one around a place lies in the picture; its corner.
  CUFACE_HD bool place(const ImageView<const std::uint32_t>& sums, float at_x, float at_y, int& x,
                       int& y) const {
    x = nearest(at_x - middle);
    y = nearest(at_y - middle);
    return x >= 0 && y >= 0 && x < sums.width - size && y < sums.height - size;
  }
};

/// The gradients that give a keypoint its direction.
struct GradientRing {
  float s;
  Wavelets wavelets;

  CUFACE_HD static int size_of(float s) { return 2 * nearest(2 * s); }
  CUFACE_HD static GradientRing of(const Keypoint& k) {
    const float s = scale_of(k);
    return {s, Wavelets::of(size_of(s), false)};
  }
  CUFACE_HD bool fits(const ImageView<const std::uint32_t>& sums) const {
    return sums.height >= wavelets.size && sums.width >= wavelets.size;
  }
  CUFACE_HD bool place(const ImageView<const std::uint32_t>& sums, const Keypoint& k,
                       const RingSample& sample, int& x, int& y) const {
    return wavelets.place(sums, k.x + static_cast<float>(sample.x) * s,
                          k.y + static_cast<float>(sample.y) * s, x, y);
  }
};

/// Whether a given keypoint is in a picture of this size, and neither too small nor too large for
/// it.
CUFACE_HD inline bool can_be_described(const Keypoint& k, int width, int height) {
  const auto right = static_cast<float>(width - 1), bottom = static_cast<float>(height - 1);
  return k.x >= 0 && k.y >= 0 && k.x <= right && k.y <= bottom && k.size >= kLeastSurfSize &&
         k.size <= static_cast<float>(width < height ? width : height);
}

/// How numbers of a descriptor are kept [S2.08]. Numbers are scaled to be below 128.
struct Coding {
  SurfPrecision precision;
  float of_gradients, of_sums;  ///< what scales them

  CUFACE_HD bool is_exact() const { return precision == SurfPrecision::kFp32; }
  /// Of the fraction in the published code.
  CUFACE_HD int bits() const {
    switch (precision) {
      case SurfPrecision::k8:
        return 8;
      case SurfPrecision::k10:
        return 10;
      case SurfPrecision::k13:
        return 13;
      case SurfPrecision::k16:
        return 16;
      case SurfPrecision::k23:
        return 23;
      default:
        return 24;
    }
  }
  /// A scaled number as it is kept; `most_bits` of its fraction.
  CUFACE_HD float kept(float v, int most_bits) const {
    if (precision == SurfPrecision::kFp16) return as_half(v);
    const int fraction = bits() < most_bits ? bits() : most_bits;
    const auto steps = static_cast<float>(1 << fraction);
    const float least = -128 * steps, most = 128 * steps - 1, whole = floorf(v * steps);
    return (whole < least ? least : whole > most ? most : whole) / steps;
  }
  /// Two bytes are for a gradient, of which one has the fraction; four for others.
  CUFACE_HD float gradient(float v) const { return kept(v * of_gradients, 8); }
  CUFACE_HD float sum(float v) const { return kept(v * of_sums, 24); }

  /// The nearest number of 11 bits, whose last one is 2^-24 or more.
  CUFACE_HD static float as_half(float v) {
    constexpr float kSplit = 8193, kSmallest = 0.75f, kNormal = 6.103515625e-5f;
    if (v > -kNormal && v < kNormal) return (v + kSmallest) - kSmallest;
    const float far = v * kSplit;
    return far - (far - v);
  }
};

/// Cells of gradients. Each has the sums of dx, dy, |dx| and |dy|.
struct DescriptorShape {
  int cells;  ///< along a side
  SurfWindow window;

  static constexpr int kApart = 5;    ///< gradients from cell to cell
  static constexpr int kOverlap = 4;  ///< that two cells share
  CUFACE_HD bool overlaps() const { return window == SurfWindow::kOverlap; }
  /// Gradients along a side, of a cell and of all.
  CUFACE_HD int of_cell() const { return overlaps() ? kApart + kOverlap : kApart; }
  CUFACE_HD int side() const { return cells * kApart + (overlaps() ? kOverlap : 0); }
  CUFACE_HD int pixels() const { return side() + 1; }  ///< along a side of a resized window
  CUFACE_HD int floats() const { return 4 * cells * cells; }

  /// The sums of a cell's gradients in one direction, and of their sizes. `gradients` has side() x
  /// side() values, and weights are those of descriptor_weights().
  CUFACE_HD void add(const float* gradients, const float* weights, const Coding& coding, int cell,
                     float& sum, float& size) const {
    const int width = of_cell(), first = (cell / cells * side() + cell % cells) * kApart;
    sum = size = 0;
    for (int v = 0; v < width; ++v) {
      for (int u = 0; u < width; ++u) {
        const int i = first + v * side() + u;
        float gradient = gradients[i] * weights[overlaps() ? v * width + u : i];
        if (!coding.is_exact()) gradient = coding.gradient(gradient);
        sum += gradient;
        size += fabsf(gradient);
      }
    }
    if (!coding.is_exact()) {
      sum = coding.sum(sum);
      size = coding.sum(size);
    }
    if (!overlaps()) return;
    const float of_this = weights[width * width + cell];
    sum *= of_this;
    size *= of_this;
  }
};
inline constexpr int kMostCells = 16, kMostSide = 24;

/// What becomes of sums, once the sum of their squares is known: a descriptor of unit length.
struct Normalisation {
  float by;  ///< a factor, or what divides
  CUFACE_HD static Normalisation of(double squares, const Coding& coding) {
    if (coding.is_exact())
      return {static_cast<float>(1. / (sqrt(squares) + static_cast<double>(FLT_EPSILON)))};
    return {coding.kept(static_cast<float>(sqrt(squares)), 24)};
  }
  CUFACE_HD float of(float sum, const Coding& coding) const {
    if (coding.is_exact()) return sum * by;
    return by > 0 ? coding.kept(sum / by, 24) : 0;
  }
};

/// The longest of several sums; of equally long ones the first.
struct Longest {
  float length = 0, x = 0, y = 0;
  int number = INT_MAX;

  CUFACE_HD void take(float of_x, float of_y, int of_number) {
    const float of_length = of_x * of_x + of_y * of_y;
    if (!(of_length > length || (of_length == length && of_number < number))) return;
    length = of_length;
    x = of_x;
    y = of_y;
    number = of_number;
  }
  /// Where it points to; sums have a y that points up.
  CUFACE_HD float direction() const { return cuface::direction(-y, x); }
};

/// The window of Bay's search that begins at a gradient's direction: whether another is in it.
CUFACE_HD inline bool is_in_window(float degrees, float begin) {
  const float apart = degrees - begin;
  return (apart < 0 ? apart + 360 : apart) < static_cast<float>(kWindowDegrees);
}

/// The grey levels around a ring's sample, as sums of boxes a scale wide: what a centroid is of.
struct RingBoxes {
  int width;

  CUFACE_HD static RingBoxes of(float s) { return {nearest(s) < 1 ? 1 : nearest(s)}; }
  /// 0 where the box is not all in the picture.
  CUFACE_HD std::int64_t at(const ImageView<const std::uint32_t>& sums, float at_x,
                            float at_y) const {
    const float middle = static_cast<float>(width - 1) / 2;
    const int x = nearest(at_x - middle), y = nearest(at_y - middle);
    if (x < 0 || y < 0 || x + width >= sums.width || y + width >= sums.height) return 0;
    const std::uint32_t *above = sums.row(y) + x, *below = sums.row(y + width) + x;
    return static_cast<std::int64_t>(above[0] + below[width] - above[width] - below[0]);
  }
};

/// The gradient between four pixels of a resized window.
CUFACE_HD inline void window_gradient(const std::uint8_t* above, int pixels, float& dx, float& dy) {
  const std::uint8_t* below = above + pixels;
  dx = static_cast<float>(above[1] - above[0] + below[1] - below[0]);
  dy = static_cast<float>(below[0] - above[0] + below[1] - above[1]);
}

/// Wavelets in sums, two scales wide.
struct SumsGradient {
  ImageView<const std::uint32_t> sums;
  Wavelets wavelets;

  CUFACE_HD SumsGradient(const ImageView<const std::uint32_t>& of, float s)
      : sums(of), wavelets(Wavelets::of(2 * (nearest(s) < 1 ? 1 : nearest(s)), true)) {}
  /// 0 where it is not all in the picture.
  CUFACE_HD void at(float at_x, float at_y, float& dx, float& dy) const {
    int x, y;
    dx = dy = 0;
    if (!wavelets.place(sums, at_x, at_y, x, y)) return;
    dx = answer(wavelets.across, sums, x, y);
    dy = answer(wavelets.down, sums, x, y);
  }
};

/// The same of a mipmap: each quarter of a wavelet is a mean.
template <typename Mipmap>
struct MipmapGradient {
  const Mipmap& mipmap;
  float level, half;

  CUFACE_HD MipmapGradient(const Mipmap& of, float s)
      : mipmap(of), level(binary_logarithm(s)), half(s / 2) {}
  CUFACE_HD void at(float x, float y, float& dx, float& dy) const {
    const float left_above = mean_at(mipmap, x - half, y - half, level),
                right_above = mean_at(mipmap, x + half, y - half, level),
                left_below = mean_at(mipmap, x - half, y + half, level),
                right_below = mean_at(mipmap, x + half, y + half, level);
    dx = (right_above + right_below) - (left_above + left_below);
    dy = (left_below + right_below) - (left_above + right_above);
  }
};

/// Places a scale apart, along a keypoint's direction.
struct TurnedGrid {
  float x, y, s, middle;
  Roll roll;

  CUFACE_HD static TurnedGrid of(const Keypoint& k, int side) {
    return {k.x, k.y, scale_of(k), static_cast<float>(side - 1) / 2, roll_of(k.angle)};
  }
  /// The gradient at one, along the direction and across it.
  template <typename Gradient>
  CUFACE_HD void gradient(const Gradient& of, int column, int row, float& along,
                          float& across) const {
    const float u = (static_cast<float>(column) - middle) * s,
                v = (static_cast<float>(row) - middle) * s;
    float dx, dy;
    of.at(x + (u * roll.cos - v * roll.sin), y + (u * roll.sin + v * roll.cos), dx, dy);
    along = dx * roll.cos + dy * roll.sin;
    across = dy * roll.cos - dx * roll.sin;
  }
};

/// The weights, as OpenCV has them. Where cells overlap, those of a cell's gradients, and then
/// those of the cells.
std::vector<RingSample> ring_samples();
std::vector<float> descriptor_weights(const DescriptorShape& shape);
DescriptorShape shape_of(const SurfConfig& config);
Coding coding_of(const SurfConfig& config);

}  // namespace cuface::surf
