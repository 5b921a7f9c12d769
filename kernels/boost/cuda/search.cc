#include "kernels/boost/cuda/search.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/boost/cuda/order.h"
#include "kernels/boost/cuda/scan.h"
#include "kernels/cascade/bind.h"
#include "kernels/common/cuda/find_gpu.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/try.h"

namespace cuface::cuda::boost {
namespace {

using cuface::boost::FeatureQuality;
using cuface::boost::NodeSamples;
using cuface::boost::SampleValues;
using cuface::boost::SplitSearch;

/// Features that are sorted between two looks at the stop flag, and at once where their orders are
/// not kept. About 2 ms of an H200 at 10,000 samples.
constexpr std::size_t kBlock = 8192;
/// Of the free memory, where nothing else is asked for: others may use the GPU.
constexpr double kShareOfFree = 0.85;

Status wait(cudaStream_t stream) {
  return check(cudaStreamSynchronize(stream), "searching for a split");
}

template <typename T>
Status upload(const T* from, std::size_t count, DeviceBuffer<T>& to, cudaStream_t stream) {
  CUFACE_TRY(take(DeviceBuffer<T>::create(count), to));
  return check(cudaMemcpyAsync(to.data(), from, count * sizeof(T), cudaMemcpyHostToDevice, stream),
               "copying samples to the GPU");
}

template <typename Id>
class CudaSearch : public SplitSearch {
 public:
  CudaSearch(const FeatureBank& bank, const SampleValues& values, Boosting boosting)
      : bank_(bank),
        boosting_(boosting),
        count_(values.count()),
        stride_(OrderRows<Id>::stride_of(values.count())) {}

  Status prepare(const SampleValues& values, std::size_t memory, const StopFlag* stop) {
    CUFACE_TRY(take(OwnStream::create(), own_));
    CUFACE_TRY(take(OrderPlan::create(static_cast<int>(count_), sizeof(Id)), order_plan_));
    CUFACE_TRY(take(ScanPlan::create(static_cast<int>(count_), boosting_), scan_plan_));
    std::vector<BoundFeature> bound;
    bound.reserve(bank_.count());
    for (std::size_t i = 0; i < bank_.count(); ++i)
      bound.push_back(bind_feature(bank_.at(i), values.layout()));
    CUFACE_TRY(upload(bound.data(), bound.size(), bound_, own_.get()));
    CUFACE_TRY(upload(values.sums().data(), values.sums().size(), sums_, own_.get()));
    CUFACE_TRY(upload(values.norms().data(), values.norms().size(), norms_, own_.get()));
    rows_ = {sums_.data(), norms_.data(), values.padded(), static_cast<int>(count_)};
    CUFACE_TRY(take(DeviceBuffer<std::byte>::create(order_plan_.scratch_bytes()), scratch_));
    CUFACE_TRY(take(DeviceBuffer<std::int32_t>::create(2 * samples()), node_));
    CUFACE_TRY(take(PinnedBuffer<std::int32_t>::create(2 * samples()), host_node_));
    CUFACE_TRY(take(PinnedBuffer<Id>::create(count_), host_order_));
    CUFACE_TRY(take(DeviceBuffer<BestSplit>::create(1), best_));
    CUFACE_TRY(take(PinnedBuffer<BestSplit>::create(1), host_best_));
    CUFACE_TRY(allocate(memory));
    for (std::size_t first = 0; first < stored_; first += kBlock) {
      if (is_raised(stop)) return cancelled();
      CUFACE_TRY(sort(first, std::min(kBlock, stored_ - first), rows_of(first)));
      CUFACE_TRY(wait(own_.get()));
    }
    return wait(own_.get());
  }

  Status best(const NodeSamples& node, const StopFlag* stop, FeatureQuality& found) override {
    const bool weighs = boosting_ == Boosting::kLogit;
    std::int32_t* to = host_node_.data();
    std::copy(node.responses.begin(), node.responses.end(), to);
    to[count_] = 0;
    if (weighs) {
      std::copy(node.weights.begin(), node.weights.end(), to + samples());
      to[samples() + count_] = 0;
    }
    *host_best_.data() = 0;
    const cudaStream_t stream = own_.get();
    CUFACE_TRY(
        check(cudaMemcpyAsync(node_.data(), to, samples() * (weighs ? 2 : 1) * sizeof(std::int32_t),
                              cudaMemcpyHostToDevice, stream),
              "copying weights to the GPU"));
    CUFACE_TRY(check(cudaMemcpyAsync(best_.data(), host_best_.data(), sizeof(BestSplit),
                                     cudaMemcpyHostToDevice, stream),
                     "copying weights to the GPU"));
    const DeviceNode on_gpu{node_.data(), node_.data() + samples(), static_cast<int>(count_),
                            node.all, boosting_};
    CUFACE_TRY(scan(0, stored_, rows_of(0), on_gpu));
    for (std::size_t first = stored_; first < bank_.count(); first += kBlock) {
      if (is_raised(stop)) return cancelled();
      const std::size_t features = std::min(kBlock, bank_.count() - first);
      CUFACE_TRY(sort(first, features, spare_rows()));
      CUFACE_TRY(scan(first, features, spare_rows(), on_gpu));
      CUFACE_TRY(wait(stream));
    }
    CUFACE_TRY(check(cudaMemcpyAsync(host_best_.data(), best_.data(), sizeof(BestSplit),
                                     cudaMemcpyDeviceToHost, stream),
                     "copying a split from the GPU"));
    CUFACE_TRY(wait(stream));
    if (is_raised(stop)) return cancelled();
    const BestSplit best = *host_best_.data();
    found = {};
    if (best == 0) return {};
    found.feature = ~static_cast<std::uint32_t>(best);
    found.quality = std::bit_cast<float>(static_cast<std::uint32_t>(best >> 32));
    return {};
  }

