#include "kernels/grow/cpu/node_sums.h"

#include <algorithm>
#include <limits>

#include "kernels/grow/steps.h"

namespace cuface::grow {
namespace {

/// With less room, rows are added in 64 bits at once.
constexpr std::int64_t kLeastCapacity = 32;
/// Bytes of buckets that a thread's cache holds beside its rows.
constexpr std::size_t kMostBucketBytes = std::size_t{1} << 20;
/// What taking a bucket costs, in rows that are added.
constexpr std::size_t kTakeCost = 4;

template <typename T>
void make_room(AlignedArray<T>& array, std::size_t size) {
  if (array.size() < size) array = AlignedArray<T>(size);
}

}  // namespace

SplitGroups SplitGroups::of(std::size_t nodes, std::size_t tests, std::size_t samples,
                            std::size_t stride) {
  SplitGroups best{nodes, tests, 1};
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (std::size_t group = 1; group <= std::min<std::size_t>(kMostGroup, tests); ++group) {
    const SplitGroups grouping{nodes, tests, group};
    const std::size_t buckets = nodes * grouping.buckets();
    if (group > 1 && buckets * stride * sizeof(std::int32_t) > kMostBucketBytes) break;
    const std::size_t cost = samples * grouping.groups() + buckets * kTakeCost;
    if (cost >= least) continue;
    least = cost;
    best = grouping;
  }
  return best;
}

void NodeSums::begin(const SplitGroups& grouping, std::int64_t most) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  grouping_ = grouping;
  const std::int64_t capacity = kLargest / std::max<std::int64_t>(most, 1);
  capacity_ = capacity < kLeastCapacity ? 0 : static_cast<std::size_t>(capacity);
  const std::size_t wide = grouping.nodes * (grouping.tests + 1) * stride_;
  const std::size_t narrow = grouping.nodes * grouping.buckets() * stride_;
  make_room(wide_, wide);
  make_room(narrow_, narrow);
  make_room(rows_, grouping.nodes);
  std::fill_n(wide_.data(), wide, 0);
  std::fill_n(narrow_.data(), narrow, 0);
  std::fill_n(rows_.data(), grouping.nodes, std::size_t{0});
}

void NodeSums::add(std::size_t node, const std::int32_t* rows,
                   std::span<const std::uint16_t> samples, const std::int32_t* weights,
                   const std::uint8_t* buckets) {
  if (capacity_ == 0) return add_wide(node, rows, samples, weights, buckets);
  while (!samples.empty()) {
    if (rows_[node] == capacity_) finish(node);
    const std::size_t count = std::min(samples.size(), capacity_ - rows_[node]);
    add_rows(rows, samples.first(count), weights,
             {narrow_.data() + node * grouping_.buckets() * stride_, stride_,
              stride_ << grouping_.group, static_cast<int>(grouping_.groups()), buckets});
    rows_[node] += count;
    samples = samples.subspan(count);
  }
}

void NodeSums::finish(std::size_t node) {
  if (rows_[node] == 0) return;
  rows_[node] = 0;
  for (std::size_t g = 0; g < grouping_.groups(); ++g) {
    std::int64_t* lefts[kMostGroup];
    const std::size_t splits = grouping_.splits(g);
    for (std::size_t i = 0; i < splits; ++i) lefts[i] = left(node, g * grouping_.group + i);
    const std::size_t first = node * grouping_.buckets() + (g << grouping_.group);
    take_group(narrow_.data() + first * stride_, stride_, static_cast<int>(splits), lefts,
               g == 0 ? total(node) : nullptr);
  }
}

void NodeSums::take(std::size_t node, NodeSums& other) {
  other.finish(node);
  for (std::size_t test = 0; test <= grouping_.tests; ++test) {
    std::int64_t* const to = left(node, test);
    const std::int64_t* const from = other.left(node, test);
    for (std::size_t k = 0; k < stride_; ++k) to[k] += from[k];
  }
}

std::size_t NodeSums::best(std::size_t node, std::size_t size) {
  const std::int64_t* const all = total(node);
  std::size_t best = 0;
  double most = -1;
  for (std::size_t test = 0; test < grouping_.tests; ++test) {
    const std::int64_t* const its = left(node, test);
    const double score = split_score(all, its, static_cast<int>(size), all[size], its[size]);
    if (!(score > most)) continue;
    most = score;
    best = test;
  }
  return best;
}

void NodeSums::copy_sides(std::size_t node, std::size_t test, std::int64_t* sides) {
  const std::int64_t *const its = left(node, test), *const all = total(node);
  for (std::size_t k = 0; k < stride_; ++k) {
    sides[k] = its[k];
    sides[stride_ + k] = all[k] - its[k];
  }
}

void NodeSums::add_wide(std::size_t node, const std::int32_t* rows,
                        std::span<const std::uint16_t> samples, const std::int32_t* weights,
                        const std::uint8_t* buckets) {
  const auto add = [&](std::size_t sample, std::int64_t* to) {
    const std::int64_t weight = weights ? weights[sample] : 1;
    for (std::size_t k = 0; k < stride_; ++k) to[k] += weight * rows[sample * stride_ + k];
  };
  for (const std::size_t sample : samples) {
    add(sample, total(node));
    for (std::size_t test = 0; test < grouping_.tests; ++test) {
      const std::uint8_t bucket = buckets[test / grouping_.group * kBlock + sample];
      if (bucket >> (test % grouping_.group) & 1) add(sample, left(node, test));
    }
  }
}

}  // namespace cuface::grow
