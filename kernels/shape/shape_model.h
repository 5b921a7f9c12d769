// shape: landmarks by an active shape model: each point is searched for near where it is, then all
// are moved to the nearest legal shape, from coarse to fine [S3.01 to S3.10]. What is
// searched for, how far, how often, and how shapes are mended is all data of the model.
//
// The room: shape_model.h says what a model is, shape_model.cc checks it. steps.h has what a search
// is made of, search.h the search.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/common/status.h"
#include "kernels/faces/landmark_scheme.h"
#include "kernels/faces/point_confidence.h"
#include "kernels/shape/confidence.h"
#include "kernels/texture/texture.h"

namespace cuface {

enum class ProfileKind : std::int32_t { kLine, kHat, kPatch };

/// How a point is looked for on one level. Its numbers: a line profile has a mean and an inverse
/// covariance by rows, a HAT descriptor an intercept and its coefficients, a patch what PatchModel
/// says.
struct ShapeProfile {
  ProfileKind kind = ProfileKind::kLine;
  std::uint32_t first_number = 0;
};

/// A point's neighbours along its contour, which say where its normal is, and its mirror image, or
/// itself.
struct ShapeNeighbours {
  std::int32_t previous = 0, next = 0, mirrored = 0;
};

/// A point's coordinate along the rule's axis, times `weight`. Weight 0: nothing.
struct ShapeTerm {
  std::int32_t point = 0, unused = 0;
  double weight = 0;
};

/// A correction of implausible shapes. Where the measure, a sum of terms, is below `limit` times
/// the shape's size or times another sum (at least 0), points move along the axis by `shift` times
/// the size or the measure's absolute value.
struct ShapeRule {
  enum Axis : std::int32_t { kX, kY };
  enum Unit : std::int32_t { kSize, kTerms };
  std::int32_t axis = kX;
  std::int32_t limit_unit = kSize;  ///< kTerms: `against`
  std::int32_t shift_unit = kSize;  ///< kTerms: the measure
  std::int32_t skip = 0;            ///< so many of the next rules do not count where this one does
  std::uint32_t first_move = 0, moves = 0;
  static constexpr int kTermsOfSum = 3;
  ShapeTerm measure[kTermsOfSum], against[kTermsOfSum];
  double limit = 0, shift = 0;
};

/// How much of a rule's shift a point gets.
struct ShapeMove {
  std::int32_t point = 0, unused = 0;
  double factor = 0;
};

/// How points are moved to the nearest legal shape.
enum class ShapeConstraint : int {
  kOnePass,  ///< Stasm's: the pose of the shape before, then the weights, once
  kIterated  ///< pose and weights in turns until they rest (Cootes and Taylor, 2004, 4.8) [S3.09]
};

/// How a level of the pyramid is made.
enum class ShapePyramid : int {
  kLinear,   ///< of level 0 by OpenCV's INTER_LINEAR, as Stasm has it
  kGaussian  ///< of the level before by kernels/pyramid's gaussian_down() [S3.06]
};

/// A validated model. The spans point into memory that `storage` keeps alive. Immutable; shared by
/// any threads. Shapes have the unit of the mean shape, about its origin; y points down.
struct ShapeModel {
  std::string name;
  int points = 0;      ///< 3..256
  int modes = 0;       ///< of the shape that are kept
  int levels = 0;      ///< of the pyramid, each half the one before
  int iterations = 0;  ///< on each level, at most
  /// A level ends once no point has moved by more than so many of its pixels. 0: all iterations.
  double rest = 0;
  /// After the finest level, points that cost more than their `refit_limits` are searched for
  /// again, and all are constrained, until none is left, at most so often [S3.10].
  int refits = 0;

  ShapeConstraint constraint = ShapeConstraint::kOnePass;
  ShapePyramid pyramid = ShapePyramid::kLinear;

  /// The distance from the middle of two points to a third is a shape's size. The picture is scaled
  /// so that the start's is `size` pixels.
  int size_left = 0, size_right = 0, size_below = 0;
  double size = 0;

