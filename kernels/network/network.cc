#include "kernels/network/network.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/common/try.h"
#include "kernels/network/placer.h"

namespace cuface {
namespace {

using std::to_string;

constexpr int kBytesPerFloat = 4;
constexpr std::size_t kPicture = 0;  // tensor
constexpr int kPictureChannels = 3;

Status corrupt(std::string message) { return {StatusCode::kCorrupt, std::move(message)}; }

std::size_t size(int value) { return static_cast<std::size_t>(value); }

bool is_convolution(NetworkOp op) {
  return op == NetworkOp::kPictureConvolution || op == NetworkOp::kPointwise ||
         op == NetworkOp::kDepthwise;
}

/// Factors in one sum of a convolution.
std::size_t taps_of(NetworkOp op, int input_channels) {
  switch (op) {
    case NetworkOp::kPictureConvolution:
      return 9 * size(kPictureChannels);
    case NetworkOp::kPointwise:
      return size(input_channels);
    case NetworkOp::kDepthwise:
      return 9;
    default:
      return 0;
  }
}

/// How one layer's output relates to its inputs, as far as validate() has come.
class Checker {
 public:
  explicit Checker(const NetworkModel& model) : model_(model) {
    channels_.push_back(kPictureChannels);
    depths_.push_back(0);
    bounds_.push_back(std::vector<double>(size(kPictureChannels), 255.0));
  }

  Status add(std::size_t index) {
    index_ = index;
    const NetworkLayer& layer = model_.layers[index];
    CUFACE_TRY(check_tensor("input", layer.input));
    if (layer.op == NetworkOp::kUpsampleAdd) CUFACE_TRY(check_tensor("other", layer.other));
    if (layer.channels < 1 || layer.channels > kMaxNetworkChannels) {
      return wrong("makes " + to_string(layer.channels) + " channels, not 1 to " +
                   to_string(kMaxNetworkChannels));
    }
    if (layer.relu && !is_convolution(layer.op)) return wrong("has a ReLU and is no convolution");
    int depth = depths_[size(layer.input)];
    CUFACE_TRY(check_shape(layer, depth));
    if (depth > kMaxNetworkDepth) {
      return wrong("halves the picture " + to_string(depth) + " times, not at most " +
                   to_string(kMaxNetworkDepth));
    }
    CUFACE_TRY(check_weights(layer, depth));
    channels_.push_back(layer.channels);
    depths_.push_back(depth);
    return check_bound(layer);
  }

  Status check_head(std::size_t index) const {
    const NetworkHead& head = model_.heads[index];
    const struct {
      const char* name;
      int tensor, channels;
    } parts[] = {{"classes", head.classes, 1},
                 {"objects", head.objects, 1},
                 {"boxes", head.boxes, 4},
                 {"points", head.points, 2 * kNetworkPoints}};
    const auto wrong = [&](const std::string& what) {
      return corrupt("head " + to_string(index) + " of the network " + what);
    };
    for (const auto& part : parts) {
      const std::string name = std::string("names tensor ") + to_string(part.tensor) + " as its " +
                               part.name + ", which ";
      if (part.tensor < 1 || size(part.tensor) >= channels_.size()) {
        return wrong(name + "no layer makes");
      }
      if (channels_[size(part.tensor)] != part.channels) {
        return wrong(name + "has " + to_string(channels_[size(part.tensor)]) + " channels, not " +
                     to_string(part.channels));
      }
      if (depths_[size(part.tensor)] != depths_[size(head.classes)]) {
        return wrong(name + "is of another stride than its classes");
      }
    }
    const int depth = depths_[size(head.classes)];
    if (index > 0 && depth <= depths_[size(model_.heads[index - 1].classes)]) {
      return wrong("has stride " + to_string(1 << depth) + ", not more than the head before");
    }
    return {};
  }

 private:
  Status wrong(const std::string& what) const {
    return corrupt("layer " + to_string(index_) + " of the network " + what);
  }

  Status check_tensor(const char* role, int tensor) const {
    if (tensor >= 0 && size(tensor) < channels_.size()) return {};
    return wrong("reads tensor " + to_string(tensor) + " as its " + role +
                 ", which no layer before it makes");
  }

