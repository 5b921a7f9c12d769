#include "gst/faces/line.h"

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

std::span<const Point> keypoints_of(const Face& face) {
  if (!face.has_keypoints) return {};
  return face.keypoints;
}

bool is_finite(std::span<const Point> points) {
  return std::ranges::all_of(
      points, [](const Point& p) { return std::isfinite(p.x) && std::isfinite(p.y); });
}

bool is_finite(const Face& face, std::span<const Point> landmarks) {
  const Box& b = face.box;
  return std::isfinite(b.x) && std::isfinite(b.y) && std::isfinite(b.w) && std::isfinite(b.h) &&
         std::isfinite(face.confidence) && is_finite(keypoints_of(face)) && is_finite(landmarks);
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
  Text& points(std::span<const Point> all) {
    *this << "[";
    for (const Point& p : all) {
      *this << (&p == all.data() ? "[" : ",[");
      number(p.x) << ",";
      number(p.y) << "]";
    }
    return *this << "]";
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void write_floats(Text& text, std::span<const float> floats) {
  for (std::size_t i = 0; i < floats.size(); ++i) {
    text << (i == 0 ? "[" : ",");
    text.number(floats[i]);
  }
  text << "]";
}

void write_face(Text& text, const Face& face, std::span<const Point> landmarks,
                const float* confidences, const Line& line) {
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
  text.number(face.age) << R"(,"landmarks":)";
  text.points(landmarks);
  if (confidences) {
    text << R"(,"landmark_confidences":)";
    write_floats(text, {confidences, landmarks.size()});
  }
  if (face.has_keypoints) (text << R"(,"keypoints":)").points(keypoints_of(face));
  text << "}";
}

const char* boolean(bool value) { return value ? "true" : "false"; }

void write_motion(Text& text, const MotionMap& motion) {
  text << R"(,"motion":{"compared":)" << boolean(motion.compared) << R"(,"global_change":)"
       << boolean(motion.global_change) << R"(,"in_event":)" << boolean(motion.in_event)
       << R"(,"share":)";
  text.number(motion.share) << R"(,"columns":)";
  text.number(motion.columns) << R"(,"rows":)";
  text.number(motion.rows) << R"(,"cells":[)";
  bool first = true;
  for (std::size_t i = 0; i < motion.cells.size(); ++i) {
    if (!motion.cells[i].moves) continue;
    const auto columns = static_cast<std::size_t>(motion.columns);
    text << (std::exchange(first, false) ? "[" : ",[");
    text.number(i % columns) << ",";
    text.number(i / columns) << "]";
  }
  text << R"(],"boxes":[)";
  for (const MotionRegion& region : motion.regions) {
    text << (&region == motion.regions.data() ? R"({"id":)" : R"(,{"id":)");
    text.number(region.id) << R"(,"x":)";
    text.number(region.box.x) << R"(,"y":)";
    text.number(region.box.y) << R"(,"w":)";
    text.number(region.box.w) << R"(,"h":)";
    text.number(region.box.h) << R"(,"cells":)";
    text.number(region.cells) << "}";
  }
  text << "]}";
}

/// A string of hexadecimal digits.
void write_bytes(Text& text, const std::uint8_t* bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::array<char, 2 * kBinaryBytes> hex;
  for (std::size_t b = 0; b < kBinaryBytes; ++b) {
    hex[2 * b] = kDigits[bytes[b] >> 4];
    hex[2 * b + 1] = kDigits[bytes[b] & 15];
  }
  text << R"(")" << std::string_view(hex.data(), hex.size()) << R"(")";
}

void write_features(Text& text, const FrameFeatures& frame) {
  const bool is_surf = frame.config.descriptor == FeatureDescriptor::kSurf;
  const Features& features = frame.found;
  text << R"(,"features":{"descriptor":")" << (is_surf ? "surf" : "orb") << R"(","keypoints":[)";
  for (std::size_t i = 0; i < features.keypoints.size(); ++i) {
    const Keypoint& k = features.keypoints[i];
    text << (i == 0 ? R"({"x":)" : R"(,{"x":)");
    text.number(k.x) << R"(,"y":)";
    text.number(k.y) << R"(,"size":)";
    text.number(k.size) << R"(,"angle":)";
    text.number(k.angle) << R"(,"response":)";
    text.number(k.response) << R"(,"octave":)";
    text.number(k.octave) << R"(,"descriptor":)";
    if (is_surf) {
      write_floats(text, {features.floats_of(i), features.floats_each()});
    } else {
      write_bytes(text, features.descriptor(i));
    }
    text << R"(,"sign":)";
    text.number(features.signs[i]) << "}";
  }
  text << "]}";
}

/// A name that is not UTF-8 must not throw.
std::string quoted(const std::string& name) {
  using nlohmann::json;
  return json(name).dump(-1, ' ', false, json::error_handler_t::replace);
}

void write_pictures(Text& text, const std::vector<MatchedPicture>& pictures) {
  text << R"("references":[)";
  for (const MatchedPicture& picture : pictures) {
    text << (&picture == pictures.data() ? R"({"name":)" : R"(,{"name":)") << quoted(picture.name)
         << R"(,"width":)";
    text.number(picture.width) << R"(,"height":)";
    text.number(picture.height) << R"(,"keypoints":)";
    text.number(picture.keypoints) << "}";
  }
  text << "]";
}

void write_planar(Text& text, const FramePlanar& planar) {
  text << R"(,"planar":{)";
  write_pictures(text, planar.pictures);
  text << R"(,"objects":[)";
  for (const PlanarObject& object : planar.objects) {
    text << (&object == planar.objects.data() ? R"({"id":)" : R"(,{"id":)");
    text.number(object.id) << R"(,"reference":)";
    text.number(object.picture) << R"(,"found":)" << boolean(object.found) << R"(,"inliers":)";
    text.number(object.inliers) << R"(,"corners":)";
    text.points(object.corners) << R"(,"homography":[)";
    for (const double& value : object.map.m) {
      if (&value != object.map.m) text << ",";
      text.number(value);
    }
    text << "]}";
  }
  text << "]}";
}

void write_matches(Text& text, const FrameMatches& matches) {
  text << R"(,"matches":{)";
  write_pictures(text, matches.pictures);
  text << R"(,"pairs":[)";
  for (const PictureMatch& match : matches.matches) {
    text << (&match == matches.matches.data() ? R"({"reference":)" : R"(,{"reference":)");
    text.number(match.picture) << R"(,"x":)";
    text.number(match.at.x) << R"(,"y":)";
    text.number(match.at.y) << R"(,"reference_x":)";
    text.number(match.in_picture.x) << R"(,"reference_y":)";
    text.number(match.in_picture.y) << R"(,"distance":)";
    text.number(match.distance) << "}";
  }
  text << "]}";
}

void write_time(Text& text, GstClockTime time) {
  text.number_or_null(GST_CLOCK_TIME_IS_VALID(time), time);
}

}  // namespace

Result<std::string> to_json(const Line& line) {
  CUFACE_TAKE(faces, line.faces.read());
  CUFACE_TAKE(motion, line.motion.read());
  CUFACE_TAKE(features, line.features.read());
  CUFACE_TAKE(matches, line.matches.read());
  CUFACE_TAKE(planar, line.planar.read());
  Text text;
  text << R"({"frame":)";
  text.number(line.frame) << R"(,"timestamp":)";
  write_time(text, line.time.timestamp);
  text << R"(,"running_time":)";
  write_time(text, line.time.running_time);
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
    write_face(text, faces->faces[i], landmarks, faces->confidences_of(i), line);
  }
  text << "]";
  if (motion) write_motion(text, *motion);
  if (features) write_features(text, *features);
  if (matches) write_matches(text, *matches);
  if (planar) write_planar(text, *planar);
  text << "}\n";
  return text.take();
}

}  // namespace cuface::gst
