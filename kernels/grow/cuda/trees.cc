#include "kernels/grow/cuda/trees.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/common/cuda/find_gpu.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/try.h"
#include "kernels/grow/cuda/leaves.h"
#include "kernels/grow/cuda/samples.h"
#include "kernels/grow/cuda/split_sums.h"
#include "kernels/grow/spreads.h"
#include "kernels/grow/steps.h"

namespace cuface::cuda::grow {
namespace {

using cuface::grow::ConstTreeTables;
using cuface::grow::rounded_up;
using cuface::grow::SampleTrees;
using cuface::grow::SpreadSums;
using cuface::grow::Starts;
using cuface::grow::TreeTables;

/// Shapes get the leaves of so many trees at once, where these are not too large.
constexpr std::size_t kTreesTogether = 32, kMostTogetherBytes = std::size_t{32} << 20;

template <typename T>
Status copy_to(T* to, const T* from, std::size_t count, cudaStream_t stream) {
  return check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, stream),
               "copying to the GPU");
}
template <typename T>
Status copy_back(T* to, const T* from, std::size_t count, cudaStream_t stream) {
  return check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream),
               "copying from the GPU");
}

class CudaTrees : public SampleTrees {
 public:
  CudaTrees(const ForestOptions& options, const Starts& starts, const StopFlag* stop)
      : stop_(stop),
        size_(starts.mean.size()),
        stride_(rounded_up(size_ + 1, DeviceSamples::kQuad)),
        pool_(static_cast<std::size_t>(options.feature_pool_size)),
        tests_(static_cast<std::size_t>(options.num_test_splits)),
        depth_(options.tree_depth),
        leaves_(std::size_t{1} << depth_),
        together_(std::clamp<std::size_t>(kMostTogetherBytes / (leaves_ * stride_ * sizeof(float)),
                                          1, kTreesTogether)),
        nu_(options.nu) {
    samples_.count = static_cast<std::uint32_t>(starts.shapes.size() / size_);
    samples_.padded = static_cast<std::uint32_t>(rounded_up(samples_.count, 128));
    samples_.amount = static_cast<std::uint32_t>(options.oversampling_amount);
    samples_.size = static_cast<int>(size_);
    samples_.stride = static_cast<int>(stride_);
    samples_.pool = options.feature_pool_size;
    search_.depth = depth_;
    search_.tests = options.num_test_splits;
  }

  /// All that is allocated, and what does not change.
  Status prepare(const LabelledFaces& faces, const Starts& starts) {
    CUFACE_TRY(take(OwnStream::create(), own_));
    CUFACE_TRY(take_faces(faces));
    CUFACE_TRY(take(upload(starts.targets), targets_));
    CUFACE_TRY(take(upload(starts.shapes), shapes_));
    const auto* const mean = reinterpret_cast<const Point*>(starts.mean.data());
    CUFACE_TRY(take(upload(forest::levers_of({mean, size_ / 2})), levers_));
    CUFACE_TRY(make(anchors_, pool_));
    CUFACE_TRY(make(deltas_, pool_));
    const std::size_t count = samples_.count, padded = samples_.padded, splits = leaves_ - 1;
    CUFACE_TRY(make(rows_, count * stride_));
    CUFACE_TRY(make(pixels_, pool_ * padded));
    CUFACE_TRY(make(tests_of_tree_, splits * tests_));
    CUFACE_TRY(make(node_of_, padded));
    CUFACE_TRY(make(lefts_, static_cast<std::size_t>(search_.groups()) * padded));
    CUFACE_TRY(make(sums_, search_.sums_of(1 << (depth_ - 1), 0, samples_.stride)));
    CUFACE_TRY(make(leaf_sums_, leaves_ * stride_));
    CUFACE_TRY(make(splits_, splits));
    CUFACE_TRY(make(leaf_of_, together_ * padded));
    CUFACE_TRY(make(leaves_of_trees_, together_ * leaves_ * size_));
    CUFACE_TRY(make(steps_, leaves_ * stride_));
    if (samples_.present) CUFACE_TRY(make(absent_, leaves_ * size_ / 2));
    CUFACE_TRY(take(PinnedBuffer<ForestSplit>::create(splits * tests_), host_tests_));
    CUFACE_TRY(take(PinnedBuffer<ForestSplit>::create(splits), host_splits_));
    CUFACE_TRY(take(PinnedBuffer<float>::create(leaves_ * size_), host_leaves_));
    CUFACE_TRY(take(PinnedBuffer<ForestSplit>::create(together_ * splits), staged_splits_));
    CUFACE_TRY(take(PinnedBuffer<float>::create(together_ * leaves_ * size_), staged_leaves_));
    CUFACE_TRY(
        take(PinnedBuffer<std::int32_t>::create(together_ * leaves_ * stride_), staged_steps_));
    samples_.targets = targets_.data();
    samples_.shapes = shapes_.data();
    samples_.rows = rows_.data();
    samples_.pixels = pixels_.data();
    search_.all = tests_of_tree_.data();
    search_.node_of = node_of_.data();
    search_.lefts = lefts_.data();
    search_.sums = sums_.data();
    search_.leaf_sums = leaf_sums_.data();
    search_.splits = splits_.data();
    return {};
  }