  /// Changes `depth` from the input's to the output's.
  Status check_shape(const NetworkLayer& layer, int& depth) const {
    const int input_channels = channels_[size(layer.input)];
    if ((layer.op == NetworkOp::kPictureConvolution) != (size(layer.input) == kPicture)) {
      return wrong("reads tensor " + to_string(layer.input) +
                   ": the picture, tensor 0, is for the convolution of stride 2 and for no other");
    }
    const bool keeps_channels = layer.op == NetworkOp::kDepthwise ||
                                layer.op == NetworkOp::kMaxPool ||
                                layer.op == NetworkOp::kUpsampleAdd;
    if (keeps_channels && layer.channels != input_channels) {
      return wrong("makes " + to_string(layer.channels) + " channels of " +
                   to_string(input_channels) + ", but its kind keeps their number");
    }
    switch (layer.op) {
      case NetworkOp::kPictureConvolution:
      case NetworkOp::kMaxPool:
        ++depth;
        return {};
      case NetworkOp::kPointwise:
      case NetworkOp::kDepthwise:
        return {};
      case NetworkOp::kUpsampleAdd:
        --depth;
        if (size(layer.other) == kPicture || depths_[size(layer.other)] != depth ||
            channels_[size(layer.other)] != layer.channels) {
          return wrong("adds tensor " + to_string(layer.other) +
                       ", which has not the channels of tensor " + to_string(layer.input) +
                       " at twice its size");
        }
        return {};
    }
    return wrong("is of an unknown kind, " + to_string(static_cast<int>(layer.op)));
  }

  Status check_weights(const NetworkLayer& layer, int depth) {
    if (!is_convolution(layer.op)) return {};
    const std::size_t taps = taps_of(layer.op, channels_[size(layer.input)]);
    const std::size_t count = size(layer.channels) * (taps + 1);
    const std::size_t all = model_.weights.size();
    if (layer.first_weight > all || count > all - layer.first_weight) {
      return wrong("needs " + to_string(count) + " weights and biases from " +
                   to_string(layer.first_weight) + " on, of " + to_string(all));
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::isfinite(model_.weights[layer.first_weight + i])) {
        return wrong("has a weight that is not finite, number " + to_string(i));
      }
    }
    work_ += static_cast<double>(size(layer.channels) * taps) / std::pow(4.0, depth);
    if (work_ > kMaxNetworkWork) {
      return wrong("brings the network to " + to_string(static_cast<long long>(work_)) +
                   " multiply-adds a pixel, not at most " +
                   to_string(static_cast<int>(kMaxNetworkWork)));
    }
    return {};
  }

  /// How large the layer's values can become, channel by channel.
  Status check_bound(const NetworkLayer& layer) {
    const std::vector<double>& input = bounds_[size(layer.input)];
    std::vector<double> bound(size(layer.channels));
    const std::size_t taps = taps_of(layer.op, static_cast<int>(input.size()));
    for (std::size_t out = 0; out < bound.size(); ++out) {
      switch (layer.op) {
        case NetworkOp::kMaxPool:
          bound[out] = input[out];
          break;
        case NetworkOp::kUpsampleAdd:
          bound[out] = input[out] + bounds_[size(layer.other)][out];
          break;
        default: {
          const float* const weights = model_.weights.data() + layer.first_weight;
          bound[out] = std::fabs(weights[bound.size() * taps + out]);
          for (std::size_t i = 0; i < taps; ++i) {
            const std::size_t in = layer.op == NetworkOp::kPointwise            ? i
                                   : layer.op == NetworkOp::kPictureConvolution ? i / 9
                                                                                : out;
            bound[out] += std::fabs(weights[out * taps + i]) * input[in];
          }
        }
      }
      if (bound[out] > kMaxNetworkValue) {
        return wrong("can make values beyond 1e30 in channel " + to_string(out));
      }
    }
    bounds_.push_back(std::move(bound));
    return {};
  }

  const NetworkModel& model_;
  std::size_t index_ = 0;                    // of the layer
  std::vector<int> channels_, depths_;       // of each tensor
  std::vector<std::vector<double>> bounds_;  // of each tensor's channels
  double work_ = 0;
};

}  // namespace

std::vector<int> tensor_depths(const NetworkModel& model) {
  std::vector<int> depths = {0};
  for (const NetworkLayer& layer : model.layers) {
    const int depth = depths[size(layer.input)];
    const bool halves =
        layer.op == NetworkOp::kPictureConvolution || layer.op == NetworkOp::kMaxPool;
    depths.push_back(halves ? depth + 1 : layer.op == NetworkOp::kUpsampleAdd ? depth - 1 : depth);
  }
  return depths;
}

Status validate(const NetworkModel& model) {
  const struct {
    const char* name;
    std::size_t has, limit;
  } counts[] = {{"layers", model.layers.size(), kMaxNetworkLayers},
                {"heads", model.heads.size(), kMaxNetworkHeads},
                {"weights", model.weights.size(), kMaxNetworkWeights}};
  for (const auto& count : counts) {
    if (count.has < 1 || count.has > count.limit) {
      return corrupt("the network has " + to_string(count.has) + " " + count.name + ", not 1 to " +
                     to_string(count.limit));
    }
  }
  Checker checker(model);
  for (std::size_t i = 0; i < model.layers.size(); ++i) CUFACE_TRY(checker.add(i));
  for (std::size_t i = 0; i < model.heads.size(); ++i) CUFACE_TRY(checker.check_head(i));
  return {};
}

