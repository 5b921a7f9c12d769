#include "kernels/texture/integer_patch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "kernels/common/simd.h"
#include "kernels/texture/cpu/patch_vectors.h"

namespace cuface {
namespace {

std::size_t size_of(int n) { return static_cast<std::size_t>(n); }

/// Pixels that were copied from a picture, about (0, 0).
struct NearPixels {
  const std::uint8_t* origin;
  int across;
  int at(int x, int y) const { return origin[y * across + x]; }
};

void add_rows_plain(const std::int16_t* block, int pairs, const texture::PatchUnits& rows,
                    std::span<const std::int16_t* const> patches, float* costs,
                    float* unlikelihoods) {
  for (std::size_t i = 0; i < patches.size(); ++i) {
    float squares[texture::kPatchRows], products[texture::kPatchRows];
    for (int row = 0; row < texture::kPatchRows; ++row) {
      unsigned sum = 0;  // which may wrap around
      for (int k = 0; k < 2 * pairs; ++k)
        sum += static_cast<unsigned>(block[(k / 2 * texture::kPatchRows + row) * 2 + k % 2] *
                                     patches[i][k]);
      const auto left = static_cast<int>(sum - static_cast<unsigned>(rows.offsets[row]));
      products[row] = static_cast<float>(left) * rows.scales[row];
      squares[row] = products[row] * products[row];
    }
    if (unlikelihoods) unlikelihoods[i] = texture::take_likelihood(products, squares);
    costs[i] += texture::sum_in_halves(squares);
  }
}

}  // namespace

void texture::add_rows(const std::int16_t* block, int pairs, const PatchUnits& rows,
                       std::span<const std::int16_t* const> patches, float* costs,
                       float* unlikelihoods) {
  if (simd::vectors()) return add_rows_vector(block, pairs, rows, patches, costs, unlikelihoods);
  add_rows_plain(block, pairs, rows, patches, costs, unlikelihoods);
}

texture::PatchTable::PatchTable(const PatchRule& rule, std::span<const double> from,
                                std::span<const std::uint32_t> first_numbers)
    : block_size_(size_of(2 * kPatchRows * patch_pairs(rule.size()))) {
  const std::set<std::uint32_t> different(first_numbers.begin(), first_numbers.end());
  for (const std::uint32_t first : different) {
    const PatchModel one = PatchModel::at(from.data() + first, rule);
    const int before = one.likelihood ? kLikelihoodRows : 0;
    const int blocks = (before + one.rows + kPatchRows - 1) / kPatchRows;
    models.push_back({first, blocks, static_cast<float>(one.edge),
                      static_cast<float>(one.edge > 0 ? one.base : 0), rows.size()});
    rows.resize(rows.size() + size_of(blocks));
    numbers.resize(rows.size() * block_size_);
    const int at = static_cast<int>(models.back().first_block) * kPatchRows;
    if (one.likelihood) {
      std::vector<double> row(one.likelihood, one.likelihood + rule.size());
      for (double& v : row) v = -v;
      std::vector<double> left(row.size());
      add_row(rule, one.mean, row.data(), at, left.data());
      add_row(rule, one.mean, left.data(), at + 1);
    }
    for (int i = 0; i < one.rows; ++i)
      add_row(rule, one.mean, one.matrix + size_of(one.rows - 1 - i) * size_of(rule.size()),
              at + before + i);
  }
}

/// `left`: gets what is rounded off.
void texture::PatchTable::add_row(const PatchRule& rule, const double* mean, const double* row,
                                  int at, double* left) {
  // What is left of a sum of 32 bits fits into them, whatever the patch; sums on the way may not.
  constexpr double kMostRounded = 1.25;  // of a number: 0.5, and what its neighbours have left
  const int size = rule.size();
  const double most_sum = 2147483647.0 - (2 * kMostRounded + 0.5) * kPatchOne * size;
  constexpr double kMostNumber = 32637;  // whose upper byte, rounded, is 127
  const double least = rule.gradient == PatchRule::kMagnitude ? 0 : -1;  // that a gradient counts
  double largest = 0, most = 0, fewest = 0;
  for (int k = 0; k < size; ++k) {
    largest = std::max(largest, std::abs(row[k]));
    const auto [less, more] = std::minmax({row[k] * (least - mean[k]), row[k] * (1 - mean[k])});
    most += more * kPatchOne;
    fewest += less * kPatchOne;
  }
  const double unit = std::max(largest / kMostNumber, std::max(most, -fewest) / most_sum);
  if (!(unit > 0)) return;
  std::int16_t* const to = numbers.data() + size_of(at / kPatchRows) * block_size_;
  // What is rounded goes to the nearest two neighbours of the same plane that follow, half each:
  // gradients change slowly from one to the next, so that most of it cancels out. Of one plane that
  // is to the right and below, of two below on either side.
  const bool is_one = rule.planes() == 1;
  std::vector<double> rounded(size_of(size + rule.side + 1));
  double of_mean = 0;
  for (int k = 0; k < size; ++k) {
    const double wanted = row[k] / unit + rounded[size_of(k)], number = std::rint(wanted);
    const int first = is_one ? k + 1 : k + rule.side - 1;
    const int second = is_one ? k + rule.side : k + rule.side + 1;
    const bool has_first = is_one ? (k + 1) % rule.side != 0 : k % rule.side != 0;
    const bool has_second = is_one || (k + 1) % rule.side != 0;
    const double to_each = (wanted - number) / (has_first && has_second ? 2 : 1);
    if (has_first) rounded[size_of(first)] += to_each;
    if (has_second) rounded[size_of(second)] += to_each;
    if (left) left[k] = row[k] - number * unit;
    to[(k / 2 * kPatchRows + at % kPatchRows) * 2 + k % 2] = static_cast<std::int16_t>(number);
    of_mean += number * mean[k] * kPatchOne;
  }
  PatchUnits& out = rows[size_of(at / kPatchRows)];
  out.offsets[at % kPatchRows] =
      static_cast<std::int32_t>(std::lrint(std::clamp(of_mean, -most_sum, most_sum)));
  out.scales[at % kPatchRows] =
      static_cast<float>(std::min<double>(unit / kPatchOne, std::numeric_limits<float>::max()));
}

const texture::PatchTable::Model& texture::PatchTable::model(std::uint32_t first_number) const {
  return *std::lower_bound(models.begin(), models.end(), first_number,
                           [](const Model& m, std::uint32_t n) { return m.first_number < n; });
}

IntegerPatch::IntegerPatch(const PatchRule& rule, std::shared_ptr<const texture::PatchTable> table)
    : rule_(rule), across_(rule.across()), table_(std::move(table)) {
  const std::size_t size = size_of(2 * texture::patch_pairs(rule.size()));
  const std::size_t places = size_of(across_ * across_), area = size_of(rule.side + 2 * rule.reach);
  pixel_gradients_.resize((area + 1) * (area + 1));
  near_.resize((area + 3) * (area + 3));
  gradients_.resize(size_of(rule.planes()) * area * area);
  patches_.resize(places * size);
  costs_.resize(places);
  some_costs_.resize(places);
  unlikelihoods_.resize(places);
  some_unlikelihoods_.resize(places);
  some_patches_.reserve(places);
  places_.reserve(places);
}

const std::int16_t* IntegerPatch::patch(int place) const {
  return patches_.data() + size_of(place * 2 * texture::patch_pairs(rule_.size()));
}

void IntegerPatch::set_picture(ImageView<const std::uint8_t> picture, int strongest) {
  pixels_ = {picture};
  strongest_ = std::sqrt(static_cast<float>(strongest));
}

void IntegerPatch::make_patches(const texture::BetweenPixels& at) {
  const int rim = rule_.side / 2 + rule_.reach, area = 2 * rim + 1, across = area + 1;
  const int planes = rule_.planes();
  const auto q = static_cast<float>(rule_.q);
  // A rim of a pixel, for the neighbours of the outermost.
  const int copied = across + 2;
  for (int y = 0; y < copied; ++y)
    for (int x = 0; x < copied; ++x)
      near_[size_of(y * copied + x)] =
          static_cast<std::uint8_t>(pixels_.at(at.x - rim - 1 + x, at.y - rim - 1 + y));
  const NearPixels near{near_.data() + copied + 1, copied};
  for (int plane = 0; plane < planes; ++plane) {
    const texture::PixelGradient kind = rule_.of_plane(plane);
    for (int y = 0; y < across; ++y)
      for (int x = 0; x < across; ++x)
        pixel_gradients_[size_of(y * across + x)] =
            texture::pixel_gradient<float>(near, kind, x, y);
    for (int y = 0; y < area; ++y) {
      const float* const above = pixel_gradients_.data() + y * across;
      for (int x = 0; x < area; ++x) {
        const float g = at.mix(above[x], above[x + 1], above[x + across], above[x + across + 1]);
        // Two planes are a chessboard each, by which of them is at its corner.
        const int board = planes == 1 ? 0 : (plane + x + y) % 2;
        gradients_[size_of((board * area + y) * area + x)] =
            static_cast<std::int16_t>(texture::counted_gradient(g, q));
      }
    }
  }
  // A number that fills a patch up stays 0.
  for (int place = 0; place < across_ * across_; ++place) {
    std::int16_t* to = patches_.data() + size_of(place * 2 * texture::patch_pairs(rule_.size()));
    const int x = place % across_ * rule_.step, y = place / across_ * rule_.step;
    const int board = planes == 1 ? 0 : (x + y) % 2;
    const std::int16_t* from = gradients_.data() + (board * area + y) * area + x;
    for (int row = 0; row < rule_.side; ++row, from += area) to = std::copy_n(from, rule_.side, to);
  }
}

void IntegerPatch::weigh(const texture::BetweenPixels& at, const Model& model) {
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

void IntegerPatch::add_block(const Model& model, int b, std::span<const Place> places) {
  some_patches_.clear();
  for (std::size_t i = 0; i < places.size(); ++i) {
    some_patches_.push_back(patch(places[i].index));
    some_costs_[i] = costs_[size_of(places[i].index)];
  }
  const std::size_t block = model.first_block + size_of(b);
  const bool has_likelihood = rule_.likelihood > 0 && b == 0;
  texture::add_rows(table_->block(block), texture::patch_pairs(rule_.size()), table_->rows[block],
                    some_patches_, some_costs_.data(),
                    has_likelihood ? some_unlikelihoods_.data() : nullptr);
  for (std::size_t i = 0; i < places.size(); ++i) {
    costs_[size_of(places[i].index)] = some_costs_[i];
    if (has_likelihood) unlikelihoods_[size_of(places[i].index)] = some_unlikelihoods_[i];
  }
}

float IntegerPatch::cost_of(const Place& place, float base) const {
  const std::size_t i = size_of(place.index);
  return texture::place_cost(place.weight, costs_[i], unlikelihoods_[i], base);
}

/// A distance only grows, so what is not less than the best one never will be; of equal ones the
/// first place counts.
void IntegerPatch::drop_losers(float least, int best, float base) {
  std::erase_if(places_, [&](const Place& place) {
    const float cost = cost_of(place, base);
    return !(cost < least || (cost == least && place.index < best));
  });
}

TextureMatch IntegerPatch::match(const ShapePoint& point, std::uint32_t first_number) {
  constexpr int kFirstBlocks = 1;  // after which the likeliest place's whole cost is found
  const Model& m = table_->model(first_number);
  const auto at = texture::BetweenPixels::of(point.x, point.y, rule_.is_bilinear);
  make_patches(at);
  weigh(at, m);
  std::fill(costs_.begin(), costs_.end(), 0.0f);
  const auto likeliest = [&] {
    return std::ranges::min_element(places_, {},
                                    [&](const Place& p) { return cost_of(p, m.base); });
  };
  float least = std::numeric_limits<float>::infinity();
  Place best{across_ * across_, 1};
  const auto take = [&](const Place& place) {
    least = cost_of(place, m.base);
    best = place;
  };
  for (int b = 0; b < m.blocks && !places_.empty(); ++b) {
    add_block(m, b, places_);
    if (b + 1 == kFirstBlocks) {
      const Place place = *likeliest();
      for (int rest = b + 1; rest < m.blocks; ++rest) add_block(m, rest, {&place, 1});
      take(place);
    }
    drop_losers(least, best.index, m.base);
  }
  if (!places_.empty()) take(*likeliest());
  if (best.index == across_ * across_) return {0, 0, static_cast<double>(least)};
  const std::size_t i = size_of(best.index);
  if (rule_.likelihood > 0)
    least = texture::told_cost(best.weight, costs_[i], unlikelihoods_[i], rule_.likelihood);
  return {best.index % across_ * rule_.step - rule_.reach,
          best.index / across_ * rule_.step - rule_.reach, static_cast<double>(least)};
}

}  // namespace cuface
