#include "kernels/surf/window.h"

#include <algorithm>

#include "kernels/surf/rules.h"

namespace cuface::surf {
namespace {

/// Room in arrays for the rest of a vector.
constexpr std::size_t kSpare = 64;

}  // namespace

void sum_turns(const Gradients& gradients, TurnSums& out) {
  for (int turn = 0; turn < kTurns; ++turn) {
    float x = 0, y = 0;
    for (std::size_t i = 0; i < gradients.x.size(); ++i) {
      if (!is_of_turn(gradients.degrees[i], turn)) continue;
      x += gradients.x[i];
      y += gradients.y[i];
    }
    out.x[turn] = x;
    out.y[turn] = y;
  }
}

void WindowPlace::set(const Keypoint& k, bool is_upright, int patch) {
  static_cast<WindowOutline&>(*this) = of(k, is_upright, patch);
  if (upright) return;
  const auto lines = static_cast<std::size_t>(size);
  x.resize(lines);
  y.resize(lines);
  float at_x = x0, at_y = y0;
  for (std::size_t i = 0; i < x.size(); ++i, at_x += sine, at_y += cosine) {
    x[i] = at_x;
    y[i] = at_y;
  }
  // The rest of a vector reads where the last line does.
  x.resize(lines + kSpare, x.back());
  y.resize(lines + kSpare, y.back());
}

Shares shares_of(int from_size, int to_size) {
  Shares out;
  for (int to = 0; to < to_size; ++to) {
    const PixelShare share = PixelShare::of(from_size, to_size, to);
    for (int i = 0; i < share.count; ++i) out.weights.push_back(share.weight(i));
    out.of.push_back({share.first, share.count, nullptr});
  }
  const float* weights = out.weights.data();
  for (Shares::One& one : out.of) {
    one.weights = weights;
    weights += one.count;
  }
  return out;
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
