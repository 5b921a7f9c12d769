#include "models/onnx_network.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "models/onnx_reader.h"

namespace cuface {
namespace onnx_graph {

constexpr int kFirstOpset = 11, kLastOpset = 17;

Status GraphReader::wrong(const std::string& what) const {
  return {StatusCode::kUnsupported, path_ + ": not a network of the YuNet family: " + what};
}

const Value* GraphReader::find(const OnnxNode& node, int input) const {
  const auto it = values_.find(node.input(input));
  return it == values_.end() ? nullptr : &it->second;
}

Status GraphReader::read() {
  CUFACE_TRY(check_opset());
  CUFACE_TRY(read_input());
  for (const onnx::NodeProto& node : graph_.node()) {
    for (const std::string& name : node.input()) ++uses_[name];
  }
  for (const onnx::ValueInfoProto& output : graph_.output()) ++uses_[output.name()];
  for (int i = 0; i < graph_.node_size(); ++i) CUFACE_TRY(read_node(i));
  return read_heads();
}

Status GraphReader::check_opset() const {
  for (const onnx::OperatorSetIdProto& set : model_.opset_import()) {
    if (!set.domain().empty() && set.domain() != "ai.onnx") continue;
    if (set.version() >= kFirstOpset && set.version() <= kLastOpset) return {};
    return wrong("opset " + std::to_string(set.version()) + " is not " +
                 std::to_string(kFirstOpset) + " to " + std::to_string(kLastOpset));
  }
  return wrong("the file names no opset");
}

Status GraphReader::read_input() {
  for (const onnx::TensorProto& tensor : graph_.initializer()) {
    Value value;
    value.kind = Value::Kind::kConstant;
    value.constant = &tensor;
    values_[tensor.name()] = value;
  }
  int pictures = 0;
  for (const onnx::ValueInfoProto& input : graph_.input()) {
    if (values_.contains(input.name())) continue;
    const onnx::TypeProto::Tensor& type = input.type().tensor_type();
    const onnx::TensorShapeProto& shape = type.shape();
    if (++pictures > 1 || type.elem_type() != onnx::TensorProto::FLOAT || shape.dim_size() != 4 ||
        (shape.dim(0).has_dim_value() && shape.dim(0).dim_value() != 1) ||
        shape.dim(1).dim_value() != 3) {
      return wrong("input \"" + shortened(input.name()) +
                   "\" is not the only one, of floats, 1 x 3 x height x width");
    }
    values_[input.name()] = Value();
  }
  return pictures == 1 ? Status() : wrong("the graph has no input");
}

Status GraphReader::read_node(int index) {
  OnnxNode node(graph_.node(index), index, path_);
  const std::string& domain = node.proto().domain();
  using Read = Status (GraphReader::*)(OnnxNode&, Value&);
  constexpr struct {
    std::string_view op;
    int least, most;  // inputs
    Read read;
  } kOps[] = {{"Conv", 2, 3, &GraphReader::read_convolution},
              {"Relu", 1, 1, &GraphReader::read_relu},
              {"MaxPool", 1, 1, &GraphReader::read_pool},
              {"Resize", 3, 4, &GraphReader::read_resize},
              {"Add", 2, 2, &GraphReader::read_add},
              {"Transpose", 1, 1, &GraphReader::read_transpose},
              {"Reshape", 2, 2, &GraphReader::read_reshape},
              {"Sigmoid", 1, 1, &GraphReader::read_sigmoid},
              {"Constant", 0, 0, &GraphReader::read_constant},
              {"Shape", 1, 1, &GraphReader::read_shape},
              {"Gather", 2, 2, &GraphReader::read_gather},
              {"Unsqueeze", 1, 2, &GraphReader::read_unsqueeze},
              {"Concat", 1, 3, &GraphReader::read_concat}};
  const auto* const known = std::find_if(std::begin(kOps), std::end(kOps), [&](const auto& op) {
    return op.op == node.op() && (domain.empty() || domain == "ai.onnx");
  });
  if (known == std::end(kOps)) return node.wrong("is of an operator that the family has not");
  CUFACE_TRY(node.check_counts(known->least, known->most));
  Value value;
  CUFACE_TRY((this->*known->read)(node, value));
  CUFACE_TRY(node.check_rest());
  if (values_.contains(node.output())) return node.wrong("makes what is there already");
  if (!uses_.contains(node.output())) return node.wrong("makes what nothing uses");
  value.node = index;
  values_[node.output()] = std::move(value);
  return {};
}

Status GraphReader::take_plain(const OnnxNode& node, int input, int& tensor) const {
  const Value* const value = find(node, input);
  if (!value || !value->is_plain()) {
    return node.wrong("reads \"" + shortened(node.input(input)) +
                      "\", which no layer before it makes");
  }
  tensor = value->tensor;
  return {};
}

Status GraphReader::add_layer(const OnnxNode& node, const NetworkLayer& layer, int depth,
                              Value& value) {
  if (network.layers.size() == kMaxNetworkLayers) {
    return node.wrong("is one layer more than " + std::to_string(kMaxNetworkLayers));
  }
  network.layers.push_back(layer);
  depths_.push_back(depth);
  value.tensor = static_cast<int>(network.layers.size());
  return {};
}

Status GraphReader::add_weights(const OnnxNode& node, int input, const Integers& shape) {
  const Value* const value = find(node, input);
  if (!value || value->kind != Value::Kind::kConstant ||
      !std::equal(shape.begin(), shape.end(), value->constant->dims().begin(),
                  value->constant->dims().end())) {
    return node.wrong("needs constants of shape " + listed(shape) + " as its input " +
                      std::to_string(input));
  }
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  const std::vector<float> values = floats_of(*value->constant, count);
  if (values.size() != count) {
    return node.wrong("needs its input " + std::to_string(input) +
                      " as 32-bit floats in this file");
  }
  if (count > kMaxNetworkWeights - weights.size()) {
    return node.wrong("brings the network to more than " + std::to_string(kMaxNetworkWeights) +
                      " weights");
  }
  weights.insert(weights.end(), values.begin(), values.end());
  return {};
}

Status GraphReader::read_convolution(OnnxNode& node, Value& value) {
  NetworkLayer made;
  CUFACE_TRY(take_plain(node, 0, made.input));
  if (node.inputs() < 3) return node.wrong("has no bias");
  const Value* const weight = find(node, 1);
  if (!weight || weight->kind != Value::Kind::kConstant || weight->constant->dims_size() != 4 ||
      weight->constant->dims(0) < 1 || weight->constant->dims(0) > kMaxNetworkChannels) {
    return node.wrong("needs weights of four dimensions for 1 to " +
                      std::to_string(kMaxNetworkChannels) + " channels as its input 1");
  }
  const std::int64_t out = weight->constant->dims(0), in = channels(made.input);
  made.channels = static_cast<int>(out);
  made.first_weight = weights.size();
  Integers shape = {out, in, 1, 1}, stride = {1, 1}, padding = {0, 0, 0, 0};
  int depth_of_output = depth(made.input);
  if (made.input == 0) {
    made.op = NetworkOp::kPictureConvolution;
    shape = {out, in, 3, 3};
    stride = {2, 2};
    ++depth_of_output;
  } else if (weight->constant->dims(2) == 3) {
    made.op = NetworkOp::kDepthwise;
    shape = {in, 1, 3, 3};
  }
  const bool is_depthwise = made.op == NetworkOp::kDepthwise;
  if (made.op != NetworkOp::kPointwise) padding = {1, 1, 1, 1};
  CUFACE_TRY(node.need("group", {is_depthwise ? in : 1}, {1}));
  CUFACE_TRY(node.need("kernel_shape", {shape[2], shape[3]}, {shape[2], shape[3]}));
  CUFACE_TRY(node.need("strides", stride, {1, 1}));
  CUFACE_TRY(node.need("pads", padding, {0, 0, 0, 0}));
  CUFACE_TRY(node.need("dilations", {1, 1}, {1, 1}));
  CUFACE_TRY(node.need_text("auto_pad", "NOTSET", "NOTSET"));
  CUFACE_TRY(add_weights(node, 1, shape));
  CUFACE_TRY(add_weights(node, 2, {out}));
  return add_layer(node, made, depth_of_output, value);
}

Status GraphReader::read_relu(OnnxNode& node, Value& value) {
  CUFACE_TRY(take_plain(node, 0, value.tensor));
  const bool is_of_convolution =
      value.tensor > 0 && (layer(value.tensor).op == NetworkOp::kPictureConvolution ||
                           layer(value.tensor).op == NetworkOp::kPointwise ||
                           layer(value.tensor).op == NetworkOp::kDepthwise);
  if (!is_of_convolution || layer(value.tensor).relu || uses_[node.input(0)] != 1) {
    return node.wrong("does not follow a convolution that it alone reads");
  }
  network.layers[static_cast<std::size_t>(value.tensor) - 1].relu = true;
  return {};
}

Status GraphReader::read_pool(OnnxNode& node, Value& value) {
  NetworkLayer made;
  made.op = NetworkOp::kMaxPool;
  CUFACE_TRY(take_plain(node, 0, made.input));
  if (made.input == 0) return node.wrong("reads the picture");
  made.channels = channels(made.input);
  CUFACE_TRY(node.need("kernel_shape", {2, 2}, {}));
  CUFACE_TRY(node.need("strides", {2, 2}, {1, 1}));
  CUFACE_TRY(node.need("pads", {0, 0, 0, 0}, {0, 0, 0, 0}));
  CUFACE_TRY(node.need("dilations", {1, 1}, {1, 1}));
  CUFACE_TRY(node.need("ceil_mode", {0}, {0}));
  CUFACE_TRY(node.need_text("auto_pad", "NOTSET", "NOTSET"));
  node.ignore("storage_order");  // of the second output
  return add_layer(node, made, depth(made.input) + 1, value);
}

Status GraphReader::read_resize(OnnxNode& node, Value& value) {
  value.kind = Value::Kind::kDoubled;
  CUFACE_TRY(take_plain(node, 0, value.tensor));
  const Value* const scales = find(node, 2);
  if (!scales || scales->kind != Value::Kind::kConstant ||
      floats_of(*scales->constant, 4) != std::vector<float>{1, 1, 2, 2} ||
      (node.inputs() == 4 && !node.input(3).empty())) {
    return node.wrong("has not the constant scales [1, 1, 2, 2]");
  }
  CUFACE_TRY(node.need_text("mode", "nearest", "nearest"));
  // Both give the same pixels at this scale.
  const std::string place = node.text("coordinate_transformation_mode", "half_pixel");
  const std::string nearest = node.text("nearest_mode", "round_prefer_floor");
  if (!(place == "asymmetric" && (nearest == "floor" || nearest == "round_prefer_floor")) &&
      !(place == "half_pixel" &&
        (nearest == "round_prefer_floor" || nearest == "round_prefer_ceil"))) {
    return node.wrong("has modes that do not repeat each pixel: " + shortened(place) + ", " +
                      shortened(nearest));
  }
  for (const char* name : {"cubic_coeff_a", "exclude_outside", "extrapolation_value"}) {
    node.ignore(name);
  }
  return {};
}

Status GraphReader::read_add(OnnxNode& node, Value& value) {
  const int doubled = find(node, 0) && find(node, 0)->kind == Value::Kind::kDoubled ? 0 : 1;
  const Value* const small = find(node, doubled);
  if (!small || small->kind != Value::Kind::kDoubled) {
    return node.wrong("adds nothing that was resized");
  }
  NetworkLayer made;
  made.op = NetworkOp::kUpsampleAdd;
  made.input = small->tensor;
  made.channels = channels(made.input);
  CUFACE_TRY(take_plain(node, 1 - doubled, made.other));
  if (channels(made.other) != made.channels || depth(made.other) != depth(made.input) - 1 ||
      made.other == 0) {
    return node.wrong("adds tensors of different sizes or channels");
  }
  return add_layer(node, made, depth(made.other), value);
}

}  // namespace onnx_graph

namespace {

Result<std::shared_ptr<const NetworkModel>> parse(std::span<const std::uint8_t> bytes,
                                                  const std::string& path) {
  onnx::ModelProto proto;
  if (bytes.size() > kMaxOnnxBytes ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !proto.has_graph()) {
    return Status(StatusCode::kCorrupt, path + ": not a usable ONNX file: it cannot be decoded");
  }
  onnx_graph::GraphReader reader(proto, path);
  CUFACE_TRY(reader.read());
  struct Own : NetworkModel {
    std::vector<float> values;
  };
  auto model = std::make_shared<Own>();
  static_cast<NetworkModel&>(*model) = std::move(reader.network);
  model->values = std::move(reader.weights);
  model->weights = model->values;
  model->name = std::filesystem::path(path).stem().string();
  if (const Status status = validate(*model); !status.ok()) {
    return Status(status.code(), path + ": not a usable network: " + status.message());
  }
  return std::shared_ptr<const NetworkModel>(std::move(model));
}

}  // namespace

Result<std::shared_ptr<const NetworkModel>> parse_onnx_network(std::span<const std::uint8_t> bytes,
                                                               const std::string& path) {
  return guarded(path, [&] { return parse(bytes, path); });
}

}  // namespace cuface
