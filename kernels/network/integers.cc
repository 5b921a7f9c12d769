#include "kernels/network/integers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/network/reference.h"

namespace cuface::network {
namespace {

constexpr int kWidth = 96, kHeight = 64;  // of a generated picture
/// What the largest value of generated pictures becomes, by how often the tensor halves the
/// picture: a quarter of the range, an eighth, and beyond a 32nd. Small pictures show less of what
/// sees most of a picture; clips fill 0.4 of the range (docs/log/network-integers.md).
double most_of(int depth) { return (1 << (15 - (depth < 3 ? depth + 1 : 5))) - 1; }

/// A channel counts as if it reached so much of the tensor's largest value: natural pictures may
/// use what generated ones leave almost 0.
constexpr double kLeastShare = 1.0 / 4;
constexpr double kMostWeight = 32767;
/// Of the weights' part in a sum; what is left of 31 bits is for their rounding.
constexpr double kMostSum = 2e9;
constexpr int kMostShift = 15;

using Values = std::vector<std::vector<double>>;  // by tensor and channel

std::size_t size(int value) { return static_cast<std::size_t>(value); }

/// Squares of `side` pixels of random colours, or of black and white.
std::vector<Bgr> squares(int side, bool grey) {
  std::mt19937 random(static_cast<unsigned>(side));
  std::vector<Bgr> colours(size(kWidth * kHeight)), picture;
  for (Bgr& colour : colours) {
    const auto bits = random();
    const auto byte = [&](int shift) { return static_cast<std::uint8_t>(bits >> shift); };
    const auto either = static_cast<std::uint8_t>(bits & 1 ? 255 : 0);
    colour = grey ? Bgr{either, either, either} : Bgr{byte(0), byte(8), byte(16)};
  }
  for (int i = 0; i < kWidth * kHeight; ++i) {
    picture.push_back(colours[size(i / kWidth / side * kWidth + i % kWidth / side)]);
  }
  return picture;
}

/// The largest magnitudes of a network's values, by tensor and channel, on generated pictures.
std::optional<std::vector<std::vector<float>>> largest_values(const NetworkModel& model,
                                                              const StopFlag* stop) {
  std::vector<std::vector<float>> largest;
  const auto plan = plan_network(model, kWidth, kHeight);
  for (const NetworkTensor& t : plan.value().tensors) largest.emplace_back(size(t.channels));
  std::vector<NetworkCell> cells(plan.value().cells);
  PlainForward forward(model, plan.value());
  for (const bool grey : {false, true}) {
    for (int side = 1; side <= 32; side *= 2) {
      const std::vector<Bgr> picture = squares(side, grey);
      if (!forward.run({picture.data(), kWidth, kHeight, kWidth * std::ptrdiff_t{sizeof(Bgr)}},
                       cells, stop, &largest))
        return {};
    }
  }
  return largest;
}

class Maker {
 public:
  Maker(const NetworkModel& model, const std::vector<std::vector<float>>& largest) : model_(model) {
    made_.layers.resize(model.layers.size());
    find_units(largest);
    choose_shifts();
    for (std::size_t i = 0; i < model.layers.size(); ++i) add_weights(i);
    for (const auto& units : units_) {
      std::vector<float>& steps = made_.steps.emplace_back();
      // Finite even where the units vanish.
      for (const double u : units) steps.push_back(static_cast<float>(std::min(1 / u, 1e25)));
    }
  }
  IntegerModel take() { return std::move(made_); }

 private:
  /// Weights of one output channel.
  struct Sum {
    const float* weights;
    std::size_t taps;
    double bias;
  };
  Sum sum_of(const NetworkLayer& layer, std::size_t channel) const {
    const std::size_t taps = layer.op == NetworkOp::kPictureConvolution ? 27
                             : layer.op == NetworkOp::kDepthwise        ? 9
                                                                 : units_[size(layer.input)].size();
    const float* const first = model_.weights.data() + layer.first_weight;
    return {first + channel * taps, taps, first[size(layer.channels) * taps + channel]};
  }
  /// Units that a tap reads.
  double units_read(const NetworkLayer& layer, std::size_t tap) const {
    return units_[size(layer.input)][layer.op == NetworkOp::kPointwise ? tap : tap / 9];
  }
  static bool is_sum(const NetworkLayer& layer) {
    return layer.op == NetworkOp::kPictureConvolution || layer.op == NetworkOp::kPointwise;
  }
  /// Of a sum with one unit: the largest weight, and the largest magnitude of the sum.
  struct Size {
    double weight = 0, sum = 0;
  };
  Size size_of(const NetworkLayer& layer, std::size_t channel) const {
    const Sum sum = sum_of(layer, channel);
    Size result{0, std::fabs(sum.bias)};
    for (std::size_t tap = 0; tap < sum.taps; ++tap) {
      const double weight = std::fabs(sum.weights[tap]) / units_read(layer, tap);
      result.weight = std::max(result.weight, weight);
      result.sum += weight * 32768;
    }
    return result;
  }

