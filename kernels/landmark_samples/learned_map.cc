#include "kernels/landmark_samples/learned_map.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "kernels/common/try.h"

namespace cuface {
namespace {

/// Sides of the model's box in those of the detector's: steps of 2^(1/4), which the starts of a
/// look bridge.
constexpr float kSides[] = {1, 0.84f, 0.71f, 1.19f, 1.41f};

/// The square map that leads from the box to the head's.
BoxMap map_between(const Box& box, const forest::HeadBox& head) {
  const float side = std::max(box.w, box.h);
  const float right = (head.box.x + head.box.w / 2 - box.x - box.w / 2) / side;
  const float down = (head.box.y + head.box.h / 2 - box.y - box.h / 2) / side;
  const Roll& roll = head.roll;
  return {head.box.w / side, roll.cos * right + roll.sin * down, roll.cos * down - roll.sin * right,
          true};
}

bool is_sensible(const BoxMap& map) {
  return map.scale >= 1 / kMostLearnedScale && map.scale <= kMostLearnedScale &&
         std::fabs(map.shift_x) <= kMostLearnedShift && std::fabs(map.shift_y) <= kMostLearnedShift;
}

BoxMap middle_of(std::span<const BoxMap> maps) {
  const auto middle = [&](auto field) {
    std::vector<float> values;
    for (const BoxMap& map : maps) values.push_back(map.*field);
    const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::nth_element(values.begin(), at, values.end());
    return *at;
  };
  return {middle(&BoxMap::scale), middle(&BoxMap::shift_x), middle(&BoxMap::shift_y), true};
}

}  // namespace

Status LearnedMap::learn(std::span<const Face> faces, const Looker& look) {
  if (is_done()) return {};
  ++frames_;
  for (const Face& face : faces) {
    const bool is_new = face.id == 0 || face.id > last_id_;
    if (is_done() || face.origin != Origin::kDetected || !is_new) continue;
    CUFACE_TRY(look_at(face, look));
  }
  for (const Face& face : faces) last_id_ = std::max(last_id_, face.id);
  return {};
}

Status LearnedMap::look_at(const Face& face, const Looker& look) {
  ++lessons_;
  std::optional<FirstLook> best;
  const auto look_from = [&](const BoxMap& map) -> Status {
    CUFACE_TAKE(seen, look(face.box, map, face.roll));
    if (seen && (!best || seen->disagreement < best->disagreement)) best = seen;
    return {};
  };
  for (const float side : kSides) CUFACE_TRY(look_from({side, 0, 0, true}));
  if (!best) return {};
  CUFACE_TRY(look_from(map_between(face.box, best->head)));
  const BoxMap map = map_between(face.box, best->head);
  if (best->disagreement > kMostDisagreement || !is_sensible(map)) return {};
  maps_.push_back(map);
  map_ = middle_of(maps_);
  return {};
}

}  // namespace cuface
