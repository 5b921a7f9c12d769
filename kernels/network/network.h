// network: faces by a small convolutional network of the YuNet family (Wu, Peng and Yu, Machine
// Intelligence Research 2023), as OpenCV's FaceDetectorYN runs it.
//
// A model is layers as data over numbered tensors. Tensor 0 is the picture, and tensor i + 1 is
// what layer i makes. docs/design/network.md has the arithmetic, which every version shares bit for
// bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/common/backend.h"
#include "kernels/common/bgr.h"
#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"

namespace cuface {

/// The operation of a layer. Weights lie in the order of ONNX, row-major as written here, and the
/// biases, [out], follow them. Values outside of a tensor are 0 and are multiplied like any other.
///
/// A convolution's sum begins with the bias and adds one rounded product after the other, in the
/// order of the weights. ReLU then sets values that are not above 0 to 0.
enum class NetworkOp {
  kPictureConvolution,  ///< [out][3][3][3], stride 2, padding 1; reads the picture: blue, green,
                        ///< red
  kPointwise,           ///< [out][in]
  kDepthwise,           ///< [out][3][3], stride 1, padding 1; as many channels as its input
  kMaxPool,             ///< 2x2, stride 2: the larger of each row, then of both
  kUpsampleAdd,         ///< `input` at twice the width and height, nearest, plus `other`
};

struct NetworkLayer {
  NetworkOp op = NetworkOp::kPointwise;
  int input = 0;                 ///< tensor
  int other = 0;                 ///< tensor, kUpsampleAdd only
  int channels = 0;              ///< of the output, 1..kMaxNetworkChannels
  bool relu = false;             ///< after a convolution; false for the others
  std::size_t first_weight = 0;  ///< in NetworkModel::weights; convolutions only
};

/// The tensors that say what lies in the cells of one stride: 1, 1, 4 and 10 channels, before the
/// sigmoid of the first two.
struct NetworkHead {
  int classes = 0, objects = 0, boxes = 0, points = 0;
};

/// A validated network. Immutable; shared by any threads.
struct NetworkModel {
  std::string name;  ///< file stem
  std::vector<NetworkLayer> layers;
  std::vector<NetworkHead> heads;  ///< in ascending order of their strides, which differ
  std::span<const float> weights;  ///< in memory that `storage` keeps alive
  std::shared_ptr<const void> storage;
};

/// Largest values a model may have; validate() refuses more. YuNet has 59 layers, 64 channels,
/// 53,104 weights and biases, three heads up to stride 32 and 840 multiply-adds a pixel.
inline constexpr std::size_t kMaxNetworkLayers = 256;
inline constexpr int kMaxNetworkChannels = 256;
inline constexpr std::size_t kMaxNetworkWeights = std::size_t{1} << 20;
inline constexpr std::size_t kMaxNetworkHeads = 4;
inline constexpr int kMaxNetworkDepth = 6;        ///< halvings of the picture: strides up to 64
inline constexpr double kMaxNetworkWork = 16384;  ///< multiply-adds a pixel of the picture
/// No value of any tensor may pass this, whatever the picture: there is no infinity and no NaN
/// behind validate(). YuNet's bound is 1.5e18.
inline constexpr double kMaxNetworkValue = 1e30;

/// How often a tensor halves the picture, by tensor; -1 where the layer that makes it does not fit.
/// For a model with as many layers as validate() accepts.
std::vector<int> tensor_depths(const NetworkModel& model);

/// kCorrupt and a sentence that names the layer or head, its value and the limit. Loaders and
/// FaceNetwork::create() call it, by the rule of cascades (kernels/cascade/cascade.h).
Status validate(const NetworkModel& model);

struct NetworkTensor {
  int channels = 0, rows = 0, columns = 0;
  /// Where its values begin in scratch memory. Tensors that are never needed at once share memory;
  /// what the heads name stays to the end.
  std::size_t first = 0;
  std::size_t size() const {
    return static_cast<std::size_t>(channels) * static_cast<std::size_t>(rows) *
           static_cast<std::size_t>(columns);
  }
};

/// The cells of a head, numbered row by row from `first` on.
struct NetworkGrid {
  int stride = 0;  ///< pixels
  int rows = 0, columns = 0;
  std::size_t first = 0;
};

/// The plan of a network for one picture size. Its width and height are those of the picture, which
/// is padded right and bottom with 0 to multiples of the largest stride of any tensor.
struct NetworkPlan {
  int width = 0, height = 0;
  int padded_width = 0, padded_height = 0;
  std::vector<NetworkTensor> tensors;  ///< [0] is the padded picture, which has no scratch
  std::size_t scratch = 0;             ///< floats
  std::vector<NetworkGrid> grids;      ///< by head
  std::size_t cells = 0;
};

/// Largest side of a padded picture, and the scratch memory of a plan.
inline constexpr int kMaxNetworkSide = 16384;
inline constexpr std::size_t kMaxNetworkScratch = std::size_t{640} << 20;  ///< bytes

/// kInvalidArgument: a side below 1; kUnsupported: sides or scratch above their limits, with a size
/// of the same shape that fits. For a model that validate() accepts.
Result<NetworkPlan> plan_network(const NetworkModel& model, int width, int height);

/// The network's output for one cell, before any sigmoid or exponential.
struct NetworkCell {
  float classes, objects;
  float box[4];      ///< centre from the cell's corner, in strides; logarithms of width and height
  float points[10];  ///< x and y of five points from the cell's corner, in strides
};

/// Points of a NetworkFace, in the order of Face::keypoints.
inline constexpr int kNetworkPoints = 5;

/// In pixels of the picture that was searched; may lie outside of it. Always finite.
struct NetworkFace {
  Box box;
  float score = 0;  ///< 0..1
  Point points[kNetworkPoints];
  friend bool operator==(const NetworkFace&, const NetworkFace&) = default;
};

/// The number format of the layers.
enum class NetworkPrecision {
  kFloat,
  kInt16,  ///< integers of 16 bits: half the time; CPU only (docs/design/network-integers.md)
};

struct NetworkConfig {
  float score_threshold = 0.6f;  ///< 0..1; a face has this score or more
  float nms_threshold = 0.3f;    ///< 0..1; a face that overlaps a better one by more is suppressed
  int max_faces = 64;            ///< 1..kMaxNetworkCandidates; the best scores win
  /// Of the CPU; the answers are the same. 0 = as many as the processors and the picture make
  /// worthwhile; 1 = the calling thread alone.
  int threads = 1;
  NetworkPrecision precision = NetworkPrecision::kFloat;

