// The samples of each block in the order of the nodes that they have reached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/grow/cpu/rows.h"

namespace cuface::grow {

/// Where a sample of a block goes.
inline bool goes_left(const ForestSplit& split, const std::uint8_t* pixels, std::size_t sample) {
  const int apart = pixels[split.a * kBlock + sample] - pixels[split.b * kBlock + sample];
  return static_cast<float>(apart) > split.threshold;
}

/// The leaf of a sample of a block in a tree.
inline std::uint16_t leaf_in(std::span<const ForestSplit> splits, const std::uint8_t* pixels,
                             std::size_t sample) {
  std::size_t node = 0;
  while (node < splits.size()) node = 2 * node + (goes_left(splits[node], pixels, sample) ? 1 : 2);
  return static_cast<std::uint16_t>(node - splits.size());
}

/// find_buckets() for few samples of a block.
inline void find_few_buckets(std::span<const ForestSplit> tests, const std::uint8_t* pixels,
                             std::span<const std::uint16_t> samples, std::uint8_t* buckets) {
  for (const std::uint16_t sample : samples) {
    unsigned bucket = 0;
    for (std::size_t i = 0; i < tests.size(); ++i)
      bucket |= static_cast<unsigned>(goes_left(tests[i], pixels, sample)) << i;
    buckets[sample] = static_cast<std::uint8_t>(bucket);
  }
}

/// Blocks may be worked on side by side.
class BlockOrders {
 public:
  BlockOrders(std::size_t samples, std::size_t most_nodes)
      : samples_(samples),
        most_nodes_(most_nodes),
        order_(samples),
        ends_((samples + kBlock - 1) / kBlock * most_nodes) {}

  /// All are in one node.
  void begin(std::size_t block) {
    const std::size_t first = block * kBlock;
    const std::size_t count = samples_ - first < kBlock ? samples_ - first : kBlock;
    for (std::size_t i = 0; i < count; ++i) order_[first + i] = static_cast<std::uint16_t>(i);
    ends_[block * most_nodes_] = static_cast<std::uint16_t>(count);
  }

  std::span<const std::uint16_t> of(std::size_t block, std::size_t node) const {
    const std::uint16_t* const ends = ends_.data() + block * most_nodes_;
    const std::size_t begin = node == 0 ? 0 : ends[node - 1];
    return {order_.data() + block * kBlock + begin, ends[node] - begin};
  }

  /// Splits all nodes: the children of node n are 2n (left) and 2n + 1.
  void split(std::size_t block, std::span<const ForestSplit> splits, const std::uint8_t* pixels) {
    std::uint16_t* const order = order_.data() + block * kBlock;
    std::uint16_t* const ends = ends_.data() + block * most_nodes_;
    std::uint16_t right[kBlock];
    // From the last node on, so that no end is written before it is read.
    for (std::size_t node = splits.size(); node-- > 0;) {
      const std::size_t begin = node == 0 ? 0 : ends[node - 1], end = ends[node];
      std::size_t left_end = begin, rights = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint16_t sample = order[i];
        const bool left = goes_left(splits[node], pixels, sample);
        order[left_end] = sample;
        right[rights] = sample;
        left_end += left;
        rights += !left;
      }
      for (std::size_t i = 0; i < rights; ++i) order[left_end + i] = right[i];
      ends[2 * node + 1] = static_cast<std::uint16_t>(end);
      ends[2 * node] = static_cast<std::uint16_t>(left_end);
    }
  }

  std::size_t bytes() const { return (order_.size() + ends_.size()) * sizeof(std::uint16_t); }

 private:
  std::size_t samples_, most_nodes_;
  std::vector<std::uint16_t> order_;  ///< [blocks][kBlock], of the samples in the block
  std::vector<std::uint16_t> ends_;   ///< [blocks][most_nodes]
};

}  // namespace cuface::grow
