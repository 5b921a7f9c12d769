#include "kernels/boost/cuda/search.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/boost/cuda/bounds.h"
#include "kernels/boost/cuda/order.h"
#include "kernels/boost/cuda/scan.h"
#include "kernels/boost/cuda/sums.h"
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
  CUFACE_TRY(grow_to(count, to));
  return check(cudaMemcpyAsync(to.data(), from, count * sizeof(T), cudaMemcpyHostToDevice, stream),
               "copying samples to the GPU");
}

/// What is the same for all stages, and memory that is as large.
struct SearchMemory : StageMemory {
  DeviceBuffer<BoundFeature> bound;  ///< all features of the bank
  DeviceBuffer<std::uint8_t> pixels;
  DeviceBuffer<std::uint32_t> sums;
  DeviceBuffer<float> norms;
  DeviceBuffer<std::byte> scratch;
  DeviceBuffer<std::int32_t> node;  ///< responses, then weights
  PinnedBuffer<std::int32_t> host_node;
  DeviceBuffer<BestSplit> best;
  PinnedBuffer<BestSplit> host_best;
  PinnedBuffer<std::byte> host_order;
  DeviceBuffer<std::byte> orders, spare;
  DeviceBuffer<std::uint8_t> bins;
  DeviceBuffer<std::uint32_t> ends;
  DeviceBuffer<float> bounds;
  OwnStream stream;  ///< ends before what it works on

  Status prepare(const FeatureBank& bank, const SumLayout& layout) {
    if (bound.size() > 0) return {};
    CUFACE_TRY(take(OwnStream::create(), stream));
    CUFACE_TRY(grow_to(1, best));
    CUFACE_TRY(grow_to(1, host_best));
    std::vector<BoundFeature> features;
    features.reserve(bank.count());
    for (std::size_t i = 0; i < bank.count(); ++i)
      features.push_back(bind_feature(bank.at(i), layout));
    CUFACE_TRY(upload(features.data(), features.size(), bound, stream.get()));
    return wait(stream.get());
  }
};

template <typename Id>
class CudaSearch : public SplitSearch {
 public:
  CudaSearch(const FeatureBank& bank, std::size_t samples, Boosting boosting)
      : bank_(bank),
        boosting_(boosting),
        count_(samples),
        stride_(OrderRows<Id>::stride_of(samples)) {}
  ~CudaSearch() override {
    if (keeps_orders_) return;
    memory_->orders = {};
    memory_->bins = {};
  }
  CudaSearch(const CudaSearch&) = delete;
  CudaSearch& operator=(const CudaSearch&) = delete;

  /// Begins to sort.
  Status prepare(const TrainingSamples& samples, const SampleValues& values, std::size_t memory,
                 std::unique_ptr<StageMemory>* kept) {
    std::unique_ptr<StageMemory>& owner = kept ? *kept : own_memory_;
    if (!owner) owner = std::make_unique<SearchMemory>();
    memory_ = static_cast<SearchMemory*>(owner.get());
    SearchMemory& m = *memory_;
    CUFACE_TRY(m.prepare(bank_, values.layout()));
    CUFACE_TRY(take(OrderPlan::create(static_cast<int>(count_), sizeof(Id)), order_plan_));
    CUFACE_TRY(take(ScanPlan::create(static_cast<int>(count_), boosting_), scan_plan_));
    CUFACE_TRY(grow_to(order_plan_.scratch_bytes(), m.scratch));
    CUFACE_TRY(grow_to(2 * node_size(), m.node));
    CUFACE_TRY(grow_to(2 * node_size(), m.host_node));
    CUFACE_TRY(grow_to(count_ * sizeof(Id), m.host_order));
    if (values.is_filled()) {
      CUFACE_TRY(upload(values.sums().data(), values.sums().size(), m.sums, stream()));
      CUFACE_TRY(upload(values.norms().data(), values.norms().size(), m.norms, stream()));
    } else {
      const auto corners = static_cast<std::size_t>((bank_.width() + 1) * (bank_.height() + 1));
      CUFACE_TRY(grow_to(corners * values.padded(), m.sums));
      CUFACE_TRY(grow_to(values.padded(), m.norms));
      CUFACE_TRY(upload(samples.pixels.data(), samples.pixels.size(), m.pixels, stream()));
      CUFACE_TRY(
          make_sums({m.pixels.data(), static_cast<int>(count_), bank_.width(), bank_.height()},
                    values.padded(), m.sums.data(), m.norms.data(), stream()));
    }
    rows_ = {m.sums.data(), m.norms.data(), values.padded(), static_cast<int>(count_)};
    CUFACE_TRY(allocate(memory));
    for (int i = 0; i < kBlocksAhead; ++i) CUFACE_TRY(sort_more());
    return {};
  }

