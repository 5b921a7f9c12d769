// track: faces with lasting ids. Between searches every face is carried by the flow of its points
// and a similarity [S0.35, S0.36]; on searched frames detections confirm, start and replace tracks.
// docs/design/track.md tells how the rules work together and how the defaults were chosen.
//
// The room: loss_rules.h decides when a track ends (enum Loss has all reasons), association.h which
// detection is whose. detections.h applies a frame's detections, lost_tracks.h remembers those that
// ended, gap.h passes a frame without a picture. state.h is what stays from frame to frame.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/common/backend.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/faces/faces.h"
#include "kernels/flow/flow.h"

namespace cuface {

/// Most faces followed at once, and most points followed of one face.
inline constexpr int kMaxTracks = 64;
inline constexpr int kMaxTrackPoints = 256;

/// How a face that comes back is known.
enum class Revive : int {
  kLook,      ///< near where it was lost, or on its way, and not unlike
  kFeatures,  ///< by its descriptors, anywhere (face_views.h)
};

/// The lost-track rules and their defaults live here and nowhere else; culktrack makes one property
/// of each.
struct TrackConfig {
  FlowConfig flow;

  /// 1..64. Detections beyond it start no track.
  int max_faces = kMaxTracks;

  /// px, 0.01..100. A point counts as followed when flowing it forward and back again ends within
  /// this distance of where it began.
  float forward_backward = 1.0f;

  /// Fraction of the box's width, 0.001..1. A followed point agrees with the face's motion when it
  /// ends within this distance (never less than half a pixel) of the fitted similarity.
  float max_residual = 0.04f;

  /// Fraction of the face's points, 0..1. Fewer followed, or fewer of them agreeing: lost.
  float min_points = 0.4f;

  /// Confidence, 0..1; 0 turns the rule off. Landmarks below this are weak: they do not move the
  /// face while enough others do, `min_points` of all. A face that comes to have weak landmarks
  /// only asks for a search. Works only where landmarks come with confidences.
  float min_confidence = 0;

  /// Ratio, 1..10. A face that grows or shrinks by more between two frames is lost.
  float max_scale_step = 1.15f;

  /// Fraction of the box's width, 0..10; 0 turns the rule off. Lost when the landmarks regressed in
  /// the box have changed their shape since the last confirmation by more than this (root mean
  /// square distance after the best similarity). Works only where landmarks are fed back.
  float max_shape_change = 0.1f;

  /// Fraction of the box's area, 0..1. A face of which less is inside the frame is lost.
  float min_visible = 0.5f;

  /// px, 1..1000. A face whose box gets narrower is lost.
  float min_width = 12.0f;

  /// Intersection over union, 0.01..1. A detection confirms a track when their boxes overlap by at
  /// least this; an unconfirmed track that overlaps a confirmed one by it is the same face: lost.
  float min_overlap = 0.3f;

  /// Correlation, 0..1; 0 turns the rule off. A detection confirms a track that was lost on the
  /// same frame only if the faces' grey values correlate by this much. Otherwise the scene was cut
  /// to another face at the same place.
  float min_correlation = 0.5f;

  /// Searches in a row, 0..1000. A healthy track that more searches than this missed is lost,
  /// unless it is held for `hold_time`.
  int max_missed = 1;

  /// Searches, 1..1000. Only a track that this many have confirmed is held: a false detection is
  /// seldom repeated, and goes after `max_missed`.
  int min_confirmed = 2;

  /// Confidence, 0..1. A new face below this confidence is tentative: the tracker follows it and
  /// asks for searches. A cascade's face is delivered once the windows of all finds add up to those
  /// of this confidence (12). A network's face is delivered once its score reached this, or
  /// `min_confirmed` searches found it. Faces of the first search are not tentative, because there
  /// may be no other search. 0 = none is.
  float doubt_below = 0.8f;

  /// Seconds since the last confirmation, 0..60. So long searches may miss a healthy track. It
  /// matters most where they follow each other frame by frame because they find nothing.
  float hold_time = 1.0f;

  /// With kFeatures `revive_distance` and `revive_motion` do not apply to lost tracks: a face gets
  /// the id of the most similar one, if the match is not doubtful.
  Revive revive = Revive::kLook;

  /// Seconds, 0..60. A face detected within this time of the loss of a track, near where it was,
  /// keeps the track's id.
  float revive_time = 3.0f;

