#include "kernels/texture/float_hat.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/common/simd.h"
#include "kernels/texture/cpu/hat_vectors.h"

namespace cuface {
namespace {

std::size_t size_of(int n) { return static_cast<std::size_t>(n); }

/// The root of what each histogram has, and the root of their sum.
float describe_plain(const texture::HatPatch& patch, std::span<const texture::HatTaps> rows,
                     std::span<const texture::HatTaps> columns, int bins, float* sums, float* out) {
  float total = 0;
  const int width = patch.right - patch.left;
  for (int bin = 0; bin < bins; ++bin) {
    float all = 0, *to = out + bin;
    for (const texture::HatTaps& row : rows) {
      const int low = std::max(row.first, patch.top);
      const int high = std::min(row.first + row.count, patch.bottom);
      for (int u = 0; u < width; ++u) {
        float sum = 0;
        for (int v = low; v < high; ++v) {
          sum += row.weight[v - row.first] *
                 patch.pixels[(v - patch.top) * patch.stride + u * bins + bin];
        }
        sums[u] = sum;
      }
      for (const texture::HatTaps& column : columns) {
        const int left = std::max(column.first, patch.left);
        const int right = std::min(column.first + column.count, patch.right);
        float sum = 0;
        for (int u = left; u < right; ++u) {
          sum += column.weight[u - column.first] * sums[u - patch.left];
        }
        all += sum;
        *to = std::sqrt(sum);
        to += bins;
      }
    }
    total += all;
  }
  return std::sqrt(total);
}

float weigh_plain(const float* descriptor, const float* coefficients, int histograms, int bins) {
  float total = 0;
  for (int bin = 0; bin < bins; ++bin) {
    float sum = 0;
    for (int i = bin; i < histograms * bins; i += bins) sum += descriptor[i] * coefficients[i];
    total += sum;
  }
  return total;
}

}  // namespace

std::vector<texture::HatTaps> texture::hat_taps(int patch, int histograms, double decay) {
  std::vector<HatTaps> all(size_of(histograms));
  const int half = patch / 2;
  for (int h = 0; h < histograms; ++h) {
    HatTaps& taps = all[size_of(h)];
    for (int v = -half; v <= half; ++v) {
      const double place = v * (histograms / (patch - 1.0));
      const double near = 1 - std::abs(place + histograms / 2.0 - 0.5 - h);
      if (!(near > 0)) continue;
      if (taps.count == 0) taps.first = v + half;
      taps.weight[taps.count++] = static_cast<float>(std::exp(decay * place * place) * near);
    }
  }
  return all;
}

float texture::describe_hat(const HatPatch& patch, std::span<const HatTaps> rows,
                            std::span<const HatTaps> columns, int bins, float* sums, float* out) {
  if (bins == kVectorBins && simd::vectors()) {
    return describe_hat_vector(patch, rows, columns, sums, out);
  }
  return describe_plain(patch, rows, columns, bins, sums, out);
}

float texture::weigh_hat(const float* descriptor, const float* coefficients, int histograms,
                         int bins) {
  if (bins == kVectorBins && simd::vectors()) {
    return weigh_hat_vector(descriptor, coefficients, histograms);
  }
  return weigh_plain(descriptor, coefficients, histograms, bins);
}

std::vector<texture::HatGradient> texture::hat_gradients(int bins) {
  std::vector<HatGradient> all(size_of(kHatDifferences) * kHatDifferences);
  HatGradient* out = all.data();
  for (int dy = -255; dy <= 255; ++dy) {
    for (int dx = -255; dx <= 255; ++dx, ++out) {
      double turn = std::atan2(dy, dx) * bins / (2 * std::numbers::pi);
      if (turn < 0) turn += bins;
      const int bin = std::min(static_cast<int>(turn), bins - 1);
      const double size = std::sqrt(static_cast<double>(dx * dx + dy * dy));
      *out = {static_cast<float>(size * (1 - (turn - bin))),
              static_cast<float>(size * (turn - bin)), bin};
    }
  }
  return all;
}

double texture::hat_decay(const HatRule& rule) {
  return -1 / (rule.sigma * rule.rows * rule.columns);
}

FloatHat::FloatHat(const HatRule& rule, std::span<const double> numbers)
    : rule_(rule),
      kept_side_(rule.size() <= 256 ? 64 : 16),
      gradients_(texture::hat_gradients(rule.bins)),
      kept_(kept_side_ * kept_side_) {
  for (const double n : numbers) numbers_.push_back(static_cast<float>(n));
  descriptors_.resize(kept_.size() * size_of(rule.size()));
}

void FloatHat::set_picture(ImageView<const std::uint8_t> picture, int patch) {
  if (patch != patch_) {
    patch_ = patch;
    const double decay = texture::hat_decay(rule_);
    rows_ = texture::hat_taps(patch, rule_.rows, decay);
    columns_ = texture::hat_taps(patch, rule_.columns, decay);
    sums_.resize(size_of(rule_.rows) * size_of(patch) * size_of(rule_.bins));
  }
  picture_ = picture;
  tiles_across_ = (picture.width + kTile - 1) / kTile;
  is_made_.assign(size_of(tiles_across_) * size_of((picture.height + kTile - 1) / kTile), 0);
  const std::size_t floats = size_of(picture.width) * size_of(picture.height) * size_of(rule_.bins);
  if (pixels_.size() < floats) pixels_.resize(floats);
  for (Kept& kept : kept_) kept.is_set = false;
}

void FloatHat::make_tile(int column, int row) {
  std::uint8_t& made = is_made_[size_of(row * tiles_across_ + column)];
  if (made) return;
  made = 1;
  const int bins = rule_.bins, left = column * kTile;
  const int right = std::min(left + kTile, picture_.width);
  for (int y = row * kTile; y < std::min((row + 1) * kTile, picture_.height); ++y) {
    float* out =
        pixels_.data() + (size_of(y) * size_of(picture_.width) + size_of(left)) * size_of(bins);
    std::fill_n(out, (right - left) * bins, 0.0f);
    if (y + 1 == picture_.height) continue;  // the last row and column have no gradient
    const std::uint8_t *here = picture_.row(y), *below = picture_.row(y + 1);
    for (int x = left; x < std::min(right, picture_.width - 1); ++x, out += bins) {
      const int dx = here[x + 1] - here[x], dy = below[x] - here[x];
      const texture::HatGradient& g =
          gradients_[size_of((dy + 255) * texture::kHatDifferences + dx + 255)];
      out[g.bin] = g.here;
      out[g.bin + 1 < bins ? g.bin + 1 : 0] = g.next;
    }
  }
}

const FloatHat::Kept& FloatHat::describe(int x, int y, std::size_t slot) {
  const int half = patch_ / 2;
  const int left = std::clamp(x - half, 0, picture_.width);
  const int right = std::clamp(x + half + 1, 0, picture_.width);
  const int top = std::clamp(y - half, 0, picture_.height);
  const int bottom = std::clamp(y + half + 1, 0, picture_.height);
  float* const out = descriptors_.data() + slot * size_of(rule_.size());
  Kept& kept = kept_[slot];
  kept = {x, y, true, 0};
  if (left >= right || top >= bottom) {
    std::fill_n(out, rule_.size(), 0.0f);
    return kept;
  }
  for (int row = top / kTile; row <= (bottom - 1) / kTile; ++row)
    for (int column = left / kTile; column <= (right - 1) / kTile; ++column) make_tile(column, row);
  const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(picture_.width) * rule_.bins;
  const texture::HatPatch patch{pixels_.data() + top * stride + left * rule_.bins,
                                stride,
                                left - (x - half),
                                top - (y - half),
                                right - (x - half),
                                bottom - (y - half)};
  const float norm = texture::describe_hat(patch, rows_, columns_, rule_.bins, sums_.data(), out);
  if (norm > 1e-7f) kept.scale = static_cast<float>(rule_.length) / norm;
  return kept;
}

void FloatHat::descriptor(int x, int y, std::span<float> out) {
  const float scale = describe(x, y, 0).scale;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = scale * descriptors_[i];
}

double FloatHat::cost(int x, int y, std::uint32_t first_number) {
  const auto place = [&](int v) {
    return static_cast<std::size_t>(static_cast<unsigned>(v / rule_.step) % kept_side_);
  };
  const std::size_t slot = place(y) * kept_side_ + place(x);
  const Kept& kept = kept_[slot];
  if (!kept.is_set || kept.x != x || kept.y != y) describe(x, y, slot);
  const float* const model = numbers_.data() + first_number;
  return model[0] +
         kept.scale * texture::weigh_hat(descriptors_.data() + slot * size_of(rule_.size()),
                                         model + 1, rule_.rows * rule_.columns, rule_.bins);
}

}  // namespace cuface