  Status ready(const StopFlag* stop) override {
    while (sorted_ < stored_) {
      if (is_raised(stop)) return cancelled();
      CUFACE_TRY(sort_more());
      CUFACE_TRY(wait(stream()));
    }
    return wait(stream());
  }

  Status best(const NodeSamples& node, const StopFlag* stop, FeatureQuality& found) override {
    const bool weighs = boosting_ == Boosting::kLogit;
    SearchMemory& m = *memory_;
    std::int32_t* to = m.host_node.data();
    std::copy(node.responses.begin(), node.responses.end(), to);
    std::fill(to + count_, to + node_size(), 0);
    if (weighs) {
      std::copy(node.weights.begin(), node.weights.end(), to + node_size());
      std::fill(to + node_size() + count_, to + 2 * node_size(), 0);
    }
    *m.host_best.data() = 0;
    const cudaStream_t stream = this->stream();
    CUFACE_TRY(check(
        cudaMemcpyAsync(m.node.data(), to, node_size() * (weighs ? 2 : 1) * sizeof(std::int32_t),
                        cudaMemcpyHostToDevice, stream),
        "copying weights to the GPU"));
    CUFACE_TRY(check(cudaMemcpyAsync(m.best.data(), m.host_best.data(), sizeof(BestSplit),
                                     cudaMemcpyHostToDevice, stream),
                     "copying weights to the GPU"));
    const DeviceNode on_gpu{m.node.data(), m.node.data() + node_size(), static_cast<int>(count_),
                            node.all, boosting_};
    if (has_bins_) {
      CUFACE_TRY(bound_features(bins_of(0), static_cast<std::uint32_t>(stored_), on_gpu,
                                m.bounds.data(), m.best.data(), stream));
    }
    CUFACE_TRY(scan(0, stored_, rows_of(0), on_gpu, has_bins_ ? m.bounds.data() : nullptr));
    for (std::size_t first = stored_; first < bank_.count(); first += kBlock) {
      if (is_raised(stop)) return cancelled();
      const std::size_t features = std::min(kBlock, bank_.count() - first);
      CUFACE_TRY(sort(first, features, spare_rows(), {}));
      CUFACE_TRY(scan(first, features, spare_rows(), on_gpu, nullptr));
      CUFACE_TRY(wait(stream));
    }
    CUFACE_TRY(check(cudaMemcpyAsync(m.host_best.data(), m.best.data(), sizeof(BestSplit),
                                     cudaMemcpyDeviceToHost, stream),
                     "copying a split from the GPU"));
    CUFACE_TRY(wait(stream));
    if (is_raised(stop)) return cancelled();
    const BestSplit best = *m.host_best.data();
    found = {};
    if (best == 0) return {};
    found.feature = ~static_cast<std::uint32_t>(best);
    found.quality = std::bit_cast<float>(static_cast<std::uint32_t>(best >> 32));
    return {};
  }

  Status order_of(std::size_t feature, std::span<const float> values,
                  std::vector<std::uint32_t>& order) override {
    if (feature >= stored_) return SplitSearch::order_of(feature, values, order);
    CUFACE_TRY(check(cudaMemcpyAsync(memory_->host_order.data(), rows_of(feature).ids,
                                     count_ * sizeof(Id), cudaMemcpyDeviceToHost, stream()),
                     "copying an order from the GPU"));
    CUFACE_TRY(wait(stream()));
    const Id* ids = reinterpret_cast<const Id*>(memory_->host_order.data());
    order.resize(count_);
    for (std::size_t i = 0; i < count_; ++i)
      order[i] = ids[i] & static_cast<Id>(~OrderRows<Id>::kApart);
    return {};
  }

  std::size_t bytes() const override {
    const SearchMemory& m = *memory_;
    return m.orders.size() + m.bins.size() + m.spare.size() + m.scratch.size() +
           m.sums.size() * sizeof(std::uint32_t) + m.bound.size() * sizeof(BoundFeature);
  }

 private:
  static constexpr int kBlocksAhead = 6;  ///< while the host makes its own sums

  cudaStream_t stream() const { return memory_->stream.get(); }
  /// One without weight at least is behind them, and as many as orders and bins need.
  std::size_t node_size() const { return OrderRows<Id>::stride_of(count_ + 1); }

