#include "kernels/boost/tree.h"

#include <algorithm>

#include "kernels/common/try.h"

namespace cuface::boost {
namespace {

/// Where a node or a leaf hangs.
struct Place {
  int depth = 0;
  int parent = -1;  ///< node; -1 = the root
  bool is_left = false;
};

/// What of a round belongs to a place. Which samples do is as good as random: no branches.
struct PlaceSums {
  BoostSums all;
  int count = 0, positive = 0, negative = 0;

  PlaceSums(const RoundWeights& round, const std::vector<std::uint8_t>& places,
            std::uint8_t place) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::int32_t here = -std::int32_t{places[i] == place};
      const std::int32_t weight = round.weights[i] & here, response = round.responses[i] & here;
      all.weight += weight;
      all.response += response;
      count += weight != 0;
      positive += response > 0;
      negative += response < 0;
    }
  }
  bool may_split(Boosting boosting) const {
    // LogitBoost's responses differ within a class too.
    const bool pure = boosting != Boosting::kLogit && (positive == 0 || negative == 0);
    return count > kMostLeafSamples && !pure;
  }
};

/// A round's weights and responses, with 0 for samples of other places.
RoundWeights of_place(const RoundWeights& round, const std::vector<std::uint8_t>& places,
                      std::uint8_t place) {
  RoundWeights out = round;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::int32_t here = -std::int32_t{places[i] == place};
    out.weights[i] &= here;
    out.responses[i] &= here;
  }
  return out;
}

/// The best split of a node, where one is better than none; its quality is else -1. Leaves the
/// values of its feature in `of_feature`.
Status find_split(const FeatureBank& bank, const SampleValues& values, SplitSearch& search,
                  const NodeSamples& node, const StopFlag* stop, HaarNode& split, bool& better,
                  std::vector<float>& of_feature) {
  FeatureQuality found;
  CUFACE_TRY(search.best(node, stop, found));
  better = found.quality > own_quality(node.all, node.boosting);
  if (!better) return {};
  of_feature.resize(values.padded());
  values.of(bank.at(found.feature), of_feature.data());
  of_feature.resize(values.count());
  std::vector<std::uint32_t> order;
  CUFACE_TRY(search.order_of(found.feature, of_feature, order));
  split.feature = static_cast<int>(found.feature);
  split.threshold = best_split(of_feature, order, node).threshold;
  return {};
}

/// Sends the samples of a place to its two children.
void route(std::span<const float> of_feature, float threshold, std::uint8_t place,
           std::uint8_t left, std::vector<std::uint8_t>& places) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto child = static_cast<std::uint8_t>(left + (of_feature[i] < threshold ? 0 : 1));
    places[i] = places[i] == place ? child : places[i];
  }
}

void hang(WeakTree& tree, const Place& place, int child) {
  if (place.parent < 0) return;
  HaarNode& parent = tree.nodes[static_cast<std::size_t>(place.parent)];
  (place.is_left ? parent.left : parent.right) = child;
}

}  // namespace

Status grow_tree(const FeatureBank& bank, const SampleValues& values, SplitSearch& search,
                 const RoundWeights& round, const BoostOptions& options, const StopFlag* stop,
                 GrownTree& grown) {
  WeakTree tree;
  std::vector<Place> places{{}};
  std::vector<std::uint8_t> place_of(values.count());
  std::vector<std::uint8_t> leaf_of_place{0};
  std::vector<float> of_feature;
  // Children are appended, so that nodes and leaves are numbered level by level, as
  // opencv_traincascade writes them.
  for (std::size_t p = 0; p < places.size(); ++p) {
    const Place place = places[p];
    const auto here = static_cast<std::uint8_t>(p);
    const PlaceSums sums(round, place_of, here);
    HaarNode split;
    bool better = false;
    if (place.depth < options.max_depth && sums.may_split(options.boosting)) {
      const RoundWeights own = p == 0 ? RoundWeights() : of_place(round, place_of, here);
      const RoundWeights& of = p == 0 ? round : own;  // at the root are all
      CUFACE_TRY(find_split(bank, values, search,
                            {of.weights, of.responses, sums.all, options.boosting}, stop, split,
                            better, of_feature));
    }
    if (better) {
      const int node = static_cast<int>(tree.nodes.size());
      hang(tree, place, node);
      tree.nodes.push_back(split);
      route(of_feature, split.threshold, here, static_cast<std::uint8_t>(places.size()), place_of);
      places.push_back({place.depth + 1, node, true});
      places.push_back({place.depth + 1, node, false});
    } else {
      leaf_of_place[p] = static_cast<std::uint8_t>(tree.leaves.size());
      hang(tree, place, -static_cast<int>(tree.leaves.size()));
      tree.leaves.push_back(leaf_value(sums.all, options.boosting));
    }
    leaf_of_place.resize(places.size());
  }
  grown.leaves.resize(values.count());
  std::transform(place_of.begin(), place_of.end(), grown.leaves.begin(),
                 [&](std::uint8_t place) { return leaf_of_place[place]; });
  grown.tree = std::move(tree);
  return {};
}

std::vector<std::uint8_t> leaves_of(const WeakTree& tree, const FeatureBank& bank,
                                    const SampleValues& values) {
  // Of each sample the node where it is, then minus its leaf.
  std::vector<int> child(values.count());
  for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
    const HaarNode& node = tree.nodes[n];
    std::vector<float> of_feature(values.padded());
    values.of(bank.at(static_cast<std::size_t>(node.feature)), of_feature.data());
    for (std::size_t i = 0; i < child.size(); ++i) {
      // Leaf 0 is no node 0: it is reached from the root at the earliest.
      if (child[i] != static_cast<int>(n)) continue;
      child[i] = of_feature[i] < node.threshold ? node.left : node.right;
    }
  }
  std::vector<std::uint8_t> leaves(child.size());
  std::transform(child.begin(), child.end(), leaves.begin(),
                 [](int c) { return static_cast<std::uint8_t>(-c); });
  return leaves;
}

}  // namespace cuface::boost
