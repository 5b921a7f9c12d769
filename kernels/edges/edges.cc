#include "kernels/edges/edges.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/bits.h"
#include "kernels/common/draw_bits.h"
#include "kernels/common/simd.h"
#include "kernels/common/try.h"
#include "kernels/convolve/convolve.h"
#include "kernels/edges/cpu/rows.h"
#include "kernels/edges/full.h"
#include "kernels/edges/plan.h"
#include "kernels/edges/reference.h"

namespace cuface {
namespace {

Status invalid(const std::string& what) { return {StatusCode::kInvalidArgument, what}; }

}  // namespace

Status validate(const EdgeConfig& config) {
  CUFACE_TRY(gaussian_weights(config.kernel_size, config.sigma).status());
  const int aperture = config.aperture;
  if (aperture != 3 && aperture != 5 && aperture != 7)
    return invalid("aperture must be 3, 5 or 7, not " + std::to_string(aperture));
  if (aperture != 3 && config.op != GradientOperator::kSobel)
    return invalid("aperture " + std::to_string(aperture) + " needs the operator sobel");
  if (!std::isfinite(config.low) || config.low < 0) return invalid("low must be 0 or more");
  if (!std::isfinite(config.high) || config.high < 0) return invalid("high must be 0 or more");
  if (config.apron < 0 || config.apron > kMostApron)
    return invalid("apron must be 0 to " + std::to_string(kMostApron) + ", not " +
                   std::to_string(config.apron));
  return {};
}

EdgeRules edge_rules(const EdgeConfig& config) {
  EdgeRules rules;
  rules.norm = config.norm;
  rules.thinning = config.thinning;
  rules.linking = config.linking;
  rules.apron = config.linking == Linking::kApron ? config.apron : 0;

  struct Taps {
    int count;
    std::int32_t smooth[7], slope[7], gain;
  };
  constexpr Taps kSobel3 = {3, {1, 2, 1}, {-1, 0, 1}, 4};
  constexpr Taps kSobel5 = {5, {1, 4, 6, 4, 1}, {-1, -2, 0, 2, 1}, 48};
  constexpr Taps kSobel7 = {7, {1, 6, 15, 20, 15, 6, 1}, {-1, -4, -5, 0, 5, 4, 1}, 40};
  constexpr Taps kScharr = {3, {3, 10, 3}, {-1, 0, 1}, 16};
  constexpr Taps kPrewitt = {3, {1, 1, 1}, {-1, 0, 1}, 3};
  const Taps& taps = config.op == GradientOperator::kScharr    ? kScharr
                     : config.op == GradientOperator::kPrewitt ? kPrewitt
                     : config.aperture == 3                    ? kSobel3
                     : config.aperture == 5                    ? kSobel5
                                                               : kSobel7;
  rules.taps = taps.count;
  std::copy_n(taps.smooth, 7, rules.smooth);
  std::copy_n(taps.slope, 7, rules.slope);
  rules.gain = taps.gain;
  rules.sixteenths = taps.count == 7;

  double low = std::min(config.low, config.high), high = std::max(config.low, config.high);
  if (rules.sixteenths) {
    low /= 16;
    high /= 16;
  }
  // No gradient is above it, whatever the norm; for L2 OpenCV has the same limit.
  constexpr double kMost = 32767;
  low = std::min(low, kMost);
  high = std::min(high, kMost);
  const bool squared = config.norm == GradientNorm::kL2;
  rules.low = static_cast<std::int32_t>(std::floor(squared ? low * low : low));
  rules.high = static_cast<std::int32_t>(std::floor(squared ? high * high : high));
  return rules;
}

Status validate_plan(const EdgeConfig& config, int width, int height) {
  CUFACE_TRY(validate(config));
  if (width < 1 || height < 1 || width > kMostEdgeSide || height > kMostEdgeSide)
    return invalid("a picture needs sides of 1 to " + std::to_string(kMostEdgeSide) + " pixels");
  return {};
}

Status validate_run(ImageView<const std::uint8_t> grey, const EdgeViews& out, int width,
                    int height) {
  if (!grey.data || grey.width != width || grey.height != height)
    return invalid("the picture has another size");
  for (const ImageView<std::uint8_t>& view : {out.map, out.magnitude, out.angle}) {
    if (view.data && (view.width != width || view.height != height))
      return invalid("a result has another size");
  }
  if (out.bits.data && (out.bits.width != words_of(width) || out.bits.height != height))
    return invalid("a result has another size");
  return {};
}

namespace {

/// Around a picture as Convolution::kFull has it, and what is found there.
struct Surroundings {
  static Result<Surroundings> create(const EdgeConfig& config, int width, int height) {
    const int margin = edges::full_margin(config);
    EdgeConfig behind = config;  // the blur
    behind.kernel_size = 1;
    behind.convolution = Convolution::kOpenCv;
    const int w = width + 2 * margin, h = height + 2 * margin;
    CUFACE_TAKE(detector, EdgeDetector::create(behind, w, h));
    return Surroundings{margin, std::move(detector), {w, h}, {w, h}, {w, h}, {w, h}};
  }

