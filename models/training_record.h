// How a model was trained: it stays with the model, in our own file and in OpenCV's XML.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/common/status.h"

namespace cuface {

/// Lines of a name and a value, in the order in which they were added: "program", "positives" (the
/// hash of the decoded pixels), "backgrounds", "seed", then the settings by the names of their
/// options. What changes no byte of the model does not belong here: threads, times, the processor.
/// Sound at any time, so writing it cannot fail.
class TrainingRecord {
 public:
  struct Line {
    std::string name, value;
    friend bool operator==(const Line&, const Line&) = default;
  };
  static constexpr std::size_t kMostLines = 64, kMostNameBytes = 64, kMostValueBytes = 512;

  /// False, and nothing is added, where there are kMostLines already, or the name is not lower-case
  /// letters, digits and hyphens. Of a value that is too long the end is cut off, and what is no
  /// printable ASCII becomes '?'.
  bool add(std::string_view name, std::string_view value);

  bool empty() const { return lines_.empty(); }
  const std::vector<Line>& lines() const { return lines_; }
  friend bool operator==(const TrainingRecord&, const TrainingRecord&) = default;

  /// A list of [name, value].
  nlohmann::json to_json() const;
  /// kCorrupt, with what is wrong, where add() would not have taken it as it is.
  static Result<TrainingRecord> from_json(const nlohmann::json& json);

 private:
  std::vector<Line> lines_;
};

}  // namespace cuface
