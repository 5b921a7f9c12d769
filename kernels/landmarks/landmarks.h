// landmarks: 68 (or 5, or ...) landmarks inside a face box by an ensemble of regression trees, the
// forest (Kazemi and Sullivan, CVPR 2014) [S0.23, S0.25 to S0.27], with the arithmetic of dlib's
// shape_predictor.
//
// The room: landmarks.cc validates models, landmarker.cc is the reference, regression.h has the
// steps that all processors share. roll.h turns a head upright, head_box.h makes a box of
// landmarks. cpu/ and cuda/ are faster. Several boxes of a face: kernels/landmark_samples; over
// time: kernels/landmark_filter.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/backend.h"
#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/faces/landmark_scheme.h"
#include "kernels/faces/point_confidence.h"

namespace cuface {

/// One split of a tree: pool[a] - pool[b] > threshold goes to child 2j+1 (left), else 2j+2.
struct ForestSplit {
  std::uint32_t a = 0, b = 0;
  float threshold = 0;
};

/// How to get from the box of one detector to the box a landmark model was trained on:
/// side times `scale` about the centre, then moved by `shift` times the ORIGINAL side, in the
/// directions of a face that is turned by `roll`. Models are trained on squares, and some detectors
/// give tight boxes: with `square` both sides of the box are its larger one.
struct BoxMap {
  float scale = 1, shift_x = 0, shift_y = 0;
  bool square = false;
  CUFACE_HD Box apply(const Box& box, Roll roll = {}) const {
    const float larger = box.w > box.h ? box.w : box.h;
    const float side_x = square ? larger : box.w, side_y = square ? larger : box.h;
    const float w = side_x * scale, h = side_y * scale;
    const float right = shift_x * side_x, down = shift_y * side_y;
    return {box.x + (box.w - w) * 0.5f + (roll.cos * right - roll.sin * down),
            box.y + (box.h - h) * 0.5f + (roll.sin * right + roll.cos * down), w, h};
  }
  friend bool operator==(const BoxMap&, const BoxMap&) = default;
};

/// A validated shape predictor: all indices in range, all numbers finite. The spans point into
/// memory that `storage` keeps alive (a file's bytes or a heap block). Immutable; shared by any
/// threads. Shapes are in unit-box coordinates: (0,0) is the box's top left, (1,1) its bottom
/// right.
struct ForestModel {
  std::string name;   ///< file stem
  int landmarks = 0;  ///< points per face, 1..256
  int stages = 0;     ///< 15 in dlib's file
  int trees = 0;      ///< per stage, 500
  int depth = 0;      ///< splits on a path, 4: 2^depth - 1 splits and 2^depth leaves a tree
  int pool = 0;       ///< feature pixels per stage, 500
  std::span<const float> mean_shape;       ///< [2 * landmarks]: x0 y0 x1 y1 ...
  std::span<const std::uint32_t> anchors;  ///< [stages][pool]: landmark the pixel hangs on
  std::span<const float> deltas;           ///< [stages][pool][2]: offset from it, unit box
  std::span<const ForestSplit> splits;     ///< [stages][trees][2^depth - 1]
  std::span<const float> leaves;           ///< [stages][trees][2^depth][2 * landmarks]

  /// A compact model has these instead of `leaves`: integers of at most kCompactLimit either way,
  /// laid out alike, and what 1 of them is worth. Their sums are exact, whatever the order, and are
  /// scaled once a stage.
  std::span<const std::int16_t> compact_leaves;
  std::span<const float> leaf_scales;  ///< [stages][2 * landmarks]
  bool is_compact() const { return leaves.empty(); }

  /// Of the last stage only, and empty where the file has none: [trees][2^depth][landmarks]. How
  /// far the training samples of a leaf lay apart in that landmark, once the stages before had
  /// moved them: the root mean squared distance from their mean, in steps of 2^-kLeafSpreadBits of
  /// the box.
  std::span<const std::uint16_t> leaf_spreads;

  std::shared_ptr<const void> storage;

  LandmarkScheme scheme;  ///< what the landmarks stand for; points 0: nobody has said
  /// For the scores of kernels/landmark_samples/spread.h.
  ConfidenceTable confidence;

