#include "kernels/surf/hessian.h"

#include <algorithm>
#include <tuple>

#include "kernels/surf/layer.h"

namespace cuface::surf {
namespace {

/// The answers of all places; 0 where there is none.
struct Layer {
  LayerPlan plan;
  std::vector<Answer> answers;

  Layer(const ImageView<const std::uint32_t>& sums, const LayerPlan& of) : plan(of) {
    answers.resize(static_cast<std::size_t>(plan.columns) * static_cast<std::size_t>(plan.rows));
    for (int y = plan.margin; y < plan.margin + plan.down; ++y)
      for (int x = plan.margin; x < plan.margin + plan.across; ++x)
        answers[index(x, y)] = plan.answer_at(sums, x, y);
  }
  std::size_t index(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(plan.columns) +
           static_cast<std::size_t>(x);
  }
  const Answer& at(int x, int y) const { return answers[index(x, y)]; }
};

/// The maxima of layers[1].
void find_in(const Layer* layers, int octave, float threshold, std::vector<Found>& out) {
  const Layer& layer = layers[1];
  const int margin = layers[2].plan.margin + 1;
  for (int y = margin; y < layer.plan.rows - margin; ++y) {
    for (int x = margin; x < layer.plan.columns - margin; ++x) {
      if (!(layer.at(x, y).determinant > threshold)) continue;
      ScaleNeighbours around;
      for (int i = 0; i < 3; ++i)
        for (int v = 0; v < 3; ++v)
          for (int u = 0; u < 3; ++u)
            around.at[i][v][u] = layers[i].at(x + u - 1, y + v - 1).determinant;
      Keypoint k;
      if (around.is_maximum() &&
          keypoint_at(layer.plan, layers[0].plan.size, around, octave, x, y, k))
        out.push_back({k, static_cast<std::int8_t>(sign_of(layer.at(x, y).trace))});
    }
  }
}

}  // namespace

void sort(std::span<Found> found) {
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    const auto key = [](const Found& f) {
      const Keypoint& k = f.keypoint;
      return std::tuple(-k.response, -k.size, -k.octave, -k.y, k.x, f.sign);
    };
    return key(a) < key(b);
  });
}

bool find(ImageView<const std::uint32_t> sums, const SurfConfig& config, std::vector<Found>& out,
          const StopFlag* stop) {
  out.clear();
  for (int octave = 0; octave < config.octaves; ++octave) {
    std::vector<Layer> layers;
    for (int i = 0; i < config.layers + 2; ++i) {
      if (is_raised(stop)) return false;
      layers.emplace_back(sums, LayerPlan(octave, i, sums.width - 1, sums.height - 1));
    }
    for (std::size_t i = 0; i + 2 < layers.size(); ++i) {
      if (is_raised(stop)) return false;
      find_in(&layers[i], octave, config.threshold, out);
    }
  }
  sort(out);
  return true;
}

}  // namespace cuface::surf
