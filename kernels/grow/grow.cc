#include "kernels/grow/grow.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "kernels/common/simd.h"
#include "kernels/common/stopwatch.h"
#include "kernels/common/training_backend.h"
#include "kernels/common/try.h"
#include "kernels/common/workers.h"
#ifdef CUFACE_HAVE_CUDA
#include "kernels/grow/cuda/trees.h"
#endif
#include "kernels/grow/draws.h"
#include "kernels/grow/starts.h"
#include "kernels/grow/steps.h"
#include "kernels/grow/trees.h"
#include "kernels/landmarks/regression.h"

namespace cuface {
namespace {

using namespace grow;

Status invalid(std::string why) { return {StatusCode::kInvalidArgument, std::move(why)}; }

std::string face_name(std::size_t face) { return "face " + std::to_string(face); }

Status check_sizes(const LabelledFaces& faces, const ForestOptions& options) {
  const std::size_t count = faces.count();
  if (faces.landmarks < 1 || faces.landmarks > kMaxLandmarks)
    return invalid("a face must have 1 to " + std::to_string(kMaxLandmarks) + " landmarks, not " +
                   std::to_string(faces.landmarks));
  if (count == 0) return invalid("there is no face to learn from");
  const std::size_t points = count * static_cast<std::size_t>(faces.landmarks);
  if (faces.picture_of.size() != count || faces.points.size() != points ||
      (!faces.present.empty() && faces.present.size() != points) ||
      (!faces.weights.empty() && faces.weights.size() != count))
    return invalid(
        "boxes, pictures, points, marks of presence and weights are not of as many faces");
  const auto amount = static_cast<std::size_t>(options.oversampling_amount);
  if (count > kMostForestSamples / amount)
    return invalid(std::to_string(count) + " faces are too many for oversampling_amount " +
                   std::to_string(amount) + ": there may be " + std::to_string(kMostForestSamples) +
                   " samples");
  return {};
}

Status check_face(const LabelledFaces& faces, std::size_t face) {
  if (faces.picture_of[face] >= faces.pictures.size())
    return invalid(face_name(face) + " is of a picture that does not exist");
  const ImageView<const std::uint8_t>& picture = faces.pictures[faces.picture_of[face]];
  if (!picture.data || picture.width < 1 || picture.height < 1)
    return invalid(face_name(face) + " is of an empty picture");
  const Box& box = faces.boxes[face];
  if (!forest::is_usable(box) || !(box.w > 1) || !(box.h > 1))
    return invalid("the box of " + face_name(face) + " is not finite, or not larger than a pixel");
  if (weight_of(faces, face) < 1) return invalid(face_name(face) + " has no weight");
  const auto landmarks = static_cast<std::size_t>(faces.landmarks);
  for (std::size_t i = 0; i < landmarks; ++i) {
    if (!is_present(faces, face, i)) continue;
    const Point p = faces.points[face * landmarks + i];
    const float x = (p.x - box.x) / (box.w - 1), y = (p.y - box.y) / (box.h - 1);
    if (!(std::fabs(x) <= kFarthestPoint && std::fabs(y) <= kFarthestPoint))
      return invalid("point " + std::to_string(i) + " of " + face_name(face) +
                     " is not finite, or too far from its box");
  }
  return {};
}

Status check(const LabelledFaces& faces, const ForestOptions& options) {
  CUFACE_TRY(check_sizes(faces, options));
  for (std::size_t face = 0; face < faces.count(); ++face) CUFACE_TRY(check_face(faces, face));
  for (std::size_t i = 0; i < static_cast<std::size_t>(faces.landmarks); ++i) {
    std::size_t face = 0;
    while (face < faces.count() && !is_present(faces, face, i)) ++face;
    if (face == faces.count())
      return invalid("point " + std::to_string(i) + " is present in no face");
  }
  return {};
}

/// Where all points are there, and all faces count the same as one, less has to be read.
LabelledFaces without_ones(LabelledFaces faces) {
  const auto are_ones = [](std::span<const std::uint8_t> values) {
    return std::all_of(values.begin(), values.end(), [](std::uint8_t v) { return v == 1; });
  };
  if (are_ones(faces.present)) faces.present = {};
  if (are_ones(faces.weights)) faces.weights = {};
  return faces;
}

/// Sizes of one tree, and views of trees in the tables of all.
struct TreeSizes {
  std::size_t splits, leaves, spreads;

