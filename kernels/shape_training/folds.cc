#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "kernels/common/workers.h"
#include "kernels/shape_training/confidence.h"
#include "kernels/shape_training/learn_shape.h"

namespace cuface {
namespace {

using Model = std::shared_ptr<const ShapeModel>;

std::size_t size_of(int n) { return static_cast<std::size_t>(n); }

Status invalid(std::string why) { return {StatusCode::kInvalidArgument, std::move(why)}; }

Status check(const ShapeFaces& faces) {
  const std::size_t count = faces.boxes.size(), points = count * size_of(faces.landmarks);
  if (faces.picture_of.size() != count || faces.points.size() != points ||
      faces.present.size() != points)
    return invalid("faces and their points do not fit each other");
  for (std::size_t i = 0; i < count; ++i)
    if (faces.picture_of[i] >= faces.pictures.size() ||
        !(faces.boxes[i].w > 0 && faces.boxes[i].h > 0))
      return invalid("a face without a picture or a box");
  return {};
}

/// All faces of a picture, and those of its mirror image, are in one fold.
class Folds {
 public:
  Folds(const ShapeFaces& faces, const ShapeOptions& options, const ShapeRun& run)
      : faces_(faces),
        options_(options),
        run_(run),
        workers_(run.threads > 0 ? run.threads : Workers::processors()) {}

  /// Each fold's model is made without its pictures; what that lacks is told before all else.
  Status check() const {
    std::vector<std::size_t> outside(size_of(options_.confidence_folds)), counted(outside);
    std::size_t all = 0;
    for (std::size_t face = 0; face < faces_.boxes.size(); ++face) {
      all += is_whole(face);
      for (std::size_t fold = 0; fold < outside.size(); ++fold) {
        if (size_of(fold_of(face)) == fold) continue;
        ++counted[fold];
        outside[fold] += is_whole(face);
      }
    }
    const auto fewest = std::ranges::min_element(outside);
    if (all < shape::kFewestWholeFaces || *fewest >= shape::kFewestWholeFaces)
      return check_model_work(options_, faces_.landmarks, *std::ranges::min_element(counted), {});
    return invalid("confidences: without the pictures of fold " +
                   std::to_string(fewest - outside.begin() + 1) + " of " +
                   std::to_string(outside.size()) + " there are " + std::to_string(*fewest) +
                   " faces with all landmarks, and a shape is learnt from 3 or more; give more "
                   "pictures, or --confidence-folds 0");
  }

  /// Costs of each fold's faces by a model of the others; `model` is of all.
  Result<shape::Calibration> calibration(const ShapeModel& model) {
    std::vector<shape::SearchedFace> all;
    for (int fold = 0; fold < options_.confidence_folds; ++fold) {
      Result<Model> learnt = learn_others(fold);
      if (learnt.status().code() == StatusCode::kInvalidArgument)
        return invalid("confidences: without the pictures of fold " + std::to_string(fold + 1) +
                       " of " + std::to_string(options_.confidence_folds) + ": " +
                       learnt.status().message() + "; --confidence-folds 0 leaves them out");
      CUFACE_TAKE(of_others, std::move(learnt));
      CUFACE_TAKE(found, search(*of_others, fold));
      std::ranges::move(found, std::back_inserter(all));
      if (run_.note)
        run_.note("confidences: fold " + std::to_string(fold + 1) + " of " +
                  std::to_string(options_.confidence_folds) + " done");
    }
    return shape::calibrate(all, model.mean_shape);
  }

 private:
  bool is_mirrored(std::size_t face) const {
    return faces_.unmirrored > 0 && faces_.picture_of[face] >= faces_.unmirrored;
  }
  bool is_whole(std::size_t face) const {
    const std::size_t landmarks = size_of(faces_.landmarks);
    return std::ranges::all_of(faces_.present.subspan(face * landmarks, landmarks),
                               [](std::uint8_t p) { return p != 0; });
  }
  int fold_of(std::size_t face) const {
    const std::size_t picture = faces_.picture_of[face];
    const std::size_t source = is_mirrored(face) ? picture - faces_.unmirrored : picture;
    return static_cast<int>(source % size_of(options_.confidence_folds));
  }