Status validate(const NetworkConfig& config) {
  const auto invalid = [](const char* what) {
    return Status(StatusCode::kInvalidArgument, std::string("network: ") + what);
  };
  if (!(config.score_threshold >= 0 && config.score_threshold <= 1)) {
    return invalid("score_threshold must be between 0 and 1");
  }
  if (!(config.nms_threshold >= 0 && config.nms_threshold <= 1)) {
    return invalid("nms_threshold must be between 0 and 1");
  }
  if (config.max_faces < 1 || config.max_faces > kMaxNetworkCandidates) {
    return invalid("max_faces must be between 1 and 5000");
  }
  if (config.threads < 0) return invalid("threads must be 0 or more");
  return {};
}

namespace {

int round_up(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

/// The layer after which no layer reads a tensor; the number of layers where a head does.
std::vector<std::size_t> last_uses(const NetworkModel& model) {
  std::vector<std::size_t> last(model.layers.size() + 1, 0);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const NetworkLayer& layer = model.layers[i];
    last[i + 1] = i;
    last[size(layer.input)] = i;
    if (layer.op == NetworkOp::kUpsampleAdd) last[size(layer.other)] = i;
  }
  for (const NetworkHead& head : model.heads) {
    for (const int tensor : {head.classes, head.objects, head.boxes, head.points}) {
      last[size(tensor)] = model.layers.size();
    }
  }
  return last;
}

NetworkPlan make_plan(const NetworkModel& model, int width, int height) {
  const std::vector<int> depths = tensor_depths(model);
  const int multiple = 1 << *std::max_element(depths.begin(), depths.end());
  NetworkPlan plan;
  plan.width = width;
  plan.height = height;
  plan.padded_width = round_up(width, multiple);
  plan.padded_height = round_up(height, multiple);
  plan.tensors.push_back({kPictureChannels, plan.padded_height, plan.padded_width});
  const std::vector<std::size_t> last = last_uses(model);
  network::Placer placer;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const int depth = depths[i + 1];
    NetworkTensor tensor{model.layers[i].channels, plan.padded_height >> depth,
                         plan.padded_width >> depth};
    tensor.first = placer.place(tensor.size());
    plan.tensors.push_back(tensor);
    for (std::size_t t = 1; t <= i + 1; ++t) {
      if (last[t] == i) placer.free(plan.tensors[t].first);
    }
  }
  plan.scratch = placer.end();
  for (const NetworkHead& head : model.heads) {
    const NetworkTensor& tensor = plan.tensors[size(head.classes)];
    plan.grids.push_back(
        {1 << depths[size(head.classes)], tensor.rows, tensor.columns, plan.cells});
    plan.cells += tensor.size();
  }
  return plan;
}

bool fits(const NetworkPlan& plan) {
  return plan.padded_width <= kMaxNetworkSide && plan.padded_height <= kMaxNetworkSide &&
         plan.scratch * kBytesPerFloat + plan.cells * sizeof(NetworkCell) <= kMaxNetworkScratch;
}

}  // namespace

Result<NetworkPlan> plan_network(const NetworkModel& model, int width, int height) {
  if (width < 1 || height < 1) {
    return Status(StatusCode::kInvalidArgument, "a network needs a picture of at least one pixel");
  }
  if (width <= kMaxNetworkSide && height <= kMaxNetworkSide) {
    NetworkPlan plan = make_plan(model, width, height);
    if (fits(plan)) return plan;
  }
  // The largest longer side that fits, by bisection.
  const double longer = std::max(width, height);
  const auto side = [&](int value, int most) {
    return std::max(1, static_cast<int>(value * (most / longer)));
  };
  int least = 1, most = std::min(std::max(width, height), kMaxNetworkSide);
  while (least < most) {
    const int middle = (least + most + 1) / 2;
    if (fits(make_plan(model, side(width, middle), side(height, middle)))) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  return Status(StatusCode::kUnsupported,
                "the network would need more than " + to_string(kMaxNetworkScratch >> 20) +
                    " MiB or a side above " + to_string(kMaxNetworkSide) + " for a picture of " +
                    to_string(width) + "x" + to_string(height) + ": " +
                    to_string(side(width, least)) + "x" + to_string(side(height, least)) + " fits");
}

}  // namespace cuface
