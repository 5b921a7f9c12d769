#include "gst/facepublish/line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kernels/common/try.h"

namespace cuface::gst {
namespace {

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

/// Text of one line. Of fixed shape and mostly numbers, so it is written straight away: by a
/// document in between it took six times as long.
class Text {
 public:
  Text& operator<<(std::string_view json) {
    text_ += json;
    return *this;
  }
  template <typename Number>
  Text& number(Number value) {
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text_.append(digits.data(), end);
    // A number that may have a fraction looks like one, for readers that tell them apart.
    if constexpr (std::is_floating_point_v<Number>) {
      if (std::find_if(digits.data(), end, [](char c) { return c == '.' || c == 'e'; }) == end)
        text_ += ".0";
    }
    return *this;
  }
  template <typename Number>
  Text& number_or_null(bool known, Number value) {
    return known ? number(value) : *this << "null";
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void write_face(Text& text, const Face& face, std::span<const Point> landmarks, const Line& line) {
  const Box& b = face.box;
  const auto width = static_cast<float>(line.width), height = static_cast<float>(line.height);
  text << R"({"id":)";
  text.number_or_null(face.id != 0, face.id) << R"(,"roi_type":"face","x":)";
  text.number(b.x) << R"(,"y":)";
  text.number(b.y) << R"(,"w":)";
  text.number(b.w) << R"(,"h":)";
  text.number(b.h) << R"(,"detection":{"label":"face","confidence":)";
  text.number(face.confidence) << R"(,"bounding_box":{"x_min":)";
  text.number(b.x / width) << R"(,"y_min":)";
  text.number(b.y / height) << R"(,"x_max":)";
  text.number((b.x + b.w) / width) << R"(,"y_max":)";
  text.number((b.y + b.h) / height) << R"(}},"neighbors":)";
  text.number_or_null(face.neighbors >= 0, face.neighbors) << R"(,"origin":)";
  text << (face.origin == Origin::kTracked ? R"("tracked")" : R"("detected")") << R"(,"age":)";
  text.number(face.age) << R"(,"landmarks":[)";
  for (const Point& p : landmarks) {
    text << (&p == landmarks.data() ? "[" : ",[");
    text.number(p.x) << ",";
    text.number(p.y) << "]";
  }
  text << "]}";
}

/// A name that is not UTF-8 must not throw.
std::string quoted(const std::string& name) {
  using nlohmann::json;
  return json(name).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

Result<std::string> to_json(const Line& line) {
  CUFACE_TAKE(faces, line.faces.read());
  Text text;
  text << R"({"frame":)";
  text.number(line.frame) << R"(,"timestamp":)";
  text.number_or_null(line.timestamp.has_value(), line.timestamp.value_or(0));
  text << R"(,"running_time":)";
  text.number_or_null(line.running_time.has_value(), line.running_time.value_or(0));
  text << R"(,"source":)" << (line.source ? quoted(*line.source) : "null");
  text << R"(,"resolution":{"width":)";
  text.number(line.width) << R"(,"height":)";
  text.number(line.height) << R"(},"objects":[)";
  const std::size_t n = faces ? faces->faces.size() : 0;
  bool first = true;
  for (std::size_t i = 0; i < n; ++i) {
    const auto landmarks = landmarks_of(*faces, i);
    if (!is_finite(faces->faces[i], landmarks)) continue;
    if (!std::exchange(first, false)) text << ",";
    write_face(text, faces->faces[i], landmarks, line);
  }
  text << "]}\n";
  return text.take();
}

}  // namespace cuface::gst
