// Walks an ONNX graph of the YuNet family and makes a network's layers of its nodes.
// onnx_network.cc reads what becomes layers, onnx_outputs.cc what only arranges the outputs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/network/network.h"
#include "models/onnx_nodes.h"

namespace cuface::onnx_graph {

using Integers = std::vector<std::int64_t>;

// In a shape: the number of pictures, which is 1, and a size that is known with the picture's.
inline constexpr std::int64_t kBatch = -2, kAnySize = -3;

/// What a name of the graph stands for.
struct Value {
  enum class Kind { kTensor, kDoubled, kConstant, kShape };
  Kind kind = Kind::kTensor;
  int tensor = 0;  // of the network: kTensor, and what kDoubled has at half its size
  bool is_transposed = false, is_flat = false, has_sigmoid = false;  // kTensor
  const onnx::TensorProto* constant = nullptr;
  Integers shape;
  int node = -1;  // that makes it

  bool is_plain() const {
    return kind == Kind::kTensor && !is_transposed && !is_flat && !has_sigmoid;
  }
};

class GraphReader {
 public:
  /// All arguments must outlive it.
  GraphReader(const onnx::ModelProto& model, const std::string& path)
      : model_(model), graph_(model.graph()), path_(path) {}

  /// Once; then `network`, without its weights, and `weights` are all of the graph.
  Status read();

  NetworkModel network;
  std::vector<float> weights;

 private:
  Status wrong(const std::string& what) const;
  Status check_opset() const;
  /// Constants, and the picture: the only input that is none of them.
  Status read_input();
  Status read_node(int index);
  /// The outputs by stride: two of one channel with a sigmoid, which are multiplied, so either may
  /// come first; one of 4 and one of 10 channels without.
  Status read_heads();

  /// What a name of the node stands for; null where nothing before it makes that.
  const Value* find(const OnnxNode& node, int input) const;
  /// A tensor of the network as a layer made it.
  Status take_plain(const OnnxNode& node, int input, int& tensor) const;
  /// A value of which only the arrangement changes, or the sigmoid is taken.
  Status take_output(const OnnxNode& node, Value& value) const;
  /// A short list: a constant, or computed from shapes.
  bool take_integers(const OnnxNode& node, int input, Integers& list) const;

  int channels(int tensor) const { return tensor == 0 ? 3 : layer(tensor).channels; }
  int depth(int tensor) const { return depths_[static_cast<std::size_t>(tensor)]; }
  const NetworkLayer& layer(int tensor) const {
    return network.layers[static_cast<std::size_t>(tensor) - 1];
  }
  Status add_layer(const OnnxNode& node, const NetworkLayer& layer, int depth, Value& value);
  Status add_weights(const OnnxNode& node, int input, const Integers& shape);

  // Each fills the value that its node makes.
  Status read_convolution(OnnxNode& node, Value& value);
  Status read_relu(OnnxNode& node, Value& value);
  Status read_pool(OnnxNode& node, Value& value);
  /// Twice the width and height, nearest: pixel x of the output is pixel x / 2.
  Status read_resize(OnnxNode& node, Value& value);
  Status read_add(OnnxNode& node, Value& value);
  Status read_transpose(OnnxNode& node, Value& value);
  Status read_reshape(OnnxNode& node, Value& value);
  Status read_sigmoid(OnnxNode& node, Value& value);
  Status read_constant(OnnxNode& node, Value& value);
  Status read_shape(OnnxNode& node, Value& value);
  Status read_gather(OnnxNode& node, Value& value);
  /// A single size becomes a list of it: here the two are the same.
  Status read_unsqueeze(OnnxNode& node, Value& value);
  Status read_concat(OnnxNode& node, Value& value);

  const onnx::ModelProto& model_;
  const onnx::GraphProto& graph_;
  const std::string& path_;
  std::map<std::string, Value, std::less<>> values_;
  std::map<std::string, int, std::less<>> uses_;
  std::vector<int> depths_ = {0};  // by tensor
};

}  // namespace cuface::onnx_graph
