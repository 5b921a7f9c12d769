#include "kernels/network/cpu/program.h"

#include <algorithm>
#include <array>
#include <set>

namespace cuface::network {
namespace {

std::size_t size(int value) { return static_cast<std::size_t>(value); }

std::size_t whole_groups(std::size_t floats) {
  constexpr std::size_t kGroup = kChannelGroup;
  return (floats + kGroup - 1) / kGroup * kGroup;
}

int padded(int channels) { return static_cast<int>(whole_groups(size(channels))); }

std::array<int, 4> tensors_of(const NetworkHead& head) {
  return {head.classes, head.objects, head.boxes, head.points};
}

const NetworkLayer& maker_of(const NetworkModel& model, int tensor) {
  return model.layers[size(tensor) - 1];
}

/// Layers that read a tensor, and heads.
int readers_of(const NetworkModel& model, int tensor) {
  int readers = 0;
  for (const NetworkLayer& layer : model.layers) {
    readers += layer.input == tensor;
    readers += layer.op == NetworkOp::kUpsampleAdd && layer.other == tensor;
  }
  for (const NetworkHead& head : model.heads) {
    const auto tensors = tensors_of(head);
    readers += static_cast<int>(std::count(tensors.begin(), tensors.end(), tensor));
  }
  return readers;
}

bool takes_head(const NetworkModel& model, const NetworkHead& head) {
  const NetworkLayer& first_depth = maker_of(model, head.classes);
  if (first_depth.op != NetworkOp::kDepthwise) return false;
  const NetworkLayer& first_point = maker_of(model, first_depth.input);
  for (const int tensor : tensors_of(head)) {
    const NetworkLayer& depth = maker_of(model, tensor);
    if (depth.op != NetworkOp::kDepthwise || depth.relu != first_depth.relu) return false;
    const NetworkLayer& point = maker_of(model, depth.input);
    if (point.op != NetworkOp::kPointwise || point.relu != first_point.relu ||
        point.input != first_point.input || readers_of(model, tensor) != 1 ||
        readers_of(model, depth.input) != 1) {
      return false;
    }
  }
  return true;
}

RowNode::Kind kind_of(NetworkOp op) {
  switch (op) {
    case NetworkOp::kPictureConvolution:
      return RowNode::Kind::kPictureConvolution;
    case NetworkOp::kPointwise:
      return RowNode::Kind::kPointwise;
    case NetworkOp::kDepthwise:
      return RowNode::Kind::kDepthwise;
    case NetworkOp::kMaxPool:
      return RowNode::Kind::kMaxPool;
    case NetworkOp::kUpsampleAdd:
      return RowNode::Kind::kUpsampleAdd;
  }
  return RowNode::Kind::kPicture;
}

/// Taps of a convolution; 0 for another layer.
int taps_of(const NetworkLayer& layer, const NetworkPlan& plan) {
  switch (layer.op) {
    case NetworkOp::kPictureConvolution:
      return 27;
    case NetworkOp::kPointwise:
      return plan.tensors[size(layer.input)].channels;
    case NetworkOp::kDepthwise:
      return 9;
    default:
      return 0;
  }
}

/// Copies a layer's weights to those of a node, channels from `channel` on.
void copy_weights(const NetworkModel& model, const NetworkLayer& layer, const RowNode& node,
                  int channel, float* out) {
  const float* from = model.weights.data() + layer.first_weight;
  const std::size_t taps = size(node.taps), pixel = size(node.pixel);
  for (std::size_t c = size(channel); c < size(channel + layer.channels); ++c) {
    for (std::size_t tap = 0; tap < taps; ++tap) out[tap * pixel + c] = *from++;
  }
  std::copy_n(from, layer.channels, out + taps * pixel + size(channel));
}

RowNode new_node(const NetworkPlan& plan, int tensor) {
  const NetworkTensor& t = plan.tensors[size(tensor)];
  RowNode node;
  node.channels = t.channels;
  node.pixel = padded(t.channels);
  node.rows = t.rows;
  node.columns = t.columns;
  return node;
}

std::size_t work_of(const RowNode& node) {
  return size(node.columns) * size(node.pixel) * size(std::max(node.taps, 1));
}

}  // namespace

RowNode::Rows RowNode::rows_read(int y) const {
  switch (kind) {
    case Kind::kPictureConvolution:
      return {std::max(2 * y - 1, 0), 2 * y + 1};
    case Kind::kDepthwise:
      return {std::max(y - 1, 0), std::min(y + 1, rows - 1)};
    case Kind::kMaxPool:
      return {2 * y, 2 * y + 1};
    case Kind::kUpsampleAdd:
      return {y / 2, y / 2};
    default:
      return {y, y};
  }
}

void Program::add_weights(RowNode& node) {
  node.first_weight = weights_.size();
  weights_.resize(weights_.size() + (size(node.taps) + 1) * size(node.pixel));
}

bool Program::takes(const NetworkModel& model) {
  return std::all_of(model.heads.begin(), model.heads.end(),
                     [&](const NetworkHead& head) { return takes_head(model, head); });
}

Program::Program(const NetworkModel& model, const NetworkPlan& plan, int picture_rows) {
  add_nodes(model, plan);
  schedule(picture_rows);
  for (RowNode& node : nodes_) node.row_stride = std::ptrdiff_t{node.columns + 2} * node.pixel;
}

void Program::add_nodes(const NetworkModel& model, const NetworkPlan& plan) {
  std::set<int> of_heads;
  for (const NetworkHead& head : model.heads) {
    for (const int tensor : tensors_of(head)) {
      of_heads.insert({tensor, maker_of(model, tensor).input});
    }
  }
  std::vector<int> node_of(plan.tensors.size(), 0);
  RowNode picture = new_node(plan, 0);
  picture.pixel = picture.channels;
  nodes_.push_back(picture);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const int tensor = static_cast<int>(i) + 1;
    if (of_heads.contains(tensor)) continue;
    const NetworkLayer& layer = model.layers[i];
    RowNode node = new_node(plan, tensor);
    node.kind = kind_of(layer.op);
    node.input = node_of[size(layer.input)];
    node.other = layer.op == NetworkOp::kUpsampleAdd ? node_of[size(layer.other)] : 0;
    node.relu = layer.relu;
    node.taps = taps_of(layer, plan);
    node.layers = {static_cast<int>(i)};
    if (node.taps > 0) {
      add_weights(node);
      copy_weights(model, layer, node, 0, weights_.data() + node.first_weight);
    }
    node_of[size(tensor)] = static_cast<int>(nodes_.size());
    nodes_.push_back(node);
  }
  for (std::size_t g = 0; g < model.heads.size(); ++g) {
    const NetworkLayer& depth = maker_of(model, model.heads[g].classes);
    add_head(model, plan, g, node_of[size(maker_of(model, depth.input).input)]);
  }
}

