// What one thread adds up over the nodes of a level of a tree, for all splits that they try.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/grow/cpu/aligned.h"
#include "kernels/grow/cpu/rows.h"

namespace cuface::grow {

/// How the splits of a node are tried: in groups of so many, a bucket for each set of a group's
/// splits. A row is then added once a group, not once a split.
struct SplitGroups {
  std::size_t nodes = 0, tests = 0, group = 1;

  /// The cheapest for a thread with so many samples.
  static SplitGroups of(std::size_t nodes, std::size_t tests, std::size_t samples,
                        std::size_t stride);

  std::size_t groups() const { return (tests + group - 1) / group; }
  /// Splits of a group: the last may have fewer.
  std::size_t splits(std::size_t g) const { return g + 1 < groups() ? group : tests - g * group; }
  std::size_t buckets() const { return groups() << group; }
};

class NodeSums {
 public:
  explicit NodeSums(std::size_t stride) : stride_(stride) {}

  /// All sums are 0 then. `most` bounds the absolute value of a coordinate of a row times its
  /// weight.
  void begin(const SplitGroups& grouping, std::int64_t most);
  /// Rows of samples of a block, whose buckets are [groups][kBlock].
  void add(std::size_t node, const std::int32_t* rows, std::span<const std::uint16_t> samples,
           const std::int32_t* weights, const std::uint8_t* buckets);
  /// Before left() and total() of a node are asked.
  void finish(std::size_t node);
  /// Adds what another thread has of a node, which it finishes.
  void take(std::size_t node, NodeSums& other);
  /// The split with the highest score, of equal ones the first; rows have `size` coordinates.
  std::size_t best(std::size_t node, std::size_t size);
  /// Its sums on the left, then those on the right.
  void copy_sides(std::size_t node, std::size_t test, std::int64_t* sides);

  /// Sums of the rows that a split sends left, and of all of the node.
  std::int64_t* left(std::size_t node, std::size_t test) {
    return wide_.data() + (node * (grouping_.tests + 1) + test) * stride_;
  }
  std::int64_t* total(std::size_t node) { return left(node, grouping_.tests); }

  std::size_t bytes() const { return wide_.bytes() + narrow_.bytes() + rows_.bytes(); }

 private:
  void add_wide(std::size_t node, const std::int32_t* rows, std::span<const std::uint16_t> samples,
                const std::int32_t* weights, const std::uint8_t* buckets);

  std::size_t stride_;
  SplitGroups grouping_;
  std::size_t capacity_ = 0;           ///< rows that 32 bits can add up
  AlignedArray<std::int64_t> wide_;    ///< [nodes][tests + 1] rows
  AlignedArray<std::int32_t> narrow_;  ///< [nodes][groups][2^group] rows
  AlignedArray<std::size_t> rows_;     ///< for each node those in `narrow_`
};

}  // namespace cuface::grow
