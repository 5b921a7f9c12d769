// The fast version: blocks of samples are the tasks of threads. A level of a tree reads each row
// once, and adds it to a bucket for each group of splits.
#include "kernels/grow/trees.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>
#include <vector>

#include "kernels/common/workers.h"
#include "kernels/grow/cpu/aligned.h"
#include "kernels/grow/cpu/block_orders.h"
#include "kernels/grow/cpu/node_sums.h"
#include "kernels/grow/cpu/rows.h"
#include "kernels/grow/spreads.h"
#include "kernels/grow/steps.h"
#include "kernels/landmarks/regression.h"

namespace cuface::grow {
namespace {

/// Shapes get the leaves of so many trees at once.
constexpr std::size_t kTreesTogether = 32;
/// Rows that the nearest cache holds.
constexpr std::size_t kPiece = 64;
constexpr std::size_t kLeastForVectors = 16;  // with fewer samples of a block, each alone

/// What each thread has of its own.
struct Worker {
  explicit Worker(std::size_t stride) : sums(stride) {}

  NodeSums sums;
  std::vector<std::uint8_t> pool;
  AlignedArray<std::uint8_t> buckets;
  std::vector<std::int64_t> absent;  ///< for each leaf and landmark the weight that lacks it
  std::vector<SpreadSums> spreads;
};

class FastTrees : public SampleTrees {
 public:
  FastTrees(const LabelledFaces& faces, const ForestOptions& options, Starts starts, int threads,
            const StopFlag* stop)
      : faces_(faces),
        starts_(std::move(starts)),
        stop_(stop),
        workers_(threads),
        size_(starts_.mean.size()),
        stride_(rounded_up(size_ + 1, kRowUnit)),
        samples_(starts_.shapes.size() / size_),
        blocks_((samples_ + kBlock - 1) / kBlock),
        pool_(static_cast<std::size_t>(options.feature_pool_size)),
        amount_(static_cast<std::size_t>(options.oversampling_amount)),
        depth_(options.tree_depth),
        leaves_(std::size_t{1} << depth_),
        nu_(options.nu),
        levers_(forest::levers_of(points_of(starts_.mean.data()))),
        rows_(samples_ * stride_),
        pixels_(blocks_ * kBlock * pool_),
        orders_(samples_, leaves_),
        leaf_of_(kTreesTogether * samples_),
        batch_(kTreesTogether * leaves_ * size_),
        pending_(leaves_ * stride_),
        masks_((faces.present.empty() ? 1 : faces.count()) * stride_),
        found_(leaves_ - 1),
        leaf_sums_(leaves_ * stride_) {
    for (int i = 0; i < workers_.count(); ++i) each_worker_.emplace_back(stride_);
    make_masks();
    if (faces.weights.empty()) return;
    for (std::size_t i = 0; i < samples_; ++i) weights_.push_back(weight_of(faces, i / amount_));
    heaviest_ = *std::max_element(weights_.begin(), weights_.end());
  }

  Status begin(std::span<const std::uint32_t> anchors, std::span<const float> deltas) override {
    add_to_shapes();
    is_pending_ = false;
    has_found_ = false;
    std::atomic<std::uint32_t> bits{0};
    const bool done = each_block([&](std::size_t block, std::size_t worker) {
      std::vector<std::uint8_t>& pool = each_worker_[worker].pool;
      pool.resize(pool_);
      std::uint8_t* const pixels = pixels_of(block);
      std::uint32_t of_block = 0;
      for (std::size_t i = 0; i < count_of(block); ++i) {
        const std::size_t sample = block * kBlock + i, face = sample / amount_;
        const float* const shape = starts_.shapes.data() + sample * size_;
        forest::read_pool(
            forest::PixelReader(faces_.pictures[faces_.picture_of[face]], faces_.boxes[face]),
            levers_, points_of(shape), anchors, deltas.data(), pool.data());
        for (std::size_t k = 0; k < pool_; ++k) pixels[k * kBlock + i] = pool[k];
        std::int32_t* const row = rows_.data() + sample * stride_;
        for (std::size_t k = 0; k < size_; ++k) {
          row[k] = is_present(faces_, face, k / 2)
                       ? residual(starts_.targets[face * size_ + k], shape[k])
                       : 0;
          of_block |= static_cast<std::uint32_t>(std::abs(row[k]));
        }
        row[size_] = 1;
        std::fill(row + size_ + 1, row + stride_, 0);
      }
      bits.fetch_or(of_block, std::memory_order_relaxed);
    });
    most_ = most_of(bits);
    return unless(done);
  }

