#include "kernels/network/cuda/steps.h"

#include <algorithm>
#include <cstddef>

#include "kernels/network/placer.h"

namespace cuface::network {
namespace {

std::size_t size(int value) { return static_cast<std::size_t>(value); }

/// Joins layers, in their order.
class Joiner {
 public:
  explicit Joiner(const NetworkModel& model)
      : model_(model), uses_(model.layers.size() + 1, 0), step_of_(model.layers.size() + 1, -1) {
    for (const NetworkLayer& layer : model.layers) {
      ++uses_[size(layer.input)];
      if (layer.op == NetworkOp::kUpsampleAdd) ++uses_[size(layer.other)];
    }
    for (const NetworkHead& head : model.heads) {
      for (const int tensor : {head.classes, head.objects, head.boxes, head.points}) {
        ++uses_[size(tensor)];
      }
    }
    for (std::size_t i = 0; i < model.layers.size(); ++i) add(static_cast<int>(i));
    for (std::size_t h = 0; h < model.heads.size(); ++h) add_head(static_cast<int>(h));
  }

  std::vector<NetworkStep> take() { return std::move(steps_); }

 private:
  /// The step that makes `tensor`, where nobody else reads it; else a new one that reads it.
  NetworkStep& step_behind(int tensor) {
    if (uses_[size(tensor)] == 1 && tensor > 0) return steps_[size(step_of_[size(tensor)])];
    return steps_.emplace_back(NetworkStep{.input = tensor});
  }

  void add(int index) {
    const NetworkLayer& layer = model_.layers[size(index)];
    NetworkStep* step = nullptr;
    switch (layer.op) {
      case NetworkOp::kPictureConvolution:
        step = &steps_.emplace_back(
            NetworkStep{.source = StepSource::kPicture, .picture_layer = index});
        break;
      case NetworkOp::kMaxPool:
        step =
            &steps_.emplace_back(NetworkStep{.source = StepSource::kPooled, .input = layer.input});
        break;
      case NetworkOp::kUpsampleAdd:
        step = &steps_.emplace_back(
            NetworkStep{.source = StepSource::kSum, .input = layer.input, .other = layer.other});
        break;
      case NetworkOp::kPointwise:
        step = &step_behind(layer.input);
        if (step->pointwise_layer >= 0 || step->depthwise_layer >= 0) {
          step = &steps_.emplace_back(NetworkStep{.input = layer.input});
        }
        step->pointwise_layer = index;
        break;
      case NetworkOp::kDepthwise:
        step = &step_behind(layer.input);
        if (step->depthwise_layer >= 0) {
          step = &steps_.emplace_back(NetworkStep{.input = layer.input});
        }
        step->depthwise_layer = index;
        break;
    }
    step->output = index + 1;
    step_of_[size(index) + 1] = static_cast<int>(step - steps_.data());
  }

  void add_head(int index) {
    const NetworkHead& head = model_.heads[size(index)];
    const int tensors[] = {head.classes, head.objects, head.boxes, head.points};
    constexpr int kChannels[] = {0, 1, 2, 6};  // of NetworkCell
    std::vector<NetworkStep> parts;
    for (std::size_t i = 0; i < std::size(tensors); ++i) {
      NetworkStep& step = step_behind(tensors[i]);
      step.output = tensors[i];
      step.head = index;
      step.cell_channel = kChannels[i];
      parts.push_back(step);
    }
    if (!std::all_of(parts.begin() + 1, parts.end(),
                     [&](const NetworkStep& part) { return are_alike(parts[0], part); })) {
      return;
    }
    std::erase_if(steps_, [&](const NetworkStep& step) { return step.head == index; });
    parts[0].beside.assign(parts.begin() + 1, parts.end());
    steps_.push_back(parts[0]);
    step_of_.assign(step_of_.size(), -1);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      step_of_[size(steps_[i].output)] = static_cast<int>(i);
    }
  }

  /// Whether two steps differ in nothing but the weights and number of their channels.
  bool are_alike(const NetworkStep& a, const NetworkStep& b) const {
    const auto layers_are_alike = [&](int x, int y) {
      return (x < 0) == (y < 0) &&
             (x < 0 || model_.layers[size(x)].relu == model_.layers[size(y)].relu);
    };
    return a.source == b.source && a.input == b.input && a.other == b.other &&
           a.picture_layer == b.picture_layer && a.pointwise_layer >= 0 &&
           layers_are_alike(a.pointwise_layer, b.pointwise_layer) &&
           layers_are_alike(a.depthwise_layer, b.depthwise_layer);
  }

  const NetworkModel& model_;
  std::vector<int> uses_;     // of each tensor, by layers and heads
  std::vector<int> step_of_;  // the step that makes each tensor
  std::vector<NetworkStep> steps_;
};

/// The level of each step: behind those of the tensors it reads.
std::vector<int> levels_of(const std::vector<NetworkStep>& steps, std::size_t tensors) {
  std::vector<int> level_of_tensor(tensors, -1), levels;
  for (const NetworkStep& step : steps) {
    int level = 0;
    if (step.source != StepSource::kPicture) level = level_of_tensor[size(step.input)] + 1;
    if (step.source == StepSource::kSum) {
      level = std::max(level, level_of_tensor[size(step.other)] + 1);
    }
    levels.push_back(level);
    if (step.head < 0) level_of_tensor[size(step.output)] = level;
  }
  return levels;
}

}  // namespace

NetworkSteps plan_steps(const NetworkModel& model, const NetworkPlan& plan) {
  NetworkSteps out;
  const std::vector<NetworkStep> steps = Joiner(model).take();
  const std::vector<int> levels = levels_of(steps, plan.tensors.size());
  const int last_level = *std::max_element(levels.begin(), levels.end());
  std::vector<int> last_use(plan.tensors.size(), 0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const int tensor : {steps[i].input, steps[i].other, steps[i].output}) {
      last_use[size(tensor)] = std::max(last_use[size(tensor)], levels[i]);
    }
  }
  out.first_float.resize(plan.tensors.size());
  Placer placer;
  for (int level = 0; level <= last_level; ++level) {
    out.first_step.push_back(out.steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (levels[i] != level) continue;
      out.steps.push_back(steps[i]);
      if (steps[i].head >= 0) continue;
      const NetworkTensor& tensor = plan.tensors[size(steps[i].output)];
      out.first_float[size(steps[i].output)] = placer.place(
          size(tensor.rows) * size(tensor.columns) * size(pixel_floats(tensor.channels)));
    }
    for (const NetworkStep& step : steps) {
      if (step.head >= 0) continue;
      const int output = step.output;
      if (last_use[size(output)] == level) placer.free(out.first_float[size(output)]);
    }
  }
  out.first_step.push_back(out.steps.size());
  out.scratch = placer.end();
  return out;
}

}  // namespace cuface::network
