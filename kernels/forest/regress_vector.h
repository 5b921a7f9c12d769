// Regression on the CPU: the vector version, which has the bits of the plain one in landmarker.cc,
// and what they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/forest/forest.h"
#include "kernels/forest/rules.h"
#include "kernels/similarity/similarity.h"

namespace cuface::forest {

/// The turn from the mean shape to a face's. One landmark, or no extent: the identity, as dlib has
/// it.
inline Turn fit_turn(std::span<const Point> mean, std::span<const Point> shape) {
  Similarity fit;
  if (!fit_similarity(mean, shape, fit)) return {};
  return {static_cast<float>(fit.a), static_cast<float>(fit.b)};
}

/// What the trees of a cascade of a compact model add to a shape.
inline void add_scaled(const std::int32_t* sums, const float* scales, std::size_t size,
                       float* shape) {
  for (std::size_t i = 0; i < size; ++i) shape[i] += static_cast<float>(sums[i]) * scales[i];
}

/// A model's tables in the order vector code reads them. Rows are padded to whole vectors.
///
/// A feature pixel is an integer from 0 to 255, so that pool[a] - pool[b] > threshold holds for the
/// threshold exactly where it holds for the integer below it, and a split fits 31 bits.
class VectorForest {
 public:
  /// Larger models are left to the plain version: indices have 11 bits, and each further level of a
  /// tree doubles what is read of it.
  static constexpr int kMaxPool = 2048, kMaxDepth = 5;
  static bool takes(const ForestModel& model);

  /// The first `cascades` of a model that it takes. Allocates.
  VectorForest(const ForestModel& model, int cascades);

  /// Rows of values, one a feature pixel.
  struct Pool {
    const std::int32_t* anchors;  ///< index of the landmark's x among the coordinates
    const float *dx, *dy;
  };
  Pool pool(int cascade) const;
  std::size_t pool_row() const { return row_length(anchors_); }

  /// A row of the trees' splits for every node: a << 20 | b << 9 | floor(threshold) + 256.
  const std::int32_t* splits(int cascade) const { return splits_.view().row(cascade * nodes_); }
  std::size_t split_row() const { return row_length(splits_); }

  template <typename T>
  static std::size_t row_length(const Image<T>& table) {
    return static_cast<std::size_t>(table.view().stride) / sizeof(T);
  }

 private:
  int nodes_;
  Image<std::int32_t> splits_, anchors_;
  Image<float> dx_, dy_;
};

/// Several faces of one picture go through the trees together: what one reads of the model is in
/// the cache for the next.
inline constexpr int kFacesTogether = 8;

/// What regress_vector() works with; a row each face.
struct VectorScratch {
  explicit VectorScratch(const ForestModel& model)
      : shapes(model.leaf_size(), kFacesTogether),
        pools(model.pool, kFacesTogether),
        leaves(model.trees, kFacesTogether),
        sums(model.leaf_size(), kFacesTogether) {}

  std::span<const float> shape(std::size_t face) const {
    return {shapes.view().row(static_cast<int>(face)), static_cast<std::size_t>(shapes.width())};
  }

  Image<float> shapes;         ///< coordinates, unit box
  Image<std::int32_t> pools;   ///< feature pixels
  Image<std::int32_t> leaves;  ///< the leaf of each tree, counted through the cascade
  Image<std::int32_t> sums;    ///< of a compact model's leaves
};

/// Whether offsets into the picture fit 32 bits.
bool takes(ImageView<const std::uint8_t> luma);

/// Runs `cascades` for up to kFacesTogether faces, which share one picture that takes(); the shapes
/// are left in `scratch`.
void regress_vector(const ForestModel& model, const VectorForest& forest, int cascades,
                    std::span<const Point> mean, std::span<const PixelReader> faces,
                    VectorScratch& scratch);

}  // namespace cuface::forest
