// The trees of dlib's trainer without threads: residuals and sums are floats, added up in the order
// into which dlib has swapped its samples by then. Another order would be another model, so threads
// share the splits that a node tries: each sum is one thread's.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/common/workers.h"
#include "kernels/grow/spreads.h"
#include "kernels/grow/trees.h"
#include "kernels/landmarks/regression.h"

namespace cuface::grow {
namespace {

constexpr std::size_t kSamplesOfTask = 256;
constexpr std::size_t kPiece = 64;  // samples whose residuals the nearest cache holds

/// As floats, one after the other.
float squared(const float* values, std::size_t size) {
  float sum = 0;
  for (std::size_t k = 0; k < size; ++k) sum += values[k] * values[k];
  return sum;
}

class DlibTrees : public SampleTrees {
 public:
  DlibTrees(const LabelledFaces& faces, const ForestOptions& options, Starts starts, int threads,
            const StopFlag* stop)
      : faces_(faces),
        options_(options),
        starts_(std::move(starts)),
        stop_(stop),
        workers_(threads),
        size_(starts_.mean.size()),
        samples_(starts_.shapes.size() / size_),
        pool_(static_cast<std::size_t>(options.feature_pool_size)),
        levers_(forest::levers_of(points_of(starts_.mean.data()))),
        order_(samples_),
        residuals_(samples_ * size_),
        pixels_(samples_ * pool_) {
    std::iota(order_.begin(), order_.end(), 0u);
  }

  Status begin(std::span<const std::uint32_t> anchors, std::span<const float> deltas) override {
    const auto tasks = static_cast<int>((samples_ + kSamplesOfTask - 1) / kSamplesOfTask);
    workers_.run(tasks, [&](int task, int) {
      if (is_raised(stop_)) return;
      const std::size_t first = static_cast<std::size_t>(task) * kSamplesOfTask;
      for (std::size_t i = first; i < std::min(samples_, first + kSamplesOfTask); ++i) {
        const std::size_t face = face_of(i);
        forest::read_pool(
            forest::PixelReader(faces_.pictures[faces_.picture_of[face]], faces_.boxes[face]),
            levers_, points_of(shape(i)), anchors, deltas.data(), pixels_.data() + i * pool_);
        measure(i);
      }
    });
    return is_raised(stop_) ? cancelled() : Status();
  }

  Status find(std::span<const ForestSplit> tests, const TreeTables& tree) override {
    const std::size_t count = tree.splits.size(), each = tests.size() / count;
    std::vector<std::uint32_t> order = order_;  // add() changes the samples' own
    std::vector<std::span<std::uint32_t>> parts = {order};
    std::vector<float> sums((2 * count + 1) * size_);
    for (const std::uint32_t sample : order) add_residual(sample, sums.data());
    for (std::size_t node = 0; node < count; ++node) {
      if (is_raised(stop_)) return cancelled();
      tree.splits[node] = best(tests.subspan(node * each, each), parts[node],
                               sums.data() + node * size_, sums.data() + (2 * node + 1) * size_);
      divide(tree.splits[node], parts[node], parts);
    }
    const auto nu = static_cast<float>(options_.nu);
    for (std::size_t leaf = 0; leaf <= count; ++leaf) {
      const auto samples = parts[count + leaf];
      const float* const sum = sums.data() + (count + leaf) * size_;
      for (std::size_t k = 0; k < size_; ++k) {
        const auto present = static_cast<float>(total_weight(samples, k / 2));
        tree.leaves[leaf * size_ + k] = samples.empty() ? 0 : reciprocal(present) * (sum[k] * nu);
      }
    }
    return {};
  }

  Status spread(const ConstTreeTables& tree, std::span<std::uint16_t> spreads) override {
    const std::size_t landmarks = size_ / 2;
    std::vector<SpreadSums> sums(spreads.size());
    for (std::size_t i = 0; i < samples_; ++i) {
      const std::size_t face = face_of(i),
                        leaf = forest::walk_tree(tree.splits, options_.tree_depth, pool(i));
      const float* const target = starts_.targets.data() + face * size_;
      for (std::size_t k = 0; k < landmarks; ++k)
        if (is_present(faces_, face, k))
          sums[leaf * landmarks + k].add(residual(target[2 * k], shape(i)[2 * k]),
                                         residual(target[2 * k + 1], shape(i)[2 * k + 1]),
                                         weight_of(faces_, face));
    }
    write_spreads(sums, landmarks, spreads);
    return {};
  }

  Status add(const ConstTreeTables& tree) override {
    const std::size_t count = tree.splits.size();
    std::vector<std::span<std::uint32_t>> parts = {order_};
    for (std::size_t node = 0; node < count; ++node) divide(tree.splits[node], parts[node], parts);
    workers_.run(static_cast<int>(count + 1), [&](int task, int) {
      const auto leaf = static_cast<std::size_t>(task);
      for (const std::uint32_t sample : parts[count + leaf]) {
        for (std::size_t k = 0; k < size_; ++k) shape(sample)[k] += tree.leaves[leaf * size_ + k];
        measure(sample);
      }
    });
    return is_raised(stop_) ? cancelled() : Status();
  }

  std::size_t bytes() const override {
    return (starts_.shapes.size() + starts_.targets.size() + residuals_.size()) * sizeof(float) +
           order_.size() * sizeof order_[0] + pixels_.size();
  }

