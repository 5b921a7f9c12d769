// Regression on the CPU: the vector version, which has the bits of the plain one in landmarker.cc,
// and what they share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/landmarks/landmarks.h"
#include "kernels/landmarks/regression.h"

namespace cuface::forest {

/// What the trees of a stage of a compact model add to a shape.
inline void add_scaled(const std::int32_t* sums, const float* scales, std::size_t size,
                       float* shape) {
  for (std::size_t i = 0; i < size; ++i) shape[i] += static_cast<float>(sums[i]) * scales[i];
}

/// The same splits for byte permutes: SplitBytes::kTrees of one node lie together, in four vectors.
/// A threshold t >= 0 is held against a - b, any other as -1 - t against b - a, both of which are 0
/// where they would be negative, and the answer is turned round.
struct SplitBytes {
  static constexpr int kTrees = 64;
  static constexpr int kMaxPool = 512;  ///< what eight registers hold
  static constexpr int kA = 0, kB = 64, kThreshold = 128, kFlags = 192, kSize = 256;
  static constexpr std::uint8_t kFarA = 1, kFarB = 2;  ///< the ninth bit of a and b
  static constexpr std::uint8_t kOther = 4;            ///< held against b - a
};

/// A model's tables in the order vector code reads them. Rows are padded to whole vectors.
class VectorForest {
 public:
  /// Larger models are left to the plain version: indices have 11 bits, and each further level of a
  /// tree doubles what is read of it.
  static constexpr int kMaxPool = PackedSplit::kMaxPool, kMaxDepth = 5;
  static bool takes(const ForestModel& model);

  /// The first `stages` of a model that it takes. Allocates.
  VectorForest(const ForestModel& model, int stages);

  /// Rows of values, one a feature pixel.
  struct Pool {
    const std::int32_t* anchors;  ///< landmarks, in ascending order
    const float *dx, *dy;
  };
  Pool pool(int stage) const;
  std::size_t pool_row() const { return row_length(anchors_); }

  /// A row of the trees' PackedSplit for every node.
  const std::int32_t* splits(int stage) const { return splits_.view().row(stage * nodes_); }
  std::size_t split_row() const { return row_length(splits_); }

  /// SplitBytes, all nodes of some trees after those of others; null where the machine has no such
  /// permutes or the pool is too large.
  const std::uint8_t* split_bytes(int stage) const {
    return blocks_ == 0 ? nullptr : split_bytes_.view().row(stage * blocks_ * nodes_);
  }

  template <typename T>
  static std::size_t row_length(const Image<T>& table) {
    return static_cast<std::size_t>(table.view().stride) / sizeof(T);
  }

 private:
  int nodes_, blocks_ = 0;
  Image<std::uint8_t> split_bytes_;
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
        pool(std::max(model.pool, SplitBytes::kMaxPool), 1),
        wide_pool(model.pool, 1),
        leaves(model.trees, kFacesTogether),
        sums(model.leaf_size(), kFacesTogether) {}

  std::span<const float> shape(std::size_t face) const {
    return {shapes.view().row(static_cast<int>(face)), static_cast<std::size_t>(shapes.width())};
  }

  Image<float> shapes;            ///< coordinates, unit box
  Image<std::uint8_t> pool;       ///< feature pixels of one face
  Image<std::int32_t> wide_pool;  ///< the same
  Image<std::int32_t> leaves;     ///< the leaf of each tree, counted through the stage
  Image<std::int32_t> sums;       ///< of a compact model's leaves
};

/// Whether offsets into the picture fit 32 bits.
bool takes(ImageView<const std::uint8_t> luma);

/// Runs `stages` for up to kFacesTogether faces, which share one picture that takes(); the shapes
/// are left in `scratch`.
void regress_vector(const ForestModel& model, const VectorForest& forest, int stages,
                    std::span<const Lever> levers, std::span<const PixelReader> faces,
                    VectorScratch& scratch);

}  // namespace cuface::forest
