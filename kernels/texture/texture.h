// texture: the picture around a landmark as numbers, and how far these are from what training saw.
// There are three kinds: a line profile, gradients along the normal of the contour (Cootes and
// Taylor, 2004) [S3.02]; a patch, gradients around the point in the subspace of MASM [S3.03 to
// S3.05]; and a HAT descriptor, histograms of gradient directions around the point (Milborrow and
// Nicolls, VISAPP 2014).
//
// The room: line_profile.cc, patch.cc and hat.cc are the references, in double; those of lines and
// HAT descriptors in Stasm 4.1's order of sums. integer_patch.h and float_hat.h are what elements
// use.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/texture/patch_pixels.h"

namespace cuface {

/// In double, as shapes are while they are searched for. An integer is the centre of a pixel.
struct ShapePoint {
  double x = 0, y = 0;
  friend bool operator==(const ShapePoint&, const ShapePoint&) = default;
};

/// What line profiles of a model have in common. A profile of `length` gradients is looked for at
/// `reach` pixels either way along the normal, every `step` pixels.
struct LineRule {
  int length = 0, reach = 0, step = 1;
  /// Places of the search.
  CUFACE_HD int across() const { return 2 * reach / step + 1; }
};
inline constexpr int kMaxLineLength = 63;
inline constexpr int kMaxLineReach = 32;

/// What the gradient patches of a model have in common: `side` x `side` gradients, a pixel apart.
/// They are looked for `reach` pixels either way in x and y of the point itself, every `step`
/// pixels.
struct PatchRule {
  enum Gradient : int {
    kForward,    ///< right and lower neighbour less the pixel twice: one sign for both directions
    kMagnitude,  ///< length of the central differences
    kTurns       ///< right and lower neighbour less the pixel in turns, as a chessboard's fields
  };
  int side = 0;  ///< odd; 0: the model has no patches
  int reach = 0, step = 1;
  int gradient = kForward;
  bool is_bilinear = true;  ///< gradients between four pixels; else the nearest one's [S3.12]
  double q = 0;             ///< a gradient g counts as g / (|g| + q)
  /// How often a patch's likelihood counts in the cost that is told of what was found; 0: patches
  /// have none.
  double likelihood = 0;
  CUFACE_HD int size() const { return side * side; }
  /// Places in a row of the search.
  CUFACE_HD int across() const { return 2 * reach / step + 1; }
  /// Number k of a patch is of plane k % planes(): `side` is odd, so two are a chessboard.
  CUFACE_HD int planes() const { return gradient == kTurns ? 2 : 1; }
  CUFACE_HD texture::PixelGradient of_plane(int plane) const {
    return gradient == kForward     ? texture::PixelGradient::kForward
           : gradient == kMagnitude ? texture::PixelGradient::kLength
           : plane == 0             ? texture::PixelGradient::kRight
                                    : texture::PixelGradient::kDown;
  }
};
inline constexpr int kMaxPatchSide = 31;
inline constexpr int kMaxPatchReach = 16;
inline constexpr double kMaxPatchLikelihood = 1000;

/// What the HAT descriptors of a model have in common: `rows` x `columns` histograms of `bins`
/// directions over a patch of `patch` x `patch` pixels, odd. They are looked for `reach` pixels
/// either way in x and y, every `step` pixels, from the multiple of `step` next to the point.
struct HatRule {
  int rows = 0, columns = 0, bins = 0;
  int patch = 0;         ///< on the finest level
  int patch_change = 0;  ///< of each coarser level, rounded to an even number with ties to 4k
  int reach = 0, step = 1;
  double sigma = 0;   ///< of the Gaussian weight of a pixel
  double length = 0;  ///< that a descriptor is scaled to
  CUFACE_HD int size() const { return rows * columns * bins; }
  /// Places in a row of the search.
  CUFACE_HD int across() const { return 2 * reach / step + 1; }
  /// The patch of a level, 0 the finest.
  int patch_at(int level) const;
};
inline constexpr int kMaxHatGrid = 16;
inline constexpr int kMaxHatBins = 16;
inline constexpr int kMaxHatPatch = 63;
inline constexpr int kMaxHatReach = 32;

/// Where a search went, and what it costs there: lower is better. Where patches have likelihoods,
/// these count in it as often as PatchRule::likelihood says.
struct TextureMatch {
  int dx = 0, dy = 0;  ///< line profiles: dx counts pixels along the normal
  double cost = 0;
};
/// What a search begins with: nothing that costs more is found.
inline constexpr double kDearest = 3.4028234663852886e38;

/// One pixel along the normal at `point`, between its neighbours on the contour: the larger part is
/// 1 long. To the right where a neighbour is less than 1e-7 away in x and y.
ShapePoint whisker_step(const ShapePoint& previous, const ShapePoint& point,
                        const ShapePoint& next);

/// The offset along the normal with the least cost (p - mean)^T inverse (p - mean); p are the
/// gradients there, scaled to a mean absolute value of 1. `mean` has `rule.length` numbers,
/// `inverse` as many rows of as many, symmetric. Pixels beyond the picture are its nearest.
TextureMatch match_line(ImageView<const std::uint8_t> picture, const ShapePoint& point,
                        const ShapePoint& step, const LineRule& rule, const double* mean,
                        const double* inverse);

/// The gradients at the offsets of a line, from `first` on, of a pixel each: each is the pixel
/// there less the one before. Not scaled.
void line_gradients(ImageView<const std::uint8_t> picture, const ShapePoint& point,
                    const ShapePoint& step, int first, std::span<double> out);
/// To a mean absolute value of 1; zeros stay.
void scale_line(std::span<double> profile);

/// A patch's model. Its cost is the square of `matrix * (patch - mean)`: the Mahalanobis distance
/// of what the subspace does not explain, as one matrix; less `likelihood * (patch - mean)`, if
/// there is one. `edge` 0: no more; else `base` is added, so that no patch costs less than 0, and
/// all of it is weighed by `edge` less the edge's intensity at the point, 0 to 1, of Sobel's
/// operator [S3.05].
struct PatchModel {
  int rows = 0;
  double edge = 0;
  const double* mean = nullptr;        ///< [size]
  const double* matrix = nullptr;      ///< [rows][size]
  const double* likelihood = nullptr;  ///< [size], or none
  double base = 0;
  /// The numbers of a model: rows, edge, mean, matrix; with a likelihood that, and the base.
  static PatchModel at(const double* numbers, const PatchRule& rule) {
    PatchModel out{static_cast<int>(numbers[0]), numbers[1], numbers + 2,
                   numbers + 2 + rule.size()};
    if (rule.likelihood > 0) {
      out.likelihood = out.matrix + out.rows * rule.size();
      out.base = out.likelihood[rule.size()];
    }
    return out;
  }
  static std::size_t numbers(const PatchRule& rule, int rows) {
    const auto size = static_cast<std::size_t>(rule.size());
    const std::size_t of_likelihood = rule.likelihood > 0 ? size + 1 : 0;
    return 2 + size * (1 + static_cast<std::size_t>(rows)) + of_likelihood;
  }
};

/// Where patches of one picture fit. One thread at a time.
class PatchMatcher {
 public:
  virtual ~PatchMatcher() = default;
  /// From now on of this picture, which outlives its use. `strongest`:
  /// texture::strongest_sobel_square(), where the intensity is 1, or 0 where no model weighs by
  /// edges.
  virtual void set_picture(ImageView<const std::uint8_t> picture, int strongest) = 0;
  /// The offset of the least cost around a point, row by row, the first of equal ones.
  virtual TextureMatch match(const ShapePoint& point, std::uint32_t first_number) = 0;
};

/// The reference, in double.
class PatchReference final : public PatchMatcher {
 public:
  /// `numbers` outlive it.
  PatchReference(const PatchRule& rule, std::span<const double> numbers);