  /// Room for the orders that are kept, and for those that are sorted again.
  Status allocate(std::size_t memory) {
    SearchMemory& m = *memory_;
    std::size_t free = 0, all = 0;
    CUFACE_TRY(check(cudaMemGetInfo(&free, &all), "asking for the GPU's memory"));
    const std::size_t ours = free + m.orders.size() + m.bins.size() + m.spare.size();
    if (memory == 0) memory = static_cast<std::size_t>(static_cast<double>(ours) * kShareOfFree);
    const std::size_t of_feature = stride_ * sizeof(Id);
    stored_ = std::min(bank_.count(), memory / of_feature);
    const std::size_t of_orders = stored_ * of_feature, of_bins = BinRows::bytes(stored_, stride_);
    const auto can = can_bound(boosting_);
    CUFACE_TRY(can.status());
    has_bins_ = can.value() && stored_ == bank_.count() && of_orders + of_bins <= memory;
    // Between stages others need some too.
    keeps_orders_ = of_orders + (has_bins_ ? of_bins : 0) <= ours / 2;
    CUFACE_TRY(grow_to(of_orders, m.orders));
    if (has_bins_) {
      CUFACE_TRY(grow_to(of_bins, m.bins));
      CUFACE_TRY(grow_to(stored_ * kEndWords, m.ends));
      CUFACE_TRY(grow_to(stored_, m.bounds));
    }
    return grow_to(std::min(kBlock, bank_.count() - stored_) * of_feature, m.spare);
  }

  OrderRows<Id> rows_of(std::size_t feature) {
    return {reinterpret_cast<Id*>(memory_->orders.data()) + feature * stride_, stride_};
  }
  BinRows bins_of(std::size_t first) {
    return BinRows{memory_->bins.data(), memory_->ends.data(), stride_}.from(first);
  }
  OrderRows<Id> spare_rows() { return {reinterpret_cast<Id*>(memory_->spare.data()), stride_}; }

  /// The next features that are kept.
  Status sort_more() {
    const std::size_t first = sorted_;
    sorted_ = std::min(stored_, first + kBlock);
    return sort(first, sorted_ - first, rows_of(first), has_bins_ ? bins_of(first) : BinRows{});
  }
  Status sort(std::size_t first, std::size_t features, const OrderRows<Id>& to,
              const BinRows& bins) {
    return order_plan_.make(rows_, memory_->bound.data() + first,
                            static_cast<std::uint32_t>(features), to, bins, memory_->scratch.data(),
                            stream());
  }
  Status scan(std::size_t first, std::size_t features, const OrderRows<Id>& orders,
              const DeviceNode& node, const float* bounds) {
    return scan_plan_.run(orders, static_cast<std::uint32_t>(first),
                          static_cast<std::uint32_t>(features), node, bounds, memory_->best.data(),
                          stream());
  }

  const FeatureBank& bank_;
  const Boosting boosting_;
  const std::size_t count_, stride_;
  std::unique_ptr<StageMemory> own_memory_;
  SearchMemory* memory_ = nullptr;
  OrderPlan order_plan_;
  ScanPlan scan_plan_;
  std::size_t stored_ = 0, sorted_ = 0;  ///< features
  bool keeps_orders_ = true;
  bool has_bins_ = false;  ///< of all features, or none
  SumRows rows_ = {};
};

using Made = Result<std::unique_ptr<SplitSearch>>;

template <typename Id>
Made prepared(const FeatureBank& bank, const TrainingSamples& samples, const SampleValues& values,
              Boosting boosting, std::size_t memory, std::unique_ptr<StageMemory>* kept) {
  auto search = std::make_unique<CudaSearch<Id>>(bank, samples.count(), boosting);
  const Status status = search->prepare(samples, values, memory, kept);
  if (!status.ok()) {
    search.reset();
    if (kept) kept->reset();
    return status;
  }
  return Made(std::move(search));
}

}  // namespace

Made make_search(const FeatureBank& bank, const TrainingSamples& samples,
                 const SampleValues& values, Boosting boosting, std::size_t memory,
                 std::unique_ptr<StageMemory>* kept) {
  CUFACE_TRY(find_gpu());
  return samples.count() < OrderRows<std::uint16_t>::kApart
             ? prepared<std::uint16_t>(bank, samples, values, boosting, memory, kept)
             : prepared<std::uint32_t>(bank, samples, values, boosting, memory, kept);
}

}  // namespace cuface::cuda::boost
