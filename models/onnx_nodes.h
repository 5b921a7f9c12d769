// Parts of ONNX graphs: a node with its attributes, constants. Only what onnx_network.cc needs.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/common/status.h"

namespace cuface::onnx_graph {

/// "[1, 3, 640, 640]".
std::string listed(const std::vector<std::int64_t>& values);

/// Values of a tensor that is stored in the file as 32-bit floats: none where it is anything else,
/// or has not `count` of them.
std::vector<float> floats_of(const onnx::TensorProto& tensor, std::size_t count);

/// Values of a short list or a single value of 64-bit integers; false where it is anything else.
bool integers_of(const onnx::TensorProto& tensor, std::vector<std::int64_t>& values);

/// One node, whose attributes are looked at one by one. What does not fit is a Status that names
/// the node.
class OnnxNode {
 public:
  OnnxNode(const onnx::NodeProto& node, int index, const std::string& path)
      : node_(node), index_(index), path_(path) {}

  const std::string& op() const { return node_.op_type(); }
  const std::string& input(int i) const { return node_.input(i); }
  int inputs() const { return node_.input_size(); }
  const std::string& output() const { return node_.output(0); }
  const onnx::NodeProto& proto() const { return node_; }

  /// "PATH: not a network of the YuNet family: node 17 (Resize "Resize_43") WHAT".
  Status wrong(const std::string& what) const;

  /// From `least` to `most` inputs, one output.
  Status check_counts(int least, int most) const;

  /// The attribute's values, or `missing` where the node has it not. An attribute of another type
  /// has no values.
  std::vector<std::int64_t> integers(const char* name, std::vector<std::int64_t> missing);
  std::string text(const char* name, const char* missing);
  const onnx::TensorProto* tensor(const char* name);

  Status need(const char* name, const std::vector<std::int64_t>& wanted,
              const std::vector<std::int64_t>& missing);
  Status need_text(const char* name, std::string_view wanted, const char* missing);
  /// An attribute that changes nothing here.
  void ignore(const char* name) { (void)find(name); }
  /// To be called last: no attribute may be left that was not looked at.
  Status check_rest() const;

 private:
  const onnx::AttributeProto* find(const char* name);

  const onnx::NodeProto& node_;
  const int index_;
  const std::string& path_;
  std::vector<std::string_view> known_;
};

}  // namespace cuface::onnx_graph