  Status find(std::span<const ForestSplit> tests, const TreeTables& tree) override {
    const std::size_t each = tests.size() / tree.splits.size();
    for (int level = 0; level < depth_; ++level) {
      const std::size_t nodes = std::size_t{1} << level;
      const auto grouping = SplitGroups::of(nodes, each, samples_ / each_worker_.size(), stride_);
      for (Worker& worker : each_worker_) worker.sums.begin(grouping, most_ * heaviest_);
      const auto of_level = tests.subspan((nodes - 1) * each, nodes * each);
      const std::span<const ForestSplit> above = tree.splits.subspan((nodes - 1) / 2, nodes / 2);
      std::atomic<std::uint32_t> bits{0};
      const bool done = each_block([&](std::size_t block, std::size_t worker) {
        if (level == 0)
          orders_.begin(block);
        else
          orders_.split(block, above, pixels_of(block));
        std::uint32_t of_block = 0;
        for (std::size_t node = 0; node < nodes; ++node)
          add_node(block, node, grouping, of_level.subspan(node * each, each), each_worker_[worker],
                   of_block);
        bits.fetch_or(of_block, std::memory_order_relaxed);
      });
      if (!done) return cancelled();
      if (is_pending_) most_ = most_of(bits);
      is_pending_ = false;
      workers_.run(static_cast<int>(nodes), [&](int task, int) {
        const auto node = static_cast<std::size_t>(task);
        tree.splits[nodes - 1 + node] = best(node, of_level.subspan(node * each, each), nodes);
      });
    }
    if (!reach_leaves(tree.splits)) return cancelled();
    make_leaves(tree.leaves);
    std::copy(tree.splits.begin(), tree.splits.end(), found_.begin());
    has_found_ = true;
    return {};
  }

  Status spread(const ConstTreeTables& tree, std::span<std::uint16_t> spreads) override {
    if (!reach(tree.splits)) return cancelled();
    for (Worker& worker : each_worker_) worker.spreads.assign(spreads.size(), {});
    const std::size_t landmarks = size_ / 2;
    const bool done = each_block([&](std::size_t block, std::size_t worker) {
      for (std::size_t i = 0; i < count_of(block); ++i) {
        const std::size_t sample = block * kBlock + i, face = sample / amount_;
        SpreadSums* const sums =
            each_worker_[worker].spreads.data() + leaf_of(trees_)[sample] * landmarks;
        const std::int32_t* const row = rows_.data() + sample * stride_;
        const int weight = weight_of(faces_, face);
        for (std::size_t k = 0; k < landmarks; ++k)
          if (is_present(faces_, face, k)) sums[k].add(row[2 * k], row[2 * k + 1], weight);
      }
    });
    std::vector<SpreadSums>& all = each_worker_[0].spreads;
    for (std::size_t i = 1; i < each_worker_.size(); ++i)
      for (std::size_t k = 0; k < all.size(); ++k) all[k].add(each_worker_[i].spreads[k]);
    write_spreads(all, landmarks, spreads);
    return unless(done);
  }

  Status add(const ConstTreeTables& tree) override {
    if (!reach(tree.splits)) return cancelled();
    has_found_ = false;
    std::copy(tree.leaves.begin(), tree.leaves.end(),
              batch_.begin() + static_cast<std::ptrdiff_t>(trees_ * leaves_ * size_));
    std::int64_t largest = 0;
    for (std::size_t leaf = 0; leaf < leaves_; ++leaf) {
      for (std::size_t k = 0; k < stride_; ++k) {
        const std::int32_t steps =
            k < size_ ? in_steps(static_cast<double>(tree.leaves[leaf * size_ + k])) : 0;
        pending_[leaf * stride_ + k] = steps;
        largest = std::max<std::int64_t>(largest, std::abs(steps));
      }
    }
    most_ = std::min<std::int64_t>(most_ + largest, kMostResidual);
    pending_slot_ = trees_++;
    is_pending_ = true;
    const bool done = trees_ < kTreesTogether || add_to_shapes();
    return unless(done && !is_raised(stop_));
  }

  std::size_t bytes() const override {
    std::size_t bytes = starts_.shapes.size() * sizeof(float) +
                        starts_.targets.size() * sizeof(float) + rows_.bytes() + pixels_.bytes() +
                        orders_.bytes() + leaf_of_.bytes() + batch_.size() * sizeof(float) +
                        masks_.bytes();
    for (const Worker& worker : each_worker_) bytes += worker.sums.bytes();
    return bytes;
  }

 private:
  static std::int64_t most_of(std::uint32_t bits) {
    return (std::int64_t{1} << std::bit_width(bits)) - 1;
  }

