// track: faces with lasting ids. Between searches every face is carried by the flow of its points
// and a similarity (S0.35, S0.36); on searched frames detections confirm, start and replace tracks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/common/backend.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces.h"
#include "kernels/flow/flow.h"

namespace cuface {

/// The lost-track rules and their defaults live here and nowhere else; culktrack makes one property
/// of each. The stage's owner completes this list; every field states unit, range and the rule it
/// sets.
struct TrackConfig {
  FlowConfig flow;
  int max_faces = 64;
};

/// What the tracker is told about one frame.
struct TrackInput {
  ImageView<const std::uint8_t> luma;
  /// Faces of this frame from the elements before; `searched` says whether a detector looked. May
  /// carry landmarks (order detect, landmark, track): the tracker then follows those and delivers
  /// them.
  const FaceList* faces = nullptr;
  /// Landmarks that were regressed inside the boxes the tracker gave for the PREVIOUS frame (same
  /// ids), or null: it then follows points of its own inside each box.
  const FaceList* feedback = nullptr;
  /// Identifies the frame for the random generator; counts up by one a frame.
  std::uint64_t frame = 0;
  /// Seconds since the previous frame (0 = unknown); for rules stated in time.
  double elapsed = 0;
};

struct TrackOutput {
  FaceList faces;              ///< confirmed and tracked faces with ids, by id
  int lost = 0;                ///< tracks that ended on this frame
  bool search_wanted = false;  ///< the last track was lost: search the next frame
};

/// One a chain. Allocates at create(). One thread at a time.
class Tracker {
 public:
  static Result<std::unique_ptr<Tracker>> create(Backend backend, const TrackConfig& config,
                                                 int width, int height);
  virtual ~Tracker() = default;
  virtual Status enqueue(const TrackInput& input, TrackOutput& out) = 0;
  /// Ends every track (flush, caps change, time jump). Ids go on counting.
  virtual void end_tracks() = 0;
  /// New values for the next frame; sizes of scratch may change, so not from a hot path.
  virtual Status configure(const TrackConfig& config) = 0;
};

}  // namespace cuface
