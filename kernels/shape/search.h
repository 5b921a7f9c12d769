// The search for the landmarks of faces by a shape model.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/common/backend.h"
#include "kernels/common/geometry.h"
#include "kernels/common/stop_flag.h"
#include "kernels/common/workers.h"
#include "kernels/shape/shape_model.h"
#include "kernels/shape/steps.h"

namespace cuface {

/// Which arithmetic HAT descriptors and patches are in.
enum class ShapeArithmetic {
  /// Fast: HAT descriptors in float, patches in integers. Plain or in vectors: the same bits.
  kFloat,
  kDouble,  ///< the reference's, in Stasm's order of sums: ten times as slow
};

namespace shape {

/// Of a model, which outlives them: one for each of so many threads; none where it has no patches.
std::vector<std::unique_ptr<PatchMatcher>> patch_matchers(const ShapeModel& model,
                                                          ShapeArithmetic arithmetic, int count);

/// One face's search, whole or step by step. One thread at a time.
class FaceSearch {
 public:
  /// The model outlives it. At most so many threads look for points, each for one at a time, where
  /// all have patches or lines; no bit depends on it.
  FaceSearch(const ShapeModel& model, ShapeArithmetic arithmetic, int threads = 1);

  /// Moves `points`, in pixels of `part`, from where they start to where the face's landmarks are.
  /// kInvalidArgument, and `points` untouched: a start of less than a pixel, or one that
  /// Pyramid::make() refuses. kCancelled, with `points` somewhere, once `stop` is raised.
  Status run(ImageView<const std::uint8_t> part, std::span<ShapePoint> points,
             const StopFlag* stop = nullptr);
  /// What each point cost where the last run() has found it, before the constraint.
  std::span<const TextureMatch> matches() const { return matches_; }
  /// What its shape costs.
  double shape_cost() const { return constraint_.shape_cost(); }
  /// How many times the last run() moved all points, and how many of its points it searched again.
  int iterations() const { return iterations_; }
  int refitted() const { return refitted_; }

  // What run() is made of. A level's points are in its own pixels.
  Status set_picture(ImageView<const std::uint8_t> part, double factor);
  void start_level(int level);
  /// Moves each point to where its texture fits best. No `matches`: they are not told.
  void suggest(std::span<ShapePoint> points, std::span<TextureMatch> matches = {});
  /// The same of one, by one of the workers; `shape` are all as they were.
  TextureMatch suggest(std::span<const ShapePoint> shape, int point, ShapePoint& to,
                       int worker = 0);
  Constraint& constraint() { return constraint_; }
  /// Of the level's HAT descriptors; null where the model has none.
  HatCosts* hats() { return costs_.get(); }
  /// What a picture is scaled by for a search from this start.
  double factor(std::span<const ShapePoint> start) const;

 private:
  const ShapeModel& model_;
  Workers workers_;
  std::unique_ptr<HatCosts> costs_;
  std::vector<std::unique_ptr<PatchMatcher>> patches_;  ///< a worker's each
  Constraint constraint_;
  Pyramid pyramid_;
  bool is_at_rest(std::span<const ShapePoint> points, std::span<const ShapePoint> before) const;
  void constrain(std::span<ShapePoint> points);
  Status refit(std::span<ShapePoint> points, const StopFlag* stop);

  int level_ = 0, iterations_ = 0, refitted_ = 0;
  std::vector<ShapePoint> before_, level_before_;
  std::vector<TextureMatch> matches_;
  std::vector<double> found_costs_;  // of matches_
};

}  // namespace shape

/// Finds the landmarks of faces from their boxes. One thread at a time; the model is shared.
class ShapeSearcher {
 public:
  /// kInvalidArgument: no model; kCorrupt: one that validate() refuses; kUnsupported: kCuda,
  /// which is cuda::ShapeSearcher's (cuda/searcher.h); kOutOfMemory. At most `threads` look for
  /// points.
  static Result<std::unique_ptr<ShapeSearcher>> create(
      Backend backend, std::shared_ptr<const ShapeModel> model,
      ShapeArithmetic arithmetic = ShapeArithmetic::kFloat, const StopFlag* stop = nullptr,
      int threads = 1);
  virtual ~ShapeSearcher() = default;

  /// `boxes` in pixels of `luma` (edges), as OpenCV's frontal cascades give them. `out` holds
  /// boxes.size() * model.points points, in pixels; those of a box whose search is refused are its
  /// start. `starts`: none, or as many points as `out`, where the search of each face starts; of a
  /// face of which one is not finite or far away, in its box. kInvalidArgument, and `out`
  /// untouched, for an empty picture, a wrong size of `out` or `starts`, or a box that is empty or
  /// not finite. kCancelled, with some of the points, once `stop` is raised.
  virtual Status enqueue(ImageView<const std::uint8_t> luma, std::span<const Box> boxes,
                         std::span<Point> out, std::span<const Point> starts = {},
                         std::span<float> confidences = {}) = 0;
  /// Whether enqueue() can tell confidences, one for each point: of a model with a table. They are
  /// 0 where a search is refused.
  virtual bool has_confidences() const = 0;
};

}  // namespace cuface
