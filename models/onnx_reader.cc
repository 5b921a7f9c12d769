#include "models/onnx_reader.h"

#include <string>
#include <utility>

#include "kernels/common/try.h"

namespace cuface::onnx_graph {

Status GraphReader::take_output(const OnnxNode& node, Value& value) const {
  const Value* const from = find(node, 0);
  if (!from || from->kind != Value::Kind::kTensor || from->tensor == 0) {
    return node.wrong("reads \"" + shortened(node.input(0)) + "\", which no layer before it makes");
  }
  value = *from;
  return {};
}

bool GraphReader::take_integers(const OnnxNode& node, int input, Integers& list) const {
  const Value* const value = find(node, input);
  if (value && value->kind == Value::Kind::kConstant) return integers_of(*value->constant, list);
  if (!value || value->kind != Value::Kind::kShape) return false;
  list = value->shape;
  return true;
}

Status GraphReader::read_transpose(OnnxNode& node, Value& value) {
  CUFACE_TRY(take_output(node, value));
  CUFACE_TRY(node.need("perm", {0, 2, 3, 1}, {}));
  if (value.is_transposed) return node.wrong("transposes for a second time");
  value.is_transposed = true;
  return {};
}

Status GraphReader::read_reshape(OnnxNode& node, Value& value) {
  CUFACE_TRY(take_output(node, value));
  CUFACE_TRY(node.need("allowzero", {0}, {0}));
  Integers shape;
  const bool is_list = take_integers(node, 1, shape);
  if (!value.is_transposed || value.is_flat || !is_list || shape.size() != 3 ||
      (shape[0] != kBatch && shape[0] != 0 && shape[0] != 1) || (shape[1] != -1 && shape[1] < 1) ||
      shape[2] != channels(value.tensor)) {
    return node.wrong("does not make a list of cells, [1, -1, " +
                      std::to_string(channels(value.tensor)) + "]");
  }
  value.is_flat = true;
  return {};
}

Status GraphReader::read_sigmoid(OnnxNode& node, Value& value) {
  CUFACE_TRY(take_output(node, value));
  if (value.has_sigmoid) return node.wrong("takes a second sigmoid");
  value.has_sigmoid = true;
  return {};
}

Status GraphReader::read_constant(OnnxNode& node, Value& value) {
  value.kind = Value::Kind::kConstant;
  value.constant = node.tensor("value");
  return value.constant ? Status() : node.wrong("has no tensor");
}

Status GraphReader::read_shape(OnnxNode& node, Value& value) {
  CUFACE_TRY(take_output(node, value));
  if (value.is_flat) return node.wrong("asks for the shape of a list of cells");
  const std::int64_t count = channels(value.tensor);
  value.shape = value.is_transposed ? Integers{kBatch, kAnySize, kAnySize, count}
                                    : Integers{kBatch, count, kAnySize, kAnySize};
  value.kind = Value::Kind::kShape;
  return {};
}

Status GraphReader::read_gather(OnnxNode& node, Value& value) {
  Integers list, index;
  CUFACE_TRY(node.need("axis", {0}, {0}));
  if (!take_integers(node, 0, list) || !take_integers(node, 1, index) || index.size() != 1 ||
      index[0] < 0 || index[0] >= static_cast<std::int64_t>(list.size())) {
    return node.wrong("does not pick one size out of a shape");
  }
  value.kind = Value::Kind::kShape;
  value.shape = {list[static_cast<std::size_t>(index[0])]};
  return {};
}

Status GraphReader::read_unsqueeze(OnnxNode& node, Value& value) {
  Integers axes = node.integers("axes", {});
  if ((node.inputs() == 2 && !take_integers(node, 1, axes)) || axes != Integers{0} ||
      !take_integers(node, 0, value.shape) || value.shape.size() != 1) {
    return node.wrong("does not make a list of one size");
  }
  value.kind = Value::Kind::kShape;
  return {};
}

Status GraphReader::read_concat(OnnxNode& node, Value& value) {
  CUFACE_TRY(node.need("axis", {0}, {}));
  for (int i = 0; i < node.inputs(); ++i) {
    Integers list;
    if (!take_integers(node, i, list)) return node.wrong("joins what are no sizes");
    value.shape.insert(value.shape.end(), list.begin(), list.end());
  }
  if (value.shape.size() > 3) return node.wrong("makes a shape of more than three sizes");
  value.kind = Value::Kind::kShape;
  return {};
}

Status GraphReader::read_heads() {
  std::map<int, NetworkHead> heads;  // by depth
  for (const onnx::ValueInfoProto& output : graph_.output()) {
    const std::string what = "makes output \"" + shortened(output.name()) + "\", which ";
    const auto it = values_.find(output.name());
    if (it == values_.end() || it->second.node < 0) {
      return wrong("no node makes output \"" + shortened(output.name()) + "\"");
    }
    const Value& value = it->second;
    const OnnxNode node(graph_.node(value.node), value.node, path_);
    if (value.kind != Value::Kind::kTensor || !value.is_flat) {
      return node.wrong(what + "is no list of cells");
    }
    NetworkHead& head = heads[depth(value.tensor)];
    int* part = nullptr;
    switch (channels(value.tensor)) {
      case 1:
        if (value.has_sigmoid) part = head.classes == 0 ? &head.classes : &head.objects;
        break;
      case 4:
        if (!value.has_sigmoid) part = &head.boxes;
        break;
      case 2 * kNetworkPoints:
        if (!value.has_sigmoid) part = &head.points;
        break;
    }
    if (!part || *part != 0) {
      return node.wrong(what + "is not one of two scores, a box and five points of a stride");
    }
    *part = value.tensor;
  }
  for (const auto& [depth, head] : heads) {
    if (head.classes == 0 || head.objects == 0 || head.boxes == 0 || head.points == 0) {
      return wrong("stride " + std::to_string(1 << depth) +
                   " has not two scores, a box and five points");
    }
    network.heads.push_back(head);
  }
  return {};
}

}  // namespace cuface::onnx_graph
