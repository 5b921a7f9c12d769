#include "models/train/forest_training.h"

#include <algorithm>
#include <cmath>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "kernels/common/workers.h"
#include "kernels/faces/landmark_scheme.h"

namespace cuface::train {
namespace {

constexpr std::size_t kFacesAtOnce = 64;

/// What distances of a face are told in.
double scale_of(const FaceSet& set, std::size_t face) {
  const auto landmarks = static_cast<std::size_t>(set.landmarks);
  const Eyes eyes = known_scheme(set.landmarks).eyes;
  Point centres[2];
  bool known = eyes.count > 0;
  for (int side = 0; side < 2; ++side) {
    for (int i = 0; i < eyes.count; ++i) {
      const auto at =
          face * landmarks + static_cast<std::size_t>((side ? eyes.right : eyes.left) + i);
      known &= set.present[at] != 0;
      centres[side].x += set.points[at].x / static_cast<float>(eyes.count);
      centres[side].y += set.points[at].y / static_cast<float>(eyes.count);
    }
  }
  const double x = static_cast<double>(centres[0].x - centres[1].x);
  const double y = static_cast<double>(centres[0].y - centres[1].y);
  const double apart = std::sqrt(x * x + y * y);
  return known && apart > 0 ? apart : static_cast<double>(set.boxes[face].w);
}

/// Sum of the distances of a face's points, and how many there are.
std::pair<double, std::size_t> distances(const FaceSet& set, std::size_t face,
                                         std::span<const Point> found) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t at = face * found.size() + i;
    if (!set.present[at]) continue;
    const double x = static_cast<double>(found[i].x - set.points[at].x);
    const double y = static_cast<double>(found[i].y - set.points[at].y);
    sum += std::sqrt(x * x + y * y);
    ++count;
  }
  return {sum / scale_of(set, face), count};
}

/// The whole stages of a forest that are not more than `most`.
GrownForest cut(GrownForest forest, const ForestOptions& options, int most) {
  const std::size_t trees = static_cast<std::size_t>(most) *
                            static_cast<std::size_t>(options.num_trees_per_cascade_level);
  const std::size_t had = forest.trees(options);
  if (trees >= had) return forest;
  forest.leaves.resize(forest.leaves.size() / had * trees);
  forest.splits.resize(forest.splits.size() / had * trees);
  const std::size_t of_tree = (forest.mean_shape.size() / 2) << options.tree_depth;
  forest.spreads.resize(forest.spreads.size() -
                        std::min(forest.spreads.size(), (had - trees) * of_tree));
  return forest;
}

/// Follows the errors of stages, and says when to end.
class Stages {
 public:
  Stages(FaceSet& faces, FaceSet* validation, const ForestOptions& options,
         const ForestWatch& watch)
      : faces_(faces), validation_(validation), options_(options), watch_(watch) {}

  /// Errors of the forest's last stage, which is done.
  Status add(const GrownForest& forest) {
    CUFACE_TAKE(model, make_forest(forest, options_));
    StageError error;
    error.stage = model->stages;
    CUFACE_TRY(take(mean_error(model, faces_, watch_.threads, kErrorFaces), error.training));
    if (validation_)
      CUFACE_TRY(take(mean_error(model, *validation_, watch_.threads), error.validation));
    errors.push_back(error);
    if (watch_.stage) watch_.stage(forest, error);
    return {};
  }
  int best() const {
    if (!validation_ || errors.empty()) return options_.cascade_depth;
    return std::min_element(
               errors.begin(), errors.end(),
               [](const StageError& a, const StageError& b) { return a.validation < b.validation; })
        ->stage;
  }
  bool is_enough() const {
    return validation_ && !errors.empty() && errors.back().stage >= best() + watch_.patience;
  }

  std::vector<StageError> errors;

 private:
  FaceSet& faces_;
  FaceSet* const validation_;
  const ForestOptions& options_;
  const ForestWatch& watch_;
};

}  // namespace

