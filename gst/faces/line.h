// The results of our elements for one frame, as a line of faces.jsonl
// (docs/reference/faces.schema.json) or as an element message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gst/base/structures.h"
#include "gst/meta/facemeta.h"
#include "gst/meta/keypoints.h"
#include "gst/meta/matches.h"
#include "gst/meta/motion.h"
#include "gst/meta/planar.h"

namespace cuface::gst {

/// All results of one frame.
struct Line {
  std::uint64_t frame = 0;
  FrameTime time;
  std::optional<std::string> source;
  int width = 0, height = 0;
  FaceResult faces;        ///< in pixels of width x height
  MotionFound motion;      ///< likewise; none without cumotiondetect
  FeaturesFound features;  ///< likewise; none without cufeatures
  MatchesFound matches;    ///< likewise; none without cufeaturematch
  PlanarFound planar;      ///< likewise; none without cuplanartrack

  /// Whether the functions below return without a wait.
  bool is_ready() const {
    return faces.is_ready() && motion.is_ready() && features.is_ready() && matches.is_ready() &&
           planar.is_ready();
  }
};

/// One JSON object and a newline. Floats are written with the fewest digits that give the same
/// float back. Waits for results that are still on a GPU. If one cannot be read it returns an
/// error, because a line would claim that there is nothing. A face with a coordinate that is not
/// finite is left out: JSON has no such numbers.
Result<std::string> to_json(const Line& line);

/// A structure cuface-faces, the caller's: the line's own fields, a list of structures face
/// (facemessages.h), and where motion is known a structure motion. Waits, and fails, as to_json().
Result<GstStructure*> to_message(const Line& line);

}  // namespace cuface::gst
