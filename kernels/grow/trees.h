// The samples of a regression stage while its trees grow: the plain reference, and faster versions
// that find the same; and the samples of ForestDraws::kDlib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/common/stop_flag.h"
#include "kernels/grow/grow.h"
#include "kernels/grow/starts.h"

namespace cuface::grow {

/// A tree that is written.
struct TreeTables {
  std::span<ForestSplit> splits;  ///< [2^depth - 1]
  std::span<float> leaves;        ///< [2^depth][2 * landmarks]
};
struct ConstTreeTables {
  std::span<const ForestSplit> splits;
  std::span<const float> leaves;
};

/// Of rows in memory.
inline std::size_t rounded_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

inline bool is_same(const ForestSplit& a, const ForestSplit& b) {
  return a.a == b.a && a.b == b.b && a.threshold == b.threshold;
}

/// A new one for each training. Stages, and the trees of each, come in order.
class SampleTrees {
 public:
  virtual ~SampleTrees() = default;

  /// Reads the feature pixels of a stage at the samples' current shapes, and their residuals.
  virtual Status begin(std::span<const std::uint32_t> anchors, std::span<const float> deltas) = 0;
  /// The next tree: for each node, breadth first, the best of its splits in `tests`, [2^depth -
  /// 1][tests]. Among equal scores the first split wins; the very first if each leaves a side
  /// empty.
  virtual Status find(std::span<const ForestSplit> tests, const TreeTables& tree) = 0;
  /// Before add(): how far the samples of each leaf of the tree, whether found or begun with, lie
  /// apart, [2^depth][landmarks].
  virtual Status spread(const ConstTreeTables& tree, std::span<std::uint16_t> spreads) = 0;
  /// Adds the leaves of a tree, whether found or begun with, to the shapes.
  virtual Status add(const ConstTreeTables& tree) = 0;
  // After an error nothing more may be asked: kCancelled once the flag is raised, what a GPU says.

  virtual std::size_t bytes() const { return 0; }
  virtual bool is_on_gpu() const { return false; }
};

/// `faces` must outlive it.
std::unique_ptr<SampleTrees> make_plain_trees(const LabelledFaces& faces,
                                              const ForestOptions& options, Starts starts,
                                              const StopFlag* stop);
/// Needs simd::vectors().
std::unique_ptr<SampleTrees> make_fast_trees(const LabelledFaces& faces,
                                             const ForestOptions& options, Starts starts,
                                             int threads, const StopFlag* stop);
/// dlib's own: sums of floats, of which nothing faster gives the bits.
std::unique_ptr<SampleTrees> make_dlib_trees(const LabelledFaces& faces,
                                             const ForestOptions& options, Starts starts,
                                             int threads, const StopFlag* stop);

}  // namespace cuface::grow
