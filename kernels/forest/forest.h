// forest: 68 (or 5, or ...) landmarks inside a face box by an ensemble of regression trees (Kazemi
// and Sullivan, CVPR 2014; S0.23, S0.25-S0.27; thesis 4.4), with the arithmetic of dlib's
// shape_predictor.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/common/backend.h"
#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"

namespace cuface {

/// One split of a tree: pool[a] - pool[b] > threshold goes to child 2j+1 (left), else 2j+2.
struct ForestSplit {
  std::uint32_t a = 0, b = 0;
  float threshold = 0;
};

/// A validated shape predictor: all indices in range, all numbers finite. The spans point into
/// memory that `storage` keeps alive (a mapped file or a heap block). Immutable; shared by any
/// threads. Shapes are in unit-box coordinates: (0,0) is the box's top left, (1,1) its bottom
/// right.
struct ForestModel {
  std::string name;   ///< file stem
  int landmarks = 0;  ///< points per face, 1..256
  int cascades = 0;   ///< 15 in dlib's file
  int trees = 0;      ///< per cascade, 500
  int depth = 0;      ///< splits on a path, 4: 2^depth - 1 splits and 2^depth leaves a tree
  int pool = 0;       ///< feature pixels per cascade, 500
  std::span<const float> mean_shape;       ///< [2 * landmarks]: x0 y0 x1 y1 ...
  std::span<const std::uint32_t> anchors;  ///< [cascades][pool]: landmark the pixel hangs on
  std::span<const float> deltas;           ///< [cascades][pool][2]: offset from it, unit box
  std::span<const ForestSplit> splits;     ///< [cascades][trees][2^depth - 1]
  std::span<const float> leaves;           ///< [cascades][trees][2^depth][2 * landmarks]
  std::shared_ptr<const void> storage;

  int splits_per_tree() const { return (1 << depth) - 1; }
  int leaves_per_tree() const { return 1 << depth; }
};

Status validate(const ForestModel& model);

/// Plan allocates scratch; enqueue allocates nothing. One thread at a time; the model is shared.
class Landmarker {
 public:
  /// `iterations`: cascades to run, 0 = all (S0.28: fewer is faster and coarser).
  static Result<std::unique_ptr<Landmarker>> create(Backend backend,
                                                    std::shared_ptr<const ForestModel> model,
                                                    int iterations = 0);
  virtual ~Landmarker() = default;

  /// `boxes` in pixels of `luma` (edges), already mapped to what the model was trained on
  /// (models/box_map.h). `out` holds boxes.size() * model.landmarks points, in pixels.
  /// Equal to dlib on the same grey picture and the rectangle (x, y, x+w-1, y+h-1), in floats.
  virtual Status enqueue(ImageView<const std::uint8_t> luma, std::span<const Box> boxes,
                         std::span<Point> out) = 0;
};

}  // namespace cuface