  Status begin(std::span<const std::uint32_t> anchors, std::span<const float> deltas) override {
    CUFACE_TRY(move_shapes());
    const auto* const points = reinterpret_cast<const Point*>(deltas.data());
    CUFACE_TRY(copy_to(anchors_.data(), anchors.data(), pool_, own_.get()));
    CUFACE_TRY(copy_to(deltas_.data(), points, pool_, own_.get()));
    CUFACE_TRY(
        begin_stage(samples_, {levers_.data(), anchors_.data(), deltas_.data()}, own_.get()));
    return wait();
  }

  Status find(std::span<const ForestSplit> tests, const TreeTables& tree) override {
    const cudaStream_t stream = own_.get();
    std::copy(tests.begin(), tests.end(), host_tests_.data());
    CUFACE_TRY(copy_to(tests_of_tree_.data(), host_tests_.data(), tests.size(), stream));
    for (int level = 0; level < depth_; ++level)
      CUFACE_TRY(search_level(samples_, search_, level, stream));
    if (samples_.present) {
      CUFACE_TRY(
          check(cudaMemsetAsync(absent_.data(), 0, absent_.size() * sizeof(std::uint64_t), stream),
                "clearing sums"));
      CUFACE_TRY(walk(samples_, splits_.data(), depth_, leaf_of(), stream));
      CUFACE_TRY(add_absent(samples_, leaf_of(), absent_.data(), stream));
    }
    float* const leaves = leaves_of_trees_.data() + trees_ * leaves_ * size_;
    CUFACE_TRY(make_leaves(samples_, search_, absent_.data(), nu_, leaves, stream));
    CUFACE_TRY(copy_back(host_splits_.data(), splits_.data(), leaves_ - 1, stream));
    CUFACE_TRY(copy_back(host_leaves_.data(), leaves, leaves_ * size_, stream));
    CUFACE_TRY(wait());
    std::copy_n(host_splits_.data(), leaves_ - 1, tree.splits.begin());
    std::copy_n(host_leaves_.data(), leaves_ * size_, tree.leaves.begin());
    return {};
  }

  Status spread(const ConstTreeTables& tree, std::span<std::uint16_t> spreads) override {
    CUFACE_TRY(reach(tree));
    if (sums_of_spreads_.size() == 0) {
      CUFACE_TRY(make(sums_of_spreads_, spreads.size()));
      CUFACE_TRY(take(PinnedBuffer<SpreadSums>::create(spreads.size()), host_spreads_));
    }
    SpreadSums* const sums = sums_of_spreads_.data();
    CUFACE_TRY(check(cudaMemsetAsync(sums, 0, spreads.size() * sizeof *sums, own_.get()),
                     "clearing sums"));
    CUFACE_TRY(add_spreads(samples_, leaf_of(), static_cast<int>(leaves_), sums, own_.get()));
    CUFACE_TRY(copy_back(host_spreads_.data(), sums, spreads.size(), own_.get()));
    CUFACE_TRY(wait());
    cuface::grow::write_spreads({host_spreads_.data(), spreads.size()}, size_ / 2, spreads);
    return {};
  }

  Status add(const ConstTreeTables& tree) override {
    CUFACE_TRY(reach(tree));
    float* const leaves = staged_leaves_.data() + trees_ * leaves_ * size_;
    std::int32_t* const steps = staged_steps_.data() + trees_ * leaves_ * stride_;
    std::copy(tree.leaves.begin(), tree.leaves.end(), leaves);
    for (std::size_t leaf = 0; leaf < leaves_; ++leaf)
      for (std::size_t k = 0; k < stride_; ++k)
        steps[leaf * stride_ + k] =
            k < size_ ? cuface::grow::in_steps(static_cast<double>(leaves[leaf * size_ + k])) : 0;
    CUFACE_TRY(copy_to(leaves_of_trees_.data() + trees_ * leaves_ * size_, leaves, leaves_ * size_,
                       own_.get()));
    CUFACE_TRY(copy_to(steps_.data(), steps, leaves_ * stride_, own_.get()));
    CUFACE_TRY(subtract_leaves(samples_, leaf_of(), steps_.data(), own_.get()));
    has_reached_ = false;
    if (++trees_ == together_) {
      CUFACE_TRY(move_shapes());
      return wait();  // before what is staged is written again
    }
    return is_raised(stop_) ? cancelled() : Status();
  }

  std::size_t bytes() const override { return bytes_; }
  bool is_on_gpu() const override { return true; }

 private:
  template <typename T>
  Status make(DeviceBuffer<T>& buffer, std::size_t count) {
    CUFACE_TRY(take(DeviceBuffer<T>::create(count), buffer));
    bytes_ += count * sizeof(T);
    return {};
  }
  template <typename T>
  Result<DeviceBuffer<T>> upload(const std::vector<T>& table) {
    bytes_ += table.size() * sizeof(T);
    return cuda::upload(table);
  }