Result<double> mean_error(std::shared_ptr<const ForestModel> model, FaceSet& set, int threads,
                          std::size_t most) {
  const std::size_t faces = std::min(most, set.boxes.size());
  const LabelledFaces labelled = set.faces();
  const auto landmarks = static_cast<std::size_t>(set.landmarks);
  if (model->landmarks != set.landmarks)
    return Status(StatusCode::kInvalidArgument, "the faces have " + std::to_string(set.landmarks) +
                                                    " points, the model " +
                                                    std::to_string(model->landmarks));
  Workers workers(threads > 0 ? threads : Workers::processors());
  const std::size_t chunks = (faces + kFacesAtOnce - 1) / kFacesAtOnce;
  std::vector<Status> status(chunks);
  std::vector<std::pair<double, std::size_t>> sums(faces);
  workers.run(static_cast<int>(chunks), [&](int chunk, int) {
    const std::size_t first = static_cast<std::size_t>(chunk) * kFacesAtOnce;
    status[static_cast<std::size_t>(chunk)] = guarded("telling errors", [&]() -> Status {
      CUFACE_TAKE(landmarker, Landmarker::create(Backend::kCpu, model));
      std::vector<Point> found(landmarks);
      for (std::size_t face = first; face < std::min(faces, first + kFacesAtOnce); ++face) {
        CUFACE_TRY(landmarker->enqueue(labelled.pictures[set.picture_of[face]],
                                       labelled.boxes.subspan(face, 1), found));
        sums[face] = distances(set, face, found);
      }
      return {};
    });
  });
  for (const Status& s : status) CUFACE_TRY(s);
  double sum = 0;
  std::size_t count = 0;
  for (const auto& [distance, points] : sums) sum += distance, count += points;
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

Result<TrainedForest> train_forest(FaceSet& faces, FaceSet* validation,
                                   const ForestOptions& options, const ForestWatch& watch,
                                   GrownForest begun, ForestCost* cost) {
  CUFACE_TRY(validate(options));
  TrainedForest out;
  Stages stages(faces, validation, options, watch);
  const auto per_stage = static_cast<std::size_t>(options.num_trees_per_cascade_level);
  // A training that ends early knows its errors again from the stages that are there.
  for (std::size_t done = per_stage; validation && done <= begun.trees(options); done += per_stage)
    CUFACE_TRY(stages.add(cut(begun, options, static_cast<int>(done / per_stage))));
  out.early = stages.is_enough();
  if (out.early && !watch.spreads) {
    out.forest = std::move(begun);
  } else {
    const bool is_whole = out.early;  // but for its spreads
    GrownForest seen;
    Status failed;
    StopFlag enough;
    ForestRun run;
    run.backend = watch.backend;
    run.threads = watch.threads;
    run.stop = validation && !is_whole ? &enough : watch.stop;
    if (watch.spreads) run.spreads_from = validation ? 0 : options.cascade_depth - 1;
    if (is_whole) run.most_trees = begun.trees(options);
    run.watch = [&](const GrownForest& forest) {
      if (watch.tree) watch.tree(forest);
      if (forest.trees(options) % per_stage == 0) {
        if (failed.ok()) failed = stages.add(forest);
        out.early =
            stages.is_enough() &&
            forest.trees(options) < per_stage * static_cast<std::size_t>(options.cascade_depth);
        if (out.early) seen = forest;
        if (out.early || !failed.ok()) enough.raise();
      }
      if (is_raised(watch.stop)) enough.raise();
    };
    Result<GrownForest> grown = grow_forest(faces.faces(), options, run, std::move(begun), cost);
    CUFACE_TRY(failed);
    if (!grown.ok() && (!out.early || is_whole)) return grown.status();
    out.forest = grown.ok() ? std::move(grown.value()) : std::move(seen);
  }
  CUFACE_TRY(take(make_forest(cut(out.forest, options, stages.best()), options), out.model));
  out.errors = std::move(stages.errors);
  return out;
}

}  // namespace cuface::train
