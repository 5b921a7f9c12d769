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
  boost::WindowSums window(model.window_width, model.window_height, model.has_tilted());
  BoundCascade cascade(model);
  cascade.bind(window.layout());
  std::vector<std::uint16_t> failed;
  failed.reserve(samples.count());
  for (std::size_t i = 0; i < samples.count(); ++i) {
    window.make(samples.window(i));
    const float norm = window.norm();
    failed.push_back(
        norm == 0 ? 0
                  : static_cast<std::uint16_t>(cascade.failed_stage(window.sums().data(), norm)));
  }
  return failed;
}

}  // namespace cuface
