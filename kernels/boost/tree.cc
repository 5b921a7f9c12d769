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

/// What of a round belongs to a place.
class PlaceSamples {
 public:
  PlaceSamples(const RoundWeights& round, const std::vector<std::uint8_t>& places,
               std::size_t place)
      : weights_(round.weights.size()), responses_(round.weights.size()) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (places[i] != place || round.weights[i] == 0) continue;
      weights_[i] = round.weights[i];
      responses_[i] = round.responses[i];
      all_.weight += weights_[i];
      all_.response += responses_[i];
      ++count_;
      positive_ |= responses_[i] > 0;
      negative_ |= responses_[i] < 0;
    }
  }

  BoostSums all() const { return all_; }
  NodeSamples node(Boosting boosting) const { return {weights_, responses_, all_, boosting}; }
  bool may_split(Boosting boosting) const {
    // LogitBoost's responses differ within a class too.
    const bool pure = boosting != Boosting::kLogit && !(positive_ && negative_);
    return count_ > kMostLeafSamples && !pure;
  }

 private:
  std::vector<std::int32_t> weights_, responses_;
  BoostSums all_;
  int count_ = 0;
  bool positive_ = false, negative_ = false;
};

/// The best split of a node, where one is better than none; its quality is else -1.
Status find_split(const FeatureBank& bank, const SampleValues& values, SplitSearch& search,
                  const NodeSamples& node, const StopFlag* stop, HaarNode& split, bool& better) {
  FeatureQuality found;
  CUFACE_TRY(search.best(node, stop, found));
  better = found.quality > own_quality(node.all, node.boosting);
  if (!better) return {};
  std::vector<float> of_feature(values.padded());
  values.of(bank.at(found.feature), of_feature.data());
  of_feature.resize(values.count());
  std::vector<std::uint32_t> order;
  CUFACE_TRY(search.order_of(found.feature, of_feature, order));
  split.feature = static_cast<int>(found.feature);
  split.threshold = best_split(of_feature, order, node).threshold;
  return {};
}

/// Sends the samples of a place to its two children.
void route(const HaarNode& split, const FeatureBank& bank, const SampleValues& values,
           std::size_t place, std::size_t left, std::vector<std::uint8_t>& places) {
  std::vector<float> of_feature(values.padded());
  values.of(bank.at(static_cast<std::size_t>(split.feature)), of_feature.data());
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] != place) continue;
    places[i] = static_cast<std::uint8_t>(of_feature[i] < split.threshold ? left : left + 1);
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
  // Children are appended, so that nodes and leaves are numbered level by level, as
  // opencv_traincascade writes them.
  for (std::size_t p = 0; p < places.size(); ++p) {
    const Place place = places[p];
    const PlaceSamples samples(round, place_of, p);
    HaarNode split;
    bool better = false;
    if (place.depth < options.max_depth && samples.may_split(options.boosting)) {
      CUFACE_TRY(
          find_split(bank, values, search, samples.node(options.boosting), stop, split, better));
    }
    if (better) {
      const int node = static_cast<int>(tree.nodes.size());
      hang(tree, place, node);
      tree.nodes.push_back(split);
      route(split, bank, values, p, places.size(), place_of);
      places.push_back({place.depth + 1, node, true});
      places.push_back({place.depth + 1, node, false});
    } else {
      leaf_of_place[p] = static_cast<std::uint8_t>(tree.leaves.size());
      hang(tree, place, -static_cast<int>(tree.leaves.size()));
      tree.leaves.push_back(leaf_value(samples.all(), options.boosting));
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
