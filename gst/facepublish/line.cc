#include "gst/facepublish/line.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

namespace cuface::gst {
namespace {

/// Keys stay in the order they are written; numbers are as wide as ours.
using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool,
                                  std::int64_t, std::uint64_t, float>;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::span<const Point> landmarks_of(const FaceList& list, std::size_t i) {
  if (list.landmarks_per_face <= 0) return {};
  return {list.landmarks_of(i), static_cast<std::size_t>(list.landmarks_per_face)};
}

bool is_finite(const Face& face, std::span<const Point> landmarks) {
  const Box& b = face.box;
  return std::isfinite(b.x) && std::isfinite(b.y) && std::isfinite(b.w) && std::isfinite(b.h) &&
         std::isfinite(face.confidence) &&
         std::all_of(landmarks.begin(), landmarks.end(),
                     [](const Point& p) { return std::isfinite(p.x) && std::isfinite(p.y); });
}

Json object_of(const Face& face, std::span<const Point> landmarks, const Line& line) {
  const Box& b = face.box;
  const auto width = static_cast<float>(line.width), height = static_cast<float>(line.height);
  Json points = Json::array();
  for (const Point& p : landmarks) points.push_back(Json::array({p.x, p.y}));
  return {
      {"id", face.id ? Json(face.id) : Json(nullptr)},
      {"roi_type", "face"},
      {"x", b.x},
      {"y", b.y},
      {"w", b.w},
      {"h", b.h},
      {"detection",
       {{"label", "face"},
        {"confidence", face.confidence},
        {"bounding_box",
         {{"x_min", b.x / width},
          {"y_min", b.y / height},
          {"x_max", (b.x + b.w) / width},
          {"y_max", (b.y + b.h) / height}}}}},
      {"neighbors", face.neighbors < 0 ? Json(nullptr) : Json(face.neighbors)},
      {"origin", face.origin == Origin::kTracked ? "tracked" : "detected"},
      {"age", face.age},
      {"landmarks", std::move(points)},
  };
}

}  // namespace

std::string to_json(const Line& line) {
  Json objects = Json::array();
  const FaceListRef faces = line.faces.read();
  const std::size_t n = faces ? faces->faces.size() : 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto landmarks = landmarks_of(*faces, i);
    if (is_finite(faces->faces[i], landmarks))
      objects.push_back(object_of(faces->faces[i], landmarks, line));
  }
  const Json json = {
      {"frame", line.frame},
      {"timestamp", or_null(line.timestamp)},
      {"running_time", or_null(line.running_time)},
      {"source", or_null(line.source)},
      {"resolution", {{"width", line.width}, {"height", line.height}}},
      {"objects", std::move(objects)},
  };
  // A source name that is not UTF-8 must not throw.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace cuface::gst