  friend bool operator==(const NetworkConfig&, const NetworkConfig&) = default;
};

/// The best so many cells are looked at; ties go to the smaller stride, then y, then x.
inline constexpr int kMaxNetworkCandidates = 5000;

/// kInvalidArgument and a sentence for a value out of the range stated above.
Status validate(const NetworkConfig& config);

/// Plan: validates, allocates all scratch for one picture size. Enqueue: allocates nothing, once
/// `out` has room for max_faces. An object serves one thread at a time; the model is shared.
class FaceNetwork {
 public:
  /// Errors of validate() and plan_network(); kInvalidArgument: no model; kUnsupported: kCuda
  /// (kernels/network/cuda has its own create()); kOutOfMemory; kCancelled, while
  /// integers are made: `stop` is raised.
  static Result<std::unique_ptr<FaceNetwork>> create(Backend backend,
                                                     std::shared_ptr<const NetworkModel> model,
                                                     const NetworkConfig& config, int width,
                                                     int height, const StopFlag* stop = nullptr);
  virtual ~FaceNetwork() = default;

  /// The picture must have the planned size (kInvalidArgument). `out` is sorted: best score first,
  /// ties as the candidates' are. kCancelled, with an empty `out`, while create()'s `stop` is
  /// raised: a search looks at it at least every 20 ms.
  virtual Status enqueue(ImageView<const Bgr> picture, std::vector<NetworkFace>& out) = 0;

  /// What the last enqueue() that was ok decoded, in the order of NetworkPlan::grids.
  virtual std::span<const NetworkCell> cells() const = 0;
};

}  // namespace cuface
