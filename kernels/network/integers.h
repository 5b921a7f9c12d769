// The network in integers of 16 bits, NetworkPrecision::kInt16: what its tensors and weights are,
// and the arithmetic of single values. docs/design/network-integers.md has it in words.
//
// A value is an integer divided by the units of its channel. Units vanish into the weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/common/host_device.h"
#include "kernels/common/stop_flag.h"
#include "kernels/network/network.h"

namespace cuface::network {

/// Cut to 16 bits.
CUFACE_HD inline int cut(int value) {
  return value < -32768 ? -32768 : value > 32767 ? 32767 : value;
}

/// A product of two values of 16 bits, not both -32768, in units of 2^15, rounded half up.
CUFACE_HD inline int scaled(int value, int factor) { return (value * factor + (1 << 14)) >> 15; }

struct IntegerLayer {
  /// In IntegerModel::weights, in NetworkLayer's order. Depthwise convolutions have scaled()
  /// factors; so has kUpsampleAdd: [channel] of `input`, then of `other`.
  std::size_t first_weight = 0;
  std::size_t first_bias = 0;  ///< in IntegerModel::biases, [channel]; convolutions only
  /// Exact sums are shifted right by so many bits and cut; the biases hold what rounds them. The
  /// same for all layers that read one tensor. Not for depthwise convolutions: those cut their sum
  /// after each product.
  int shift = 0;
};

struct IntegerModel {
  std::vector<IntegerLayer> layers;  ///< as NetworkModel::layers
  /// None is -32768. No sum of a convolution passes 31 bits, whatever the values.
  std::vector<std::int16_t> weights;
  std::vector<std::int32_t> biases;
  std::vector<std::vector<float>>
      steps;  ///< by tensor and channel: what an integer of 1 stands for
};

/// For a model that validate() accepts. Runs it in floats on small generated pictures: their
/// largest values fix the units. Nothing where `stop` is raised, which is looked at every 20 ms.
std::optional<IntegerModel> in_integers(const NetworkModel& model, const StopFlag* stop = nullptr);

}  // namespace cuface::network
