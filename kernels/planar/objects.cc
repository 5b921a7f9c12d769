#include "kernels/planar/objects.h"

#include <algorithm>
#include <utility>

#include "kernels/common/random.h"
#include "kernels/common/try.h"
#include "kernels/match/match_features.h"

namespace cuface {
namespace {

bool is_missing(const PlanarObjects::Object& object) { return !object.tracker.pose().visible; }

}  // namespace

Status validate(const PlanarSearchConfig& config) {
  CUFACE_TRY(validate(config.planar));
  CUFACE_TRY(validate(config.features));
  CUFACE_TRY(validate(config.match));
  if (config.interval < 1)
    return {StatusCode::kInvalidArgument, "the interval of searches must be 1 or more"};
  return {};
}

Result<PlanarObjects> PlanarObjects::create(const std::vector<Reference>& references,
                                            const PlanarSearchConfig& config,
                                            const std::vector<std::uint64_t>& ids) {
  CUFACE_TRY(validate(config));
  CUFACE_TAKE(bytes, Matcher::create(config.match));
  MatchConfig with_signs = config.match;
  with_signs.sign_check = true;
  CUFACE_TAKE(floats, Matcher::create(with_signs));
  PlanarObjects made(config, std::move(bytes), std::move(floats));
  for (const Reference& reference : references) {
    CUFACE_TAKE(tracker, PlanarTracker::create(reference.picture, reference.features->keypoints,
                                               config.planar));
    made.objects_.push_back({std::move(tracker), reference.features});
  }
  for (std::size_t o = 0; o < std::min(ids.size(), made.objects_.size()); ++o) {
    made.objects_[o].id = ids[o];
    made.ids_ = std::max(made.ids_, ids[o]);
  }
  return made;
}

std::vector<std::uint64_t> PlanarObjects::ids() const {
  std::vector<std::uint64_t> ids;
  for (const Object& object : objects_) ids.push_back(object.id);
  return ids;
}

void PlanarObjects::lose() {
  for (Object& object : objects_) object.tracker.lose();
}

Status PlanarObjects::resize(int width, int height) {
  lose();
  CUFACE_TAKE(finder, FeatureFinder::create(config_.features, width, height));
  finder_.emplace(std::move(finder));
  scratch_.emplace(width, height, config_.planar);
  return {};
}

Status PlanarObjects::search(Object& object, const Features& features, GaussianPyramid& now,
                             std::uint64_t seed, const StopFlag* stop) {
  const Features& picture = *object.features;
  if (picture.keypoints.empty() || features.keypoints.empty()) return {};
  CUFACE_TRY(match_features(picture.floats.empty() ? match_bytes_ : match_floats_, picture,
                            features, static_cast<int>(picture.floats_each()), matches_, stop));
  in_picture_.clear();
  in_frame_.clear();
  turns_.clear();
  for (const Match& m : matches_) {
    const Keypoint& ours = picture.keypoints[static_cast<std::size_t>(m.query)];
    const Keypoint& theirs = features.keypoints[static_cast<std::size_t>(m.train)];
    in_picture_.push_back({ours.x, ours.y});
    in_frame_.push_back({theirs.x, theirs.y});
    turns_.push_back(theirs.angle - ours.angle);
  }
  CUFACE_TRY(object.tracker.find(in_picture_, in_frame_, turns_, now, seed, *scratch_, stop));
  if (object.tracker.pose().visible && object.id == 0) object.id = ++ids_;
  return {};
}

Status PlanarObjects::step(GaussianPyramid* before, GaussianPyramid& now, const Features* known,
                           std::uint64_t frame, const StopFlag* stop) {
  const auto seed = [&](const Object& object) {
    return random_at(frame, static_cast<std::uint64_t>(&object - objects_.data()));
  };
  searched_ = false;
  if (!before)
    lose();
  else
    for (Object& object : objects_)
      CUFACE_TRY(object.tracker.follow(*before, now, seed(object), *scratch_, stop));
  if (frame % static_cast<std::uint64_t>(config_.interval) != 0 ||
      std::ranges::none_of(objects_, is_missing))
    return {};
  searched_ = true;
  if (!known) {
    CUFACE_TRY(finder_->run(now.level(0).all(), found_, stop));
    known = &found_;
  }
  for (Object& object : objects_)
    if (is_missing(object)) CUFACE_TRY(search(object, *known, now, seed(object), stop));
  return {};
}

}  // namespace cuface
