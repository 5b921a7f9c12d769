// Steps as their kernels read them: shapes, tables of weights, and blocks.
#include <algorithm>
#include <vector>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/try.h"
#include "kernels/network/cuda/forward.h"

namespace cuface::cuda {
namespace {

using network::NetworkStep;
using network::pixel_floats;
using network::StepSource;

/// Fewer blocks leave processors of a GPU without work.
constexpr std::uint32_t kFewBlocks = 200;
constexpr int kPictureTaps = 27, kDepthwiseTaps = 9;

std::size_t size(int value) { return static_cast<std::size_t>(value); }

int divided_up(int value, int by) { return (value + by - 1) / by; }

/// All of a step but its pointers and blocks.
DeviceStep shape_of(const NetworkStep& from, const NetworkModel& model, const NetworkPlan& plan) {
  const auto channels = [&](int tensor) { return plan.tensors[size(tensor)].channels; };
  const auto relu = [&](int layer) { return layer >= 0 && model.layers[size(layer)].relu; };
  const bool of_picture = from.source == StepSource::kPicture;
  DeviceStep step{};
  step.source = from.source;
  step.picture_relu = relu(from.picture_layer);
  step.pointwise_relu = relu(from.pointwise_layer);
  step.depthwise_relu = relu(from.depthwise_layer);
  step.to_cells = from.head >= 0 && from.beside.empty();
  step.rows = plan.tensors[size(from.output)].rows;
  step.columns = plan.tensors[size(from.output)].columns;
  step.source_channels = channels(of_picture ? from.picture_layer + 1 : from.input);
  step.channels = channels(from.output);
  for (const NetworkStep& part : from.beside) step.channels += channels(part.output);
  step.input_floats = step.padded_source = pixel_floats(step.source_channels);
  step.padded = divided_up(step.channels, kGroupChannels) * kGroupChannels;
  step.group_channels = 4;
  while (step.group_channels < kGroupChannels && step.group_channels < step.channels)
    step.group_channels *= 2;
  return step;
}

/// Tables of weights, one behind the other, as kernels read them.
class Tables {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  explicit Tables(const NetworkModel& model) : model_(model) {}

  /// The layers' weights side by side: [taps][columns], and the biases as the last row. Where the
  /// table begins.
  std::size_t add(const std::vector<int>& layers, int taps, int columns) {
    const std::size_t first = floats_.size();
    floats_.resize(first + size(taps + 1) * size(columns), 0.0f);
    float* out = floats_.data() + first;
    for (const int index : layers) {
      const NetworkLayer& layer = model_.layers[size(index)];
      const float* weight = model_.weights.data() + layer.first_weight;
      for (int c = 0; c < layer.channels; ++c) {
        for (int t = 0; t < taps; ++t) out[size(t) * size(columns) + size(c)] = *weight++;
      }
      for (int c = 0; c < layer.channels; ++c)
        out[size(taps) * size(columns) + size(c)] = *weight++;
      out += layer.channels;
    }
    return first;
  }
  /// The same of a step's layers of one kind; kNone where it has none.
  std::size_t add(const NetworkStep& step, int NetworkStep::*layer, int taps, int columns) {
    if (step.*layer < 0) return kNone;
    std::vector<int> layers = {step.*layer};
    for (const NetworkStep& part : step.beside) layers.push_back(part.*layer);
    return add(layers, taps, columns);
  }
  const std::vector<float>& floats() const { return floats_; }