  Status order_of(std::size_t feature, std::span<const float> values,
                  std::vector<std::uint32_t>& order) override {
    if (feature >= stored_) return SplitSearch::order_of(feature, values, order);
    CUFACE_TRY(check(cudaMemcpyAsync(host_order_.data(), rows_of(feature).ids, count_ * sizeof(Id),
                                     cudaMemcpyDeviceToHost, own_.get()),
                     "copying an order from the GPU"));
    CUFACE_TRY(wait(own_.get()));
    order.resize(count_);
    for (std::size_t i = 0; i < count_; ++i)
      order[i] = host_order_.data()[i] & static_cast<Id>(~OrderRows<Id>::kApart);
    return {};
  }

  std::size_t bytes() const override {
    return orders_.size() * sizeof(Id) + spare_.size() * sizeof(Id) + scratch_.size() +
           sums_.size() * sizeof(std::uint32_t) + bound_.size() * sizeof(BoundFeature);
  }

 private:
  std::size_t samples() const { return count_ + 1; }

  /// Room for the orders that are kept, and for those that are sorted again.
  Status allocate(std::size_t memory) {
    if (memory == 0) {
      std::size_t free = 0, all = 0;
      CUFACE_TRY(check(cudaMemGetInfo(&free, &all), "asking for the GPU's memory"));
      memory = static_cast<std::size_t>(static_cast<double>(free) * kShareOfFree);
    }
    const std::size_t of_feature = stride_ * sizeof(Id);
    stored_ = std::min(bank_.count(), memory / of_feature);
    CUFACE_TRY(take(DeviceBuffer<Id>::create(stored_ * stride_), orders_));
    const std::size_t spare = std::min(kBlock, bank_.count() - stored_);
    return take(DeviceBuffer<Id>::create(spare * stride_), spare_);
  }

  OrderRows<Id> rows_of(std::size_t feature) {
    return {orders_.data() + feature * stride_, stride_};
  }
  OrderRows<Id> spare_rows() { return {spare_.data(), stride_}; }

  Status sort(std::size_t first, std::size_t features, const OrderRows<Id>& to) {
    return order_plan_.make(rows_, bound_.data() + first, static_cast<std::uint32_t>(features), to,
                            scratch_.data(), own_.get());
  }
  Status scan(std::size_t first, std::size_t features, const OrderRows<Id>& orders,
              const DeviceNode& node) {
    return scan_plan_.run(orders, static_cast<std::uint32_t>(first),
                          static_cast<std::uint32_t>(features), node, best_.data(), own_.get());
  }

  const FeatureBank& bank_;
  const Boosting boosting_;
  const std::size_t count_, stride_;
  OwnStream own_;
  OrderPlan order_plan_;
  ScanPlan scan_plan_;
  std::size_t stored_ = 0;  ///< features
  SumRows rows_ = {};
  DeviceBuffer<BoundFeature> bound_;
  DeviceBuffer<std::uint32_t> sums_;
  DeviceBuffer<float> norms_;
  DeviceBuffer<std::byte> scratch_;
  DeviceBuffer<std::int32_t> node_;  ///< responses, then weights
  PinnedBuffer<std::int32_t> host_node_;
  DeviceBuffer<BestSplit> best_;
  PinnedBuffer<BestSplit> host_best_;
  PinnedBuffer<Id> host_order_;
  DeviceBuffer<Id> orders_, spare_;
};

using Made = Result<std::unique_ptr<SplitSearch>>;

template <typename Id>
Made prepared(const FeatureBank& bank, const SampleValues& values, Boosting boosting,
              std::size_t memory, const StopFlag* stop) {
  auto search = std::make_unique<CudaSearch<Id>>(bank, values, boosting);
  CUFACE_TRY(search->prepare(values, memory, stop));
  return Made(std::move(search));
}

}  // namespace

Made make_search(const FeatureBank& bank, const SampleValues& values, Boosting boosting,
                 std::size_t memory, const StopFlag* stop) {
  CUFACE_TRY(find_gpu());
  return values.count() < OrderRows<std::uint16_t>::kApart
             ? prepared<std::uint16_t>(bank, values, boosting, memory, stop)
             : prepared<std::uint32_t>(bank, values, boosting, memory, stop);
}

}  // namespace cuface::cuda::boost
