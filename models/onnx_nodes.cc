#include "models/onnx_nodes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/common/try.h"

namespace cuface::onnx_graph {
namespace {

constexpr std::size_t kMostIntegers = 8;  // of a shape or a list of axes

bool is_stored_here(const onnx::TensorProto& tensor, int type) {
  return tensor.data_type() == type && !tensor.has_segment() &&
         tensor.data_location() == onnx::TensorProto::DEFAULT;
}

/// Raw data of `count` values, little-endian as this machine is.
template <typename T>
bool copy_raw(const std::string& raw, std::size_t count, std::vector<T>& values) {
  if (raw.size() != count * sizeof(T)) return false;
  values.resize(count);
  if (count > 0) std::memcpy(values.data(), raw.data(), raw.size());
  return true;
}

std::string quoted(const std::string& text) {
  return std::string(1, '"').append(shortened(text)).append(1, '"');
}

}  // namespace

std::string listed(const std::vector<std::int64_t>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size() && i < kMostIntegers; ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(values[i]);
  }
  return std::string(1, '[').append(text).append(values.size() > kMostIntegers ? ", ...]" : "]");
}

std::vector<float> floats_of(const onnx::TensorProto& tensor, std::size_t count) {
  std::vector<float> values;
  if (!is_stored_here(tensor, onnx::TensorProto::FLOAT)) return values;
  if (tensor.has_raw_data()) {
    (void)copy_raw(tensor.raw_data(), count, values);
  } else if (static_cast<std::size_t>(tensor.float_data_size()) == count) {
    values.assign(tensor.float_data().begin(), tensor.float_data().end());
  }
  return values;
}

bool integers_of(const onnx::TensorProto& tensor, std::vector<std::int64_t>& values) {
  if (!is_stored_here(tensor, onnx::TensorProto::INT64) || tensor.dims_size() > 1) return false;
  const std::int64_t count = tensor.dims_size() == 0 ? 1 : tensor.dims(0);
  if (count < 0 || count > static_cast<std::int64_t>(kMostIntegers)) return false;
  const auto size = static_cast<std::size_t>(count);
  if (tensor.has_raw_data()) return copy_raw(tensor.raw_data(), size, values);
  values.assign(tensor.int64_data().begin(), tensor.int64_data().end());
  return values.size() == size;
}

Status OnnxNode::wrong(const std::string& what) const {
  std::string name = shortened(node_.op_type());
  if (!node_.name().empty()) name.append(1, ' ').append(quoted(node_.name()));
  return {StatusCode::kUnsupported, path_ + ": not a network of the YuNet family: node " +
                                        std::to_string(index_) + " (" + name + ") " + what};
}

Status OnnxNode::check_counts(int least, int most) const {
  if (node_.input_size() < least || node_.input_size() > most) {
    return wrong("has " + std::to_string(node_.input_size()) + " inputs");
  }
  if (node_.output_size() != 1 || node_.output(0).empty()) {
    return wrong("has " + std::to_string(node_.output_size()) + " outputs, not one with a name");
  }
  return {};
}

const onnx::AttributeProto* OnnxNode::find(const char* name) {
  known_.emplace_back(name);
  const auto it = std::find_if(node_.attribute().begin(), node_.attribute().end(),
                               [&](const auto& attribute) { return attribute.name() == name; });
  return it == node_.attribute().end() ? nullptr : &*it;
}

std::vector<std::int64_t> OnnxNode::integers(const char* name, std::vector<std::int64_t> missing) {
  const onnx::AttributeProto* const attribute = find(name);
  if (!attribute) return missing;
  if (attribute->type() == onnx::AttributeProto::INT) return {attribute->i()};
  if (attribute->type() != onnx::AttributeProto::INTS) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::string OnnxNode::text(const char* name, const char* missing) {
  const onnx::AttributeProto* const attribute = find(name);
  if (!attribute) return missing;
  return attribute->type() == onnx::AttributeProto::STRING ? attribute->s() : "";
}

const onnx::TensorProto* OnnxNode::tensor(const char* name) {
  const onnx::AttributeProto* const attribute = find(name);
  return attribute && attribute->type() == onnx::AttributeProto::TENSOR ? &attribute->t() : nullptr;
}

Status OnnxNode::need(const char* name, const std::vector<std::int64_t>& wanted,
                      const std::vector<std::int64_t>& missing) {
  const std::vector<std::int64_t> found = integers(name, missing);
  if (found == wanted) return {};
  return wrong(std::string("has ") + name + " " + listed(found) + ", not " + listed(wanted));
}

Status OnnxNode::need_text(const char* name, std::string_view wanted, const char* missing) {
  const std::string found = text(name, missing);
  if (found == wanted) return {};
  return wrong(std::string("has ") + name + " " + quoted(found) + ", not " +
               quoted(std::string(wanted)));
}

Status OnnxNode::check_rest() const {
  for (const onnx::AttributeProto& attribute : node_.attribute()) {
    if (std::find(known_.begin(), known_.end(), attribute.name()) == known_.end()) {
      return wrong("has an attribute " + quoted(attribute.name()) + ", which the family has not");
    }
  }
  return {};
}

}  // namespace cuface::onnx_graph
