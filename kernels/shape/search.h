// The search for the landmarks of faces by a shape model.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/common/backend.h"
#include "kernels/common/geometry.h"
#include "kernels/common/stop_flag.h"
#include "kernels/shape/shape_model.h"
#include "kernels/shape/steps.h"

namespace cuface {

/// Which arithmetic HAT descriptors are in.
enum class ShapeArithmetic {
  kFloat,   ///< fast, plain or in vectors: the same bits
  kDouble,  ///< the reference's, in Stasm's order of sums: ten times as slow
};

namespace shape {

/// Of a model, which outlives it.
std::unique_ptr<HatCosts> hat_costs(const ShapeModel& model, ShapeArithmetic arithmetic);

/// One face's search, whole or step by step. One thread at a time.
class FaceSearch {
 public:
  /// The model outlives it. HAT descriptors are `costs`' business.
  FaceSearch(const ShapeModel& model, std::unique_ptr<HatCosts> costs);

  /// Moves `points`, in pixels of `part`, from where they start to where the face's landmarks are.
  /// kInvalidArgument, and `points` untouched: a start of less than a pixel, or one that
  /// Pyramid::make() refuses. kCancelled, with `points` somewhere, once `stop` is raised.
  Status run(ImageView<const std::uint8_t> part, std::span<ShapePoint> points,
             const StopFlag* stop = nullptr);

  // What run() is made of. A level's points are in its own pixels.
  Status set_picture(ImageView<const std::uint8_t> part, double factor);
  void start_level(int level);
  /// Moves each point to where its texture fits best. No `matches`: they are not told.
  void suggest(std::span<ShapePoint> points, std::span<TextureMatch> matches = {});
  Constraint& constraint() { return constraint_; }
  /// What a picture is scaled by for a search from this start.
  double factor(std::span<const ShapePoint> start) const;

 private:
  const ShapeModel& model_;
  std::unique_ptr<HatCosts> costs_;
  Constraint constraint_;
  Pyramid pyramid_;
  int level_ = 0;
  std::vector<ShapePoint> before_;
};

/// The part of a picture in which the face of a box is looked for: whole pixels, within the
/// picture, empty where the box is beyond it.
Rect window_of(const ShapeModel& model, const Box& box, int width, int height);

}  // namespace shape

/// Finds the landmarks of faces from their boxes. One thread at a time; the model is shared.
class ShapeSearcher {
 public:
  /// kInvalidArgument: no model; kCorrupt: one that validate() refuses; kUnsupported: kCuda;
  /// kOutOfMemory.
  static Result<std::unique_ptr<ShapeSearcher>> create(
      Backend backend, std::shared_ptr<const ShapeModel> model,
      ShapeArithmetic arithmetic = ShapeArithmetic::kFloat, const StopFlag* stop = nullptr);
  virtual ~ShapeSearcher() = default;

  /// `boxes` in pixels of `luma` (edges), as OpenCV's frontal cascades give them. `out` holds
  /// boxes.size() * model.points points, in pixels; those of a box whose search is refused are its
  /// start. kInvalidArgument, and `out` untouched, for an empty picture, a wrong size of `out`, or
  /// a box that is empty or not finite. kCancelled, with some of the points, once `stop` is raised.
  virtual Status enqueue(ImageView<const std::uint8_t> luma, std::span<const Box> boxes,
                         std::span<Point> out) = 0;
};

}  // namespace cuface