  TreeSizes(const ForestOptions& options, int landmarks)
      : splits((std::size_t{1} << options.tree_depth) - 1),
        leaves((splits + 1) * 2 * static_cast<std::size_t>(landmarks)),
        spreads(leaves / 2) {}

  ConstTreeTables at(const GrownForest& forest, std::size_t tree) const {
    return {std::span(forest.splits).subspan(tree * splits, splits),
            std::span(forest.leaves).subspan(tree * leaves, leaves)};
  }
  TreeTables append(GrownForest& forest) const {
    forest.splits.resize(forest.splits.size() + splits);
    forest.leaves.resize(forest.leaves.size() + leaves);
    return {std::span(forest.splits).last(splits), std::span(forest.leaves).last(leaves)};
  }
};

/// What a checkpoint brings must be of these samples and options as far as can be told.
Status check_begun(const GrownForest& begun, const GrownForest& fresh, const TreeSizes& sizes,
                   const ForestOptions& options) {
  if (begun.mean_shape.empty() && begun.splits.empty()) return {};
  const std::size_t trees = begun.splits.size() / sizes.splits;
  const auto most = static_cast<std::size_t>(options.cascade_depth) *
                    static_cast<std::size_t>(options.num_trees_per_cascade_level);
  if (begun.mean_shape != fresh.mean_shape || begun.anchors != fresh.anchors ||
      begun.deltas != fresh.deltas || begun.splits.size() != trees * sizes.splits ||
      begun.leaves.size() != trees * sizes.leaves || trees > most)
    return invalid("the forest to begin with is not of these samples and options");
  const auto pool = static_cast<std::uint32_t>(options.feature_pool_size);
  const bool sound =
      std::all_of(begun.splits.begin(), begun.splits.end(), [&](const ForestSplit& split) {
        return split.a < pool && split.b < pool && std::isfinite(split.threshold);
      });
  if (!sound || !all_finite(begun.leaves))
    return invalid("the forest to begin with has a split or a leaf that is out of range");
  return {};
}

using MadeTrees = Result<std::unique_ptr<SampleTrees>>;

MadeTrees make_cuda_trees([[maybe_unused]] const LabelledFaces& faces,
                          [[maybe_unused]] const ForestOptions& options,
                          [[maybe_unused]] const ForestRun& run,
                          [[maybe_unused]] const Starts& starts) {
#ifdef CUFACE_HAVE_CUDA
  return cuda::grow::make_trees(faces, options, starts, run.stop);
#else
  return Status(StatusCode::kUnsupported, "this build has no CUDA");
#endif
}

MadeTrees make_trees(const LabelledFaces& faces, const ForestOptions& options, const ForestRun& run,
                     Starts starts) {
  const int threads = run.threads > 0 ? run.threads : Workers::processors();
  if (options.draws == ForestDraws::kDlib)
    return make_dlib_trees(faces, options, std::move(starts), threads, run.stop);
  if (run.backend != TrainingBackend::kCpu) {
    std::unique_ptr<SampleTrees> trees;
    CUFACE_TAKE(on_gpu, take_or_fall_back(run.backend, make_cuda_trees(faces, options, run, starts),
                                          trees));
    if (on_gpu) return trees;
  }
  if (!simd::vectors()) return make_plain_trees(faces, options, std::move(starts), run.stop);
  return make_fast_trees(faces, options, std::move(starts), threads, run.stop);
}

Result<GrownForest> grown(const LabelledFaces& faces, const ForestOptions& options,
                          const ForestRun& run, GrownForest begun, ForestCost& cost) {
  const Stopwatch total(cost.total_seconds);
  const TreeSizes sizes(options, faces.landmarks);
  const std::unique_ptr<Draws> draws = make_draws(options, faces.count());
  std::unique_ptr<SampleTrees> samples;
  std::vector<Point> pixels;
  GrownForest forest;
  {
    const Stopwatch prepare(cost.prepare_seconds);
    Starts starts = make_starts(faces, options, *draws);
    pixels = draw_pixels(starts.mean, options, *draws);
    anchor_pixels(starts.mean, pixels, forest.anchors, forest.deltas);
    forest.mean_shape = starts.mean;
    CUFACE_TRY(take(make_trees(faces, options, run, std::move(starts)), samples));
    cost.on_gpu = samples->is_on_gpu();
  }
  CUFACE_TRY(check_begun(begun, forest, sizes, options));
  if (!begun.splits.empty()) forest = std::move(begun);
  forest.spreads.clear();
  const std::size_t had = forest.splits.size() / sizes.splits;
  const auto pool = static_cast<std::size_t>(options.feature_pool_size);
  const int per_stage = options.num_trees_per_cascade_level;
  std::vector<ForestSplit> tests(sizes.splits * static_cast<std::size_t>(options.num_test_splits));
  std::size_t number = 0;
  const std::size_t end =
      run.most_trees > 0 ? run.most_trees : std::numeric_limits<std::size_t>::max();
  for (int stage = 0; stage < options.cascade_depth && number < end; ++stage) {
    const std::size_t first = static_cast<std::size_t>(stage) * pool;
    {
      const Stopwatch prepare(cost.prepare_seconds);
      CUFACE_TRY(samples->begin(std::span(forest.anchors).subspan(first, pool),
                                std::span(forest.deltas).subspan(2 * first, 2 * pool)));
    }
    for (int tree = 0; tree < per_stage && number < end; ++tree, ++number) {
      const Stopwatch search(cost.search_seconds);
      draws->splits(stage, tree, std::span(pixels).subspan(first, pool), tests);
      const bool is_new = number >= had;
      if (is_new) CUFACE_TRY(samples->find(tests, sizes.append(forest)));
      if (stage >= run.spreads_from) {
        forest.spreads.resize(forest.spreads.size() + sizes.spreads);
        CUFACE_TRY(samples->spread(sizes.at(forest, number),
                                   std::span(forest.spreads).last(sizes.spreads)));
      }
      CUFACE_TRY(samples->add(sizes.at(forest, number)));
      if (is_new && run.watch) run.watch(forest);
    }
  }
  cost.bytes = samples->bytes();
  return forest;
}

}  // namespace

Status validate(const ForestOptions& o, TrainingBackend backend) {
  const auto is_inside = [](auto value, auto low, auto high) {
    return value >= low && value <= high;  // not NaN
  };
  const auto count = [&](const char* name, int value, int low, int high) -> Status {
    if (is_inside(value, low, high)) return {};
    return invalid(std::string(name) + " must be " + std::to_string(low) + " to " +
                   std::to_string(high));
  };
  CUFACE_TRY(count("cascade_depth", o.cascade_depth, 1, kMaxForestStages));
  CUFACE_TRY(count("tree_depth", o.tree_depth, 1, kMaxForestDepth));
  CUFACE_TRY(
      count("num_trees_per_cascade_level", o.num_trees_per_cascade_level, 1, kMaxForestTrees));
  CUFACE_TRY(
      count("oversampling_amount", o.oversampling_amount, 1, static_cast<int>(kMostForestSamples)));
  CUFACE_TRY(count("feature_pool_size", o.feature_pool_size, 2, kMaxForestPool));
  CUFACE_TRY(count("num_test_splits", o.num_test_splits, 1, kMostTestSplits));
  if (!(o.nu > 0 && o.nu <= 1)) return invalid("nu must be above 0 and not above 1");
  if (!(o.lambda > 0 && std::isfinite(o.lambda))) return invalid("lambda must be above 0");
  if (!is_inside(o.oversampling_translation_jitter, 0.0, 100.0))
    return invalid("oversampling_translation_jitter must be 0 to 100");
  if (!(o.feature_pool_region_padding > -0.5 && o.feature_pool_region_padding <= 100))
    return invalid("feature_pool_region_padding must be above -0.5 and not above 100");
  const auto stages = static_cast<std::size_t>(o.cascade_depth);
  const auto trees = static_cast<std::size_t>(o.num_trees_per_cascade_level);
  if (stages * trees << o.tree_depth > kMaxForestLeaves)
    return invalid("cascade_depth, num_trees_per_cascade_level and tree_depth make more than " +
                   std::to_string(kMaxForestLeaves) + " leaves");
  if (stages * static_cast<std::size_t>(o.feature_pool_size) > kMaxForestPixels)
    return invalid("cascade_depth and feature_pool_size make more than " +
                   std::to_string(kMaxForestPixels) + " feature pixels");
  if (backend == TrainingBackend::kCuda && o.draws == ForestDraws::kDlib) {
    return {StatusCode::kUnsupported,
            "random=dlib adds up as dlib does, which only the CPU can: take backend auto or cpu"};
  }
  return {};
}

Result<GrownForest> grow_forest(const LabelledFaces& faces, const ForestOptions& options,
                                const ForestRun& run, GrownForest begun, ForestCost* cost) {
  CUFACE_TRY(validate(options, run.backend));
  CUFACE_TRY(check(faces, options));
  CUFACE_TRY(simd::status());
  ForestCost unwanted;
  try {
    return grown(without_ones(faces), options, run, std::move(begun), cost ? *cost : unwanted);
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory,
                  "the memory is too small for " + std::to_string(faces.count()) +
                      " faces; take fewer, or a smaller oversampling_amount");
  }
}