  static double share(double most, double of) {
    return of > 0 ? most / of : std::numeric_limits<double>::max();
  }

  void find_units(const std::vector<std::vector<float>>& largest) {
    const std::vector<int> depths = tensor_depths(model_);
    units_.push_back({1, 1, 1});
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      const NetworkLayer& layer = model_.layers[i];
      const std::vector<float>& values = largest[i + 1];
      const double all = *std::max_element(values.begin(), values.end());
      std::vector<double> units;
      for (std::size_t c = 0; c < values.size(); ++c) {
        const double range = std::max<double>(values[c], all * kLeastShare);
        units.push_back(
            std::min(range > 0 ? most_of(depths[i + 1]) / range : 1, most_units(layer, c)));
      }
      units_.push_back(layer.op == NetworkOp::kMaxPool ? units_[size(layer.input)] : units);
    }
  }

  /// So many units that weights, biases and sums fit.
  double most_units(const NetworkLayer& layer, std::size_t c) const {
    const std::vector<double>& in = units_[size(layer.input)];
    switch (layer.op) {
      case NetworkOp::kMaxPool:
        return in[c];
      case NetworkOp::kUpsampleAdd:
        return std::min(in[c], units_[size(layer.other)][c]);
      case NetworkOp::kDepthwise: {
        const Sum sum = sum_of(layer, c);
        double most = share(kMostWeight, std::fabs(sum.bias));
        for (std::size_t tap = 0; tap < 9; ++tap) {
          most = std::min(most, share(in[c], std::fabs(sum.weights[tap])));
        }
        return most;
      }
      default: {
        const Size size = size_of(layer, c);
        return std::min(share(kMostWeight, size.weight), share(kMostSum, size.sum));
      }
    }
  }

  /// Of each tensor as large as all layers allow that read it.
  void choose_shifts() {
    std::vector<int> shifts(units_.size(), kMostShift);
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      const NetworkLayer& layer = model_.layers[i];
      if (!is_sum(layer)) continue;
      int& shift = shifts[size(layer.input)];
      for (std::size_t c = 0; c < units_[i + 1].size(); ++c) {
        const Size of = size_of(layer, c);
        const auto fits = [&](int bits) {
          const double factor = std::exp2(bits) * units_[i + 1][c];
          return of.weight * factor <= kMostWeight && of.sum * factor <= kMostSum;
        };
        while (shift > 0 && !fits(shift)) --shift;
      }
    }
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      const NetworkLayer& layer = model_.layers[i];
      if (is_sum(layer)) made_.layers[i].shift = shifts[size(layer.input)];
    }
  }

  static std::int16_t rounded(double weight) {
    return static_cast<std::int16_t>(std::clamp(std::nearbyint(weight), -kMostWeight, kMostWeight));
  }

  void add_weights(std::size_t index) {
    const NetworkLayer& layer = model_.layers[index];
    const std::vector<double>& units = units_[index + 1];
    IntegerLayer& made = made_.layers[index];
    made.first_weight = made_.weights.size();
    made.first_bias = made_.biases.size();
    if (layer.op == NetworkOp::kMaxPool) return;
    if (layer.op == NetworkOp::kUpsampleAdd) {
      for (const int tensor : {layer.input, layer.other}) {
        for (std::size_t c = 0; c < units.size(); ++c) {
          made_.weights.push_back(rounded(32768 * units[c] / units_[size(tensor)][c]));
        }
      }
      return;
    }
    const bool is_depthwise = layer.op == NetworkOp::kDepthwise;
    const double factor = is_depthwise ? 32768 : std::exp2(made.shift);
    for (std::size_t c = 0; c < units.size(); ++c) {
      const Sum sum = sum_of(layer, c);
      for (std::size_t tap = 0; tap < sum.taps; ++tap) {
        const double read = is_depthwise ? units_[size(layer.input)][c] : units_read(layer, tap);
        made_.weights.push_back(rounded(sum.weights[tap] * (units[c] / read) * factor));
      }
      const double bias = sum.bias * units[c] * (is_depthwise ? 1 : factor);
      const int half = is_depthwise || made.shift == 0 ? 0 : 1 << (made.shift - 1);
      made_.biases.push_back(static_cast<std::int32_t>(std::nearbyint(bias)) + half);
    }
  }

  const NetworkModel& model_;
  Values units_;
  IntegerModel made_;
};

}  // namespace

std::optional<IntegerModel> in_integers(const NetworkModel& model, const StopFlag* stop) {
  const auto largest = largest_values(model, stop);
  if (!largest) return {};
  return Maker(model, *largest).take();
}

}  // namespace cuface::network
