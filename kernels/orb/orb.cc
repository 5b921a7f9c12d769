#include "kernels/orb/orb.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "kernels/common/simd.h"
#include "kernels/common/try.h"
#include "kernels/fast/fast.h"
#include "kernels/fast/rules.h"
#include "kernels/orb/plan.h"
#include "kernels/orb/reference.h"
#include "kernels/orb/vector.h"
#include "kernels/pyramid/picture_resize.h"

namespace cuface {
namespace {

Status out_of_range(const char* name, double low, double high) {
  const auto text = [](double v) { return shortened(std::to_string(v)); };
  return {StatusCode::kInvalidArgument,
          std::string(name) + " must be " + text(low) + " to " + text(high)};
}

/// Keeps the `count` with the highest score, and all that equal the last of these.
void keep_best(std::vector<Corner>& corners, std::size_t count) {
  if (corners.size() <= count) return;
  if (count == 0) return corners.clear();
  std::size_t of_score[kMostFastThreshold + 1] = {};
  for (const Corner& c : corners) ++of_score[c.score];
  int least = kMostFastThreshold;
  for (std::size_t above = of_score[least]; above < count;) above += of_score[--least];
  std::erase_if(corners, [&](const Corner& c) { return c.score < least; });
}

}  // namespace

Status validate(const OrbConfig& c) {
  if (c.max_keypoints < 1 || c.max_keypoints > kMostKeypoints)
    return out_of_range("max-keypoints", 1, kMostKeypoints);
  if (c.threshold < 0 || c.threshold > kMostFastThreshold)
    return out_of_range("threshold", 0, kMostFastThreshold);
  if (c.levels < 1 || c.levels > kMostOrbLevels) return out_of_range("levels", 1, kMostOrbLevels);
  if (!(c.scale_factor >= kLeastScale && c.scale_factor <= kMostScale))
    return out_of_range("scale-factor", kLeastScale, kMostScale);
  if (c.edge < kLeastEdge || c.edge > kMostEdge) return out_of_range("edge", kLeastEdge, kMostEdge);
  return {};
}

class OrbDetector::Impl {
 public:
  Impl(const OrbConfig& config, int width, int height, FastDetector fast)
      : config_(config),
        width_(width),
        height_(height),
        levels_(orb::plan_levels(config, width, height)),
        fast_(std::move(fast)) {
    for (std::size_t i = 1; i < levels_.size(); ++i) {
      const orb::OrbLevel &from = levels_[i - 1], &to = levels_[i];
      resizes_.emplace_back(from.width, from.height, to.width, to.height);
      pictures_.emplace_back(to.width, to.height);
    }
    if (levels_.empty()) return;
    const Rect inner = orb::inner(levels_[0], config.edge);
    corners_.reserve(most_corners(inner.w, inner.h));
    responses_.reserve(corners_.capacity());
    sorted_.reserve(corners_.capacity());
    if (simd::vectors()) blurred_.emplace(width, height);
  }

  Status run(ImageView<const std::uint8_t> grey, BinaryFeatures& out, const StopFlag* stop) {
    CUFACE_TRY(begin(grey, out));
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      CUFACE_TRY(fill(i, stop));
      CUFACE_TRY(fast_.run(level_, config_.threshold, orb::inner(levels_[i], config_.edge),
                           corners_, stop));
      choose(levels_[i]);
      const std::size_t first = out.keypoints.size();
      for (std::size_t k = 0; k < corners_.size() && out.keypoints.size() < kMostKeypoints; ++k)
        out.keypoints.push_back(keypoint(static_cast<int>(i), corners_[k], responses_[k]));
      resize(out);
      describe_those(static_cast<int>(i), first, out);
    }
    return {};
  }