  Status run(ImageView<const std::uint8_t> grey, const std::vector<int>& weights,
             const EdgeViews& out, const StopFlag* stop) {
    edges::blur_full(grey, weights, margin, blurred.view());
    EdgeViews found;
    if (out.map.data || out.bits.data) found.map = map.view();
    if (out.magnitude.data) found.magnitude = magnitude.view();
    if (out.angle.data) found.angle = angle.view();
    CUFACE_TRY(detector.run(blurred.view(), found, stop));
    for (int y = 0; y < grey.height; ++y) {
      const auto cut = [&](const ImageView<std::uint8_t>& from, const ImageView<std::uint8_t>& to) {
        if (to.data) std::copy_n(from.row(y + margin) + margin, grey.width, to.row(y));
      };
      cut(found.map, out.map);
      cut(found.magnitude, out.magnitude);
      cut(found.angle, out.angle);
      if (out.bits.data) pack_row(found.map.row(y + margin) + margin, grey.width, out.bits.row(y));
    }
    return {};
  }

  int margin;
  EdgeDetector detector;
  Image<std::uint8_t> blurred, map, magnitude, angle;
};

}  // namespace

class EdgeDetector::Impl {
 public:
  Impl(const EdgeConfig& config, int width, int height)
      : width_(width),
        height_(height),
        weights_(gaussian_weights(config.kernel_size, config.sigma).value()),
        rules_(edge_rules(config)) {
    if (config.convolution == Convolution::kFull) return;
    if (simd::vectors()) {
      rows_.emplace(width, height, rules_, weights_);
      linker_.emplace(width, height, rules_);
    } else {
      pictures_.emplace(width, height);
    }
  }

  Status run(ImageView<const std::uint8_t> grey, const EdgeViews& out, const StopFlag* stop) {
    CUFACE_TRY(validate_run(grey, out, width_, height_));
    if (around_) return around_->run(grey, weights_, out, stop);
    if (!rows_) return run_plain(grey, out, stop);
    if (!edges::classify(*rows_, grey, {out.magnitude, out.angle}, stop)) return cancelled();
    if (!out.map.data && !out.bits.data) return {};
    linker_->run(rows_->ridges, rows_->edges);
    if (out.map.data) draw_bits(rows_->edges.view(), out.map);
    for (int y = 0; y < height_ && out.bits.data; ++y)
      std::copy_n(rows_->edges.row(y), out.bits.width, out.bits.row(y));
    return {};
  }

 private:
  struct Pictures {
    Pictures(int width, int height)
        : blurred(width, height),
          dx(width, height),
          dy(width, height),
          magnitude(width, height),
          classes(width, height),
          map(width, height) {}
    Image<std::uint8_t> blurred;
    Image<std::int16_t> dx, dy;
    Image<std::int32_t> magnitude;
    Image<std::uint8_t> classes, map;
  };

  Status run_plain(ImageView<const std::uint8_t> grey, const EdgeViews& out, const StopFlag* stop) {
    Pictures& p = *pictures_;
    if (weights_.size() > 1) {
      gaussian_blur(grey, weights_, p.blurred.view());
      grey = p.blurred.view();
    }
    if (is_raised(stop)) return cancelled();
    const ImageView<std::int16_t> dx = p.dx.view(), dy = p.dy.view();
    const ImageView<std::int32_t> magnitude = p.magnitude.view();
    edges::gradients(grey, rules_, dx, dy);
    edges::magnitudes(dx, dy, rules_, magnitude);
    if (is_raised(stop)) return cancelled();
    if (out.map.data || out.bits.data) {
      const ImageView<std::uint8_t> map = out.map.data ? out.map : p.map.view();
      edges::thin(dx, dy, magnitude, rules_, p.classes.view());
      edges::link(p.classes.view(), magnitude, rules_, waiting_, map);
      for (int y = 0; y < height_ && out.bits.data; ++y)
        pack_row(map.row(y), width_, out.bits.row(y));
    }
    for (int y = 0; y < height_ && (out.magnitude.data || out.angle.data); ++y) {
      for (int x = 0; x < width_; ++x) {
        if (out.magnitude.data) out.magnitude.at(x, y) = contrast(magnitude.at(x, y), rules_);
        if (out.angle.data)
          out.angle.at(x, y) = angle_step(dx.at(x, y), dy.at(x, y), edges::kOctave);
      }
    }
    return {};
  }

  friend class EdgeDetector;
  int width_, height_;
  std::vector<int> weights_;
  EdgeRules rules_;
  std::optional<Surroundings> around_;  ///< of Convolution::kFull, and then nothing else
  std::optional<edges::Rows> rows_;     ///< with vectors
  std::optional<edges::Linker> linker_;
  std::optional<Pictures> pictures_;  ///< without
  std::vector<std::int32_t> waiting_;
};

EdgeDetector::EdgeDetector(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EdgeDetector::EdgeDetector(EdgeDetector&&) noexcept = default;
EdgeDetector& EdgeDetector::operator=(EdgeDetector&&) noexcept = default;
EdgeDetector::~EdgeDetector() = default;

Result<EdgeDetector> EdgeDetector::create(const EdgeConfig& config, int width, int height) {
  CUFACE_TRY(simd::status());
  CUFACE_TRY(validate_plan(config, width, height));
  auto impl = std::make_unique<Impl>(config, width, height);
  if (config.convolution == Convolution::kFull) {
    CUFACE_TAKE(around, Surroundings::create(config, width, height));
    impl->around_.emplace(std::move(around));
  }
  return EdgeDetector(std::move(impl));
}

Status EdgeDetector::run(ImageView<const std::uint8_t> grey, const EdgeViews& out,
                         const StopFlag* stop) {
  return impl_->run(grey, out, stop);
}

}  // namespace cuface
