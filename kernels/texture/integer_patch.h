// Patches in integers: gradients and the matrix have 16 bits, so a sum of products is exact and may
// be made in any order, by vectors of the CPU or by tensor cores. Many times as fast as the
// reference in double: a block of rows of the matrix at once, and no further rows for a place that
// already costs more than the best one. All versions give the same bits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/texture/texture.h"

namespace cuface {
namespace texture {

/// Rows of a matrix that are multiplied together.
inline constexpr int kPatchRows = 16;

/// What of a block's products is left: a row's is `scales` times its sum less `offsets`, which is
/// the product with the mean.
struct PatchUnits {
  std::int32_t offsets[kPatchRows] = {};
  float scales[kPatchRows] = {};
};

/// The first 8 squares take the other 8, the first 4 of these the other 4, and so on.
inline float sum_in_halves(float (&squares)[kPatchRows]) {
  for (int half = kPatchRows / 2; half > 0; half /= 2)
    for (int row = 0; row < half; ++row) squares[row] += squares[row + half];
  return squares[0];
}

/// What a likelihood's rows have given; their squares become 0.
inline float take_likelihood(const float (&products)[kPatchRows], float (&squares)[kPatchRows]) {
  squares[0] = squares[1] = 0;
  return products[0] + products[1];
}

/// Of a place, by which a search compares it: what PatchModel says. `unlikelihood` and `base`: 0
/// where patches have no likelihood.
CUFACE_HD inline float place_cost(float weight, float distance, float unlikelihood, float base) {
  return weight * (distance + (unlikelihood + base));
}
/// Of the place that is found: TextureMatch::cost.
CUFACE_HD inline float told_cost(float weight, float distance, float unlikelihood,
                                 double likelihood) {
  return weight * distance + static_cast<float>(likelihood) * unlikelihood;
}

/// Numbers of a patch, filled up to pairs.
CUFACE_HD inline int patch_pairs(int size) { return (size + 1) / 2; }

/// A patch's likelihood is the first two rows of its first block, negated: what is rounded off the
/// first one is the second. Of 16 bits alone a search would go elsewhere too often.
inline constexpr int kLikelihoodRows = 2;

/// Adds to the cost of each patch the sum of the squares of its products with a block of rows, by
/// sum_in_halves(). `block` is [pairs][kPatchRows][2]. `unlikelihoods`: null, or of each patch gets
/// the sum of its products with the first two rows, whose squares count as 0.
void add_rows(const std::int16_t* block, int pairs, const PatchUnits& rows,
              std::span<const std::int16_t* const> patches, float* costs, float* unlikelihoods);

/// All patch models of a shape model in integers, as both processors read them.
struct PatchTable {
  /// Blocks of rows: a likelihood's, then the last row first; rows that fill the last block up are
  /// 0. Training writes rows by descending variance, and what varies least tells most: other places
  /// cost more after fewer rows.
  struct Model {
    std::uint32_t first_number = 0;
    int blocks = 0;
    float edge = 0, base = 0;
    std::size_t first_block = 0;
  };
  std::vector<std::int16_t> numbers;  ///< of all blocks
  std::vector<PatchUnits> rows;       ///< a block each
  std::vector<Model> models;          ///< by first_number

  /// `first_numbers` says where models of `from` begin. A model of several points is kept once.
  PatchTable(const PatchRule& rule, std::span<const double> from,
             std::span<const std::uint32_t> first_numbers);
  const Model& model(std::uint32_t first_number) const;
  const std::int16_t* block(std::size_t i) const { return numbers.data() + i * block_size_; }
  /// Number k of a block's row.
  std::int16_t number(std::size_t block_number, int row, int k) const {
    return block(block_number)[(k / 2 * kPatchRows + row) * 2 + k % 2];
  }

 private:
  void add_row(const PatchRule& rule, const double* mean, const double* row, int at,
               double* left = nullptr);
  std::size_t block_size_;
};

}  // namespace texture

/// One thread at a time.
class IntegerPatch final : public PatchMatcher {
 public:
  /// The table is of the same rule, and shared by those of other threads.
  IntegerPatch(const PatchRule& rule, std::shared_ptr<const texture::PatchTable> table);

  void set_picture(ImageView<const std::uint8_t> picture, int strongest) override;
  TextureMatch match(const ShapePoint& point, std::uint32_t first_number) override;

 private:
  using Model = texture::PatchTable::Model;
  /// A place of the search, and the weight of its cost.
  struct Place {
    int index = 0;
    float weight = 1;
  };

  void make_patches(const texture::BetweenPixels& at);
  void weigh(const texture::BetweenPixels& at, const Model& model);
  void add_block(const Model& model, int b, std::span<const Place> places);
  float cost_of(const Place& place, float base) const;
  void drop_losers(float least, int best, float base);
  const std::int16_t* patch(int place) const;

  PatchRule rule_;
  int across_;  // places in a row of the search
  std::shared_ptr<const texture::PatchTable> table_;
  texture::PatchPixels pixels_;
  float strongest_ = 0;  // edge of the picture
  std::vector<std::uint8_t> near_;
  std::vector<float> pixel_gradients_, costs_, some_costs_;
  std::vector<float> unlikelihoods_, some_unlikelihoods_;
  std::vector<std::int16_t> gradients_, patches_;
  std::vector<const std::int16_t*> some_patches_;
  std::vector<Place> places_;  // that may still be the best
};

}  // namespace cuface