  std::span<const Point> points_of(const float* shape) const {
    return {reinterpret_cast<const Point*>(shape), size_ / 2};
  }
  std::size_t count_of(std::size_t block) const {
    return std::min(kBlock, samples_ - block * kBlock);
  }
  std::uint8_t* pixels_of(std::size_t block) { return pixels_.data() + block * kBlock * pool_; }
  std::uint16_t* leaf_of(std::size_t slot) { return leaf_of_.data() + slot * samples_; }
  const std::int32_t* mask_of(std::size_t sample) const {
    return masks_.data() + (faces_.present.empty() ? 0 : sample / amount_) * stride_;
  }
  const std::int32_t* weights_of(std::size_t block) const {
    return weights_.empty() ? nullptr : weights_.data() + block * kBlock;
  }

  void make_masks() {
    for (std::size_t i = 0; i < masks_.size() / stride_; ++i)
      for (std::size_t k = 0; k < stride_; ++k)
        masks_[i * stride_ + k] =
            faces_.present.empty() || (k < size_ && is_present(faces_, i, k / 2)) ? -1 : 0;
  }

  /// f(block, worker) for all; false once the flag is raised.
  template <typename F>
  bool each_block(const F& f) {
    std::atomic<bool> stopped{false};
    workers_.run(static_cast<int>(blocks_), [&](int block, int worker) {
      if (is_raised(stop_)) stopped.store(true, std::memory_order_relaxed);
      if (stopped.load(std::memory_order_relaxed)) return;
      f(static_cast<std::size_t>(block), static_cast<std::size_t>(worker));
    });
    return !stopped.load() && !is_raised(stop_);
  }

  /// The samples of a block that are in a node, added to their buckets.
  void add_node(std::size_t block, std::size_t node, const SplitGroups& grouping,
                std::span<const ForestSplit> tests, Worker& worker, std::uint32_t& bits) {
    std::span<const std::uint16_t> samples = orders_.of(block, node);
    if (samples.empty()) return;
    if (worker.buckets.size() < grouping.groups() * kBlock)
      worker.buckets = AlignedArray<std::uint8_t>(grouping.groups() * kBlock);
    for (std::size_t g = 0; g < grouping.groups(); ++g) {
      const auto of_group = tests.subspan(g * grouping.group, grouping.splits(g));
      std::uint8_t* const buckets = worker.buckets.data() + g * kBlock;
      if (samples.size() >= kLeastForVectors)
        find_buckets(of_group, pixels_of(block), buckets);
      else
        find_few_buckets(of_group, pixels_of(block), samples, buckets);
    }
    const std::int32_t* const rows = rows_.data() + block * kBlock * stride_;
    while (!samples.empty()) {
      const auto piece = samples.first(std::min(samples.size(), kPiece));
      if (is_pending_) bits |= subtract(block, piece);
      worker.sums.add(node, rows, piece, weights_of(block), worker.buckets.data());
      samples = samples.subspan(piece.size());
    }
  }

  /// The pending leaves from at most kPiece samples of a block.
  std::uint32_t subtract(std::size_t block, std::span<const std::uint16_t> samples) {
    RowUpdate updates[kPiece];
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::size_t sample = block * kBlock + samples[i];
      updates[i] = {rows_.data() + sample * stride_,
                    pending_.data() + leaf_of(pending_slot_)[sample] * stride_, mask_of(sample)};
    }
    return subtract_leaves({updates, samples.size()}, stride_);
  }

  /// Where no search follows.
  bool subtract_pending() {
    std::atomic<std::uint32_t> bits{0};
    const bool done = each_block([&](std::size_t block, std::size_t) {
      orders_.begin(block);
      std::span<const std::uint16_t> samples = orders_.of(block, 0);
      for (std::size_t i = 0; i < samples.size(); i += kPiece)
        bits.fetch_or(subtract(block, samples.subspan(i, std::min(kPiece, samples.size() - i))),
                      std::memory_order_relaxed);
    });
    most_ = most_of(bits);
    is_pending_ = false;
    return done;
  }

  /// The best split of a node, from the sums of all threads; at the last level, its leaves' sums.
  ForestSplit best(std::size_t node, std::span<const ForestSplit> tests, std::size_t nodes) {
    NodeSums& sums = each_worker_[0].sums;
    sums.finish(node);
    for (std::size_t i = 1; i < each_worker_.size(); ++i) sums.take(node, each_worker_[i].sums);
    const std::size_t best = sums.best(node, size_);
    if (2 * nodes == leaves_) sums.copy_sides(node, best, leaf_sums_.data() + 2 * node * stride_);
    return tests[best];
  }

