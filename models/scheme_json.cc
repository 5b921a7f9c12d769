#include "models/scheme_json.h"

#include <charconv>
#include <initializer_list>
#include <iterator>

#include "kernels/common/try.h"
#include "models/file_bytes.h"

namespace cuface {
namespace {

using Json = nlohmann::json;

Status corrupt(const std::string& why) { return {StatusCode::kCorrupt, "landmark scheme: " + why}; }

/// Exactly so many whole numbers that 16 bits hold; what a scheme may say, validate() knows.
Status read_numbers(const Json& json, const std::string& name,
                    std::initializer_list<std::int16_t*> to) {
  if (!json.is_array() || json.size() != to.size())
    return corrupt(name + " is not a list of " + std::to_string(to.size()) + " numbers");
  std::size_t i = 0;
  for (std::int16_t* const value : to) {
    const Json& from = json[i++];
    if (!from.is_number_unsigned() || from.get<std::uint64_t>() > 0x7fff)
      return corrupt(name + " has what is not the number of a point");
    *value = static_cast<std::int16_t>(from.get<std::uint64_t>());
  }
  return {};
}

Status read_low(const Json& json, LowPoint& low) {
  if (!json.is_object() || json.size() != 2 || !json.contains("point") || !json.contains("is"))
    return corrupt("low has not the members \"point\" and \"is\"");
  CUFACE_TRY(read_numbers(Json::array({json["point"]}), "low", {&low.index}));
  if (json["is"] == "chin")
    low.kind = LowPoint::kChin;
  else if (json["is"] == "nose")
    low.kind = LowPoint::kNose;
  else
    return corrupt("low is neither \"chin\" nor \"nose\"");
  return {};
}

Status read_curves(const Json& json, LandmarkScheme& s) {
  if (!json.is_array() || json.size() > kMaxLandmarkCurves)
    return corrupt("curves is not a list of at most " + std::to_string(kMaxLandmarkCurves));
  for (const Json& curve : json) {
    LandmarkCurve& to = s.curve[s.curves];
    CUFACE_TRY(read_numbers(curve, "curve " + std::to_string(s.curves),
                            {&to.first, &to.last, &to.closed}));
    ++s.curves;
  }
  return {};
}

Status read_part(const std::string& name, const Json& json, LandmarkScheme& s) {
  if (name == "eyes") return read_numbers(json, name, {&s.eyes.left, &s.eyes.right, &s.eyes.count});
  if (name == "low") return read_low(json, s.low);
  if (name == "mouth") return read_numbers(json, name, {&s.mouth.first, &s.mouth.count});
  if (name == "jaw") return read_numbers(json, name, {&s.jaw.first, &s.jaw.count});
  if (name == "size") return read_numbers(json, name, {&s.size.left, &s.size.right, &s.size.below});
  if (name == "curves") return read_curves(json, s);
  return corrupt("it has no part \"" + shortened(name) + "\"");
}

}  // namespace

Json to_json(const LandmarkScheme& s) {
  Json json = Json::object();
  if (s.eyes.count > 0) json["eyes"] = {s.eyes.left, s.eyes.right, s.eyes.count};
  if (s.low.kind != LowPoint::kUnknown)
    json["low"] = {{"point", s.low.index}, {"is", s.low.kind == LowPoint::kChin ? "chin" : "nose"}};
  if (s.mouth.count > 0) json["mouth"] = {s.mouth.first, s.mouth.count};
  if (s.jaw.count > 0) json["jaw"] = {s.jaw.first, s.jaw.count};
  if (s.size.is_known()) json["size"] = {s.size.left, s.size.right, s.size.below};
  for (int c = 0; c < s.curves; ++c)
    json["curves"].push_back({s.curve[c].first, s.curve[c].last, s.curve[c].closed});
  return json;
}

Result<LandmarkScheme> scheme_from(const Json& json, int points) {
  if (!json.is_object()) return corrupt("it is not an object");
  LandmarkScheme scheme;
  scheme.points = points;
  for (const auto& [name, part] : json.items()) CUFACE_TRY(read_part(name, part, scheme));
  CUFACE_TRY(validate(scheme, points));
  return scheme;
}

Result<LandmarkScheme> scheme_of(const Container& container, int points,
                                 std::span<const Point> mean_shape) {
  const auto said = container.header().find("scheme");
  if (said == container.header().end()) return known_scheme(mean_shape);
  auto scheme = scheme_from(*said, points);
  if (scheme.ok()) return scheme;
  return Status(scheme.status().code(), "the header's " + scheme.status().message());
}

void put_scheme(const LandmarkScheme& scheme, Json& header) {
  if (scheme.points == 0) return;
  Json said = to_json(scheme);
  if (!said.empty() || !to_json(known_scheme(scheme.points)).empty())
    header["scheme"] = std::move(said);
}

double shortest(float value) {
  char digits[32];
  const auto end = std::to_chars(digits, std::end(digits), value).ptr;
  double result = 0;
  std::from_chars(digits, end, result);
  return result;
}

Result<Json> load_small_json(const std::string& path) {
  constexpr std::size_t kMost = 64 << 10;
  CUFACE_TAKE(file, ModelFile::open(path));
  CUFACE_TAKE(bytes, file.read(kMost));
  const auto text = bytes->bytes();
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  return json.is_discarded() ? Json() : std::move(json);
}

Result<LandmarkScheme> load_scheme(const std::string& path, int points) {
  CUFACE_TAKE(json, load_small_json(path));
  auto scheme = scheme_from(json, points);
  if (scheme.ok()) return scheme;
  return Status(scheme.status().code(), path + ": " + scheme.status().message());
}

std::string summary(const LandmarkScheme& s) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (s.eyes.count > 0) add("eyes");
  if (s.mouth.count > 0) add("mouth");
  if (s.jaw.count > 0) add("jaw");
  if (s.curves > 0) add(std::to_string(s.curves) + " curves");
  return text.empty() ? "not known" : text;
}

}  // namespace cuface
