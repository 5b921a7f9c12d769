// Small networks with random weights, so that tests need no model file.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/common/bgr.h"
#include "kernels/common/image.h"
#include "kernels/network/network.h"

namespace cuface::test {

/// Noise, or one value everywhere. Owns its pixels, whose rows have no gaps.
struct BgrPicture {
  BgrPicture(int w, int h, unsigned seed) : width(w), height(h) {
    std::mt19937 random(seed);
    for (int i = 0; i < w * h; ++i) {
      const auto bits = random();
      pixels.push_back({static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8),
                        static_cast<std::uint8_t>(bits >> 16)});
    }
  }
  BgrPicture(int w, int h, Bgr value)
      : width(w), height(h), pixels(static_cast<std::size_t>(w * h), value) {}

  ImageView<const Bgr> view() const {
    return {pixels.data(), width, height, width * static_cast<std::ptrdiff_t>(sizeof(Bgr))};
  }

  int width, height;
  std::vector<Bgr> pixels;
};

/// The first cell in which a search of the network differs from `expected` in a bit; their number
/// where none does.
inline std::size_t first_difference(FaceNetwork& network, const BgrPicture& picture,
                                    const std::vector<NetworkCell>& expected) {
  std::vector<NetworkFace> faces;
  // Twice: the second time nothing in scratch memory is as it was.
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(network.enqueue(picture.view(), faces).ok());
  const auto cells = network.cells();
  EXPECT_EQ(cells.size(), expected.size());
  std::size_t i = 0;
  while (i < cells.size() && std::memcmp(&cells[i], &expected[i], sizeof(NetworkCell)) == 0) ++i;
  return i;
}

/// Adds layers one by one; each function returns the tensor that its layer makes. Weights are such
/// that values neither grow nor vanish from layer to layer.
class NetworkBuilder {
 public:
  explicit NetworkBuilder(unsigned seed) : random_(seed) {}

  int convolve_picture(int channels, bool relu = true) {
    return convolve(NetworkOp::kPictureConvolution, 0, channels, 27, relu, 1.0f / 128);
  }
  int pointwise(int input, int channels, bool relu = false) {
    return convolve(NetworkOp::kPointwise, input, channels, channels_of(input), relu);
  }
  int depthwise(int input, bool relu = true) {
    return convolve(NetworkOp::kDepthwise, input, channels_of(input), 9, relu);
  }
  int pool(int input) { return add({NetworkOp::kMaxPool, input, 0, channels_of(input)}); }
  int upsample_add(int input, int other) {
    return add({NetworkOp::kUpsampleAdd, input, other, channels_of(input)});
  }
  /// A pointwise and a depthwise convolution, as YuNet has them everywhere.
  int block(int input, int channels, bool relu = true) {
    return depthwise(pointwise(input, channels), relu);
  }
  void head(int input) {
    const int classes = block(input, 1, false), objects = block(input, 1, false);
    const int boxes = block(input, 4, false), points = block(input, 2 * kNetworkPoints, false);
    model_.heads.push_back({classes, objects, boxes, points});
  }

  /// The same without the depthwise half, and with one tensor for two parts, which a pool reads
  /// too.
  void bare_head(int input) {
    const int one = pointwise(input, 1), boxes = pointwise(input, 4);
    pool(one);
    model_.heads.push_back({one, one, boxes, pointwise(input, 2 * kNetworkPoints)});
  }

  std::shared_ptr<const NetworkModel> build() {
    const auto weights = std::make_shared<std::vector<float>>(weights_);
    model_.name = "random";
    model_.weights = *weights;
    model_.storage = weights;
    return std::make_shared<const NetworkModel>(model_);
  }

 private:
  int channels_of(int tensor) const {
    return model_.layers[static_cast<std::size_t>(tensor) - 1].channels;
  }
  int add(NetworkLayer layer) {
    model_.layers.push_back(layer);
    return static_cast<int>(model_.layers.size());
  }
  int convolve(NetworkOp op, int input, int channels, int taps, bool relu, float scale = 1) {
    std::uniform_real_distribution<float> values(-1, 1);
    const std::size_t first = weights_.size();
    const float spread = scale * std::sqrt(6.0f / static_cast<float>(taps));
    for (int i = 0; i < channels * taps; ++i) weights_.push_back(spread * values(random_));
    for (int i = 0; i < channels; ++i) weights_.push_back(values(random_));
    return add({op, input, 0, channels, relu, first});
  }

  std::mt19937 random_;
  NetworkModel model_;
  std::vector<float> weights_;
};

