// The plain search: a feature after the other, as the definition says.
#include <algorithm>
#include <numeric>

#include "kernels/boost/search.h"

namespace cuface::boost {
namespace {

/// Walks up the order; `quality` of what is on the left is compared at each place for a split. The
/// index of the sample before the best one, -1 without any.
template <typename Quality, typename F>
std::ptrdiff_t best_place(std::span<const float> values, std::span<const std::uint32_t> order,
                          const NodeSamples& node, const F& quality, Quality& best) {
  std::ptrdiff_t place = -1;
  BoostSums left;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    left.weight += node.weights[order[i]];
    left.response += node.responses[order[i]];
    if (!(values[order[i]] + kTieGap < values[order[i + 1]])) continue;
    const Quality here = quality(node.all, left);
    if (!(here > best)) continue;
    best = here;
    place = static_cast<std::ptrdiff_t>(i);
  }
  return place;
}

/// Between the node's own samples, which need not be neighbours in the order of all.
float threshold_at(std::size_t place, std::span<const float> values,
                   std::span<const std::uint32_t> order, const NodeSamples& node) {
  std::size_t lower = place, upper = place + 1;
  while (lower > 0 && node.weights[order[lower]] == 0) --lower;
  while (upper + 1 < order.size() && node.weights[order[upper]] == 0) ++upper;
  return between(values[order[lower]], values[order[upper]]);
}

class PlainSearch : public SplitSearch {
 public:
  PlainSearch(const FeatureBank& bank, const SampleValues& values)
      : bank_(bank), values_(values), of_feature_(values.padded()) {}

  Status best(const NodeSamples& node, const StopFlag* stop, FeatureQuality& found) override {
    found = {};
    const std::span<const float> values(of_feature_.data(), values_.count());
    for (std::size_t feature = 0; feature < bank_.count(); ++feature) {
      if (is_raised(stop)) return cancelled();
      values_.of(bank_.at(feature), of_feature_.data());
      sort_samples(values, order_);
      const float quality = best_split(values, order_, node).quality;
      if (quality > found.quality) found = {feature, quality};
    }
    return {};
  }

 private:
  const FeatureBank& bank_;
  const SampleValues& values_;
  std::vector<float> of_feature_;
  std::vector<std::uint32_t> order_;
};

}  // namespace

Status SplitSearch::order_of(std::size_t /*feature*/, std::span<const float> values,
                             std::vector<std::uint32_t>& order) {
  sort_samples(values, order);
  return {};
}

void sort_samples(std::span<const float> values, std::vector<std::uint32_t>& order) {
  order.resize(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return values[a] != values[b] ? values[a] < values[b] : a < b;
  });
}

FeatureSplit best_split(std::span<const float> values, std::span<const std::uint32_t> order,
                        const NodeSamples& node) {
  FeatureSplit split;
  std::ptrdiff_t place;
  if (node.boosting == Boosting::kDiscrete) {
    std::int32_t best = -1;
    place = best_place(values, order, node, right_weight, best);
    split.quality = static_cast<float>(best);
  } else {
    place = best_place(values, order, node, squares_explained, split.quality);
  }
  if (place >= 0)
    split.threshold = threshold_at(static_cast<std::size_t>(place), values, order, node);
  return split;
}

std::unique_ptr<SplitSearch> make_plain_search(const FeatureBank& bank,
                                               const SampleValues& values) {
  return std::make_unique<PlainSearch>(bank, values);
}

}  // namespace cuface::boost
