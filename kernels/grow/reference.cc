// The plain version: a tree after the other, a node after the other, a sample after the other.
#include <utility>
#include <vector>

#include "kernels/grow/spreads.h"
#include "kernels/grow/steps.h"
#include "kernels/grow/trees.h"
#include "kernels/landmarks/regression.h"

namespace cuface::grow {
namespace {

/// Samples of a node and the sums of their residuals.
struct Node {
  std::vector<std::uint32_t> samples;
  std::vector<std::int64_t> sums;
  std::int64_t weight = 0;
};

class PlainTrees : public SampleTrees {
 public:
  PlainTrees(const LabelledFaces& faces, const ForestOptions& options, Starts starts,
             const StopFlag* stop)
      : faces_(faces),
        options_(options),
        starts_(std::move(starts)),
        stop_(stop),
        size_(starts_.mean.size()),
        samples_(starts_.shapes.size() / size_),
        pool_(static_cast<std::size_t>(options.feature_pool_size)),
        levers_(forest::levers_of(points_of(starts_.mean.data()))),
        residuals_(samples_ * size_),
        pixels_(samples_ * pool_) {}

  Status begin(std::span<const std::uint32_t> anchors, std::span<const float> deltas) override {
    for (std::size_t sample = 0; sample < samples_; ++sample) {
      if (is_raised(stop_)) return cancelled();
      const std::size_t face = face_of(sample);
      const float* const shape = starts_.shapes.data() + sample * size_;
      forest::read_pool(
          forest::PixelReader(faces_.pictures[faces_.picture_of[face]], faces_.boxes[face]),
          levers_, points_of(shape), anchors, deltas.data(), pixels_.data() + sample * pool_);
      for (std::size_t k = 0; k < size_; ++k) {
        residuals_[sample * size_ + k] = is_present(faces_, face, k / 2)
                                             ? residual(starts_.targets[face * size_ + k], shape[k])
                                             : 0;
      }
    }
    return {};
  }

  Status find(std::span<const ForestSplit> tests, const TreeTables& tree) override {
    const std::size_t count = tree.splits.size(), each = tests.size() / count;
    std::vector<Node> nodes(2 * count + 1);
    for (Node& node : nodes) node.sums.resize(size_);
    for (std::uint32_t sample = 0; sample < samples_; ++sample) put(sample, nodes[0]);
    for (std::size_t i = 0; i < count; ++i) {
      if (is_raised(stop_)) return cancelled();
      tree.splits[i] = best(tests.subspan(i * each, each), nodes[i]);
      for (const std::uint32_t sample : nodes[i].samples)
        put(sample, nodes[goes_left(sample, tree.splits[i]) ? 2 * i + 1 : 2 * i + 2]);
    }
    for (std::size_t leaf = 0; leaf <= count; ++leaf) {
      const Node& node = nodes[count + leaf];
      for (std::size_t k = 0; k < size_; ++k) {
        std::int64_t weight = 0;
        for (const std::uint32_t sample : node.samples)
          if (is_present(faces_, face_of(sample), k / 2))
            weight += weight_of(faces_, face_of(sample));
        tree.leaves[leaf * size_ + k] = leaf_value(node.sums[k], weight, options_.nu);
      }
    }
    return {};
  }

  Status spread(const ConstTreeTables& tree, std::span<std::uint16_t> spreads) override {
    const std::size_t landmarks = size_ / 2;
    std::vector<SpreadSums> sums(spreads.size());
    for (std::uint32_t sample = 0; sample < samples_; ++sample) {
      const std::size_t leaf = forest::walk_tree(tree.splits, options_.tree_depth, pool(sample));
      const std::int32_t* const rest = residuals_.data() + sample * size_;
      const std::size_t face = face_of(sample);
      for (std::size_t i = 0; i < landmarks; ++i)
        if (is_present(faces_, face, i))
          sums[leaf * landmarks + i].add(rest[2 * i], rest[2 * i + 1], weight_of(faces_, face));
    }
    write_spreads(sums, landmarks, spreads);
    return {};
  }

  Status add(const ConstTreeTables& tree) override {
    for (std::uint32_t sample = 0; sample < samples_; ++sample) {
      const std::uint32_t leaf = forest::walk_tree(tree.splits, options_.tree_depth, pool(sample));
      for (std::size_t k = 0; k < size_; ++k) {
        const float value = tree.leaves[leaf * size_ + k];
        starts_.shapes[sample * size_ + k] += value;
        std::int32_t& rest = residuals_[sample * size_ + k];
        if (is_present(faces_, face_of(sample), k / 2)) rest = after_leaf(rest, in_steps(value));
      }
    }
    return is_raised(stop_) ? cancelled() : Status();
  }

 private:
  std::span<const Point> points_of(const float* shape) const {
    return {reinterpret_cast<const Point*>(shape), size_ / 2};
  }
  std::size_t face_of(std::size_t sample) const {
    return sample / static_cast<std::size_t>(options_.oversampling_amount);
  }
  const std::uint8_t* pool(std::size_t sample) const { return pixels_.data() + sample * pool_; }

  bool goes_left(std::uint32_t sample, const ForestSplit& split) const {
    const std::uint8_t* const pixels = pool(sample);
    return static_cast<float>(pixels[split.a] - pixels[split.b]) > split.threshold;
  }

  void put(std::uint32_t sample, Node& node) const {
    const std::int64_t weight = weight_of(faces_, face_of(sample));
    node.samples.push_back(sample);
    node.weight += weight;
    for (std::size_t k = 0; k < size_; ++k) node.sums[k] += weight * residuals_[sample * size_ + k];
  }

  ForestSplit best(std::span<const ForestSplit> tests, const Node& node) const {
    ForestSplit best = tests[0];
    double most = -1;
    for (const ForestSplit& test : tests) {
      Node left;
      left.sums.resize(size_);
      for (const std::uint32_t sample : node.samples)
        if (goes_left(sample, test)) put(sample, left);
      const double score = split_score(node.sums.data(), left.sums.data(), static_cast<int>(size_),
                                       node.weight, left.weight);
      if (!(score > most)) continue;
      most = score;
      best = test;
    }
    return best;
  }

  const LabelledFaces& faces_;
  const ForestOptions options_;
  Starts starts_;
  const StopFlag* const stop_;
  const std::size_t size_, samples_, pool_;
  const std::vector<forest::Lever> levers_;
  std::vector<std::int32_t> residuals_;
  std::vector<std::uint8_t> pixels_;
};

}  // namespace

std::unique_ptr<SampleTrees> make_plain_trees(const LabelledFaces& faces,
                                              const ForestOptions& options, Starts starts,
                                              const StopFlag* stop) {
  return std::make_unique<PlainTrees>(faces, options, std::move(starts), stop);
}

}  // namespace cuface::grow
