#include "kernels/surf/describe.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdlib>

#include "kernels/features/direction.h"
#include "kernels/surf/rules.h"

namespace cuface::surf {
namespace {

/// A circle of gradients around a keypoint, in a sixth of its scale, of a standard deviation.
constexpr int kRadius = 6;
constexpr float kRadiusSigma = 2.5f;
constexpr int kWindowDegrees = 60, kSearchDegrees = 5;
/// Gradients along a side of a descriptor's window.
constexpr int kPatch = 20, kCells = 4, kCell = kPatch / kCells;
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

float scale_of(const Keypoint& k) { return k.size * 1.2f / 9.0f; }

/// A pixel of the window: between four of the picture, or the nearest one at its sides.
std::uint8_t pixel_at(const ImageView<const std::uint8_t>& grey, double x, double y) {
  const int ix = static_cast<int>(std::floor(x)), iy = static_cast<int>(std::floor(y));
  if (ix >= 0 && iy >= 0 && ix < grey.width - 1 && iy < grey.height - 1) {
    const auto a = static_cast<float>(x - ix), b = static_cast<float>(y - iy);
    const std::uint8_t *above = grey.row(iy) + ix, *below = grey.row(iy + 1) + ix;
    return static_cast<std::uint8_t>(nearest(static_cast<float>(above[0]) * (1.f - a) * (1.f - b) +
                                             static_cast<float>(above[1]) * a * (1.f - b) +
                                             static_cast<float>(below[0]) * (1.f - a) * b +
                                             static_cast<float>(below[1]) * a * b));
  }
  return grey.row(
      std::clamp(nearest(y), 0, grey.height - 1))[std::clamp(nearest(x), 0, grey.width - 1)];
}

/// What of a source's pixels is in one of a smaller picture.
struct Share {
  int from, to;
  float weight;
};

std::vector<Share> shares_of(int from_size, int to_size) {
  const double scale = 1 / (static_cast<double>(to_size) / from_size);
  std::vector<Share> out;
  for (int to = 0; to < to_size; ++to) {
    const double begin = to * scale, end = begin + scale;
    const double width = std::min(scale, from_size - begin);
    int last = std::min(static_cast<int>(std::floor(end)), from_size - 1);
    const int first = std::min(static_cast<int>(std::ceil(begin)), last);
    if (first - begin > 1e-3)
      out.push_back({first - 1, to, static_cast<float>((first - begin) / width)});
    for (int i = first; i < last; ++i) out.push_back({i, to, static_cast<float>(1.0 / width)});
    if (end - last > 1e-3)
      out.push_back(
          {last, to, static_cast<float>(std::min(std::min(end - last, 1.), width) / width)});
  }
  return out;
}

/// Pixels' means over areas, as OpenCV's INTER_AREA rounds them.
void resize_by_area(const std::uint8_t* window, int size, std::uint8_t* out, int to) {
  const auto pixel = [&](int x, int y) { return static_cast<int>(window[y * size + x]); };
  if (size % to == 0) {
    const int n = size / to;
    for (int y = 0; y < to; ++y) {
      for (int x = 0; x < to; ++x) {
        int sum = 0;
        for (int v = 0; v < n; ++v)
          for (int u = 0; u < n; ++u) sum += pixel(x * n + u, y * n + v);
        out[y * to + x] = static_cast<std::uint8_t>(
            n == 2 ? (sum + 2) >> 2
                   : nearest(static_cast<float>(sum) * (1.f / static_cast<float>(n * n))));
      }
    }
    return;
  }
  const std::vector<Share> shares = shares_of(size, to);
  std::vector<float> row(static_cast<std::size_t>(to)), sum(static_cast<std::size_t>(to));
  int at = -1;
  const auto write = [&] {
    for (int x = 0; x < to && at >= 0; ++x)
      out[at * to + x] =
          static_cast<std::uint8_t>(std::clamp(nearest(sum[static_cast<std::size_t>(x)]), 0, 255));
  };
  for (const Share& down : shares) {
    std::fill(row.begin(), row.end(), 0.f);
    for (const Share& across : shares)
      row[static_cast<std::size_t>(across.to)] +=
          static_cast<float>(pixel(across.from, down.from)) * across.weight;
    if (down.to != at) {
      write();
      at = down.to;
      std::fill(sum.begin(), sum.end(), 0.f);
    }
    for (std::size_t x = 0; x < sum.size(); ++x) sum[x] += down.weight * row[x];
  }
  write();
}

}  // namespace

Describer::Describer() {
  const std::vector<float> ring = gaussian(2 * kRadius + 1, kRadiusSigma),
                           patch = gaussian(kPatch, kPatchSigma);
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
  struct Gradient {
    float x, y;
    int degrees;
  };
  std::vector<Gradient> gradients;
  const float middle = static_cast<float>(size - 1) / 2;
  for (const Sample& sample : samples_) {
    const int x = nearest(k.x + static_cast<float>(sample.x) * s - middle);
    const int y = nearest(k.y + static_cast<float>(sample.y) * s - middle);
    if (x < 0 || y < 0 || x >= sums.width - size || y >= sums.height - size) continue;
    const float gx = answer(across, sums, x, y) * sample.weight,
                gy = answer(down, sums, x, y) * sample.weight;
    gradients.push_back({gx, gy, nearest(direction(gy, gx))});
  }
  if (gradients.empty()) return false;
  float best = 0, best_x = 0, best_y = 0;
  for (int turn = 0; turn < 360; turn += kSearchDegrees) {
    float x = 0, y = 0;
    for (const Gradient& g : gradients) {
      const int apart = std::abs(g.degrees - turn);
      if (apart >= kWindowDegrees / 2 && apart <= 360 - kWindowDegrees / 2) continue;
      x += g.x;
      y += g.y;
    }
    const float length = x * x + y * y;
    if (length > best) {
      best = length;
      best_x = x;
      best_y = y;
    }
  }
  k.angle = direction(-best_y, best_x);
  return true;
}

void Describer::describe(ImageView<const std::uint8_t> grey, bool upright, const Keypoint& k,
                         float* out) {
  const int size = static_cast<int>((kPatch + 1) * scale_of(k));
  window_.resize(static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
  const float offset = -static_cast<float>(size - 1) / 2;
  if (upright) {
    const int left = nearest(k.x + offset), bottom = nearest(k.y - offset);
    for (int i = 0; i < size; ++i)
      for (int j = 0; j < size; ++j)
        window_[static_cast<std::size_t>(i * size + j)] = grey.row(
            std::clamp(bottom - j, 0, grey.height - 1))[std::clamp(left + i, 0, grey.width - 1)];
  } else {
    const float radians = k.angle * static_cast<float>(3.1415926535897932384626433832795 / 180);
    const float sine = -std::sin(radians), cosine = std::cos(radians);
    float x0 = k.x + offset * cosine + offset * sine, y0 = k.y - offset * sine + offset * cosine;
    for (int i = 0; i < size; ++i, x0 += sine, y0 += cosine) {
      double x = static_cast<double>(x0), y = static_cast<double>(y0);
      for (int j = 0; j < size;
           ++j, x += static_cast<double>(cosine), y -= static_cast<double>(sine))
        window_[static_cast<std::size_t>(i * size + j)] = pixel_at(grey, x, y);
    }
  }
  constexpr int kSide = kPatch + 1;
  std::uint8_t patch[kSide * kSide];
  resize_by_area(window_.data(), size, patch, kSide);
  std::fill(out, out + 64, 0.f);
  for (int y = 0; y < kPatch; ++y) {
    for (int x = 0; x < kPatch; ++x) {
      const std::uint8_t *above = patch + y * kSide + x, *below = above + kSide;
      const float weight = weights_[static_cast<std::size_t>(y * kPatch + x)];
      const float gx = static_cast<float>(above[1] - above[0] + below[1] - below[0]) * weight;
      const float gy = static_cast<float>(below[0] - above[0] + below[1] - above[1]) * weight;
      float* cell = out + 4 * (y / kCell * kCells + x / kCell);
      cell[0] += gx;
      cell[1] += gy;
      cell[2] += std::abs(gx);
      cell[3] += std::abs(gy);
    }
  }
  double length = 0;
  for (int i = 0; i < 64; ++i) length += static_cast<double>(out[i] * out[i]);
  const auto scale =
      static_cast<float>(1. / (std::sqrt(length) + static_cast<double>(FLT_EPSILON)));
  for (int i = 0; i < 64; ++i) out[i] *= scale;
}

}  // namespace cuface::surf