  Status describe(ImageView<const std::uint8_t> grey, std::span<const Keypoint> given,
                  BinaryFeatures& out, const StopFlag* stop) {
    if (given.size() > kMostKeypoints)
      return {StatusCode::kInvalidArgument,
              "more than " + std::to_string(kMostKeypoints) + " keypoints are given"};
    CUFACE_TRY(begin(grey, out));
    for (const Keypoint& k : given)
      if (is_inside(k)) out.keypoints.push_back(k);
    resize(out);
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      CUFACE_TRY(fill(i, stop));
      describe_those(static_cast<int>(i), 0, out);
    }
    return {};
  }

 private:
  Status begin(ImageView<const std::uint8_t> grey, BinaryFeatures& out) {
    if (!grey.data || grey.width != width_ || grey.height != height_)
      return {StatusCode::kInvalidArgument, "the picture has another size"};
    out.keypoints.clear();
    out.descriptors.clear();
    out.signs.clear();
    level_ = grey;
    return {};
  }

  static void resize(BinaryFeatures& out) {
    out.descriptors.resize(kBinaryBytes * out.keypoints.size());
    out.signs.resize(out.keypoints.size());
  }

  /// level_ := level i, of the one before.
  Status fill(std::size_t i, const StopFlag* stop) {
    if (is_raised(stop)) return cancelled();
    if (i == 0) return {};
    const ImageView<std::uint8_t> to = pictures_[i - 1].view();
    if (!resizes_[i - 1].run(level_, to, stop)) return cancelled();
    level_ = to;
    return {};
  }

  /// Of the corners those that are keypoints, with their responses.
  void choose(const orb::OrbLevel& level) {
    const auto share = static_cast<std::size_t>(level.share);
    const bool by_harris = config_.score == KeypointScore::kHarris;
    keep_best(corners_, by_harris ? 2 * share : share);
    responses_.clear();
    if (!by_harris) {
      for (const Corner& c : corners_) responses_.push_back(static_cast<float>(c.score));
      return;
    }
    const auto sums = simd::vectors() ? orb::harris_sums_vector : orb::harris_sums;
    for (const Corner& c : corners_)
      responses_.push_back(orb::harris_response(sums(level_, c.x, c.y)));
    if (corners_.size() <= share) return;
    float least = 0;
    if (share > 0) {
      sorted_ = responses_;
      const auto last = sorted_.begin() + static_cast<std::ptrdiff_t>(share) - 1;
      std::nth_element(sorted_.begin(), last, sorted_.end(), std::greater<>());
      least = *last;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < corners_.size() && share > 0; ++i) {
      if (responses_[i] < least) continue;
      corners_[kept] = corners_[i];
      responses_[kept++] = responses_[i];
    }
    corners_.resize(kept);
    responses_.resize(kept);
  }

  Keypoint keypoint(int octave, const Corner& corner, float response) const {
    const float scale = levels_[static_cast<std::size_t>(octave)].scale;
    Keypoint k;
    k.x = static_cast<float>(corner.x) * scale;
    k.y = static_cast<float>(corner.y) * scale;
    k.size = orb::kPatch * scale;
    k.response = response;
    k.octave = octave;
    if (!config_.upright) {
      const auto centroid = simd::vectors() ? orb::centroid_vector : orb::centroid;
      const orb::Centroid m = centroid(level_, corner.x, corner.y);
      k.angle = orb::direction(static_cast<float>(m.y), static_cast<float>(m.x));
    }
    return k;
  }

  bool is_inside(const Keypoint& k) const {
    if (k.octave < 0 || k.octave >= static_cast<int>(levels_.size())) return false;
    const orb::OrbLevel& level = levels_[static_cast<std::size_t>(k.octave)];
    return orb::can_be_described(k, level.scale, level.width, level.height);
  }

  /// The signs and descriptors of the keypoints on a level, from `first` on.
  void describe_those(int octave, std::size_t first, BinaryFeatures& out) {
    const orb::OrbLevel& level = levels_[static_cast<std::size_t>(octave)];
    const auto each = [&](auto f) {
      for (std::size_t i = first; i < out.keypoints.size(); ++i) {
        const Keypoint& k = out.keypoints[i];
        if (k.octave == octave)
          f(i, orb::on_level(k.x, level.scale), orb::on_level(k.y, level.scale));
      }
    };
    const auto roll = [&](std::size_t i) { return orb::roll_of(out.keypoints[i].angle); };
    const auto to = [&](std::size_t i) { return out.descriptors.data() + i * kBinaryBytes; };
    each([&](std::size_t i, int x, int y) { out.signs[i] = fast::sign_of(level_, x, y); });
    if (!blurred_) {
      each([&](std::size_t i, int x, int y) { orb::descriptor(level_, x, y, roll(i), to(i)); });
      return;
    }
    blurred_->begin(level_);
    each([&](std::size_t, int x, int y) { blurred_->want(x, y); });
    blurred_->make();
    each([&](std::size_t i, int x, int y) { blurred_->descriptor(x, y, roll(i), to(i)); });
  }

  OrbConfig config_;
  int width_, height_;
  std::vector<orb::OrbLevel> levels_;
  FastDetector fast_;
  std::vector<PictureResize> resizes_;         // from each level to the next
  std::vector<Image<std::uint8_t>> pictures_;  // of the levels above the first
  ImageView<const std::uint8_t> level_{};      // the one that is worked on
  std::vector<Corner> corners_;                // of this level
  std::vector<float> responses_, sorted_;      // of these
  std::optional<orb::BlurredParts> blurred_;   // with vectors
};

OrbDetector::OrbDetector(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OrbDetector::OrbDetector(OrbDetector&&) noexcept = default;
OrbDetector& OrbDetector::operator=(OrbDetector&&) noexcept = default;
OrbDetector::~OrbDetector() = default;

Result<OrbDetector> OrbDetector::create(const OrbConfig& config, int width, int height) {
  CUFACE_TRY(orb::validate_plan(config, width, height));
  CUFACE_TAKE(fast, FastDetector::create(width, height));
  return OrbDetector(std::make_unique<Impl>(config, width, height, std::move(fast)));
}

Status OrbDetector::run(ImageView<const std::uint8_t> grey, BinaryFeatures& out,
                        const StopFlag* stop) {
  return impl_->run(grey, out, stop);
}

Status OrbDetector::describe(ImageView<const std::uint8_t> grey, std::span<const Keypoint> given,
                             BinaryFeatures& out, const StopFlag* stop) {
  return impl_->describe(grey, given, out, stop);
}

}  // namespace cuface
