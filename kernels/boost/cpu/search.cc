#include "kernels/boost/search.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "kernels/boost/cpu/orders.h"
#include "kernels/boost/cpu/scan.h"
#include "kernels/common/workers.h"

namespace cuface::boost {
namespace {

/// Orders of groups that lie one behind the other.
template <typename Id>
class OrderList {
 public:
  OrderList(std::size_t groups, std::size_t samples)
      : samples_(samples),
        ids_(new Id[groups * samples * kGroup]),
        apart_(new std::uint16_t[groups * samples]) {}

  GroupOrder<Id> operator[](std::size_t group) const {
    return {ids_.get() + group * samples_ * kGroup, apart_.get() + group * samples_};
  }

  static std::size_t bytes(std::size_t groups, std::size_t samples) {
    return groups * samples * (kGroup * sizeof(Id) + sizeof(std::uint16_t));
  }

 private:
  std::size_t samples_;
  std::unique_ptr<Id[]> ids_;  ///< not cleared: each order is written before it is read
  std::unique_ptr<std::uint16_t[]> apart_;
};

template <typename Id>
class FastSearch : public SplitSearch {
 public:
  FastSearch(const FeatureBank& bank, const SampleValues& values, int threads, std::size_t memory)
      : features_(bank.count()),
        samples_(values.count()),
        groups_((features_ + kGroup - 1) / kGroup),
        stored_(std::min(groups_, memory / Orders::bytes(1, samples_))),
        workers_(threads),
        qualities_(groups_ * kGroup),
        orders_(stored_, samples_),
        spare_(stored_ < groups_ ? static_cast<std::size_t>(workers_.count()) : 0, samples_) {
    for (int i = 0; i < workers_.count(); ++i) makers_.emplace_back(bank, values);
  }

  /// False once `stop` is raised.
  bool prepare(const StopFlag* stop) {
    return each_group(stored_, stop, [&](std::size_t group, std::size_t worker) {
      makers_[worker].make(group * kGroup, orders_[group]);
    });
  }

  Status best(const NodeSamples& node, const StopFlag* stop, FeatureQuality& found) override {
    // What some feature has reached: it bounds the others, and whichever they are, the best stands.
    std::atomic<float> reached{0};
    const bool all = each_group(groups_, stop, [&](std::size_t group, std::size_t worker) {
      GroupOrder<Id> order = group < stored_ ? orders_[group] : spare_[worker];
      if (group >= stored_) makers_[worker].make(group * kGroup, order);
      float* qualities = qualities_.data() + group * kGroup;
      scan_group(order, node, reached.load(std::memory_order_relaxed), qualities);
      raise(reached, *std::max_element(qualities, qualities + kGroup));
    });
    if (!all) return cancelled();
    // In order, so that of equal ones the first stands.
    const auto best = std::max_element(qualities_.begin(),
                                       qualities_.begin() + static_cast<std::ptrdiff_t>(features_));
    found = {static_cast<std::size_t>(best - qualities_.begin()), *best};
    return {};
  }

  std::size_t bytes() const override {
    const std::size_t spare = stored_ < groups_ ? static_cast<std::size_t>(workers_.count()) : 0;
    return Orders::bytes(stored_ + spare, samples_) + qualities_.size() * sizeof(float);
  }

 private:
  using Orders = OrderList<Id>;

  static void raise(std::atomic<float>& reached, float quality) {
    float before = reached.load(std::memory_order_relaxed);
    while (quality > before &&
           !reached.compare_exchange_weak(before, quality, std::memory_order_relaxed)) {
    }
  }

  template <typename F>
  bool each_group(std::size_t groups, const StopFlag* stop, const F& f) {
    std::atomic<bool> stopped{false};
    workers_.run(static_cast<int>(groups), [&](int group, int worker) {
      if (is_raised(stop)) stopped.store(true, std::memory_order_relaxed);
      if (stopped.load(std::memory_order_relaxed)) return;
      f(static_cast<std::size_t>(group), static_cast<std::size_t>(worker));
    });
    return !stopped.load();
  }

  const std::size_t features_, samples_, groups_, stored_;
  Workers workers_;
  std::vector<OrderMaker> makers_;  ///< one for each worker
  std::vector<float> qualities_;
  Orders orders_, spare_;
};

template <typename Id>
std::unique_ptr<SplitSearch> prepared(const FeatureBank& bank, const SampleValues& values,
                                      int threads, std::size_t memory, const StopFlag* stop) {
  auto search = std::make_unique<FastSearch<Id>>(bank, values, threads, memory);
  if (!search->prepare(stop)) return nullptr;
  return search;
}

}  // namespace

std::unique_ptr<SplitSearch> make_fast_search(const FeatureBank& bank, const SampleValues& values,
                                              int threads, std::size_t memory,
                                              const StopFlag* stop) {
  return values.count() <= std::size_t{1} << 16
             ? prepared<std::uint16_t>(bank, values, threads, memory, stop)
             : prepared<std::uint32_t>(bank, values, threads, memory, stop);
}

}  // namespace cuface::boost
