// shape_training: active shape models from labelled faces: the shape by Procrustes alignment and
// PCA [S3.01], and what is around each landmark on each level, as line profiles [S3.02], patches in
// a subspace [S3.03 to S3.05], or HAT descriptors with a regression (Milborrow and Nicolls, 2014).
//
// The room: procrustes.cc aligns shapes and finds their modes, textures.cc learns what is around
// one landmark, hats.cc and patches.cc sample places beside it, weights.cc weighs it, learn_shape.h
// goes through the levels of a mean_shape.h, folds.cc calibrates by confidence.h. options.cc
// refuses what no reader would take. eigen.h has the eigenvectors, regression.h the regression.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/stop_flag.h"
#include "kernels/shape/shape_model.h"

namespace cuface {

/// Which rows a patch's matrix has: all are eigenvectors over the roots of their eigenvalues.
enum class PatchRows : int {
  kResidual,  ///< those that the subspace leaves out: MASM's distance [S3.04]
  kKept,      ///< those of the subspace
  kAll        ///< both: Mahalanobis' distance
};

struct ShapeOptions {
  ProfileKind profiles = ProfileKind::kHat;
  double size = 100;  ///< pixels from the middle of the eyes to the mouth at level 0
  int size_left = -1, size_right = -1, size_below = -1;  ///< these; -1: the scheme's
  int levels = 4;
  int iterations = 0;       ///< ShapeModel::iterations; 0: 4 of patches, 5 of other profiles
  double rest = 0.5;        ///< ShapeModel::rest
  double variance = 0.9;    ///< of shapes that the modes keep, above 0 to 1
  double mode_limit = 1.5;  ///< standard deviations; 3 where faces are many
  double noise = 0;         ///< ShapeModel::noise
  double least_weight = 1;  ///< ShapeModel::least_weight, of HAT descriptors
  double window = 1;        ///< ShapeModel::window

  PatchRule patch{13, 2, 1, PatchRule::kMagnitude, true, 10};
  PatchRows rows = PatchRows::kResidual;
  /// How much a regression's likelihood counts beside a patch's distance, which is minus twice the
  /// logarithm of another; 0 turns it off.
  double pull = 0;
  /// Points of patches weigh by how near a search finds them.
  bool weigh = false;
  double patch_variance = 0.97;  ///< that a subspace keeps, above 0 to 1
  /// No eigenvalue of a texture counts as less than so much of their mean: 1e-6 to 1.
  double floor = 0.1;
  double edge = 2;                      ///< weight c of boundary points, 1 to 100; 0: none
  int edge_first = -1, edge_last = -1;  ///< which are these; -1: the scheme's jaw
  LineRule line{13, 3, 1};
  HatRule hat{4, 5, 8, 39, -6, 6, 2, 0.5, 10};
  int displaced = 15;   ///< samples of each landmark and face away from it, of a regression
  double target = 1;    ///< pixels from a landmark to a likelihood of 0.6
  double ridge = 0.02;  ///< penalty of the regression, in mean variances of a descriptor's number
  /// A patch or profile with less than this share of its pixels in the picture is not learnt from,
  /// unless a landmark has less than kFewestSamples others: 0 to 1.
  double inside = 0.9;
  int refits = 0;             ///< ShapeModel::refits
  double refit_share = 0.95;  ///< of the training's own costs that are not refitted, 0 to 1

  /// Confidences are calibrated by models of all pictures but those of a fold, in turns, on these:
  /// so many folds. 0: the model has none.
  int confidence_folds = 5;

  static constexpr std::size_t kFewestSamples = 40;
};

/// Faces to learn from; all of it outlives the training. Points lie face by face.
struct ShapeFaces {
  int landmarks = 0;
  std::span<const ImageView<const std::uint8_t>> pictures;
  std::span<const std::uint32_t> picture_of;  ///< [faces]
  std::span<const Box> boxes;                 ///< [faces]: a detector's, which say where to start
  std::span<const Point> points;              ///< [faces][landmarks]
  std::span<const std::uint8_t> present;      ///< [faces][landmarks]
  std::span<const std::string> where{};       ///< [faces], for messages; or none
  /// Pictures from this number on are those before, mirrored; 0: none is.
  std::size_t unmirrored = 0;
};

/// kInvalidArgument, with the option's name.
Status validate(const ShapeOptions& options, int landmarks);
/// kInvalidArgument where the model is to be too large to be read: `numbers` of its profiles have
/// been learnt, and so many levels are to come. How many rows a patch has is known behind these,
/// but with PatchRows::kAll.
Status check_model_size(const ShapeOptions& options, int landmarks, std::size_t numbers,
                        int levels_to_come);

/// What has been learnt so far, level after level, the finest first: all that a checkpoint needs.
struct LearntTextures {
  std::vector<ShapeProfile> profiles;
  std::vector<double> numbers, refit_limits;
};

/// kInvalidArgument where the model's search is to be more work than a reader allows: with the
/// rows of patches that have been learnt, and the fewest that so many faces leave on other levels.
Status check_model_work(const ShapeOptions& options, int landmarks, std::size_t faces,
                        const LearntTextures& learnt);
/// ShapeModel::iterations.
int iterations_of(const ShapeOptions& options);

struct ShapeRun {
  int threads = 0;  ///< 0 = as many as there are processors; no byte depends on it
  const StopFlag* stop = nullptr;
  /// After each level, from the calling thread.
  std::function<void(const LearntTextures&)> watch;
  /// What was surprising: a landmark with few samples.
  std::function<void(const std::string&)> note;
};

/// The model, validated, without a name. Faces with a missing landmark are left out. `begun` has
/// its first levels, which are not learnt again; the result has the bytes of an undisturbed run.
///
/// kInvalidArgument: options, sizes, fewer than 3 whole faces, or outside of a fold, a face of no
/// size, or a `begun` that does not fit. kCorrupt: what is learnt is no usable model. kCancelled,
/// kOutOfMemory.
Result<std::shared_ptr<const ShapeModel>> train_shape(const ShapeFaces& faces,
                                                      const ShapeOptions& options,
                                                      const ShapeRun& run = {},
                                                      LearntTextures begun = {});

namespace shape {

/// Shapes aligned to each other, and their modes. Of numbers x0, y0, x1 ...
struct AlignedShapes {
  std::vector<double> mean;          ///< centred, of unit length
  std::vector<double> aligned;       ///< [shapes][2 * points], in the tangent of the mean
  std::vector<double> eigenvalues;   ///< descending, all
  std::vector<double> eigenvectors;  ///< [2 * points][2 * points]: a mode a column
};
/// Generalised Procrustes alignment of `shapes`, whose mean orientation stays, and PCA.
AlignedShapes align_shapes(std::span<const double> shapes, std::size_t points);

/// What patches of a training have in common.
PatchRule patch_rule(const ShapeOptions& options);

/// How many of descending eigenvalues hold this share of their sum; 1 at least.
std::size_t kept_modes(std::span<const double> eigenvalues, double share);

/// A patch's or profile's numbers from samples of `size` each: mean and matrix [rows][size], or
/// mean and inverse covariance.
struct Texture {
  std::size_t rows = 0;
  std::vector<double> mean, matrix;
  std::vector<double> likelihood;  ///< PatchModel::likelihood and then its base, or none
};
Texture learn_patch(std::span<const float> samples, std::size_t size, const ShapeOptions& options);
Texture learn_line(std::span<const float> samples, std::size_t size, double floor);

}  // namespace shape
}  // namespace cuface
