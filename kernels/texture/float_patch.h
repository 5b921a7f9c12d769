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

/// Adds to the cost of each patch the squares of its products with a block of rows, rows ascending;
/// a product is the sum over the patch's `size` numbers, ascending. `block` is [size][kPatchRows].
void add_rows(const float* block, int size, std::span<const float* const> patches, float* costs);

}  // namespace texture

/// One thread at a time.
class FloatPatch final : public PatchMatcher {
 public:
  /// `first_numbers` says where the models of `numbers` begin. A model of several points is kept
  /// once.
  FloatPatch(const PatchRule& rule, std::span<const double> numbers,
             std::span<const std::uint32_t> first_numbers);

  void set_picture(ImageView<const std::uint8_t> picture, bool has_edges) override;
  TextureMatch match(const ShapePoint& point, std::uint32_t first_number) override;

 private:
  /// A model's numbers begin here in `numbers_`: the mean, then blocks of rows; rows that fill the
  /// last block up are 0.
  struct Model {
    std::uint32_t first_number = 0;
    int blocks = 0;
    float edge = 0;
    std::size_t mean = 0;
  };
  /// A place of the search: what it costs so far, and what that is weighed by.
  struct Place {
    int index = 0;
    float weight = 1;
    float weighed(float cost) const { return weight * cost; }
  };

  /// Where a point lies between four pixels.
  struct Between {
    int x = 0, y = 0;
    float right = 0, below = 0;
    /// Of the pixels' values, row by row.
    float mix(float a, float b, float c, float d) const;
  };
  Between between(const ShapePoint& point) const;
  const Model& model(std::uint32_t first_number) const;
  const float* block(const Model& model, int b) const;
  void make_patches(const Between& at, const Model& model);
  void weigh(const Between& at, const Model& model);
  void add_block(const Model& model, int b, std::span<const Place> places);
  void drop_losers(float least, int best);

  PatchRule rule_;
  int across_;  // places in a row of the search
  std::vector<float> numbers_;
  std::vector<Model> models_;  // by first_number
  texture::PatchPixels pixels_;
  float strongest_ = 0;  // edge of the picture
  std::vector<float> pixel_gradients_, gradients_, patches_, costs_, some_costs_;
  std::vector<const float*> some_patches_;
  std::vector<Place> places_;  // that may still be the best
};

}  // namespace cuface