  Result<Model> learn_others(int fold) const {
    const std::size_t landmarks = size_of(faces_.landmarks);
    std::vector<std::uint32_t> picture_of;
    std::vector<Box> boxes;
    std::vector<Point> points;
    std::vector<std::uint8_t> present;
    for (std::size_t face = 0; face < faces_.boxes.size(); ++face) {
      if (fold_of(face) == fold) continue;
      picture_of.push_back(faces_.picture_of[face]);
      boxes.push_back(faces_.boxes[face]);
      for (std::size_t i = face * landmarks; i < (face + 1) * landmarks; ++i) {
        points.push_back(faces_.points[i]);
        present.push_back(faces_.present[i]);
      }
    }
    ShapeRun quiet = run_;
    quiet.watch = nullptr;
    quiet.note = nullptr;
    return shape::learn_shape(
        {faces_.landmarks, faces_.pictures, picture_of, boxes, points, present, {}, 0}, options_,
        quiet, {});
  }

  /// What search_hard() finds in a fold's unmirrored whole faces.
  Result<std::vector<shape::SearchedFace>> search(const ShapeModel& model, int fold) {
    std::vector<std::size_t> wanted;
    for (std::size_t face = 0; face < faces_.boxes.size(); ++face)
      if (fold_of(face) == fold && !is_mirrored(face) && is_whole(face)) wanted.push_back(face);
    std::vector<std::unique_ptr<shape::FaceSearch>> searches;
    for (int i = 0; i < workers_.count(); ++i)
      searches.push_back(std::make_unique<shape::FaceSearch>(model, ShapeArithmetic::kFloat));
    std::vector<std::vector<shape::SearchedFace>> found(wanted.size());
    std::vector<Status> status(wanted.size());
    workers_.run(static_cast<int>(wanted.size()), [&](int i, int worker) {
      const std::size_t k = size_of(i);
      if (is_raised(run_.stop)) return;
      status[k] = guarded("searching for landmarks", [&]() -> Status {
        found[k] = shape::search_hard(*searches[size_of(worker)], model, faces_, wanted[k]);
        return {};
      });
    });
    if (is_raised(run_.stop)) return cancelled();
    for (const Status& s : status) CUFACE_TRY(s);
    std::vector<shape::SearchedFace> all;
    for (auto& faces : found) std::ranges::move(faces, std::back_inserter(all));
    return all;
  }

  const ShapeFaces& faces_;
  const ShapeOptions& options_;
  const ShapeRun& run_;
  Workers workers_;
};

/// The model with confidences.
Result<Model> with(const shape::Calibration& calibration, const Model& model) {
  struct Both {
    Model model;
    shape::Calibration calibration;
  };
  auto both = std::make_shared<Both>(Both{model, calibration});
  auto out = std::make_shared<ShapeModel>(*model);
  out->confidence = calibration.table;
  out->usual_costs = both->calibration.usual;
  out->score_offsets = both->calibration.offsets;
  out->score_parts = calibration.parts;
  out->storage = both;
  CUFACE_TRY(validate(*out));
  return Model(std::move(out));
}

}  // namespace

Result<Model> train_shape(const ShapeFaces& faces, const ShapeOptions& options, const ShapeRun& run,
                          LearntTextures begun) {
  CUFACE_TRY(validate(options, faces.landmarks));
  CUFACE_TRY(check(faces));
  return guarded("training a shape model", [&]() -> Result<Model> {
    Folds folds(faces, options, run);
    if (options.confidence_folds > 0) CUFACE_TRY(folds.check());
    CUFACE_TAKE(model, shape::learn_shape(faces, options, run, std::move(begun)));
    if (options.confidence_folds == 0) return model;
    CUFACE_TAKE(calibration, folds.calibration(*model));
    if (calibration.table.is_known()) return with(calibration, model);
    if (run.note) run.note("no face could be searched for, so the model tells no confidences");
    return model;
  });
}

}  // namespace cuface