Result<std::shared_ptr<const ForestModel>> make_forest(const GrownForest& grown,
                                                       const ForestOptions& options) {
  const auto per_stage = static_cast<std::size_t>(options.num_trees_per_cascade_level);
  const TreeSizes sizes(options, static_cast<int>(grown.mean_shape.size() / 2));
  const std::size_t stages = grown.trees(options) / per_stage;
  const auto pool = static_cast<std::size_t>(options.feature_pool_size);
  auto tables = std::make_shared<GrownForest>(grown);
  auto model = std::make_shared<ForestModel>();
  model->landmarks = static_cast<int>(grown.mean_shape.size() / 2);
  model->stages = static_cast<int>(stages);
  model->trees = options.num_trees_per_cascade_level;
  model->depth = options.tree_depth;
  model->pool = options.feature_pool_size;
  tables->anchors.resize(stages * pool);
  tables->deltas.resize(2 * stages * pool);
  tables->splits.resize(stages * per_stage * sizes.splits);
  tables->leaves.resize(stages * per_stage * sizes.leaves);
  // Those of the last whole stage, where they are known.
  const std::size_t known = grown.spreads.size() / sizes.spreads, had = grown.trees(options);
  const std::size_t last = (std::max<std::size_t>(stages, 1) - 1) * per_stage;
  tables->spreads.clear();
  if (stages > 0 && known <= had && had - known <= last && last + per_stage <= had) {
    const auto from =
        grown.spreads.begin() + static_cast<std::ptrdiff_t>((last - (had - known)) * sizes.spreads);
    tables->spreads.assign(from, from + static_cast<std::ptrdiff_t>(per_stage * sizes.spreads));
  }
  model->leaf_spreads = tables->spreads;
  model->mean_shape = tables->mean_shape;
  model->anchors = tables->anchors;
  model->deltas = tables->deltas;
  model->splits = tables->splits;
  model->leaves = tables->leaves;
  model->storage = std::move(tables);
  CUFACE_TRY(validate(*model));
  model->scheme = known_scheme(mean_points(*model));
  return std::shared_ptr<const ForestModel>(std::move(model));
}

}  // namespace cuface
