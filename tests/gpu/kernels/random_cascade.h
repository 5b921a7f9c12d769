// Cascades and pictures made from a seed, so that a search has something to decide without any
// downloaded model or picture.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cascade/cascade.h"

namespace cuface::test {

/// A valid cascade of short trees whose splits go both ways; each stage lets through a good part of
/// the windows. The weighted areas of every feature sum to 0.
inline CascadeModel random_cascade(unsigned seed, int width, int height, int stages, bool tilted,
                                   int most_nodes = 3) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto real = [&](float low, float high) {
    return low + (high - low) * static_cast<float>(random() % 4096) / 4095.0f;
  };
  CascadeModel model;
  model.name = "random" + std::to_string(seed);
  model.window_width = width;
  model.window_height = height;
  const auto add_feature = [&] {
    HaarFeature f;
    f.tilted = tilted && below(2) == 0;
    if (f.tilted) {
      const int a = 1 + below(width / 4), b = 1 + below(std::min(width / 4, height - 2 * a - 1));
      const int x = b + below(width - 2 * a - b + 1), y = below(height - 2 * a - b + 1);
      f.rect_count = 2;
      f.rects[0] = {x, y, 2 * a, b, -1};
      f.rects[1] = {x, y, a, b, 2};
    } else {
      const int a = 1 + below(width / 2), b = 1 + below(height / 2);
      const int x = below(width - 2 * a + 1), y = below(height - 2 * b + 1);
      f.rect_count = 2 + below(2);
      f.rects[0] = {x, y, 2 * a, f.rect_count == 3 ? 2 * b : b, -1};
      f.rects[1] = {x, y, a, b, 2};
      if (f.rect_count == 3) f.rects[2] = {x + a, y + b, a, b, 2};
    }
    model.features.push_back(f);
    return static_cast<int>(model.features.size()) - 1;
  };
  for (int s = 0; s < stages; ++s) {
    HaarStage stage;
    stage.first_tree = static_cast<int>(model.trees.size());
    stage.tree_count = 1 + below(3);
    stage.threshold = -0.35f * static_cast<float>(stage.tree_count);
    for (int t = 0; t < stage.tree_count; ++t) {
      HaarTree tree;
      tree.first_node = static_cast<int>(model.nodes.size());
      tree.node_count = 1 + below(most_nodes);
      tree.first_leaf = static_cast<int>(model.leaves.size());
      tree.leaf_count = tree.node_count + 1;
      for (int n = 0; n < tree.node_count; ++n) {
        HaarNode node{add_feature(), real(-0.04f, 0.04f), -n,
                      n + 1 < tree.node_count ? n + 1 : -(n + 1)};
        if (below(2) == 0) std::swap(node.left, node.right);
        model.nodes.push_back(node);
      }
      for (int l = 0; l < tree.leaf_count; ++l)
        model.leaves.push_back(l == 0 ? real(-1, -0.2f) : real(-0.3f, 1));
      model.trees.push_back(tree);
    }
    model.stages.push_back(stage);
  }
  return model;
}

/// A cascade that every window with any contrast passes.
inline CascadeModel passing_cascade(int width, int height) {
  CascadeModel model = random_cascade(1, width, height, 1, false);
  model.stages[0].threshold = -1000;
  return model;
}

/// One stage more than `stages`, and that depends on the order in which leaves are added: where the
/// middle one of three is 0.3, 2^43 + 0.3 - 2^43 is the 0.30078125 that passes only from left to
/// right.
inline CascadeModel order_cascade(int width, int height, int stages, int most_nodes = 3) {
  CascadeModel model = random_cascade(5, width, height, stages, false, most_nodes);
  for (HaarStage& stage : model.stages) stage.threshold = -1000;
  model.stages.push_back({static_cast<int>(model.trees.size()), 3, 0.3005f});
  const float huge = 0x1p43f;
  for (const auto& [left, right] : {std::pair{huge, huge}, {0.3f, 0.0f}, {-huge, -huge}}) {
    model.trees.push_back(
        {static_cast<int>(model.nodes.size()), 1, static_cast<int>(model.leaves.size()), 2});
    model.nodes.push_back({0, 0.0f, 0, -1});
    model.leaves.insert(model.leaves.end(), {left, right});
  }
  return model;
}

/// Noise averaged over squares of 2 * radius + 1 pixels, spread to all grey values.
inline std::vector<std::uint8_t> smooth_pixels(int width, int height, int radius, unsigned seed) {
  std::mt19937 random(seed);
  const int margin = 2 * radius, w = width + margin, h = height + margin;
  std::vector<int> raw(static_cast<std::size_t>(w * h)), rows(raw);
  for (int& v : raw) v = static_cast<int>(random() & 255);
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < width; ++x) {
      int& sum = rows[static_cast<std::size_t>(y * w + x)] = 0;
      for (int k = 0; k <= margin; ++k) sum += raw[static_cast<std::size_t>(y * w + x + k)];
    }
  const int side = margin + 1;
  std::vector<std::uint8_t> out;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      int sum = 0;
      for (int k = 0; k <= margin; ++k) sum += rows[static_cast<std::size_t>((y + k) * w + x)];
      out.push_back(static_cast<std::uint8_t>(
          std::clamp((sum / side - 128 * side) * 2 / (radius > 0 ? 2 : 1) + 128, 0, 255)));
    }
  return out;
}

}  // namespace cuface::test
