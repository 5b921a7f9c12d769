#include "kernels/surf/describe.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "kernels/common/simd.h"
#include "kernels/features/direction.h"
#include "kernels/surf/rules.h"

namespace cuface::surf {
namespace {

/// A circle of gradients around a keypoint, in a sixth of its scale, of a standard deviation.
constexpr int kRadius = 6;
constexpr float kRadiusSigma = 2.5f;
/// Of a descriptor's window, in gradients.
constexpr float kPatchSigma = 3.3f;

constexpr WaveletPart kX[] = {{0, 0, 2, 4, -1}, {2, 0, 4, 4, 1}};
constexpr WaveletPart kY[] = {{0, 0, 4, 2, 1}, {0, 2, 4, 4, -1}};

/// As OpenCV has it: of an even number of weights the two in the middle are those of the middle
/// itself.
std::vector<float> gaussian(int size, float sigma) {
  const double scale = -0.125 / (static_cast<double>(sigma) * static_cast<double>(sigma));
  std::vector<double> values;
  double sum = 0;
  for (int x = 1 - size; x < -1; x += 2) {
    values.push_back(std::exp(x * x * scale));
    sum += values.back();
  }
  sum = 2 * sum + (size % 2 == 1 ? 1 : 2);
  std::vector<float> out;
  for (int i = 0; i < size; ++i) {
    const auto from_end = static_cast<std::size_t>(std::min(i, size - 1 - i));
    const double value = from_end < values.size() ? values[from_end] : 1;
    out.push_back(static_cast<float>(value * (1 / sum)));
  }
  return out;
}

/// A gradient of a cell.
void add(float gx, float gy, float* cell) {
  cell[0] += gx;
  cell[1] += gy;
  cell[2] += std::abs(gx);
  cell[3] += std::abs(gy);
}

/// Makes a descriptor one of unit length; without gradients it stays 0.
void normalise(float* out, int floats) {
  double length = 0;
  for (int i = 0; i < floats; ++i) length += static_cast<double>(out[i] * out[i]);
  const auto scale =
      static_cast<float>(1. / (std::sqrt(length) + static_cast<double>(FLT_EPSILON)));
  for (int i = 0; i < floats; ++i) out[i] *= scale;
}

}  // namespace

Describer::Describer(int floats) : cells_(floats == 64 ? 4 : 3), resize_(side() + 1) {
  const std::vector<float> ring = gaussian(2 * kRadius + 1, kRadiusSigma),
                           patch = gaussian(side(), kPatchSigma);
  for (int x = -kRadius; x <= kRadius; ++x)
    for (int y = -kRadius; y <= kRadius; ++y)
      if (x * x + y * y <= kRadius * kRadius)
        samples_.push_back({x, y,
                            ring[static_cast<std::size_t>(x + kRadius)] *
                                ring[static_cast<std::size_t>(y + kRadius)]});
  for (const float down : patch)
    for (const float across : patch) weights_.push_back(down * across);
}

bool Describer::orient(ImageView<const std::uint32_t> sums, bool upright, Keypoint& k) {
  const float s = scale_of(k);
  const int size = 2 * nearest(2 * s);
  if (sums.height < size || sums.width < size) return false;
  k.angle = 270;
  if (upright) return true;
  WaveletBox across[2], down[2];
  for (int i = 0; i < 2; ++i) {
    across[i] = scaled(kX[i], 4, size);
    down[i] = scaled(kY[i], 4, size);
  }
  gradients_.x.clear();
  gradients_.y.clear();
  gradients_.degrees.clear();
  const float middle = static_cast<float>(size - 1) / 2;
  for (const Sample& sample : samples_) {
    const int x = nearest(k.x + static_cast<float>(sample.x) * s - middle);
    const int y = nearest(k.y + static_cast<float>(sample.y) * s - middle);
    if (x < 0 || y < 0 || x >= sums.width - size || y >= sums.height - size) continue;
    const float gx = answer(across, sums, x, y) * sample.weight,
                gy = answer(down, sums, x, y) * sample.weight;
    gradients_.x.push_back(gx);
    gradients_.y.push_back(gy);
    gradients_.degrees.push_back(nearest(direction(gy, gx)));
  }
  if (gradients_.x.empty()) return false;
  TurnSums turns;
  (simd::vectors() ? sum_turns_vector : sum_turns)(gradients_, turns);
  float best = 0, best_x = 0, best_y = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    const float x = turns.x[turn], y = turns.y[turn], length = x * x + y * y;
    if (!(length > best)) continue;
    best = length;
    best_x = x;
    best_y = y;
  }
  k.angle = direction(-best_y, best_x);
  return true;
}

