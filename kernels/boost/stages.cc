// From stages to a cascade that detectors load.
#include <algorithm>
#include <iterator>
#include <string>

#include "kernels/boost/boost.h"
#include "kernels/boost/window_sums.h"
#include "kernels/common/try.h"

namespace cuface {

Result<CascadeModel> make_cascade(const FeatureBank& bank, std::span<const BoostedStage> stages) {
  std::vector<int> used;
  for (const BoostedStage& stage : stages)
    for (const WeakTree& tree : stage.trees)
      for (const HaarNode& node : tree.nodes) used.push_back(node.feature);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());

  CascadeModel model;
  model.window_width = bank.width();
  model.window_height = bank.height();
  for (const int feature : used)
    model.features.push_back(bank.at(static_cast<std::size_t>(feature)));
  for (const BoostedStage& stage : stages) {
    model.stages.push_back({static_cast<int>(model.trees.size()),
                            static_cast<int>(stage.trees.size()), stage.threshold});
    for (const WeakTree& tree : stage.trees) {
      model.trees.push_back(
          {static_cast<int>(model.nodes.size()), static_cast<int>(tree.nodes.size()),
           static_cast<int>(model.leaves.size()), static_cast<int>(tree.leaves.size())});
      for (HaarNode node : tree.nodes) {
        const auto place = std::lower_bound(used.begin(), used.end(), node.feature);
        node.feature = static_cast<int>(std::distance(used.begin(), place));
        model.nodes.push_back(node);
      }
      model.leaves.insert(model.leaves.end(), tree.leaves.begin(), tree.leaves.end());
    }
  }
  CUFACE_TRY(validate(model));
  return model;
}

Result<std::vector<std::uint16_t>> failed_stages(const CascadeModel& model,
                                                 const TrainingSamples& samples) {
  CUFACE_TRY(validate(model));
  CUFACE_TRY(boost::check_windows(samples, model.window_width, model.window_height));
  FailedStages stages(model);
  std::vector<std::uint16_t> failed;
  failed.reserve(samples.count());
  for (std::size_t i = 0; i < samples.count(); ++i) failed.push_back(stages.of(samples.window(i)));
  return failed;
}

struct FailedStages::Impl {
  explicit Impl(const CascadeModel& model)
      : sums(model.window_width, model.window_height, model.has_tilted()), cascade(model) {
    cascade.bind(sums.layout());
  }

  boost::WindowSums sums;
  BoundCascade cascade;
};

FailedStages::FailedStages(const CascadeModel& model) : impl_(std::make_unique<Impl>(model)) {}
FailedStages::FailedStages(FailedStages&&) noexcept = default;
FailedStages::~FailedStages() = default;

std::uint16_t FailedStages::of(const std::uint8_t* window) {
  impl_->sums.make(window);
  const float norm = impl_->sums.norm();
  if (norm == 0) return 0;
  return static_cast<std::uint16_t>(impl_->cascade.failed_stage(impl_->sums.sums().data(), norm));
}

}  // namespace cuface
