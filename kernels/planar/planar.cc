#include "kernels/planar/planar.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/common/try.h"
#include "kernels/homography/find.h"
#include "kernels/planar/followed.h"
#include "kernels/planar/rules.h"
#include "kernels/planar/view.h"

namespace cuface {

using namespace planar;

namespace {

constexpr int kLeastSide = 16, kLeastPoints = 8, kMostPoints = 512;

}  // namespace

Status validate(const PlanarConfig& config) {
  const auto in_range = [](int value) { return value >= kLeastPoints && value <= kMostPoints; };
  const auto bad = [](const char* what) {
    return Status(StatusCode::kInvalidArgument, std::string(what) + " must be 8 to 512");
  };
  if (!in_range(config.points)) return bad("points");
  if (config.least_matches < 5 || config.least_matches > kMostPoints)
    return {StatusCode::kInvalidArgument, "least_matches must be 5 to 512"};
  if (!in_range(config.least_found)) return bad("least_found");
  if (!in_range(config.least_followed)) return bad("least_followed");
  CUFACE_TRY(validate(config.flow));
  return validate(config.homography);
}

PlanarScratch::PlanarScratch(int width, int height, const PlanarConfig& config)
    : seen_(width, height),
      seen_pyramid_(width, height, 1),
      flow_(config.flow),
      flow_scratch_(FlowConfig{.window = std::max(config.flow.window, kRefineWindow)}),
      refine_{.window = kRefineWindow, .levels = 1} {
  seen_pyramid_.refer(seen_.view());
}

PlanarTracker::PlanarTracker(ImageView<const std::uint8_t> picture, const PlanarConfig& config)
    : config_(config),
      picture_(picture.width, picture.height),
      width_(picture.width),
      height_(picture.height) {
  picture_.build(picture);
  config_.homography.width = static_cast<float>(width_);
  config_.homography.height = static_cast<float>(height_);
}

Result<PlanarTracker> PlanarTracker::create(ImageView<const std::uint8_t> picture,
                                            std::span<const Keypoint> keypoints,
                                            const PlanarConfig& config) {
  CUFACE_TRY(validate(config));
  if (picture.width < kLeastSide || picture.height < kLeastSide)
    return Status(StatusCode::kInvalidArgument,
                  "a picture that is followed has at least 16 pixels along each side");
  PlanarTracker made(picture, config);
  made.points_ = spread_points(keypoints, picture.width, picture.height, config.points);
  made.alike_.assign(made.points_.size(), 0);
  return made;
}

/// The map of the points' flow from the picture, seen by `map`, to the frame. alike_ := the points
/// of which it is made. False where too few agree.
bool PlanarTracker::refine(Homography& map, GaussianPyramid& frame, float threshold,
                           bool must_look_alike, std::uint64_t seed, PlanarScratch& s) {
  const ImageView<const std::uint8_t> pixels = frame.level(0).all();
  const Homography back = inverse(map);
  s.from_.clear();
  s.after_.clear();
  std::ranges::fill(alike_, 0);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    Point at;
    Square square;
    if (!place_point(map, points_[i], pixels.width, pixels.height, at, square)) continue;
    if (!draw(picture_, back, square, kMargin, s.seen_.view())) continue;
    const Likeness like = compare(std::as_const(s.seen_).view(), pixels, square, kMargin);
    if (must_look_alike && !like.at_least(kAlike)) continue;
    relight(s.seen_.view(), square, like);
    Point to;
    std::uint8_t status = 0;
    flow(s.seen_pyramid_, frame, {&at, 1}, {&to, 1}, {&status, 1}, s.refine_, s.flow_scratch_);
    if (!status) continue;
    alike_[i] = 1;
    s.from_.push_back(points_[i]);
    s.after_.push_back(to);
  }
  s.inlier_.resize(s.from_.size());
  HomographyConfig config = config_.homography;
  config.threshold = threshold;
  Homography refined;
  const int inliers = find_homography(s.from_, s.after_, config, seed, s.inlier_, refined);
  if (inliers < config_.least_followed) return false;
  for (std::size_t i = 0, of = 0; i < alike_.size(); ++i)
    if (alike_[i]) alike_[i] = s.inlier_[of++];
  map = refined;
  return true;
}

void PlanarTracker::settle(const Homography& map, int inliers, bool found) {
  pose_ = pose_of(map, width_, height_, inliers, found);
}