  /// Where this model wants its box, seen from the box of the detector with this name
  /// (models/box_map.h); sorted by name.
  std::vector<std::pair<std::string, BoxMap>> box_maps;

  int splits_per_tree() const { return (1 << depth) - 1; }
  int leaves_per_tree() const { return 1 << depth; }
  /// Floats in one leaf: x and y of every landmark.
  int leaf_size() const { return 2 * landmarks; }
};

/// Largest values that a model may have; a larger model is refused before anything is allocated.
/// dlib's public models of 5, 68, 81 and 194 points have at most 15 stages of 500 trees of depth 5:
/// 240,000 leaves, and 7,500 feature pixels.
inline constexpr int kMaxLandmarks = 256;
inline constexpr int kMaxForestStages = 1000;
inline constexpr int kMaxForestTrees = 100000;
inline constexpr int kMaxForestDepth = 12;
inline constexpr int kMaxForestPool = 100000;
/// Limits for all trees and all stages together: a device pads each leaf to a line of memory.
inline constexpr std::size_t kMaxForestLeaves = std::size_t{1} << 20;
inline constexpr std::size_t kMaxForestPixels = std::size_t{1} << 20;
/// Scale and shifts of a box map: from 1 / kMaxBoxScale to kMaxBoxScale, and as much either way. A
/// box of any picture stays finite.
inline constexpr float kMaxBoxScale = 100;

/// 1 << kLeafSpreadBits steps of a spread are a box.
inline constexpr int kLeafSpreadBits = 16;

/// Largest leaf value of a compact model: eight of them fit 16 bits.
inline constexpr int kCompactLimit = 4095;

bool all_finite(std::span<const float> values);

/// Sizes, spans, indices, finiteness: kCorrupt and a sentence that says which stage and tree is
/// wrong. Reads all of the model once, but for the leaves where `leaves_finite` says that they are.
///
/// Loaders and every public create() call it, by the rule of cascades (kernels/cascade/cascade.h).
/// A create() leaves out the finiteness of leaves, which takes longest: a shape that is not finite
/// reads no memory that it should not, and its points are not finite either.
Status validate(const ForestModel& model, bool leaves_finite = false);

/// The model's mean shape, in the unit box.
std::vector<Point> mean_points(const ForestModel& model);

/// The box in which the model's mean shape fits these landmarks (pixels) best: least squares over
/// scale and shift, no rotation. The only way to get a box for this model from landmarks (the tight
/// box of the points fails on every eighth face). An empty box (w = h = 0) when the count is not
/// the model's or the points have no extent or are not finite. Thread-safe.
Box box_from_landmarks(const ForestModel& model, std::span<const Point> landmarks);

/// Plan allocates scratch; enqueue allocates nothing. One thread at a time; the model is shared.
/// The arithmetic is the numeric contract's (docs/design/landmarks.md).
class Landmarker {
 public:
  /// `iterations`: stages to run; 0, or more than the model has, = all ([S0.28]: fewer is faster
  /// and coarser). kInvalidArgument: no model, a negative number; kCorrupt: a model that validate()
  /// refuses; kUnsupported: kCuda; kOutOfMemory.
  static Result<std::unique_ptr<Landmarker>> create(Backend backend,
                                                    std::shared_ptr<const ForestModel> model,
                                                    int iterations = 0,
                                                    const StopFlag* stop = nullptr);
  virtual ~Landmarker() = default;

  /// `boxes` in pixels of `luma` (edges), already mapped to what the model was trained on
  /// (models/box_map.h), each turned about its centre by its roll; no `rolls`: none is turned.
  /// `out` holds boxes.size() * model.landmarks points, in pixels.
  /// Without rolls equal to dlib on the same grey picture and the rectangle (x, y, x+w-1, y+h-1),
  /// in floats. kInvalidArgument, and `out` untouched, for an empty picture, a wrong size of `out`
  /// or `rolls`, or a box that is empty or not finite. kCancelled, with some of the points, once
  /// create()'s `stop` is raised.
  virtual Status enqueue(ImageView<const std::uint8_t> luma, std::span<const Box> boxes,
                         std::span<Point> out, std::span<const Roll> rolls = {}) = 0;
};

}  // namespace cuface
