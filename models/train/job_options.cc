#include "models/train/job_options.h"

#include <cstdio>

#include "kernels/common/status.h"

namespace cuface::train {
namespace {

/// A text of an object, which may be anything; `missing` where there is none.
std::string text_of(const nlohmann::json& json, const char* key, const std::string& missing) {
  const auto it = json.find(key);
  if (it == json.end()) return missing;
  return it->is_string() ? it->get<std::string>() : "";
}

}  // namespace

nlohmann::json as_json(const std::vector<Option>& options) {
  nlohmann::json json = nlohmann::json::object();
  for (const Option& option : options) json[option.name] = option.get();
  return json;
}

Status read_options(const Checkpoint& file, const char* key, const std::vector<Option>& options) {
  const auto it = file.head().find(key);
  if (it == file.head().end() || !it->is_object())
    return file.damaged("it has no " + std::string(key));
  for (const Option& option : options) {
    const std::string text = text_of(*it, option.name, option.get());
    if (!option.set(text)) {
      return file.damaged("its option --" + std::string(option.name) + " is \"" + shortened(text) +
                          "\"");
    }
  }
  return {};
}

std::string as_hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace cuface::train