  void set_picture(ImageView<const std::uint8_t> picture, int strongest) override;
  TextureMatch match(const ShapePoint& point, std::uint32_t first_number) override;

  /// The patch at an offset from a point, by rows: rule.size() numbers. Pixels beyond the picture
  /// are its nearest.
  void patch(const ShapePoint& point, int dx, int dy, std::span<double> out) const;
  /// What the model says of that patch, by which a search compares places.
  double cost(const ShapePoint& point, int dx, int dy, std::uint32_t first_number);
  /// 0 to 1, at a point and an offset.
  double edge(const ShapePoint& point, int dx, int dy) const;

 private:
  /// Parts of a cost.
  struct Cost {
    double weight = 1, distance = 0, unlikelihood = 0, base = 0;
    double sum() const { return weight * (distance + unlikelihood + base); }
  };
  /// Or no less than `enough` where that is known earlier: a sum of squares only grows.
  Cost cost_up_to(double enough, const ShapePoint& point, int dx, int dy, const PatchModel& model);
  template <typename At>
  double between(const ShapePoint& point, int dx, int dy, At at) const;

  PatchRule rule_;
  std::span<const double> numbers_;
  texture::PatchPixels pixels_;
  double strongest_ = 0;  ///< edge of the picture
  std::vector<double> patch_;
};

/// What HAT descriptors of one picture cost. One thread at a time.
class HatCosts {
 public:
  virtual ~HatCosts() = default;
  /// From now on of this picture, with patches of so many pixels. The picture outlives its use.
  /// Allocates where the picture is larger than those before.
  virtual void set_picture(ImageView<const std::uint8_t> picture, int patch) = 0;
  /// Of the descriptor at a pixel, by the regression whose intercept is that number of the model.
  virtual double cost(int x, int y, std::uint32_t first_number) = 0;
};

/// The reference, in double, after Stasm's hat.cpp.
class HatReference final : public HatCosts {
 public:
  /// `numbers` outlive it.
  HatReference(const HatRule& rule, std::span<const double> numbers);

