#include "tests/kernels/dlib_trainer.h"

#include <dlib/array2d.h>
#include <dlib/image_processing/shape_predictor_trainer.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <sstream>
#include <vector>

#include "kernels/common/simd.h"
#include "kernels/grow/draws.h"
#include "kernels/grow/starts.h"
#include "kernels/grow/trees.h"
#include "kernels/landmarks/regression.h"
#include "models/dlib_dat.h"
#include "tests/models/dlib_forest.h"
#include "tests/models/synthetic_forest.h"

namespace cuface::test {
namespace {

// The score of a split from shapes and pixels of its own, in double: how near two splits are.
class Scores {
 public:
  Scores(const LabelledFaces& faces, const ForestOptions& options, const grow::Starts& starts)
      : faces_(faces),
        starts_(starts),
        amount_(static_cast<std::size_t>(options.oversampling_amount)),
        size_(starts.mean.size()),
        pool_(static_cast<std::size_t>(options.feature_pool_size)),
        depth_(options.tree_depth),
        levers_(forest::levers_of(points_of(starts.mean.data()))) {}

  void begin(std::span<const std::uint32_t> anchors, std::span<const float> deltas) {
    pixels_.resize(samples() * pool_);
    for (std::size_t i = 0; i < samples(); ++i) {
      const std::size_t face = i / amount_;
      forest::read_pool(
          forest::PixelReader(faces_.pictures[faces_.picture_of[face]], faces_.boxes[face]),
          levers_, points_of(starts_.shapes.data() + i * size_), anchors, deltas.data(),
          pixels_.data() + i * pool_);
    }
  }

  void add(std::span<const ForestSplit> splits, std::span<const float> leaves) {
    for (std::size_t i = 0; i < samples(); ++i) {
      const std::size_t leaf = forest::walk_tree(splits, depth_, pixels_.data() + i * pool_);
      for (std::size_t k = 0; k < size_; ++k)
        starts_.shapes[i * size_ + k] += leaves[leaf * size_ + k];
    }
  }

  // Of the samples that reach a node of the tree.
  double of(std::span<const ForestSplit> splits, std::size_t node, const ForestSplit& split) const {
    std::vector<double> sums[2] = {std::vector<double>(size_), std::vector<double>(size_)};
    double count[2] = {};
    for (std::size_t i = 0; i < samples(); ++i) {
      std::size_t at = 0;
      while (at < node) at = goes_left(i, splits[at]) ? 2 * at + 1 : 2 * at + 2;
      if (at != node) continue;
      const bool left = goes_left(i, split);
      ++count[left];
      const std::size_t face = i / amount_;
      for (std::size_t k = 0; k < size_; ++k)
        if (grow::is_present(faces_, face, k / 2))
          sums[left][k] +=
              double{starts_.targets[face * size_ + k]} - starts_.shapes[i * size_ + k];
    }
    double score = 0;
    for (const bool left : {false, true})
      for (std::size_t k = 0; k < size_; ++k) score += sums[left][k] * sums[left][k] / count[left];
    return score;
  }

 private:
  std::size_t samples() const { return starts_.shapes.size() / size_; }
  std::span<const Point> points_of(const float* shape) const {
    return {reinterpret_cast<const Point*>(shape), size_ / 2};
  }
  bool goes_left(std::size_t sample, const ForestSplit& split) const {
    const float* const pixels = pixels_.data() + sample * pool_;
    return pixels[split.a] - pixels[split.b] > split.threshold;
  }

  const LabelledFaces faces_;
  grow::Starts starts_;
  const std::size_t amount_, size_, pool_;
  const int depth_;
  const std::vector<forest::Lever> levers_;
  std::vector<float> pixels_;
};

template <typename A, typename B>
std::size_t count_other(const A& a, const B& b) {
  std::size_t other = a.size() != b.size();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) other += a[i] != b[i];
  return other;
}

}  // namespace