  double mode_limit = 0;  ///< of a mode, in standard deviations
  /// So many pixels of its level a found point is off in x and y, by the root of the mean square.
  /// An iterated constraint takes the likeliest weights, where modes vary by their eigenvalues and
  /// points by this: coarse levels, and modes that vary little, have less. 0: the nearest shape's.
  double noise = 0;
  /// Below 1 points weigh in the iterated constraint what their HAT descriptors' costs say, at
  /// least so much (shape::weight_of_cost()). 1: all weigh the same.
  double least_weight = 1;
  int first_rule_level = 0;  ///< rules count from this level up to the coarsest
  /// A point less than this from the origin in x and y counts as missing in Stasm: it is left out
  /// of fits, and moved to this x. 0: none is.
  double missing_within = 0;

  /// The start: the mean shape times `start_scale` times the box's sides, about its centre. A face
  /// is searched in the part of the picture that reaches `window` box sides from that, either way.
  double start_scale = 0, window = 0;

  LineRule line;
  HatRule hat;
  PatchRule patch;

  std::span<const double> mean_shape;    ///< [points][2]
  std::span<const double> eigenvalues;   ///< [modes]
  std::span<const double> eigenvectors;  ///< [points][2][modes]
  /// [points] in the fit of the pose; of an iterated constraint in the modes, too, which are then
  /// at right angles where points weigh so much.
  std::span<const double> weights;
  std::span<const double> refit_limits;         ///< [points], or none where refits is 0
  std::span<const ShapeNeighbours> neighbours;  ///< [points]
  std::span<const ShapeProfile> profiles;       ///< [levels][points], the finest level first
  std::span<const double> numbers;              ///< of the profiles
  std::span<const ShapeRule> rules;             ///< in the order in which they count
  std::span<const ShapeMove> moves;             ///< of the rules

  std::shared_ptr<const void> storage;

  LandmarkScheme scheme;  ///< what the points stand for; points 0: nobody has said
  /// Of scores as kernels/shape/confidence.h makes them of costs.
  ConfidenceTable confidence;
  /// [points], and the shape's where it counts in scores; none without a table.
  std::span<const shape::UsualCost> usual_costs;
  std::span<const double> score_offsets;  ///< [points], or none: all are 0
  shape::ScoreParts score_parts;

  const ShapeProfile& profile(int level, int point) const {
    return profiles[static_cast<std::size_t>(level * points + point)];
  }
};

/// Largest values a model may have; what is larger is refused before anything is allocated. Stasm's
/// has 77 points, 4 levels of 4 iterations and 308 profiles.
inline constexpr int kMaxShapePoints = 256;
inline constexpr int kMaxShapeModes = 256;
inline constexpr int kMaxShapeLevels = 6;
inline constexpr int kMaxShapeIterations = 20;
inline constexpr int kMaxShapeRefits = 50;
inline constexpr int kMaxShapeRules = 64;
inline constexpr int kMaxShapeMoves = 4096;
/// Of a point, where points weigh by their costs.
inline constexpr double kLeastShapeWeight = 1e-3;
/// Of mean shapes, eigenvectors, weights and the numbers of profiles, either way.
inline constexpr double kMaxShapeNumber = 1e6;
/// Of a file, and so many numbers of profiles, which leave room for all else.
inline constexpr std::size_t kMaxShapeBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxShapeNumbers = (std::size_t{62} << 20) / sizeof(double);
/// Pixels of a window's side at the size that is searched.
inline constexpr int kMaxShapeWindow = 1024, kLeastShapeWindow = 16;
/// Additions of a search: all profiles and offsets in all iterations. Stasm's has 3e7,
/// one of 68 patches of 13x13 in a subspace 7e8.
inline constexpr double kMaxShapeWork = 2e9;
/// Of looking for one point once; a patch has so many rows.
double work_of(const LineRule& rule);
double work_of(const HatRule& rule, int level);
double work_of(const PatchRule& rule, double rows);

/// Sizes, spans, indices, finiteness: kCorrupt and a sentence that says what is wrong. Reads all of
/// the model once. Loaders and every public create() call it.
Status validate(const ShapeModel& model);

/// The model's mean shape, in its own unit.
std::vector<Point> mean_points(const ShapeModel& model);

/// Additions of a search with a model whose profiles are sound, at most kMaxShapeWork.
double search_work(const ShapeModel& model);

/// Pixels of a side of what is searched for the face of a box, at most kMaxShapeWindow. Needs the
/// mean shape.
double window_side(const ShapeModel& model);

/// Of a shape of the model's points.
double shape_size(const ShapeModel& model, std::span<const ShapePoint> shape);

}  // namespace cuface