  void set_picture(ImageView<const std::uint8_t> picture, int patch) override;
  double cost(int x, int y, std::uint32_t first_number) override;

  /// The descriptor at a pixel, which may lie beyond the picture, where gradients are 0:
  /// rule.size() numbers.
  void describe(int x, int y, std::span<double> out);

 private:
  /// For a pixel of the patch: the first histogram that it counts for, and the share of the next
  /// one.
  struct Share {
    int row = 0, column = 0;
    double to_next_row = 0, to_next_column = 0, weight = 0;
  };
  void set_patch(int patch);

  HatRule rule_;
  std::span<const double> numbers_;
  int patch_ = 0, width_ = 0, height_ = 0;
  std::vector<double> turns_;       ///< direction in bins, by dy and dx: 511 x 511
  std::vector<double> magnitudes_;  ///< of the picture
  std::vector<double> directions_;
  std::vector<Share> shares_;
  std::vector<double> histograms_, descriptor_;
};

/// Intercept and coefficients of a linear regression, applied to a descriptor: what a HAT
/// descriptor costs. Products are added in groups of four, the last one to four alone.
double linear_cost(const double* model, std::span<const double> descriptor);

/// The offset of the least cost around a point, row by row; `cost(x, y)` of a pixel.
template <typename Cost>
TextureMatch match_hat(const ShapePoint& point, const HatRule& rule, Cost cost);

/// The multiple of `step` next to v, ties to the even multiple.
CUFACE_HD inline int grid_pixel(double v, int step) {
  return step * static_cast<int>(std::lrint(std::clamp(v, -1e6, 1e6) / step));
}

template <typename Cost>
TextureMatch match_hat(const ShapePoint& point, const HatRule& rule, Cost cost) {
  const int x = grid_pixel(point.x, rule.step), y = grid_pixel(point.y, rule.step);
  TextureMatch best{0, 0, kDearest};
  for (int dy = -rule.reach; dy <= rule.reach; dy += rule.step) {
    for (int dx = -rule.reach; dx <= rule.reach; dx += rule.step) {
      const double found = cost(x + dx, y + dy);
      if (found < best.cost) best = {dx, dy, found};
    }
  }
  return best;
}

}  // namespace cuface
