// grow: trains the forest of regression trees that finds landmarks [S0.29], as dlib's
// shape_predictor_trainer does. The same samples and options give the same bytes with any number
// of threads, after any interruption and on any processor (docs/design/grow.md).
//
// draws.h: all that is random. starts.h: targets and starting shapes. steps.h: what a tree
// computes, as pure functions. trees.h: the samples of a regression stage; reference.cc is the
// plain version, cpu/ and cuda/ are the fast ones. dlib_trees.cc adds up as dlib does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/common/backend.h"
#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/landmarks/landmarks.h"

namespace cuface {

/// Labelled faces that somebody else owns. Their order is part of the input.
struct LabelledFaces {
  int landmarks = 0;                                        ///< for each face, 1 to kMaxLandmarks
  std::span<const ImageView<const std::uint8_t>> pictures;  ///< luma
  std::span<const std::uint32_t> picture_of;  ///< for each face the index of its picture
  /// For each face, in pixels of its picture (edges), as a Landmarker is given it. May lie partly
  /// or wholly outside; what is outside of a picture is 0. Wider and higher than 1.
  std::span<const Box> boxes;
  std::span<const Point> points;  ///< for each face [landmarks], in pixels of its picture
  /// For each face [landmarks]: 1 = is there, 0 = is not, and its point says nothing. Empty: all
  /// are there. dlib's OBJECT_PART_NOT_PRESENT.
  std::span<const std::uint8_t> present;
  /// For each face 1 to 255: it counts as so many alike would, but costs one. Empty: 1. Not dlib's.
  std::span<const std::uint8_t> weights;

  std::size_t count() const { return boxes.size(); }
};

/// With more samples the integer sums could overflow.
inline constexpr std::size_t kMostForestSamples = std::size_t{1} << 24;
/// Points farther from their box, in sides of it, are refused: a label must be wrong.
inline constexpr float kFarthestPoint = 100;

/// Where feature pixels may lie.
enum class PaddingMode {
  kLandmarkRelative,     ///< the box of the mean shape
  kBoundingBoxRelative,  ///< the face's own box too
};

enum class ForestDraws {
  kOwn,  ///< each a function of the seed, the stage, the tree, the node and the split
  /// dlib's with num_threads 0: its generator, its order of draws, its sums of floats in its order.
  /// So the model is dlib's. On the CPU only.
  kDlib,
};

/// Named, and with defaults, as dlib's shape_predictor_trainer has them.
struct ForestOptions {
  int cascade_depth = 10;                 ///< regression stages: 1 to kMaxForestStages
  int tree_depth = 4;                     ///< 1 to kMaxForestDepth
  int num_trees_per_cascade_level = 500;  ///< 1 to kMaxForestTrees
  double nu = 0.1;                        ///< above 0, not above 1
  int oversampling_amount = 20;           ///< starting shapes for each face: 1 or more
  /// Starting shapes move by at most so many box sides: 0 to 100.
  double oversampling_translation_jitter = 0;
  int feature_pool_size = 400;  ///< 2 to kMaxForestPool
  double lambda = 0.1;          ///< above 0; the smaller, the nearer the two pixels of a split
  int num_test_splits = 20;     ///< 1 to kMostTestSplits
  double feature_pool_region_padding = 0;  ///< above -0.5, at most 100
  PaddingMode padding_mode = PaddingMode::kLandmarkRelative;
  std::string random_seed;  ///< dlib's; any text

  ForestDraws draws = ForestDraws::kOwn;

  friend bool operator==(const ForestOptions&, const ForestOptions&) = default;
};
inline constexpr int kMostTestSplits = 1024;

/// kInvalidArgument, with the option's name, where one is out of the range that ForestOptions
/// gives, or where the model would be larger than a ForestModel may be. kUnsupported where the
/// backend cannot follow the options: kCuda and ForestDraws::kDlib.
Status validate(const ForestOptions& options, TrainingBackend backend = TrainingBackend::kAuto);

/// A forest that grows, tree after tree, stage after stage. Its state is all that a checkpoint
/// needs besides samples and options. Tables as ForestModel's.
struct GrownForest {
  std::vector<float> mean_shape;       ///< [2 * landmarks]
  std::vector<std::uint32_t> anchors;  ///< of all stages, begun or not
  std::vector<float> deltas;           ///< likewise
  std::vector<ForestSplit> splits;     ///< [trees so far][2^depth - 1]
  std::vector<float> leaves;           ///< [trees so far][2^depth][2 * landmarks]
  /// Of the last trees so far, those that ForestRun::spreads_from asked for: [2^depth][landmarks]
  /// each, as ForestModel::leaf_spreads. No part of a checkpoint: trees begun with get them again.
  std::vector<std::uint16_t> spreads;

  /// Trees so far, of all stages together.
  std::size_t trees(const ForestOptions& options) const {
    return splits.size() / ((std::size_t{1} << options.tree_depth) - 1);
  }
};

/// How a forest is trained. Of the result nothing in it changes a byte, but that there are more
/// spreads or fewer trees.
struct ForestRun {
  TrainingBackend backend = TrainingBackend::kCpu;
  int threads = 0;  ///< 0 = as many as there are processors
  /// The spreads of leaves are wanted from this stage on; by default of none, which is faster.
  int spreads_from = kMaxForestStages;
  /// Ends behind so many trees, a part of the forest; 0 = all. Not fewer than are begun with.
  std::size_t most_trees = 0;
  /// Called after each tree with the forest so far, from the calling thread.
  std::function<void(const GrownForest&)> watch;
  const StopFlag* stop = nullptr;  ///< looked at in each tree, several times where it takes long
};

/// Seconds and bytes that a training took.
struct ForestCost {
  double prepare_seconds = 0;  ///< targets and starts, draws of pixels, pixels of each stage
  double search_seconds = 0;   ///< the trees, found or taken from what was begun
  double total_seconds = 0;
  std::size_t bytes = 0;  ///< of the samples, at most; on a GPU its memory
  bool on_gpu = false;
};

/// Trains a forest. `begun` has its first trees, say from a checkpoint: they are not searched
/// again, and the result has the bytes of an undisturbed run. `begun` with a mean shape or pixels
/// that are not those of these samples and options is refused.
///
/// kInvalidArgument where options are out of range, the sizes do not fit each other, a picture is
/// empty, a box or a point is not usable, a point is present in no face, or `begun` does not fit;
/// the message says which face. kCancelled once `stop` is raised; what `watch` saw last can be
/// begun from. kOutOfMemory, kOutOfDeviceMemory, and kUnsupported with what CUDA says. A GPU is the
/// current one.
Result<GrownForest> grow_forest(const LabelledFaces& faces, const ForestOptions& options,
                                const ForestRun& run = {}, GrownForest begun = {},
                                ForestCost* cost = nullptr);

/// The model of all whole stages, which must be one at least; it has no name and no box maps. A
/// forest that is not complete gives a model of fewer stages. kCorrupt as validate() says.
Result<std::shared_ptr<const ForestModel>> make_forest(const GrownForest& grown,
                                                       const ForestOptions& options);

}  // namespace cuface