  /// Which leaf each sample reaches, and the weights of landmarks that are not there.
  bool reach_leaves(std::span<const ForestSplit> splits) {
    const std::size_t landmarks = size_ / 2;
    for (Worker& worker : each_worker_)
      worker.absent.assign(faces_.present.empty() ? 0 : leaves_ * landmarks, 0);
    return each_block([&](std::size_t block, std::size_t worker) {
      orders_.split(block, splits.last(leaves_ / 2), pixels_of(block));
      std::uint16_t* const leaf_of_block = leaf_of(trees_) + block * kBlock;
      for (std::size_t leaf = 0; leaf < leaves_; ++leaf) {
        for (const std::uint16_t i : orders_.of(block, leaf)) {
          leaf_of_block[i] = static_cast<std::uint16_t>(leaf);
          if (faces_.present.empty()) continue;
          const std::size_t face = (block * kBlock + i) / amount_;
          for (std::size_t landmark = 0; landmark < landmarks; ++landmark)
            if (!is_present(faces_, face, landmark))
              each_worker_[worker].absent[leaf * landmarks + landmark] += weight_of(faces_, face);
        }
      }
    });
  }

  void make_leaves(std::span<float> leaves) const {
    for (std::size_t leaf = 0; leaf < leaves_; ++leaf) {
      const std::int64_t* const sums = leaf_sums_.data() + leaf * stride_;
      for (std::size_t k = 0; k < size_; ++k) {
        std::int64_t weight = sums[size_];
        if (!faces_.present.empty())
          for (const Worker& worker : each_worker_)
            weight -= worker.absent[leaf * (size_ / 2) + k / 2];
        leaves[leaf * size_ + k] = leaf_value(sums[k], weight, nu_);
      }
    }
  }

  static Status unless(bool done) { return done ? Status() : cancelled(); }

  /// Rows up to the tree, and the leaf of each sample in it.
  bool reach(std::span<const ForestSplit> splits) {
    if (is_pending_ && !subtract_pending()) return false;
    if (has_found_ && std::equal(found_.begin(), found_.end(), splits.begin(), is_same))
      return true;
    if (!walk(splits)) return false;
    std::copy(splits.begin(), splits.end(), found_.begin());
    has_found_ = true;
    return true;
  }

  /// The leaf of each sample in a tree that was not found here.
  bool walk(std::span<const ForestSplit> splits) {
    return each_block([&](std::size_t block, std::size_t) {
      const std::uint8_t* const pixels = pixels_of(block);
      for (std::size_t i = 0; i < count_of(block); ++i)
        leaf_of(trees_)[block * kBlock + i] = leaf_in(splits, pixels, i);
    });
  }

  /// The leaves of all trees since the last time.
  bool add_to_shapes() {
    const std::size_t trees = std::exchange(trees_, 0);
    if (trees == 0) return true;
    return each_block([&](std::size_t block, std::size_t) {
      for (std::size_t i = 0; i < count_of(block); ++i) {
        const std::size_t sample = block * kBlock + i;
        const float* leaves[kTreesTogether];
        for (std::size_t tree = 0; tree < trees; ++tree)
          leaves[tree] = batch_.data() + (tree * leaves_ + leaf_of(tree)[sample]) * size_;
        add_leaves(starts_.shapes.data() + sample * size_, {leaves, trees}, size_);
      }
    });
  }

  const LabelledFaces& faces_;
  Starts starts_;
  const StopFlag* const stop_;
  Workers workers_;
  const std::size_t size_, stride_, samples_, blocks_, pool_, amount_;
  const int depth_;
  const std::size_t leaves_;
  const double nu_;
  const std::vector<forest::Lever> levers_;
  AlignedArray<std::int32_t> rows_;
  AlignedArray<std::uint8_t> pixels_;  ///< [blocks][pool][kBlock]
  BlockOrders orders_;
  AlignedArray<std::uint16_t> leaf_of_;  ///< [kTreesTogether][samples]
  std::vector<float> batch_;             ///< [kTreesTogether] leaves of trees
  std::size_t trees_ = 0;                ///< of them that are there
  AlignedArray<std::int32_t> pending_;   ///< leaves of the last tree that rows still lack
  std::size_t pending_slot_ = 0;
  bool is_pending_ = false;
  AlignedArray<std::int32_t> masks_;  ///< of each face, or of all
  std::vector<std::int32_t> weights_;
  std::int64_t heaviest_ = 1;
  std::int64_t most_ = 0;  ///< bounds residuals
  std::vector<ForestSplit> found_;
  bool has_found_ = false;
  AlignedArray<std::int64_t> leaf_sums_;
  std::vector<Worker> each_worker_;
};

}  // namespace

std::unique_ptr<SampleTrees> make_fast_trees(const LabelledFaces& faces,
                                             const ForestOptions& options, Starts starts,
                                             int threads, const StopFlag* stop) {
  return std::make_unique<FastTrees>(faces, options, std::move(starts), threads, stop);
}

}  // namespace cuface::grow
