#include "kernels/surf/describe.h"

#include <algorithm>
#include <cmath>

#include "kernels/common/simd.h"
#include "kernels/features/direction.h"
#include "kernels/surf/rules.h"
#include "kernels/surf/samples.h"

namespace cuface::surf {
namespace {

/// A circle of gradients around a keypoint, in a sixth of its scale, of a standard deviation.
constexpr int kRadius = 6;
constexpr float kRadiusSigma = 2.5f;
/// Of a descriptor's window, in gradients; of cells that overlap, and then of all of them, in
/// cells.
constexpr float kPatchSigma = 3.3f, kCellSigma = 2.5f, kCellsSigma = 1.5f;
/// A number in the published code is below it.
constexpr float kCodeRange = 128;
/// Gradients of a resized window are two differences of grey levels; a wavelet's are one, of either
/// direction.
constexpr float kMostDifference = 510;

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

}  // namespace

std::vector<RingSample> ring_samples() {
  const std::vector<float> ring = gaussian(2 * kRadius + 1, kRadiusSigma);
  std::vector<RingSample> out;
  for (int x = -kRadius; x <= kRadius; ++x)
    for (int y = -kRadius; y <= kRadius; ++y)
      if (x * x + y * y <= kRadius * kRadius)
        out.push_back({x, y,
                       ring[static_cast<std::size_t>(x + kRadius)] *
                           ring[static_cast<std::size_t>(y + kRadius)]});
  return out;
}

std::vector<float> descriptor_weights(const DescriptorShape& shape) {
  std::vector<float> out;
  if (shape.overlaps()) {
    const auto add = [&](int side, float sigma) {
      const float middle = static_cast<float>(side - 1) / 2;
      for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) {
          const float u = static_cast<float>(x) - middle, v = static_cast<float>(y) - middle;
          out.push_back(std::exp(-(u * u + v * v) / (2 * sigma * sigma)));
        }
    };
    add(shape.of_cell(), kCellSigma);
    add(shape.cells, kCellsSigma);
    return out;
  }
  const std::vector<float> patch = gaussian(shape.side(), kPatchSigma);
  for (const float down : patch)
    for (const float across : patch) out.push_back(down * across);
  return out;
}

DescriptorShape shape_of(const SurfConfig& config) {
  return {config.descriptor_size == 64 ? 4 : 3, config.window};
}

Coding coding_of(const SurfConfig& config) {
  const DescriptorShape shape = shape_of(config);
  const std::vector<float> weights = descriptor_weights(shape);
  const auto of_cell = static_cast<std::size_t>(shape.of_cell());
  // Gradients are scaled so that the one of the largest weight fits, and sums so that the largest
  // does.
  float most = 0, most_sum = 0;
  const auto side = static_cast<std::size_t>(shape.overlaps() ? shape.of_cell() : shape.side());
  for (std::size_t i = 0; i < side * side; ++i) most = std::max(most, weights[i]);
  for (std::size_t y = 0; y + of_cell <= side; y += DescriptorShape::kApart)
    for (std::size_t x = 0; x + of_cell <= side; x += DescriptorShape::kApart) {
      float sum = 0;
      for (std::size_t i = 0; i < of_cell * of_cell; ++i)
        sum += weights[(y + i / of_cell) * side + x + i % of_cell];
      most_sum = std::max(most_sum, sum);
    }
  return {config.precision, kCodeRange / (kMostDifference * most), most / most_sum};
}

Describer::Describer(const SurfConfig& config)
    : upright_(config.upright),
      orientation_(config.orientation),
      shape_(shape_of(config)),
      coding_(coding_of(config)),
      samples_(ring_samples()),
      weights_(descriptor_weights(shape_)),
      dx_(static_cast<std::size_t>(shape_.side() * shape_.side())),
      dy_(dx_.size()),
      resize_(shape_.pixels()) {}

