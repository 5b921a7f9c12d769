// dlib's shape_predictor_trainer on the faces of LabelledFaces, compiled here without fused
// multiply-add, and how our trees of integer sums differ from its trees.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/grow/grow.h"

namespace cuface::test {

/// dlib's model of these faces with num_threads 0, as our loader reads it. Points and boxes are on
/// whole pixels. A failure of the test, and null, where the loader refuses it.
std::shared_ptr<const ForestModel> dlib_trained(const LabelledFaces& faces,
                                                const ForestOptions& options);

/// How our trees, each grown on dlib's trees before it, differ from those.
struct TreeDifference {
  std::size_t tables = 0;                    ///< values of mean shape, anchors and deltas
  std::size_t splits = 0, other_splits = 0;  ///< below another split all are left out
  /// Of these, where ours scores as high as dlib's, but for a rounding of doubles, or higher.
  std::size_t not_lower = 0;
  double gap = 0;          ///< between scores of splits that differ, relative
  std::size_t leaves = 0;  ///< of the same samples
  double leaf = 0;         ///< in any of their values
};

/// With dlib's draws, and sums of integers.
TreeDifference compare_with_dlib(const LabelledFaces& faces, const ForestOptions& options);

}  // namespace cuface::test
