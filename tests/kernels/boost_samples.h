// Windows to train on, drawn by integers alone, so that every machine draws the same: something
// like a face among clutter, and clutter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/boost/boost.h"

namespace cuface::test {

/// The draw `counter` of the window `index`: a hash (SplitMix64), so windows can be drawn in any
/// order.
class WindowDraws {
 public:
  explicit WindowDraws(std::uint64_t index) : index_(index) {}
  /// Of least..most.
  int operator()(int least, int most) {
    std::uint64_t z = index_ * 0xd1342543de82ef95u + ++counter_ * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return least + static_cast<int>(z % static_cast<std::uint64_t>(most - least + 1));
  }

 private:
  std::uint64_t index_, counter_ = 0;
};

/// A window of `side` x `side` pixels; positives and negatives are counted apart.
inline std::vector<std::uint8_t> drawn_window(int side, bool positive, std::uint32_t index) {
  WindowDraws draw(std::uint64_t{index} * 2 + (positive ? 1 : 0));
  std::vector<int> grey(static_cast<std::size_t>(side * side), draw(90, 160));
  const auto add = [&](int x, int y, int w, int h, int much) {
    for (int row = std::max(y, 0); row < std::min(y + h, side); ++row)
      for (int column = std::max(x, 0); column < std::min(x + w, side); ++column)
        grey[static_cast<std::size_t>(row * side + column)] += much;
  };
  for (int i = draw(2, 6); i > 0; --i) {
    const int w = draw(2, side), h = draw(2, side);
    add(draw(-w / 2, side - w / 2), draw(-h / 2, side - h / 2), w, h, draw(-45, 45));
  }
  if (positive) {
    const int x = draw(-side / 12, side / 12), y = draw(-side / 12, side / 12);
    const int strength = draw(25, 100);
    const auto part = [&](int left, int top, int w, int h, int much) {  // of 24
      add(x + left * side / 24, y + top * side / 24, w * side / 24, h * side / 24,
          much * strength / 100);
    };
    part(4, 6, 6, 4, -60);  // eyes
    part(14, 6, 6, 4, -60);
    part(10, 6, 4, 9, 30);    // nose
    part(7, 17, 10, 3, -40);  // mouth
    part(3, 11, 18, 5, 20);   // cheeks
  }
  std::vector<std::uint8_t> window;
  window.reserve(grey.size());
  for (const int value : grey)
    window.push_back(static_cast<std::uint8_t>(std::clamp(value + draw(-24, 24), 0, 255)));
  return window;
}

/// Windows with their labels.
struct DrawnSamples {
  int side = 0;
  std::vector<std::uint8_t> pixels, labels;

  void add(bool positive, std::uint32_t index) {
    const std::vector<std::uint8_t> window = drawn_window(side, positive, index);
    pixels.insert(pixels.end(), window.begin(), window.end());
    labels.push_back(positive ? 1 : 0);
  }
  TrainingSamples view() const { return {pixels, labels, side, side}; }
};

/// The first of each.
inline DrawnSamples drawn_samples(int side, std::uint32_t positives, std::uint32_t negatives) {
  DrawnSamples samples;
  samples.side = side;
  for (std::uint32_t i = 0; i < positives; ++i) samples.add(true, i);
  for (std::uint32_t i = 0; i < negatives; ++i) samples.add(false, i);
  return samples;
}

inline FeatureBank bank_of(int side, FeatureMode mode = FeatureMode::kBasic) {
  return std::move(FeatureBank::create(side, side, mode).value());
}

/// All that a stage says, as bytes.
inline std::string bytes_of(const BoostedStage& stage) {
  std::string bytes;
  const auto add = [&](const auto& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const WeakTree& tree : stage.trees) {
    for (const HaarNode& node : tree.nodes) add(node);
    for (const float leaf : tree.leaves) add(leaf);
  }
  add(stage.threshold);
  add(stage.hit_rate);
  add(stage.false_alarm);
  add(stage.end);
  return bytes;
}

inline constexpr Boosting kAllBoostings[] = {Boosting::kDiscrete, Boosting::kReal, Boosting::kLogit,
                                             Boosting::kGentle};

/// Never satisfied, so that it grows as many trees.
inline BoostOptions options_of(Boosting boosting, int depth, int trees) {
  BoostOptions options;
  options.boosting = boosting;
  options.max_depth = depth;
  options.max_weak_count = trees;
  options.max_false_alarm = 1e-6f;
  options.min_hit_rate = 0.999f;
  return options;
}

}  // namespace cuface::test