bool Describer::orient(ImageView<const std::uint32_t> sums, Keypoint& k) {
  const GradientRing ring = GradientRing::of(k);
  if (!ring.fits(sums)) return false;
  k.angle = 270;
  if (upright_) return true;
  int x, y;
  if (orientation_ == SurfOrientation::kCentroid) {
    k.angle = to_centroid(sums, ring, k);
    return std::any_of(samples_.begin(), samples_.end(),
                       [&](const RingSample& sample) { return ring.place(sums, k, sample, x, y); });
  }
  gradients_.x.clear();
  gradients_.y.clear();
  gradients_.directions.clear();
  gradients_.degrees.clear();
  for (const RingSample& sample : samples_) {
    if (!ring.place(sums, k, sample, x, y)) continue;
    const float gx = answer(ring.wavelets.across, sums, x, y) * sample.weight,
                gy = answer(ring.wavelets.down, sums, x, y) * sample.weight;
    gradients_.x.push_back(gx);
    gradients_.y.push_back(gy);
    gradients_.directions.push_back(direction(gy, gx));
    gradients_.degrees.push_back(nearest(gradients_.directions.back()));
  }
  if (gradients_.x.empty()) return false;
  k.angle = orientation_ == SurfOrientation::kHaar ? longest_turn() : longest_window();
  return true;
}

float Describer::longest_turn() const {
  TurnSums turns;
  (simd::vectors() ? sum_turns_vector : sum_turns)(gradients_, turns);
  Longest longest;
  for (int turn = 0; turn < kTurns; ++turn) longest.take(turns.x[turn], turns.y[turn], turn);
  return longest.direction();
}

float Describer::longest_window() const {
  Longest longest;
  for (std::size_t i = 0; i < gradients_.x.size(); ++i) {
    float x = 0, y = 0;
    for (std::size_t j = 0; j < gradients_.x.size(); ++j) {
      if (!is_in_window(gradients_.directions[j], gradients_.directions[i])) continue;
      x += gradients_.x[j];
      y += gradients_.y[j];
    }
    longest.take(x, y, static_cast<int>(i));
  }
  return longest.direction();
}

float Describer::to_centroid(ImageView<const std::uint32_t> sums, const GradientRing& ring,
                             const Keypoint& k) const {
  const RingBoxes boxes = RingBoxes::of(ring.s);
  std::int64_t across = 0, down = 0;
  for (const RingSample& sample : samples_) {
    const std::int64_t grey = boxes.at(sums, k.x + static_cast<float>(sample.x) * ring.s,
                                       k.y + static_cast<float>(sample.y) * ring.s);
    across += sample.x * grey;
    down += sample.y * grey;
  }
  return direction(static_cast<float>(down), static_cast<float>(across));
}

void Describer::sum(float* out) const {
  for (int cell = 0; cell < shape_.cells * shape_.cells; ++cell) {
    float* sums = out + 4 * cell;
    shape_.add(dx_.data(), weights_.data(), coding_, cell, sums[0], sums[2]);
    shape_.add(dy_.data(), weights_.data(), coding_, cell, sums[1], sums[3]);
  }
  double squares = 0;
  for (int i = 0; i < shape_.floats(); ++i) squares += static_cast<double>(out[i] * out[i]);
  const Normalisation normalisation = Normalisation::of(squares, coding_);
  for (int i = 0; i < shape_.floats(); ++i) out[i] = normalisation.of(out[i], coding_);
}

void Describer::describe(ImageView<const std::uint8_t> grey, const Keypoint& k, float* out) {
  const int pixels = shape_.pixels();
  place_.set(k, upright_, pixels);
  std::uint8_t patch[kMostPatch * kMostPatch];
  if (simd::vectors())
    resize_.run_vector(grey, place_, patch);
  else
    resize_.run(grey, place_, patch);
  std::size_t i = 0;
  for (int y = 0; y < shape_.side(); ++y)
    for (int x = 0; x < shape_.side(); ++x, ++i)
      window_gradient(patch + y * pixels + x, pixels, dx_[i], dy_[i]);
  sum(out);
}

template <typename Gradient>
void Describer::describe_by(const Keypoint& k, const Gradient& gradient, float* out) {
  const TurnedGrid grid = TurnedGrid::of(k, shape_.side());
  std::size_t i = 0;
  for (int y = 0; y < shape_.side(); ++y)
    for (int x = 0; x < shape_.side(); ++x, ++i) grid.gradient(gradient, x, y, dx_[i], dy_[i]);
  sum(out);
}

void Describer::describe_by_sums(ImageView<const std::uint32_t> sums, const Keypoint& k,
                                 float* out) {
  describe_by(k, SumsGradient(sums, scale_of(k)), out);
}

void Describer::describe_by_mipmap(const Mipmap& mipmap, const Keypoint& k, float* out) {
  describe_by(k, MipmapGradient<Mipmap>(mipmap, scale_of(k)), out);
}

}  // namespace cuface::surf