void Describer::describe(ImageView<const std::uint8_t> grey, bool upright, const Keypoint& k,
                         float* out) {
  const int pixels = side() + 1, floats = 4 * cells_ * cells_;
  place_.set(k, upright, pixels);
  std::uint8_t patch[kMostPatch * kMostPatch];
  if (simd::vectors())
    resize_.run_vector(grey, place_, patch);
  else
    resize_.run(grey, place_, patch);
  std::fill(out, out + floats, 0.f);
  for (int y = 0; y < side(); ++y) {
    for (int x = 0; x < side(); ++x) {
      const std::uint8_t *above = patch + y * pixels + x, *below = above + pixels;
      const float weight = weights_[static_cast<std::size_t>(y * side() + x)];
      const float gx = static_cast<float>(above[1] - above[0] + below[1] - below[0]) * weight;
      const float gy = static_cast<float>(below[0] - above[0] + below[1] - above[1]) * weight;
      add(gx, gy, out + 4 * (y / kCell * cells_ + x / kCell));
    }
  }
  normalise(out, floats);
}

template <typename Gradient>
void Describer::describe_by(const Keypoint& k, Gradient gradient, float* out) const {
  const float s = scale_of(k), middle = static_cast<float>(side() - 1) / 2;
  const int floats = 4 * cells_ * cells_;
  const float radians = k.angle * static_cast<float>(3.1415926535897932384626433832795 / 180);
  const float sine = std::sin(radians), cosine = std::cos(radians);
  std::fill(out, out + floats, 0.f);
  for (int i = 0; i < side(); ++i) {
    for (int j = 0; j < side(); ++j) {
      const float u = (static_cast<float>(j) - middle) * s,
                  v = (static_cast<float>(i) - middle) * s;
      float dx = 0, dy = 0;
      if (!gradient(k.x + (u * cosine - v * sine), k.y + (u * sine + v * cosine), dx, dy)) continue;
      const float weight = weights_[static_cast<std::size_t>(i * side() + j)];
      add((dx * cosine + dy * sine) * weight, (dy * cosine - dx * sine) * weight,
          out + 4 * (i / kCell * cells_ + j / kCell));
    }
  }
  normalise(out, floats);
}

void Describer::describe_by_sums(ImageView<const std::uint32_t> sums, const Keypoint& k,
                                 float* out) const {
  const int size = 2 * std::max(1, nearest(scale_of(k)));
  const float corner = static_cast<float>(size - 1) / 2;
  WaveletBox across[2], down[2];
  for (int i = 0; i < 2; ++i) {
    across[i] = scaled(kX[i], 4, size);
    // Down is positive, unlike where directions are found.
    down[i] = scaled(kY[i], 4, size);
    down[i].weight = -down[i].weight;
  }
  const auto gradient = [&](float at_x, float at_y, float& dx, float& dy) {
    const int x = nearest(at_x - corner), y = nearest(at_y - corner);
    if (x < 0 || y < 0 || x >= sums.width - size || y >= sums.height - size) return false;
    dx = answer(across, sums, x, y);
    dy = answer(down, sums, x, y);
    return true;
  };
  describe_by(k, gradient, out);
}

void Describer::describe_by_mipmap(const Mipmap& mipmap, const Keypoint& k, float* out) const {
  const float s = scale_of(k), level = std::log2(s), half = s / 2;
  const auto gradient = [&](float x, float y, float& dx, float& dy) {
    const float left_above = mipmap.at(x - half, y - half, level),
                right_above = mipmap.at(x + half, y - half, level),
                left_below = mipmap.at(x - half, y + half, level),
                right_below = mipmap.at(x + half, y + half, level);
    dx = (right_above + right_below) - (left_above + left_below);
    dy = (left_below + right_below) - (left_above + right_above);
    return true;
  };
  describe_by(k, gradient, out);
}

}  // namespace cuface::surf