  /// Pictures lie one behind the other, as faces are in several of them.
  Status take_faces(const LabelledFaces& faces) {
    std::vector<std::size_t> places;
    std::size_t end = 0;
    for (const ImageView<const std::uint8_t>& picture : faces.pictures) {
      places.push_back(end);
      end += static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height);
    }
    CUFACE_TRY(make(pictures_, end));
    for (std::size_t i = 0; i < places.size(); ++i) {
      const ImageView<const std::uint8_t>& picture = faces.pictures[i];
      const auto width = static_cast<std::size_t>(picture.width);
      if (!picture.data || picture.width < 1 || picture.height < 1) continue;  // of no face
      CUFACE_TRY(check(cudaMemcpy2DAsync(pictures_.data() + places[i], width, picture.data,
                                         static_cast<std::size_t>(picture.stride), width,
                                         static_cast<std::size_t>(picture.height),
                                         cudaMemcpyHostToDevice, own_.get()),
                       "copying pictures to the GPU"));
    }
    std::vector<TrainingFace> list;
    for (std::size_t face = 0; face < faces.count(); ++face) {
      const std::uint32_t i = faces.picture_of[face];
      const ImageView<const std::uint8_t>& picture = faces.pictures[i];
      list.push_back({{pictures_.data() + places[i], picture.width, picture.height,
                       static_cast<std::ptrdiff_t>(picture.width)},
                      faces.boxes[face]});
    }
    CUFACE_TRY(take(upload(list), faces_));
    const std::vector<std::uint8_t> present(faces.present.begin(), faces.present.end());
    const std::vector<std::uint8_t> weights(faces.weights.begin(), faces.weights.end());
    CUFACE_TRY(take(upload(present), present_));
    CUFACE_TRY(take(upload(weights), weights_));
    samples_.faces = faces_.data();
    if (!present.empty()) samples_.present = present_.data();
    if (!weights.empty()) samples_.weights = weights_.data();
    return wait();
  }

  std::uint16_t* leaf_of() { return leaf_of_.data() + trees_ * samples_.padded; }

  /// The leaf of each sample in the tree.
  Status reach(const ConstTreeTables& tree) {
    if (has_reached_) return {};
    ForestSplit* const splits = staged_splits_.data() + trees_ * (leaves_ - 1);
    std::copy(tree.splits.begin(), tree.splits.end(), splits);
    CUFACE_TRY(copy_to(splits_.data(), splits, leaves_ - 1, own_.get()));
    CUFACE_TRY(walk(samples_, splits_.data(), depth_, leaf_of(), own_.get()));
    has_reached_ = true;
    return {};
  }

  Status move_shapes() {
    const auto trees = static_cast<int>(std::exchange(trees_, 0));
    if (trees == 0) return {};
    return add_to_shapes(
        samples_, {leaves_of_trees_.data(), leaf_of_.data(), leaves_ * size_, trees}, own_.get());
  }

  Status wait() {
    CUFACE_TRY(check(cudaStreamSynchronize(own_.get()), "growing trees"));
    return is_raised(stop_) ? cancelled() : Status();
  }

  const StopFlag* const stop_;
  const std::size_t size_, stride_, pool_, tests_;
  const int depth_;
  const std::size_t leaves_, together_;
  const double nu_;
  DeviceSamples samples_;
  TreeSearch search_;
  std::size_t bytes_ = 0;     ///< of the GPU
  std::size_t trees_ = 0;     ///< that shapes still lack
  bool has_reached_ = false;  ///< leaf_of() is of the tree that is to be added
  DeviceBuffer<std::uint8_t> pictures_, present_, weights_, pixels_, lefts_;
  DeviceBuffer<TrainingFace> faces_;
  DeviceBuffer<float> targets_, shapes_, leaves_of_trees_;
  DeviceBuffer<forest::Lever> levers_;
  DeviceBuffer<std::uint32_t> anchors_;
  DeviceBuffer<Point> deltas_;
  DeviceBuffer<std::int32_t> rows_, steps_;
  DeviceBuffer<ForestSplit> tests_of_tree_, splits_;
  DeviceBuffer<std::uint16_t> node_of_, leaf_of_;
  DeviceBuffer<std::int64_t> sums_, leaf_sums_;
  DeviceBuffer<std::uint64_t> absent_;
  DeviceBuffer<SpreadSums> sums_of_spreads_;
  PinnedBuffer<ForestSplit> host_tests_, host_splits_, staged_splits_;
  PinnedBuffer<float> host_leaves_, staged_leaves_;
  PinnedBuffer<std::int32_t> staged_steps_;
  PinnedBuffer<SpreadSums> host_spreads_;
  OwnStream own_;  ///< ends before what it works on
};

}  // namespace

Result<std::unique_ptr<SampleTrees>> make_trees(const LabelledFaces& faces,
                                                const ForestOptions& options, const Starts& starts,
                                                const StopFlag* stop) {
  CUFACE_TRY(find_gpu());
  auto trees = std::make_unique<CudaTrees>(options, starts, stop);
  CUFACE_TRY(trees->prepare(faces, starts));
  return Result<std::unique_ptr<SampleTrees>>(std::move(trees));
}

}  // namespace cuface::cuda::grow
