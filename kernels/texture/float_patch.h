// Patches in float, many times as fast as the reference in double: a block of rows of the matrix at
// once, and no further rows for a place that already costs more than the best one. Plain and vector
// versions give the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/texture/texture.h"

namespace cuface {
namespace texture {

/// Rows of a matrix that are multiplied together.
inline constexpr int kPatchRows = 16;

/// Adds to the cost of each patch the squares of its products with a block of rows, in their order;
/// a product is the sum over the patch's `size` numbers, ascending. `block` is [size][kPatchRows].
void add_rows(const float* block, int size, std::span<const float* const> patches, float* costs);

/// All patch models of a shape model in float, as both processors read them.
struct PatchTable {
  /// A model's numbers begin at `mean` in `numbers`: the mean, then blocks of rows, the last row
  /// first; rows that fill the last block up are 0. Training writes rows by descending variance,
  /// and what varies least tells most: other places cost more after fewer rows.
  struct Model {
    std::uint32_t first_number = 0;
    int blocks = 0;
    float edge = 0;
    std::size_t mean = 0;
  };
  std::vector<float> numbers;
  std::vector<Model> models;  ///< by first_number

  /// `first_numbers` says where models of `from` begin. A model of several points is kept once.
  PatchTable(const PatchRule& rule, std::span<const double> from,
             std::span<const std::uint32_t> first_numbers);
  const Model& model(std::uint32_t first_number) const;
};

}  // namespace texture

/// One thread at a time.
class FloatPatch final : public PatchMatcher {
 public:
  /// As PatchTable.
  FloatPatch(const PatchRule& rule, std::span<const double> numbers,
             std::span<const std::uint32_t> first_numbers);

  void set_picture(ImageView<const std::uint8_t> picture, bool has_edges) override;
  TextureMatch match(const ShapePoint& point, std::uint32_t first_number) override;

 private:
  using Model = texture::PatchTable::Model;
  /// A place of the search: what it costs so far, and what that is weighed by.
  struct Place {
    int index = 0;
    float weight = 1;
    float weighed(float cost) const { return weight * cost; }
  };

  const float* block(const Model& model, int b) const;
  void make_patches(const texture::BetweenPixels& at, const Model& model);
  void weigh(const texture::BetweenPixels& at, const Model& model);
  void add_block(const Model& model, int b, std::span<const Place> places);
  void drop_losers(float least, int best);

  PatchRule rule_;
  int across_;  // places in a row of the search
  texture::PatchTable table_;
  texture::PatchPixels pixels_;
  float strongest_ = 0;  // edge of the picture
  std::vector<float> pixel_gradients_, gradients_, patches_, costs_, some_costs_;
  std::vector<const float*> some_patches_;
  std::vector<Place> places_;  // that may still be the best
};

}  // namespace cuface
