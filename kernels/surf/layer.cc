#include "kernels/surf/layer.h"

namespace cuface::surf {
namespace {

/// Of the first octave's first layer, and from layer to layer.
constexpr int kUnits = 9, kSize = 9, kSizeStep = 6;

constexpr WaveletPart kXX[] = {{0, 2, 3, 7, 1}, {3, 2, 6, 7, -2}, {6, 2, 9, 7, 1}};
constexpr WaveletPart kYY[] = {{2, 0, 7, 3, 1}, {2, 3, 7, 6, -2}, {2, 6, 7, 9, 1}};
constexpr WaveletPart kXY[] = {
    {1, 1, 4, 4, 1}, {5, 1, 8, 4, -1}, {1, 5, 4, 8, -1}, {5, 5, 8, 8, 1}};

template <std::size_t N>
void scale(const WaveletPart (&parts)[N], int size, WaveletBox (&out)[N]) {
  for (std::size_t i = 0; i < N; ++i) out[i] = scaled(parts[i], kUnits, size);
}

}  // namespace

LayerPlan::LayerPlan(int octave, int index, int width, int height)
    : size((kSize + kSizeStep * index) << octave),
      step(1 << octave),
      columns(width / step),
      rows(height / step),
      margin(size / 2 / step) {
  if (size <= width && size <= height) {
    across = 1 + (width - size) / step;
    down = 1 + (height - size) / step;
  }
  scale(kXX, size, xx);
  scale(kYY, size, yy);
  scale(kXY, size, xy);
}

bool ScaleNeighbours::is_maximum() const {
  for (int layer = 0; layer < 3; ++layer)
    for (int v = 0; v < 3; ++v)
      for (int u = 0; u < 3; ++u)
        if (!(layer == 1 && v == 1 && u == 1) && !(centre() > at[layer][v][u])) return false;
  return true;
}

bool keypoint_at(const LayerPlan* layers, const ScaleNeighbours& around, int octave, int x, int y,
                 Keypoint& out) {
  const LayerPlan& layer = layers[1];
  const auto n = [&](int l, int u, int v) { return around.at[l][v + 1][u + 1]; };
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
  const auto centre = [&](int v) {
    return static_cast<float>(layer.step * (v - layer.margin)) +
           static_cast<float>(layer.size - 1) * 0.5f;
  };
  const auto step = static_cast<float>(layer.step);
  out = {centre(x) + by[0] * step, centre(y) + by[1] * step, 0, 0, around.centre(), octave};
  out.size = std::nearbyint(static_cast<float>(layer.size) +
                            by[2] * static_cast<float>(layer.size - layers[0].size));
  return true;
}

}  // namespace cuface::surf
