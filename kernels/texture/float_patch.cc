#include "kernels/texture/float_patch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "kernels/common/simd.h"
#include "kernels/texture/cpu/patch_vectors.h"

namespace cuface {
namespace {

std::size_t size_of(int n) { return static_cast<std::size_t>(n); }

void add_rows_plain(const float* block, int size, std::span<const float* const> patches,
                    float* costs) {
  for (std::size_t i = 0; i < patches.size(); ++i) {
    for (int row = 0; row < texture::kPatchRows; ++row) {
      float sum = 0;
      for (int k = 0; k < size; ++k) sum += block[k * texture::kPatchRows + row] * patches[i][k];
      costs[i] += sum * sum;
    }
  }
}

}  // namespace

void texture::add_rows(const float* block, int size, std::span<const float* const> patches,
                       float* costs) {
  if (simd::vectors()) return add_rows_vector(block, size, patches, costs);
  add_rows_plain(block, size, patches, costs);
}

texture::PatchTable::PatchTable(const PatchRule& rule, std::span<const double> from,
                                std::span<const std::uint32_t> first_numbers) {
  const std::size_t size = size_of(rule.size());
  const std::set<std::uint32_t> different(first_numbers.begin(), first_numbers.end());
  for (const std::uint32_t first : different) {
    const PatchModel one = PatchModel::at(from.data() + first, rule);
    const int blocks = (one.rows + kPatchRows - 1) / kPatchRows;
    models.push_back({first, blocks, static_cast<float>(one.edge), numbers.size()});
    for (std::size_t k = 0; k < size; ++k) numbers.push_back(static_cast<float>(one.mean[k]));
    for (int b = 0; b < blocks; ++b) {
      for (std::size_t k = 0; k < size; ++k) {
        for (int i = b * kPatchRows; i < (b + 1) * kPatchRows; ++i) {
          const int row = one.rows - 1 - i;
          numbers.push_back(row >= 0 ? static_cast<float>(one.matrix[size_of(row) * size + k]) : 0);
        }
      }
    }
  }
}

const texture::PatchTable::Model& texture::PatchTable::model(std::uint32_t first_number) const {
  return *std::lower_bound(models.begin(), models.end(), first_number,
                           [](const Model& m, std::uint32_t n) { return m.first_number < n; });
}

FloatPatch::FloatPatch(const PatchRule& rule, std::span<const double> numbers,
                       std::span<const std::uint32_t> first_numbers)
    : rule_(rule), across_(rule.across()), table_(rule, numbers, first_numbers) {
  const std::size_t size = size_of(rule.size());
  const std::size_t places = size_of(across_ * across_), area = size_of(rule.side + 2 * rule.reach);
  pixel_gradients_.resize((area + 1) * (area + 1));
  gradients_.resize(area * area);
  patches_.resize(places * size);
  costs_.resize(places);
  some_costs_.resize(places);
  some_patches_.reserve(places);
  places_.reserve(places);
}

const float* FloatPatch::block(const Model& model, int b) const {
  return table_.numbers.data() + model.mean +
         size_of(rule_.size()) * size_of(1 + b * texture::kPatchRows);
}

void FloatPatch::set_picture(ImageView<const std::uint8_t> picture, bool has_edges) {
  pixels_ = {picture};
  strongest_ = has_edges ? std::sqrt(static_cast<float>(pixels_.strongest_sobel_square())) : 0;
}

void FloatPatch::make_patches(const texture::BetweenPixels& at, const Model& model) {
  const int rim = rule_.side / 2 + rule_.reach, area = 2 * rim + 1, across = area + 1;
  for (int y = 0; y < across; ++y) {
    for (int x = 0; x < across; ++x) {
      pixel_gradients_[size_of(y * across + x)] = texture::pixel_gradient(
          pixels_, rule_.gradient == PatchRule::kForward, at.x - rim + x, at.y - rim + y);
    }
  }
  const auto q = static_cast<float>(rule_.q);
  for (int y = 0; y < area; ++y) {
    const float* const above = pixel_gradients_.data() + y * across;
    for (int x = 0; x < area; ++x) {
      const float g = at.mix(above[x], above[x + 1], above[x + across], above[x + across + 1]);
      gradients_[size_of(y * area + x)] = texture::counted_gradient(g, q);
    }
  }
  const float* const mean = table_.numbers.data() + model.mean;
  float* to = patches_.data();
  for (int v = 0; v < across_; ++v) {
    for (int u = 0; u < across_; ++u) {
      for (int y = 0; y < rule_.side; ++y) {
        const float* const from = gradients_.data() + (v * rule_.step + y) * area + u * rule_.step;
        for (int x = 0; x < rule_.side; ++x) *to++ = from[x] - mean[y * rule_.side + x];
      }
    }
  }
}

void FloatPatch::weigh(const texture::BetweenPixels& at, const Model& model) {
  places_.clear();
  for (int i = 0; i < across_ * across_; ++i) places_.push_back({i, 1});
  if (!(model.edge > 0)) return;
  for (Place& place : places_) {
    const int x = at.x + place.index % across_ * rule_.step - rule_.reach;
    const int y = at.y + place.index / across_ * rule_.step - rule_.reach;
    const auto edge = [&](int u, int v) { return texture::edge_intensity(pixels_, x + u, y + v); };
    const float here = at.mix(edge(0, 0), edge(1, 0), edge(0, 1), edge(1, 1));
    place.weight = texture::edge_weight(model.edge, here, strongest_);
  }
}

void FloatPatch::add_block(const Model& model, int b, std::span<const Place> places) {
  some_patches_.clear();
  for (std::size_t i = 0; i < places.size(); ++i) {
    some_patches_.push_back(patches_.data() + size_of(places[i].index) * size_of(rule_.size()));
    some_costs_[i] = costs_[size_of(places[i].index)];
  }
  texture::add_rows(block(model, b), rule_.size(), some_patches_, some_costs_.data());
  for (std::size_t i = 0; i < places.size(); ++i) costs_[size_of(places[i].index)] = some_costs_[i];
}

/// A cost only grows, so what is not less than the best one never will be; of equal ones the first
/// place counts.
void FloatPatch::drop_losers(float least, int best) {
  std::erase_if(places_, [&](const Place& place) {
    const float cost = place.weighed(costs_[size_of(place.index)]);
    return !(cost < least || (cost == least && place.index < best));
  });
}

TextureMatch FloatPatch::match(const ShapePoint& point, std::uint32_t first_number) {
  constexpr int kFirstBlocks = 1;  // after which the likeliest place's whole cost is found
  const Model& m = table_.model(first_number);
  const auto at = texture::BetweenPixels::of(point.x, point.y, rule_.is_bilinear);
  make_patches(at, m);
  weigh(at, m);
  std::fill(costs_.begin(), costs_.end(), 0.0f);
  const auto cost_of = [this](const Place& p) { return p.weighed(costs_[size_of(p.index)]); };
  const auto likeliest = [&] {
    return std::min_element(places_.begin(), places_.end(), [&](const Place& a, const Place& b) {
      return cost_of(a) < cost_of(b);
    });
  };
  float least = std::numeric_limits<float>::infinity();
  int best = across_ * across_;
  for (int b = 0; b < m.blocks && !places_.empty(); ++b) {
    add_block(m, b, places_);
    if (b + 1 == kFirstBlocks) {
      const Place place = *likeliest();
      for (int rest = b + 1; rest < m.blocks; ++rest) add_block(m, rest, {&place, 1});
      least = cost_of(place);
      best = place.index;
    }
    drop_losers(least, best);
  }
  if (!places_.empty()) {
    const Place place = *likeliest();
    least = cost_of(place);
    best = place.index;
  }
  if (best == across_ * across_) return {0, 0, static_cast<double>(least)};
  return {best % across_ * rule_.step - rule_.reach, best / across_ * rule_.step - rule_.reach,
          static_cast<double>(least)};
}

}  // namespace cuface
