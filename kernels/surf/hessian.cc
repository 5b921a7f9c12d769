#include "kernels/surf/hessian.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "kernels/surf/rules.h"

namespace cuface::surf {
namespace {

/// Of the first octave's first layer, and from layer to layer.
constexpr int kUnits = 9, kSize = 9, kSizeStep = 6;

constexpr WaveletPart kXX[] = {{0, 2, 3, 7, 1}, {3, 2, 6, 7, -2}, {6, 2, 9, 7, 1}};
constexpr WaveletPart kYY[] = {{2, 0, 7, 3, 1}, {2, 3, 7, 6, -2}, {2, 6, 7, 9, 1}};
constexpr WaveletPart kXY[] = {
    {1, 1, 4, 4, 1}, {5, 1, 8, 4, -1}, {1, 5, 4, 8, -1}, {5, 5, 8, 8, 1}};

/// One size of the wavelets: a place each `step` pixels, and 0 where the wavelets do not fit.
struct Layer {
  int size = 0, step = 0, columns = 0, rows = 0;
  std::vector<float> determinant, trace;
  float at(int x, int y) const {
    return determinant[static_cast<std::size_t>(y) * static_cast<std::size_t>(columns) +
                       static_cast<std::size_t>(x)];
  }
  int sign(int x, int y) const {
    const float t = trace[static_cast<std::size_t>(y) * static_cast<std::size_t>(columns) +
                          static_cast<std::size_t>(x)];
    return (t > 0) - (t < 0);
  }
};

template <std::size_t N>
void scale(const WaveletPart (&parts)[N], int size, WaveletBox (&out)[N]) {
  for (std::size_t i = 0; i < N; ++i) out[i] = scaled(parts[i], kUnits, size);
}

Layer make_layer(const ImageView<const std::uint32_t>& sums, int size, int step) {
  const int width = sums.width - 1, height = sums.height - 1;
  Layer layer{size, step, width / step, height / step, {}, {}};
  const std::size_t places =
      static_cast<std::size_t>(layer.columns) * static_cast<std::size_t>(layer.rows);
  layer.determinant.assign(places, 0);
  layer.trace.assign(places, 0);
  if (size > width || size > height) return layer;
  WaveletBox xx[3], yy[3], xy[4];
  scale(kXX, size, xx);
  scale(kYY, size, yy);
  scale(kXY, size, xy);
  const int margin = size / 2 / step;
  for (int y = 0; y < 1 + (height - size) / step; ++y) {
    for (int x = 0; x < 1 + (width - size) / step; ++x) {
      const float dx = answer(xx, sums, x * step, y * step),
                  dy = answer(yy, sums, x * step, y * step),
                  dxy = answer(xy, sums, x * step, y * step);
      const std::size_t at =
          static_cast<std::size_t>(y + margin) * static_cast<std::size_t>(layer.columns) +
          static_cast<std::size_t>(x + margin);
      layer.determinant[at] = dx * dy - 0.81f * dxy * dxy;
      layer.trace[at] = dx + dy;
    }
  }
  return layer;
}

/// Greater than all 26 around it.
bool is_maximum(const Layer* const (&layers)[3], int x, int y) {
  const float value = layers[1]->at(x, y);
  for (const Layer* layer : layers)
    for (int v = y - 1; v <= y + 1; ++v)
      for (int u = x - 1; u <= x + 1; ++u)
        if (!(layer == layers[1] && u == x && v == y) && !(value > layer->at(u, v))) return false;
  return true;
}

/// Moves the keypoint to the top of the parabola through its surroundings. False where that is too
/// far away.
bool interpolate(const Layer* const (&layers)[3], int x, int y, Keypoint& k) {
  const auto n = [&](int layer, int u, int v) { return layers[layer]->at(x + u, y + v); };
  const float b[3] = {-(n(1, 1, 0) - n(1, -1, 0)) / 2, -(n(1, 0, 1) - n(1, 0, -1)) / 2,
                      -(n(2, 0, 0) - n(0, 0, 0)) / 2};
  const float xy = (n(1, 1, 1) - n(1, -1, 1) - n(1, 1, -1) + n(1, -1, -1)) / 4;
  const float xs = (n(2, 1, 0) - n(2, -1, 0) - n(0, 1, 0) + n(0, -1, 0)) / 4;
  const float ys = (n(2, 0, 1) - n(2, 0, -1) - n(0, 0, 1) + n(0, 0, -1)) / 4;
  const float a[3][3] = {{n(1, -1, 0) - 2 * n(1, 0, 0) + n(1, 1, 0), xy, xs},
                         {xy, n(1, 0, -1) - 2 * n(1, 0, 0) + n(1, 0, 1), ys},
                         {xs, ys, n(0, 0, 0) - 2 * n(1, 0, 0) + n(2, 0, 0)}};
  float by[3];
  if (!solve(a, b, by)) return false;
  const bool moves = by[0] != 0 || by[1] != 0 || by[2] != 0;
  if (!moves || !(std::abs(by[0]) <= 1 && std::abs(by[1]) <= 1 && std::abs(by[2]) <= 1))
    return false;
  const auto step = static_cast<float>(layers[1]->step);
  k.x += by[0] * step;
  k.y += by[1] * step;
  k.size = std::nearbyint(k.size + by[2] * static_cast<float>(layers[1]->size - layers[0]->size));
  return true;
}

void find_in(const Layer* const (&layers)[3], int octave, float threshold,
             std::vector<Found>& out) {
  const Layer& layer = *layers[1];
  const int margin = layers[2]->size / 2 / layer.step + 1;
  for (int y = margin; y < layer.rows - margin; ++y) {
    for (int x = margin; x < layer.columns - margin; ++x) {
      if (!(layer.at(x, y) > threshold) || !is_maximum(layers, x, y)) continue;
      const auto centre = [&](int v) {
        return static_cast<float>(layer.step * (v - layer.size / 2 / layer.step)) +
               static_cast<float>(layer.size - 1) * 0.5f;
      };
      Keypoint k{centre(x), centre(y), static_cast<float>(layer.size), 0, layer.at(x, y), octave};
      if (interpolate(layers, x, y, k))
        out.push_back({k, static_cast<std::int8_t>(layer.sign(x, y))});
    }
  }
}

}  // namespace

bool find(ImageView<const std::uint32_t> sums, const SurfConfig& config, std::vector<Found>& out,
          const StopFlag* stop) {
  out.clear();
  for (int octave = 0; octave < config.octaves; ++octave) {
    std::vector<Layer> layers;
    for (int i = 0; i < config.layers + 2; ++i) {
      if (is_raised(stop)) return false;
      layers.push_back(make_layer(sums, (kSize + kSizeStep * i) << octave, 1 << octave));
    }
    for (std::size_t i = 1; i + 1 < layers.size(); ++i) {
      if (is_raised(stop)) return false;
      find_in({&layers[i - 1], &layers[i], &layers[i + 1]}, octave, config.threshold, out);
    }
  }
  std::sort(out.begin(), out.end(), [](const Found& a, const Found& b) {
    const auto key = [](const Keypoint& k) {
      return std::tuple(-k.response, -k.size, -k.octave, -k.y, k.x);
    };
    return key(a.keypoint) < key(b.keypoint);
  });
  return true;
}

}  // namespace cuface::surf