// The four parts of a head become one pair of convolutions: a cell is a pixel of 16 channels.
void Program::add_head(const NetworkModel& model, const NetworkPlan& plan, std::size_t index,
                       int input) {
  const auto tensors = tensors_of(model.heads[index]);
  const NetworkLayer& first_depth = maker_of(model, tensors[0]);
  const NetworkLayer& first_point = maker_of(model, first_depth.input);
  RowNode points = new_node(plan, tensors[0]), depths = points;
  points.kind = RowNode::Kind::kPointwise;
  points.input = input;
  points.relu = first_point.relu;
  depths.kind = RowNode::Kind::kDepthwise;
  depths.input = static_cast<int>(nodes_.size());
  depths.relu = first_depth.relu;
  points.channels = points.pixel = depths.channels = depths.pixel = kChannelGroup;
  depths.first_cell = static_cast<std::ptrdiff_t>(plan.grids[index].first);
  points.taps = taps_of(first_point, plan);
  depths.taps = 9;
  add_weights(points);
  add_weights(depths);
  int channel = 0;
  for (const int tensor : tensors) {
    const NetworkLayer& depth = maker_of(model, tensor);
    copy_weights(model, maker_of(model, depth.input), points, channel,
                 weights_.data() + points.first_weight);
    copy_weights(model, depth, depths, channel, weights_.data() + depths.first_weight);
    points.layers.push_back(depth.input - 1);
    depths.layers.push_back(tensor - 1);
    channel += depth.channels;
  }
  nodes_.push_back(points);
  nodes_.push_back(depths);
}

void Program::schedule(int picture_rows) {
  std::vector<int> made(nodes_.size(), 0);  // rows of each node
  const auto is_ready = [&](std::size_t n) {
    const RowNode& node = nodes_[n];
    const int y = made[n];
    return y < node.rows && node.rows_read(y).last < made[size(node.input)] &&
           (node.kind != RowNode::Kind::kUpsampleAdd || y < made[size(node.other)]);
  };
  // The first row of a node that another has yet to read.
  const auto oldest = [&](std::size_t n) {
    int row = made[n];
    for (std::size_t r = n + 1; r < nodes_.size(); ++r) {
      const RowNode& reader = nodes_[r];
      if (made[r] == reader.rows) continue;
      if (size(reader.input) == n) row = std::min(row, reader.rows_read(made[r]).first);
      if (size(reader.other) == n && reader.kind == RowNode::Kind::kUpsampleAdd) {
        row = std::min(row, made[r]);
      }
    }
    return row;
  };
  const auto make = [&](std::size_t n, int rows) {
    RowNode& node = nodes_[n];
    const int needed = oldest(n);
    steps_.push_back({static_cast<int>(n), made[n], rows, work_of(node)});
    made[n] += rows;
    node.kept = std::max(node.kept, made[n] - needed);
  };
  while (made[0] < nodes_[0].rows) {
    make(0, std::min(picture_rows, nodes_[0].rows - made[0]));
    for (std::size_t n = 1; n < nodes_.size(); ++n) {
      const int first = made[n];
      while (is_ready(n)) ++made[n];
      const int rows = made[n] - first;
      made[n] = first;
      if (rows > 0) make(n, rows);
    }
  }
}

bool Program::allocate(NetworkCell* cells) {
  constexpr std::size_t kMaxFloats = kMaxNetworkScratch / sizeof(float);
  std::size_t floats = 0, widest = 0, border = 0;
  for (RowNode& node : nodes_) {
    const auto row = static_cast<std::size_t>(node.row_stride);
    widest = std::max(widest, row);
    border = std::max(border, size(node.pixel));
    if (node.first_cell < 0) floats += whole_groups(size(node.kept) * row);
    if (floats > kMaxFloats) return false;
  }
  floats += widest + border;
  values_ = Image<float>(static_cast<int>(floats), 1);
  float* at = values_.view().data;
  std::fill(at, at + floats, 0.0f);
  for (RowNode& node : nodes_) {
    if (node.first_cell >= 0) {
      node.kept = node.rows;
      node.row_stride = std::ptrdiff_t{node.columns} * kChannelGroup;
      node.first = reinterpret_cast<float*>(cells + node.first_cell);
    } else {
      node.first = at + node.pixel;
      at += whole_groups(size(node.kept) * static_cast<std::size_t>(node.row_stride));
    }
  }
  zeros_ = at + border;
  return true;
}

}  // namespace cuface::network
