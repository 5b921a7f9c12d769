// HAT descriptors in float, several times as fast as the reference in double: the weight of a pixel
// is a product of one of its row and one of its column, so a descriptor is a sum over columns of
// sums over rows. Plain and vector versions give the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/texture/texture.h"

namespace cuface {
namespace texture {

/// Differences of two pixels: -255 to 255.
inline constexpr int kHatDifferences = 511;

/// For two differences of neighbours: the direction's bin, and the weights of it and the next bin.
struct HatGradient {
  float here = 0, next = 0;
  std::int32_t bin = 0;
};
/// The table of all gradients, by dy and dx.
std::vector<HatGradient> hat_gradients(int bins);

/// The exponent of a pixel's weight, for hat_taps().
double hat_decay(const HatRule& rule);

/// What the pixels of a patch's rows (or columns) weigh in one row (column) of histograms: `count`
/// from the `first` on, counted from the patch's edge.
struct HatTaps {
  int first = 0, count = 0;
  float weight[kMaxHatPatch] = {};
};

/// The taps of `histograms` rows (columns) over a patch. `decay` is the exponent of the pixels'
/// weight.
std::vector<HatTaps> hat_taps(int patch, int histograms, double decay);

/// A patch within a picture of pixels of `bins` floats: what each direction has of the gradient.
struct HatPatch {
  const float* pixels =
      nullptr;                ///< of the picture's pixel at the patch's left top, if there is one
  std::ptrdiff_t stride = 0;  ///< in floats
  int left = 0, top = 0, right = 0, bottom = 0;  ///< what of the patch is in the picture; ends
};

/// What a descriptor consists of. Histograms row by row: the sum over rows ascending of
/// weight * pixel first, of these the sum over columns ascending. `sums` has room for rows x patch
/// x bins floats. The roots of the histograms go to `out`; returned is what they are divided by:
/// the root of the sum of the histograms, by direction ascending of sums over histograms.
float describe_hat(const HatPatch& patch, std::span<const HatTaps> rows,
                   std::span<const HatTaps> columns, int bins, float* sums, float* out);

/// The sum of products, by direction ascending of sums over histograms.
float weigh_hat(const float* descriptor, const float* coefficients, int histograms, int bins);

}  // namespace texture

/// One thread at a time.
class FloatHat final : public HatCosts {
 public:
  FloatHat(const HatRule& rule, std::span<const double> numbers);

  void set_picture(ImageView<const std::uint8_t> picture, int patch) override;
  double cost(int x, int y, std::uint32_t first_number) override;

  /// What cost() compares at a pixel: rule.size() numbers.
  void descriptor(int x, int y, std::span<float> out);

 private:
  /// A remembered descriptor.
  struct Kept {
    int x = 0, y = 0;
    bool is_set = false;
    float scale = 0;
  };
  static constexpr int kTile = 16;  // pixels a side, whose gradients are made together

  void make_tile(int column, int row);
  const Kept& describe(int x, int y, std::size_t slot);

  HatRule rule_;
  unsigned kept_side_;  // a descriptor's slot is its place on the grid modulo this
  std::vector<float> numbers_;
  std::vector<texture::HatGradient> gradients_;  // by dy and dx
  ImageView<const std::uint8_t> picture_;
  int patch_ = 0, tiles_across_ = 0;
  std::vector<texture::HatTaps> rows_, columns_;
  std::vector<float> pixels_, sums_, descriptors_;
  std::vector<std::uint8_t> is_made_;  // of a tile
  std::vector<Kept> kept_;
};

}  // namespace cuface
