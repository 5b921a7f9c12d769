#include "models/box_map.h"

#include <algorithm>

namespace cuface {
namespace {

constexpr std::string_view kFallback = "haarcascade_frontalface_alt";

const BoxMap* find(const ForestModel& model, std::string_view cascade) {
  const auto it = std::find_if(model.box_maps.begin(), model.box_maps.end(),
                               [&](const auto& entry) { return entry.first == cascade; });
  return it == model.box_maps.end() ? nullptr : &it->second;
}

}  // namespace

std::vector<std::pair<std::string, BoxMap>> dlib_box_maps() {
  return {{"haarcascade_frontalface_alt", {0.95f, 0.0f, 0.025f}},
          {"haarcascade_frontalface_alt2", {0.90f, 0.0f, 0.025f}},
          {"haarcascade_frontalface_default", {0.95f, 0.0f, 0.025f}},
          {"yunet", {0.90f, 0.0f, 0.025f, true}}};
}

BoxMap box_map_for(const ForestModel& model, std::string_view cascade) {
  if (cascade.empty()) return {};
  if (const BoxMap* map = find(model, cascade)) return *map;
  if (const BoxMap* map = find(model, kFallback)) return *map;
  return {};
}

}  // namespace cuface