 private:
  const NetworkModel& model_;
  std::vector<float> floats_;
};

}  // namespace

void NetworkForward::add_parts(const NetworkModel& model, const NetworkPlan& plan,
                               ScratchLayout& parts) {
  steps_ = network::plan_steps(model, plan);
  values_ = parts.add<float>(steps_.scratch);
}

Status NetworkForward::upload_weights(const NetworkModel& model, std::vector<DeviceStep>& steps) {
  struct Offsets {
    std::size_t picture = Tables::kNone, pointwise = Tables::kNone, depthwise = Tables::kNone;
  };
  std::vector<Offsets> offsets;
  Tables tables(model);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const NetworkStep& from = steps_.steps[i];
    const DeviceStep& step = steps[i];
    Offsets& at = offsets.emplace_back();
    // Steps beside this one begin with the same picture, or with none.
    if (from.picture_layer >= 0)
      at.picture = tables.add({from.picture_layer}, kPictureTaps, step.padded_source);
    at.pointwise =
        tables.add(from, &NetworkStep::pointwise_layer, step.source_channels, step.padded);
    at.depthwise = tables.add(from, &NetworkStep::depthwise_layer, kDepthwiseTaps, step.padded);
  }
  CUFACE_TRY(take(upload(tables.floats()), weights_));
  const auto table = [&](std::size_t at) {
    return at == Tables::kNone ? nullptr : weights_.data() + at;
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].picture_weights = table(offsets[i].picture);
    steps[i].pointwise = table(offsets[i].pointwise);
    steps[i].depthwise = table(offsets[i].depthwise);
  }
  return {};
}

void NetworkForward::add_level(const std::vector<DeviceStep>& steps, std::size_t first,
                               std::size_t last) {
  Level& out = levels_.emplace_back();
  out.level.count = static_cast<int>(last - first);
  const auto divide = [&](int tile, int most_channels) {
    const TileSize size = kTiles[tile];
    out.tile = tile;
    out.blocks = 0;
    for (std::size_t i = first; i < last; ++i) {
      DeviceStep& step = out.level.steps[i - first];
      step = steps[i];
      step.group_channels = std::min(step.group_channels, most_channels);
      step.groups = divided_up(step.channels, step.group_channels);
      step.first_block = out.blocks;
      step.tiles_x = divided_up(step.columns, size.width);
      out.blocks += static_cast<std::uint32_t>(step.tiles_x * divided_up(step.rows, size.height) *
                                               step.groups);
    }
    return out.blocks >= kFewBlocks;
  };
  // The coarsest division that keeps a GPU at work: the finer, the more is read and made twice.
  const bool narrow = std::all_of(
      steps.begin() + static_cast<std::ptrdiff_t>(first),
      steps.begin() + static_cast<std::ptrdiff_t>(last),
      [](const DeviceStep& step) { return step.group_channels <= kTiles[kWideTile].channels; });
  if (narrow && divide(kWideTile, kTiles[kWideTile].channels)) return;
  if (divide(kLargeTile, kGroupChannels)) return;
  for (const int channels : {32, 16, 8}) {
    if (divide(kSmallTile, channels)) return;
  }
}

Status NetworkForward::bind(const NetworkModel& model, const NetworkPlan& plan, std::byte* scratch,
                            NetworkCell* cells) {
  values_.bind(scratch);
  std::vector<DeviceStep> steps;
  for (const NetworkStep& from : steps_.steps) steps.push_back(shape_of(from, model, plan));
  CUFACE_TRY(upload_weights(model, steps));
  const auto memory = [&](int tensor) { return values_.data() + steps_.first_float[size(tensor)]; };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const NetworkStep& from = steps_.steps[i];
    DeviceStep& step = steps[i];
    step.input = memory(from.input);
    step.other = memory(from.other);
    step.output = memory(from.output);
    step.output_floats = pixel_floats(step.channels);
    if (from.head >= 0) {
      static_assert(sizeof(NetworkCell) == 16 * sizeof(float));
      step.output =
          reinterpret_cast<float*>(cells + plan.grids[size(from.head)].first) + from.cell_channel;
      step.output_floats = 16;
    }
  }
  for (std::size_t l = 0; l < steps_.levels(); ++l) {
    const std::size_t end = steps_.first_step[l + 1];
    for (std::size_t first = steps_.first_step[l]; first < end; first += DeviceLevel::kMost)
      add_level(steps, first, std::min(end, first + DeviceLevel::kMost));
  }
  return {};
}

}  // namespace cuface::cuda