/// The same network, but sure of a face in every cell: all scores are 1. Its heads are block()s.
inline std::shared_ptr<const NetworkModel> sure_of_all(const NetworkModel& from) {
  const auto weights =
      std::make_shared<std::vector<float>>(from.weights.begin(), from.weights.end());
  for (const NetworkHead& head : from.heads)
    for (const int tensor : {head.classes, head.objects}) {
      const NetworkLayer& layer = from.layers[static_cast<std::size_t>(tensor) - 1];
      const auto first = weights->begin() + static_cast<std::ptrdiff_t>(layer.first_weight);
      std::fill_n(first, 9, 0.0f);
      first[9] = 90;  // of which the sigmoid is 1
    }
  auto model = std::make_shared<NetworkModel>(from);
  model->weights = *weights;
  model->storage = weights;
  return model;
}

/// The graph of YuNet with `channels` instead of its 16 and so many times its 32 and 64.
inline std::shared_ptr<const NetworkModel> random_yunet(unsigned seed, int channels = 16) {
  NetworkBuilder b(seed);
  int t = b.pool(b.block(b.convolve_picture(channels), channels));
  t = b.block(b.block(t, channels), 2 * channels);
  t = b.pool(b.block(b.block(t, 2 * channels), 4 * channels));
  const auto two = [&](int input) { return b.block(b.block(input, 4 * channels), 4 * channels); };
  const int at_8 = two(t), at_16 = two(b.pool(at_8));
  const int neck_32 = b.block(two(b.pool(at_16)), 4 * channels);
  const int neck_16 = b.block(b.upsample_add(neck_32, at_16), 4 * channels);
  const int neck_8 = b.block(b.upsample_add(neck_16, at_8), 4 * channels);
  b.head(neck_8);
  b.head(neck_16);
  b.head(neck_32);
  return b.build();
}

/// A graph that no family has: layers of all kinds on tensors chosen at random, of which several
/// may read one, and heads on whatever there is.
inline std::shared_ptr<const NetworkModel> random_network(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return random() % n; };
  NetworkBuilder b(seed);
  const auto coin = [&] { return below(2) == 0; };
  struct Tensor {
    int number, channels, depth;
  };
  std::vector<Tensor> tensors;
  const int first = 1 + static_cast<int>(below(40));
  tensors.push_back({b.convolve_picture(first, coin()), first, 1});
  for (int i = 0; i < 12; ++i) {
    const Tensor from = coin() ? tensors.back() : tensors[below(tensors.size())];
    switch (below(5)) {
      case 0: {
        const int channels = 1 + static_cast<int>(below(70));
        tensors.push_back({b.pointwise(from.number, channels, coin()), channels, from.depth});
        break;
      }
      case 1:
        tensors.push_back({b.depthwise(from.number, coin()), from.channels, from.depth});
        break;
      case 2:
        if (from.depth >= 4) break;
        tensors.push_back({b.pool(from.number), from.channels, from.depth + 1});
        break;
      default:
        for (const Tensor other : std::vector<Tensor>(tensors)) {
          if (other.channels != from.channels || other.depth != from.depth - 1) continue;
          tensors.push_back(
              {b.upsample_add(from.number, other.number), from.channels, other.depth});
          break;
        }
    }
  }
  // Heads in ascending order of strides; the first one's tensors are read by nobody else or by all.
  for (int depth = 1; depth <= 4; ++depth) {
    for (const Tensor& tensor : tensors) {
      if (tensor.depth != depth) continue;
      if (coin()) {
        b.head(tensor.number);
      } else {
        b.bare_head(tensor.number);
      }
      break;
    }
  }
  return b.build();
}

/// What YuNet has not: odd numbers of channels, ReLU where YuNet has none and none where it has,
/// pools of negative values, two convolutions of the picture, a tensor that nothing reads.
inline std::shared_ptr<const NetworkModel> odd_network(unsigned seed) {
  NetworkBuilder b(seed);
  const int a = b.convolve_picture(5, false), other = b.convolve_picture(19);
  const int pooled = b.pool(b.depthwise(a, false));
  b.pointwise(other, 3, true);
  const int wide = b.pointwise(b.pool(other), 70, true), deep = b.pool(b.depthwise(wide));
  const int joined = b.upsample_add(b.pointwise(deep, 33), b.pointwise(wide, 33));
  b.head(b.pointwise(pooled, 7));
  b.head(b.depthwise(b.pool(joined), false));
  return b.build();
}

/// As much work a pixel as validate() accepts, most of it in layers that are slow in plain code.
inline std::shared_ptr<const NetworkModel> slow_network(unsigned seed) {
  NetworkBuilder b(seed);
  int tensor = b.convolve_picture(kMaxNetworkChannels);
  for (int i = 0; i < 23; ++i) tensor = b.depthwise(tensor);
  b.bare_head(tensor);
  return b.build();
}

/// Heads that are not made as YuNet's, which vector code leaves to the plain version.
inline std::shared_ptr<const NetworkModel> plain_network(unsigned seed) {
  NetworkBuilder b(seed);
  b.bare_head(b.convolve_picture(8));
  return b.build();
}

}  // namespace cuface::test
