// One line of faces.jsonl (docs/reference/faces.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gst/meta/facemeta.h"

namespace cuface::gst {

/// What is known of one frame.
struct Line {
  std::uint64_t frame = 0;
  std::optional<std::uint64_t> timestamp, running_time;  ///< ns
  std::optional<std::string> source;
  int width = 0, height = 0;
  FaceResult faces;  ///< in pixels of width x height
};

/// One JSON object and a newline. Floats are written with the fewest digits that give the same
/// float back. Waits for faces that are still on a GPU; an error where they cannot be read, as a
/// line would say that there are none. A face with a coordinate that is not finite is left out:
/// JSON has no such numbers.
Result<std::string> to_json(const Line& line);

}  // namespace cuface::gst