/// Refines a map of matches until its points look like the picture. False where they do not.
bool PlanarTracker::verify(Homography& map, GaussianPyramid& frame, std::uint64_t seed,
                           PlanarScratch& s) {
  Point corners[4];
  if (!place_corners(map, width_, height_, corners)) return false;
  for (const float threshold : kRefined)
    if (!refine(map, frame, threshold, threshold == kRefined[2], seed, s)) return false;
  return std::ranges::count(alike_, 1) >= config_.least_found;
}

/// From the points that look like the picture to those around them, as long as they become more:
/// the first of them may lie together, so that corners far from them are a guess.
void PlanarTracker::grow(Homography map, GaussianPyramid& frame, std::uint64_t seed,
                         PlanarScratch& s) {
  for (int round = 0; round < kMostGrowths && pose_.visible; ++round) {
    were_alike_ = alike_;
    PlanarPose next;
    if (refine(map, frame, kRefined[kRounds - 1], true, seed, s)) {
      const auto inliers = static_cast<int>(std::ranges::count(alike_, 1));
      next = pose_of(map, width_, height_, inliers, true);
    }
    if (next.inliers <= pose_.inliers) {
      alike_ = were_alike_;
      return;
    }
    pose_ = next;
  }
}

Status PlanarTracker::find(std::span<const Point> in_picture, std::span<const Point> in_frame,
                           std::span<const float> turns, GaussianPyramid& frame, std::uint64_t seed,
                           PlanarScratch& s, const StopFlag* stop) {
  pose_ = {};
  s.match_from_.assign(in_picture.begin(), in_picture.end());
  s.match_to_.assign(in_frame.begin(), in_frame.end());
  s.match_turn_.assign(turns.begin(), turns.end());
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (is_raised(stop)) return cancelled();
    s.match_inlier_.resize(s.match_from_.size());
    Homography map;
    if (find_homography(s.match_from_, s.match_to_, config_.homography,
                        seed + static_cast<std::uint64_t>(attempt), s.match_inlier_, map,
                        s.match_turn_) < config_.least_matches)
      return {};
    if (verify(map, frame, seed, s)) {
      settle(map, static_cast<int>(std::ranges::count(alike_, 1)), true);
      grow(map, frame, seed, s);
      return {};
    }
    // Something else of the frame has the picture's corners in part: the next map is without it.
    std::size_t kept = 0;
    for (std::size_t i = 0; i < s.match_inlier_.size(); ++i) {
      if (s.match_inlier_[i]) continue;
      s.match_from_[kept] = s.match_from_[i];
      s.match_to_[kept] = s.match_to_[i];
      s.match_turn_[kept++] = s.match_turn_[i];
    }
    s.match_from_.resize(kept);
    s.match_to_.resize(kept);
    s.match_turn_.resize(kept);
  }
  return {};
}

Status PlanarTracker::follow(GaussianPyramid& before, GaussianPyramid& now, std::uint64_t seed,
                             PlanarScratch& s, const StopFlag* stop) {
  if (!pose_.visible) return {};
  const PlanarPose last = pose_;
  pose_ = {};
  s.from_.clear();
  s.before_.clear();
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (!alike_[i]) continue;
    s.from_.push_back(points_[i]);
    s.before_.push_back(last.map.apply(points_[i]));
  }
  s.after_.resize(s.before_.size());
  s.status_.resize(s.before_.size());
  s.inlier_.resize(s.before_.size());
  if (!flow(before, now, s.before_, s.after_, s.status_, s.flow_, s.flow_scratch_, stop))
    return cancelled();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < s.from_.size(); ++i) {
    if (!s.status_[i]) continue;
    s.from_[kept] = s.from_[i];
    s.after_[kept++] = s.after_[i];
  }
  HomographyConfig config = config_.homography;
  config.threshold = kFollowed;
  Homography map;
  const std::span<const Point> from(s.from_.data(), kept), after(s.after_.data(), kept);
  if (find_homography(from, after, config, seed, std::span(s.inlier_).first(kept), map) <
      config_.least_followed)
    return {};
  if (is_raised(stop)) return cancelled();
  if (!refine(map, now, kRefined[2], true, seed, s)) return {};
  settle(map, static_cast<int>(std::ranges::count(alike_, 1)), false);
  return {};
}

}  // namespace cuface
