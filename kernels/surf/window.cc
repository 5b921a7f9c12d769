#include "kernels/surf/window.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "kernels/surf/rules.h"

namespace cuface::surf {
namespace {

constexpr int kWindowDegrees = 60;
/// Room in arrays for the rest of a vector.
constexpr std::size_t kSpare = 64;

}  // namespace

std::uint8_t mean_of(int sum, int side) {
  return static_cast<std::uint8_t>(
      side == 2 ? (sum + 2) >> 2
                : nearest(static_cast<float>(sum) * (1.f / static_cast<float>(side * side))));
}

std::uint8_t byte_of(float value) {
  return static_cast<std::uint8_t>(std::clamp(nearest(value), 0, 255));
}

void sum_turns(const Gradients& gradients, TurnSums& out) {
  for (int turn = 0; turn < kTurns; ++turn) {
    float x = 0, y = 0;
    for (std::size_t i = 0; i < gradients.x.size(); ++i) {
      const int apart = std::abs(gradients.degrees[i] - turn * kTurnDegrees);
      if (apart >= kWindowDegrees / 2 && apart <= 360 - kWindowDegrees / 2) continue;
      x += gradients.x[i];
      y += gradients.y[i];
    }
    out.x[turn] = x;
    out.y[turn] = y;
  }
}

void WindowPlace::set(const Keypoint& k, bool is_upright, int patch) {
  size = static_cast<int>(static_cast<float>(patch) * scale_of(k));
  upright = is_upright;
  const float offset = -static_cast<float>(size - 1) / 2;
  if (upright) {
    left = nearest(k.x + offset);
    bottom = nearest(k.y - offset);
    return;
  }
  const float radians = k.angle * static_cast<float>(3.1415926535897932384626433832795 / 180);
  sine = -std::sin(radians);
  cosine = std::cos(radians);
  const auto lines = static_cast<std::size_t>(size);
  x.resize(lines);
  y.resize(lines);
  float x0 = k.x + offset * cosine + offset * sine, y0 = k.y - offset * sine + offset * cosine;
  for (std::size_t i = 0; i < x.size(); ++i, x0 += sine, y0 += cosine) {
    x[i] = x0;
    y[i] = y0;
  }
  // The rest of a vector reads where the last line does.
  x.resize(lines + kSpare, x.back());
  y.resize(lines + kSpare, y.back());
}

Shares shares_of(int from_size, int to_size) {
  const double scale = 1 / (static_cast<double>(to_size) / from_size);
  Shares out;
  for (int to = 0; to < to_size; ++to) {
    const double begin = to * scale, end = begin + scale;
    const double width = std::min(scale, from_size - begin);
    const int last = std::min(static_cast<int>(std::floor(end)), from_size - 1);
    const int first = std::min(static_cast<int>(std::ceil(begin)), last);
    Shares::One one{first, 0, nullptr};
    const auto add = [&](double weight) {
      out.weights.push_back(static_cast<float>(weight));
      ++one.count;
    };
    if (first - begin > 1e-3) {
      --one.first;
      add((first - begin) / width);
    }
    for (int i = first; i < last; ++i) add(1.0 / width);
    if (end - last > 1e-3) add(std::min(std::min(end - last, 1.), width) / width);
    out.of.push_back(one);
  }
  const float* weights = out.weights.data();
  for (Shares::One& one : out.of) {
    one.weights = weights;
    weights += one.count;
  }
  return out;
}

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

const Shares& WindowResize::shares(int size) {
  const auto at = static_cast<std::size_t>(size);
  if (shares_.size() <= at) shares_.resize(at + 1);
  if (shares_[at].of.empty()) shares_[at] = shares_of(size, patch_);
  return shares_[at];
}

void WindowResize::run(ImageView<const std::uint8_t> grey, const WindowPlace& place,
                       std::uint8_t* patch) {
  const int size = place.size;
  pixels_.resize(static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) {
    std::uint8_t* line = pixels_.data() + static_cast<std::ptrdiff_t>(i) * size;
    if (place.upright) {
      const int column = std::clamp(place.left + i, 0, grey.width - 1);
      for (int j = 0; j < size; ++j)
        line[j] = grey.row(std::clamp(place.bottom - j, 0, grey.height - 1))[column];
      continue;
    }
    place.for_each_of_line(i, [&](int j, double x, double y) { line[j] = pixel_at(grey, x, y); });
  }
  const auto pixel = [&](int x, int y) {
    return static_cast<int>(pixels_[static_cast<std::size_t>(y * size + x)]);
  };
  const int side = size % patch_ == 0 ? size / patch_ : 0;
  const Shares& shares = this->shares(size);
  for (int y = 0; y < patch_; ++y) {
    for (int x = 0; x < patch_; ++x) {
      if (side > 0) {
        int sum = 0;
        for (int v = 0; v < side; ++v)
          for (int u = 0; u < side; ++u) sum += pixel(x * side + u, y * side + v);
        patch[y * patch_ + x] = mean_of(sum, side);
        continue;
      }
      const Shares::One &across = shares.of[static_cast<std::size_t>(x)],
                        &down = shares.of[static_cast<std::size_t>(y)];
      float sum = 0;
      for (int v = 0; v < down.count; ++v) {
        float row = 0;
        for (int u = 0; u < across.count; ++u)
          row += static_cast<float>(pixel(across.first + u, down.first + v)) * across.weights[u];
        sum += down.weights[v] * row;
      }
      patch[y * patch_ + x] = byte_of(sum);
    }
  }
}

}  // namespace cuface::surf
