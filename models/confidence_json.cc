#include "models/confidence_json.h"

#include "kernels/common/try.h"
#include "models/scheme_json.h"

namespace cuface {
namespace {

using Json = nlohmann::json;

Status corrupt(const std::string& why) {
  return {StatusCode::kCorrupt, "its table of confidences: " + why};
}

}  // namespace

Json to_json(const ConfidenceTable& table) {
  Json at = Json::array();
  for (int i = 0; i < table.steps; ++i) at.push_back(shortest(table.at[i]));
  return {{"first", table.first}, {"at", std::move(at)}};
}

Result<ConfidenceTable> confidence_from(const Json& json) {
  if (!json.is_object() || json.size() != 2 || !json.contains("first") || !json.contains("at"))
    return corrupt("it has not the members \"first\" and \"at\"");
  const Json &first = json["first"], &at = json["at"];
  if (!first.is_number_integer() || first < -512 || first > 512)
    return corrupt("first is no exponent from -512 to 512");
  if (!at.is_array() || at.empty() || at.size() > kMostConfidenceSteps)
    return corrupt("at is not a list of 1 to " + std::to_string(kMostConfidenceSteps) + " numbers");
  ConfidenceTable table;
  table.first = first.get<std::int32_t>();
  for (const Json& value : at) {
    if (!value.is_number()) return corrupt("at has what is no number");
    table.at[table.steps++] = value.get<float>();
  }
  if (!is_sound(table)) return corrupt("confidences are not from 0 to 1, or rise");
  return table;
}

Json to_json(const ConfidenceTable& table, const shape::ScoreParts& parts) {
  Json json = to_json(table);
  json["parts"] = {{"own", parts.own},     {"around", parts.around}, {"face", parts.face},
                   {"reach", parts.reach}, {"shape", parts.shape},   {"least", parts.least},
                   {"most", parts.most}};
  return json;
}

Result<ShapeConfidence> shape_confidence_from(Json json) {
  ShapeConfidence confidence;
  if (json.is_object() && json.contains("parts")) {
    const Json& parts = json["parts"];
    shape::ScoreParts& to = confidence.parts;
    const std::pair<const char*, double&> members[] = {
        {"own", to.own},     {"around", to.around}, {"face", to.face}, {"reach", to.reach},
        {"shape", to.shape}, {"least", to.least},   {"most", to.most}};
    // Older files have the first four.
    const std::size_t all = std::size(members), of_file = parts.size();
    if (!parts.is_object() || (of_file != all && of_file != 4))
      return corrupt("parts has not the members \"own\", \"around\", \"face\" and \"reach\"");
    for (const auto& [name, value] : std::span(members).first(of_file)) {
      const auto it = parts.find(name);
      if (it == parts.end() || !it->is_number())
        return corrupt(std::string("parts has no number \"") + name + "\"");
      value = it->get<double>();
    }
    json.erase("parts");
  }
  CUFACE_TRY(take(confidence_from(json), confidence.table));
  return confidence;
}

Result<ShapeConfidence> load_shape_confidence(const std::string& path) {
  CUFACE_TAKE(json, load_small_json(path));
  const auto refuse = [&path](const Status& why) {
    return Status(why.code(), path + ": " + why.message());
  };
  const auto costs = json.is_object() ? json.find("usual_costs") : json.end();
  if (costs == json.end() || !costs->is_array())
    return refuse(corrupt("usual_costs is not a list"));
  std::vector<shape::UsualCost> usual_costs;
  for (const Json& usual : *costs) {
    if (!usual.is_array() || usual.size() != 2 || !usual[0].is_number() || !usual[1].is_number())
      return refuse(corrupt("a usual cost is not two numbers"));
    usual_costs.push_back({usual[0].get<double>(), usual[1].get<double>()});
  }
  json.erase("usual_costs");
  std::vector<double> offsets;
  if (const auto said = json.find("offsets"); said != json.end()) {
    if (!said->is_array()) return refuse(corrupt("offsets is not a list"));
    for (const Json& offset : *said) {
      if (!offset.is_number()) return refuse(corrupt("an offset is no number"));
      offsets.push_back(offset.get<double>());
    }
    json.erase("offsets");
  }
  auto confidence = shape_confidence_from(std::move(json));
  if (!confidence.ok()) return refuse(confidence.status());
  confidence.value().usual_costs = std::move(usual_costs);
  confidence.value().offsets = std::move(offsets);
  return confidence;
}

Result<ConfidenceTable> load_confidence(const std::string& path) {
  CUFACE_TAKE(json, load_small_json(path));
  auto table = confidence_from(json);
  if (table.ok()) return table;
  return Status(table.status().code(), path + ": " + table.status().message());
}

}  // namespace cuface
