#include "kernels/network/cpu/integer_program.h"

#include <algorithm>

namespace cuface::network {
namespace {

std::size_t size(int value) { return static_cast<std::size_t>(value); }

}  // namespace

IntegerProgram::IntegerProgram(const NetworkModel& model, const IntegerModel& integers,
                               const NetworkPlan& plan, int picture_rows)
    : rows_(model, plan, picture_rows), nodes_(rows_.nodes()) {
  for (std::size_t n = 1; n < nodes_.size(); ++n) {
    const RowNode& layout = rows_.node(static_cast<int>(n));
    IntegerNode& node = nodes_[n];
    if (layout.kind == RowNode::Kind::kDepthwise || layout.kind == RowNode::Kind::kUpsampleAdd) {
      add_factors(model, integers, layout, node);
    } else if (layout.taps > 0) {
      add_sums(model, integers, layout, node);
    }
    for (const int layer : layout.layers) {
      const std::vector<float>& steps = integers.steps[size(layer) + 1];
      node.steps.insert(node.steps.end(), steps.begin(), steps.end());
    }
  }
}

void IntegerProgram::add_sums(const NetworkModel& model, const IntegerModel& integers,
                              const RowNode& layout, IntegerNode& node) {
  const bool is_picture = layout.kind == RowNode::Kind::kPictureConvolution;
  // Taps in the order of the pairs, in which the picture's colours lie together; -1 = none.
  std::vector<int> taps;
  for (int i = 0; i < layout.taps; ++i) {
    taps.push_back(is_picture ? i % 3 * 9 + i / 9 * 3 + i % 9 / 3 : i);
    if (is_picture && i % 9 == 8) taps.push_back(-1);
  }
  if (taps.size() % 2 == 1) taps.push_back(-1);
  const std::size_t pixel = size(layout.pixel);
  node.pairs = static_cast<int>(taps.size() / 2);
  node.weights.resize(taps.size() * pixel);
  node.biases.resize(pixel);
  std::size_t channel = 0;
  for (const int index : layout.layers) {
    const IntegerLayer& layer = integers.layers[size(index)];
    node.shift = layer.shift;
    for (std::size_t c = 0; c < size(model.layers[size(index)].channels); ++c, ++channel) {
      node.biases[channel] = integers.biases[layer.first_bias + c];
      const std::int16_t* const from =
          integers.weights.data() + layer.first_weight + c * size(layout.taps);
      for (std::size_t i = 0; i < taps.size(); ++i) {
        if (taps[i] < 0) continue;
        node.weights[(i / 2 * pixel + channel) * 2 + i % 2] = from[taps[i]];
      }
    }
  }
}

void IntegerProgram::add_factors(const NetworkModel& model, const IntegerModel& integers,
                                 const RowNode& layout, IntegerNode& node) {
  const bool is_depthwise = layout.kind == RowNode::Kind::kDepthwise;
  const std::size_t pixel = size(layout.pixel);
  const std::size_t wide = is_depthwise ? std::max(pixel, size(kIntegerGroup)) : pixel;
  node.weights.resize((is_depthwise ? 10 : 2) * wide);
  std::size_t channel = 0;
  for (const int index : layout.layers) {
    const IntegerLayer& layer = integers.layers[size(index)];
    const std::size_t channels = size(model.layers[size(index)].channels);
    const std::int16_t* const from = integers.weights.data() + layer.first_weight;
    for (std::size_t c = 0; c < channels; ++c, ++channel) {
      if (!is_depthwise) {
        for (std::size_t i = 0; i < 2; ++i) node.weights[i * wide + c] = from[i * channels + c];
        continue;
      }
      for (std::size_t at = channel; at < wide; at += pixel) {
        for (std::size_t tap = 0; tap < 9; ++tap) {
          node.weights[tap * wide + at] = from[c * 9 + tap];
        }
        node.weights[9 * wide + at] =
            static_cast<std::int16_t>(integers.biases[layer.first_bias + c]);
      }
    }
  }
}

bool IntegerProgram::allocate(NetworkCell* cells) {
  constexpr std::size_t kMost = kMaxNetworkScratch / sizeof(std::int16_t);
  constexpr std::size_t kBorder = 256;  // more than any pixel
  std::size_t values = 0, widest = 0;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const RowNode& layout = rows_.node(static_cast<int>(n));
    const auto row = static_cast<std::size_t>(layout.row_stride);
    widest = std::max(widest, row);
    values += size(layout.kept) * row + kIntegerGroup;
    if (values > kMost) return false;
  }
  values += widest + 2 * kBorder;
  values_ = Image<std::int16_t>(static_cast<int>(values), 1);
  std::int16_t* at = values_.view().data;
  std::fill(at, at + values, std::int16_t{0});
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const RowNode& layout = rows_.node(static_cast<int>(n));
    // Pixels begin where a vector may, so that no load crosses a line of the cache.
    nodes_[n].first = at + std::max(layout.pixel, kIntegerGroup);
    at += size(layout.kept) * static_cast<std::size_t>(layout.row_stride) + kIntegerGroup;
    at += (kIntegerGroup - (at - values_.view().data) % kIntegerGroup) % kIntegerGroup;
  }
  zeros_ = at + kBorder;
  cells_ = cells;
  return true;
}

float* IntegerProgram::cells(int node, int y) const {
  return reinterpret_cast<float*>(cells_ + layout(node).first_cell) +
         std::ptrdiff_t{y} * layout(node).columns * kChannelGroup;
}

}  // namespace cuface::network
