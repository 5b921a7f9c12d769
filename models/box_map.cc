#include "models/box_map.h"

#include <algorithm>
#include <iterator>

namespace cuface {
namespace {

struct NamedMap {
  std::string_view detector;
  BoxMap map;
};

constexpr NamedMap kDlib[] = {{"haarcascade_frontalface_alt", {0.95f, 0.0f, 0.025f}},
                              {"haarcascade_frontalface_alt2", {0.90f, 0.0f, 0.025f}},
                              {"haarcascade_frontalface_default", {0.95f, 0.0f, 0.025f}},
                              {"yunet", {0.90f, 0.0f, 0.025f, true}}};
constexpr const NamedMap& kFallback = kDlib[0];

const BoxMap* find(const ForestModel& model, std::string_view detector) {
  const auto it = std::find_if(model.box_maps.begin(), model.box_maps.end(),
                               [&](const auto& entry) { return entry.first == detector; });
  return it == model.box_maps.end() ? nullptr : &it->second;
}

}  // namespace

std::vector<std::pair<std::string, BoxMap>> dlib_box_maps() {
  std::vector<std::pair<std::string, BoxMap>> maps;
  for (const NamedMap& named : kDlib) maps.emplace_back(named.detector, named.map);
  return maps;
}

BoxMap box_map_for(const ForestModel& model, std::string_view detector) {
  if (detector.empty()) return {};
  if (const BoxMap* map = find(model, detector)) return *map;
  const BoxMap* fallback = find(model, kFallback.detector);
  if (!fallback) return {};
  const auto known = std::ranges::find(kDlib, detector, &NamedMap::detector);
  const bool is_dlibs = *fallback == kFallback.map && known != std::end(kDlib);
  return is_dlibs ? known->map : *fallback;
}

}  // namespace cuface