  /// Multiple of the larger box's width, 0..10: how far apart the centres may be for that. The
  /// widths may differ by a factor of 2. It holds for where the track was lost, and for where its
  /// motion would have taken it.
  float revive_distance = 0.5f;

  /// Seconds, 0..60; 0 = not at all. For so long a face that was lost is thought to go on as it
  /// moved between its last confirmations.
  float revive_motion = 3.0f;

  friend bool operator==(const TrackConfig&, const TrackConfig&) = default;
};

/// kInvalidArgument and a sentence for a value out of the range stated above.
Status validate(const TrackConfig& config);

/// Why a track ended, and which function decides it.
enum class Loss : std::uint8_t {
  kPoints,    ///< too few points could be followed: judge_motion() in loss_rules.h
  kResidual,  ///< too few of them move as one face: the same
  kScale,     ///< jump in scale: accept_motion() in loss_rules.h
  kShape,     ///< mirrored: accept_motion(); landmarks changed too much: age_track() in state.h
  kFrame,     ///< left the frame, or too small: accept_motion()
  /// Searches did not find it any more, or found it to be another track's face: apply_search() in
  /// detections.h.
  kMissed,
};
inline constexpr int kLossCount = 6;

/// The tracker's input for one frame.
struct TrackInput {
  /// The pyramid of the frame's luma, which has the planned size; it serves every FlowConfig (its
  /// constructor's defaults). The tracker makes the parts that it reads, and where it follows a
  /// face it holds the pyramid until the next frame: so long nobody begins it anew.
  std::shared_ptr<GaussianPyramid> pyramid;
  /// Faces of this frame from the elements before; `searched` says whether a detector looked. May
  /// carry landmarks (order detect, landmark, track): the tracker then follows those and delivers
  /// them. All its faces count as detections. Null = none, not searched.
  const FaceList* faces = nullptr;
  /// Landmarks that were regressed inside the boxes the tracker gave for the PREVIOUS frame (same
  /// ids), or null: it then follows points of its own inside each box.
  const FaceList* feedback = nullptr;
  /// Identifies the frame for the random generator; counts up by one a frame.
  std::uint64_t frame = 0;
  /// Seconds since the previous frame; 0 = unknown, counts as 1/30. For rules stated in time.
  double elapsed = 0;
};

struct TrackOutput {
  /// Confirmed and tracked faces with ids, by id. Confidence of a tracked face: the fraction of its
  /// points that passed the checks, divided by 1 + the searches that missed it. If faces were
  /// followed by landmarks fed back, `followed` has the new places of these.
  FaceList faces;
  int lost = 0;                           ///< faces that ended on this frame
  std::array<int, kLossCount> lost_by{};  ///< the same, by reason
  /// The part of the next frame to search, because the last face was lost, faces are tentative, or
  /// a face's landmarks are weak; count 0 = nothing.
  SearchRegion search_wanted;
};

/// One a chain. Allocates at create(). One thread at a time. Two trackers that are told the same
/// give the same bytes.
class Tracker {
 public:
  /// `first_id` lets ids count on where another tracker, for another picture size, has ended.
  static Result<std::unique_ptr<Tracker>> create(Backend backend, const TrackConfig& config,
                                                 int width, int height, std::uint64_t first_id = 1,
                                                 const StopFlag* stop = nullptr);
  virtual ~Tracker() = default;
  /// `out` may be reused from frame to frame; it then allocates nothing in steady state. kCancelled
  /// once create()'s `stop` is raised: then end_tracks() comes before the next frame.
  virtual Status enqueue(const TrackInput& input, TrackOutput& out) = 0;
  /// In place of enqueue(), a frame whose picture is not to be looked at: `out` gets the faces of
  /// the frame before where they were, tracked and a frame older, and none is lost. The next
  /// enqueue() follows them from the last picture it was given; its `elapsed` counts from there.
  virtual void pass_gap(TrackOutput& out) = 0;
  /// Ends every track (flush, caps change, time jump) for good: none is revived. Ids go on
  /// counting.
  virtual void end_tracks() = 0;
  /// New values for the next frame; the size of scratch may change, so not from a hot path. Tracks
  /// go on. On an error everything stays as it was.
  virtual Status configure(const TrackConfig& config) = 0;
};

}  // namespace cuface