 private:
  std::span<const Point> points_of(const float* shape) const {
    return {reinterpret_cast<const Point*>(shape), size_ / 2};
  }
  std::size_t face_of(std::size_t sample) const {
    return sample / static_cast<std::size_t>(options_.oversampling_amount);
  }
  float* shape(std::size_t sample) { return starts_.shapes.data() + sample * size_; }
  const std::uint8_t* pool(std::size_t sample) const { return pixels_.data() + sample * pool_; }

  bool goes_left(std::uint32_t sample, const ForestSplit& split) const {
    const std::uint8_t* const pixels = pool(sample);
    return static_cast<float>(pixels[split.a] - pixels[split.b]) > split.threshold;
  }

  /// What a sample lacks, as often as it counts. dlib knows no weights.
  void measure(std::size_t sample) {
    const std::size_t face = face_of(sample);
    const auto weight = static_cast<float>(weight_of(faces_, face));
    const float* const target = starts_.targets.data() + face * size_;
    for (std::size_t k = 0; k < size_; ++k)
      residuals_[sample * size_ + k] =
          is_present(faces_, face, k / 2) ? weight * (target[k] - shape(sample)[k]) : 0;
  }

  void add_residual(std::uint32_t sample, float* sums) const {
    const float* const residual = residuals_.data() + sample * size_;
    for (std::size_t k = 0; k < size_; ++k) sums[k] += residual[k];
  }

  /// Those of the samples that go left, and their weight.
  std::uint64_t add_left(std::span<const std::uint32_t> samples, const ForestSplit& split,
                         float* sums) const {
    std::uint64_t weight = 0;
    for (const std::uint32_t sample : samples) {
      if (!goes_left(sample, split)) continue;
      add_residual(sample, sums);
      weight += static_cast<std::uint64_t>(weight_of(faces_, face_of(sample)));
    }
    return weight;
  }

  /// Of the samples that have the landmark.
  std::uint64_t total_weight(std::span<const std::uint32_t> samples, std::size_t landmark) const {
    if (faces_.present.empty()) return total_weight(samples);
    std::uint64_t weight = 0;
    for (const std::uint32_t sample : samples)
      if (is_present(faces_, face_of(sample), landmark))
        weight += static_cast<std::uint64_t>(weight_of(faces_, face_of(sample)));
    return weight;
  }
  std::uint64_t total_weight(std::span<const std::uint32_t> samples) const {
    if (faces_.weights.empty()) return samples.size();
    std::uint64_t weight = 0;
    for (const std::uint32_t sample : samples) weight += faces_.weights[face_of(sample)];
    return weight;
  }

  /// The best of `tests` for a node's samples, and what those add up to that go `left` and, behind
  /// it, right.
  ForestSplit best(std::span<const ForestSplit> tests, std::span<const std::uint32_t> samples,
                   const float* all, float* left) {
    left_sums_.assign(tests.size() * size_, 0);
    left_weights_.assign(tests.size(), 0);
    const std::size_t threads = static_cast<std::size_t>(workers_.count());
    workers_.run(workers_.count(), [&](int task, int) {
      const std::size_t first = tests.size() * static_cast<std::size_t>(task) / threads;
      const std::size_t end = tests.size() * static_cast<std::size_t>(task + 1) / threads;
      for (std::size_t from = 0; from < samples.size(); from += kPiece) {
        const auto piece = samples.subspan(from, std::min(kPiece, samples.size() - from));
        for (std::size_t i = first; i < end; ++i)
          left_weights_[i] += add_left(piece, tests[i], left_sums_.data() + i * size_);
      }
    });
    float* const right = left + size_;
    const auto set_sides = [&](std::size_t i) {
      std::copy_n(left_sums_.data() + i * size_, size_, left);
      for (std::size_t k = 0; k < size_; ++k) right[k] = all[k] - left[k];
    };
    const std::uint64_t weight = total_weight(samples);
    double most = -1;
    std::size_t best = 0;
    for (std::size_t i = 0; i < tests.size(); ++i) {
      const std::uint64_t right_weight = weight - left_weights_[i];
      if (left_weights_[i] == 0 || right_weight == 0) continue;
      set_sides(i);
      const float score = squared(left, size_) / static_cast<float>(left_weights_[i]) +
                          squared(right, size_) / static_cast<float>(right_weight);
      if (!(static_cast<double>(score) > most)) continue;
      most = static_cast<double>(score);
      best = i;
    }
    set_sides(best);
    return tests[best];
  }

  /// Brings the samples of a part that go left before the others, as dlib swaps them: two parts
  /// more.
  void divide(const ForestSplit& split, std::span<std::uint32_t> part,
              std::vector<std::span<std::uint32_t>>& parts) const {
    std::size_t left = 0;
    for (std::uint32_t& sample : part)
      if (goes_left(sample, split)) std::swap(part[left++], sample);
    parts.push_back(part.first(left));
    parts.push_back(part.subspan(left));
  }

  const LabelledFaces& faces_;
  const ForestOptions options_;
  Starts starts_;
  const StopFlag* const stop_;
  Workers workers_;
  const std::size_t size_, samples_, pool_;
  const std::vector<forest::Lever> levers_;
  std::vector<std::uint32_t> order_;  ///< dlib's, by now
  std::vector<float> residuals_;
  std::vector<std::uint8_t> pixels_;
  std::vector<float> left_sums_;             ///< of each test
  std::vector<std::uint64_t> left_weights_;  ///< likewise
};

}  // namespace

std::unique_ptr<SampleTrees> make_dlib_trees(const LabelledFaces& faces,
                                             const ForestOptions& options, Starts starts,
                                             int threads, const StopFlag* stop) {
  return std::make_unique<DlibTrees>(faces, options, std::move(starts), threads, stop);
}

}  // namespace cuface::grow
