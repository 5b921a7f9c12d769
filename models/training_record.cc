#include "models/training_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cuface {
namespace {

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= TrainingRecord::kMostNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

}  // namespace

bool TrainingRecord::add(std::string_view name, std::string_view value) {
  if (lines_.size() >= kMostLines || !is_name(name)) return false;
  std::string printable(value.substr(0, kMostValueBytes));
  std::replace_if(
      printable.begin(), printable.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  lines_.push_back({std::string(name), std::move(printable)});
  return true;
}

nlohmann::json TrainingRecord::to_json() const {
  nlohmann::json json = nlohmann::json::array();
  for (const Line& line : lines_) json.push_back({line.name, line.value});
  return json;
}

Result<TrainingRecord> TrainingRecord::from_json(const nlohmann::json& json) {
  const auto corrupt = [](const std::string& what) {
    return Status(StatusCode::kCorrupt, "its training record " + what);
  };
  if (!json.is_array()) return corrupt("is no list");
  TrainingRecord record;
  for (const nlohmann::json& line : json) {
    if (!line.is_array() || line.size() != 2 || !line[0].is_string() || !line[1].is_string()) {
      return corrupt("holds something else than names and values");
    }
    const auto& name = line[0].get_ref<const std::string&>();
    const auto& value = line[1].get_ref<const std::string&>();
    if (!record.add(name, value) || record.lines_.back().value != value) {
      return corrupt("has too many lines, or one of another form: " + shortened(name));
    }
  }
  return record;
}

}  // namespace cuface