std::shared_ptr<const ForestModel> dlib_trained(const LabelledFaces& faces,
                                                const ForestOptions& options) {
  std::vector<dlib::array2d<unsigned char>> pictures;
  std::vector<std::vector<dlib::full_object_detection>> objects(faces.pictures.size());
  for (const auto& picture : faces.pictures) pictures.push_back(to_dlib(picture));
  for (std::size_t face = 0; face < faces.count(); ++face) {
    std::vector<dlib::point> parts;
    for (int i = 0; i < faces.landmarks; ++i) {
      const auto landmark = static_cast<std::size_t>(i);
      const Point p = faces.points[face * static_cast<std::size_t>(faces.landmarks) + landmark];
      parts.push_back(grow::is_present(faces, face, landmark)
                          ? dlib::point(std::lround(p.x), std::lround(p.y))
                          : dlib::OBJECT_PART_NOT_PRESENT);
    }
    objects[faces.picture_of[face]].emplace_back(to_dlib(faces.boxes[face]), parts);
  }
  dlib::shape_predictor_trainer trainer;
  const auto size = [](int value) { return static_cast<unsigned long>(value); };
  trainer.set_cascade_depth(size(options.cascade_depth));
  trainer.set_tree_depth(size(options.tree_depth));
  trainer.set_num_trees_per_cascade_level(size(options.num_trees_per_cascade_level));
  trainer.set_nu(options.nu);
  trainer.set_oversampling_amount(size(options.oversampling_amount));
  trainer.set_oversampling_translation_jitter(options.oversampling_translation_jitter);
  trainer.set_feature_pool_size(size(options.feature_pool_size));
  trainer.set_lambda(options.lambda);
  trainer.set_num_test_splits(size(options.num_test_splits));
  trainer.set_feature_pool_region_padding(options.feature_pool_region_padding);
  trainer.set_padding_mode(options.padding_mode == PaddingMode::kLandmarkRelative
                               ? dlib::shape_predictor_trainer::landmark_relative
                               : dlib::shape_predictor_trainer::bounding_box_relative);
  trainer.set_random_seed(options.random_seed);
  trainer.set_num_threads(0);
  std::ostringstream out;
  serialize(trainer.train(pictures, objects), out);
  auto model = parse_dlib_dat(as_bytes(out.str()), "trained.dat");
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.ok() ? model.value() : nullptr;
}

TreeDifference compare_with_dlib(const LabelledFaces& faces, const ForestOptions& options) {
  TreeDifference difference;
  const auto dlibs = dlib_trained(faces, options);
  if (!dlibs) return difference;
  const auto draws = grow::make_draws(options, faces.count());
  grow::Starts starts = grow::make_starts(faces, options, *draws);
  const std::vector<Point> pixels = grow::draw_pixels(starts.mean, options, *draws);
  std::vector<std::uint32_t> anchors;
  std::vector<float> deltas;
  grow::anchor_pixels(starts.mean, pixels, anchors, deltas);
  difference.tables = count_other(starts.mean, dlibs->mean_shape) +
                      count_other(anchors, dlibs->anchors) + count_other(deltas, dlibs->deltas);

  Scores scores(faces, options, starts);
  const auto samples = simd::vectors()
                           ? grow::make_fast_trees(faces, options, std::move(starts), 1, nullptr)
                           : grow::make_plain_trees(faces, options, std::move(starts), nullptr);
  const auto pool = static_cast<std::size_t>(options.feature_pool_size);
  const auto nodes = static_cast<std::size_t>(dlibs->splits_per_tree());
  const auto size = static_cast<std::size_t>(dlibs->leaf_size());
  std::vector<ForestSplit> tests(nodes * static_cast<std::size_t>(options.num_test_splits));
  std::vector<ForestSplit> splits(nodes);
  std::vector<float> leaves((nodes + 1) * size);
  std::size_t tree = 0;
  for (int stage = 0; stage < options.cascade_depth; ++stage) {
    const std::size_t first = static_cast<std::size_t>(stage) * pool;
    const auto its_anchors = std::span(anchors).subspan(first, pool);
    const auto its_deltas = std::span(deltas).subspan(2 * first, 2 * pool);
    scores.begin(its_anchors, its_deltas);
    if (!samples->begin(its_anchors, its_deltas).ok()) std::abort();
    for (int t = 0; t < options.num_trees_per_cascade_level; ++t, ++tree) {
      draws->splits(stage, t, std::span(pixels).subspan(first, pool), tests);
      if (!samples->find(tests, {splits, leaves}).ok()) std::abort();
      const auto its_splits = dlibs->splits.subspan(tree * nodes, nodes);
      const auto its_leaves = dlibs->leaves.subspan(tree * leaves.size(), leaves.size());
      std::vector<bool> other(2 * nodes + 1);
      for (std::size_t i = 0; i < nodes; ++i) {
        if (!other[i]) {
          ++difference.splits;
          other[i] = !grow::is_same(splits[i], its_splits[i]);
        }
        if (other[i] && (i == 0 || !other[(i - 1) / 2])) {
          ++difference.other_splits;
          const double ours = scores.of(its_splits, i, splits[i]);
          const double theirs = scores.of(its_splits, i, its_splits[i]);
          difference.gap = std::max(difference.gap, std::fabs(ours - theirs) / theirs);
          difference.not_lower += ours >= theirs * (1 - 1e-12);
        }
        other[2 * i + 1] = other[2 * i + 2] = other[i];
      }
      for (std::size_t i = 0; i < leaves.size(); ++i) {
        if (other[nodes + i / size]) continue;
        difference.leaves += i % size == 0;
        difference.leaf = std::max(difference.leaf, std::fabs(double{leaves[i]} - its_leaves[i]));
      }
      scores.add(its_splits, its_leaves);
      if (!samples->add({its_splits, its_leaves}).ok()) std::abort();
    }
  }
  std::printf(
      "%zu splits, %zu others with scores up to %.2g apart, %zu of them not lower than dlib's; "
      "leaves up to %.2g apart\n",
      difference.splits, difference.other_splits, difference.gap, difference.not_lower,
      difference.leaf);
  return difference;
}

}  // namespace cuface::test
