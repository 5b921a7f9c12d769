#include "kernels/track/track.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "kernels/common/lanes.h"
#include "kernels/common/simd.h"
#include "kernels/common/try.h"
#include "kernels/orb/pattern.h"
#include "kernels/track/detections.h"
#include "kernels/track/face_views.h"
#include "kernels/track/gap.h"
#include "kernels/track/loss_rules.h"
#include "kernels/track/state.h"

namespace cuface {
namespace {

class CpuTracker final : public Tracker {
 public:
  CpuTracker(const TrackConfig& config, int width, int height, std::uint64_t first_id,
             const StopFlag* stop)
      : stop_(stop), config_(config), width_(width), height_(height), scratch_(config.flow) {
    track::start_state(state_, first_id);
    remember_faces();
  }

  Status enqueue(const TrackInput& input, TrackOutput& out) override;
  void pass_gap(TrackOutput& out) override;
  void end_tracks() override {
    track::end_tracks(state_);
    before_ = nullptr;
  }
  Status configure(const TrackConfig& config) override;

 private:
  /// Makes room where faces are known by their descriptors.
  void remember_faces() {
    if (config_.revive == Revive::kFeatures && !memory_)
      memory_ = std::make_unique<track::KnownFaces>();
  }
  bool move(int slot, const track::TrackedFrame& frame, GaussianPyramid& now);
  void write(const FaceList* faces, const track::Outcome& outcome, TrackOutput& out) const;

  const StopFlag* const stop_;
  TrackConfig config_;
  int width_, height_;
  std::shared_ptr<GaussianPyramid> before_;  // of the previous frame, if it has a track
  FlowScratch scratch_;
  track::State state_;
  std::string detector_;
  // Of one face at a time.
  Point grid_[track::kGridPoints];
  Point to_[kMaxTrackPoints], back_[kMaxTrackPoints];
  std::uint8_t good_[kMaxTrackPoints], good_back_[kMaxTrackPoints];
  track::MotionScratch motion_;
  track::DetectionScratch detections_;
  std::unique_ptr<track::KnownFaces> memory_;
};

track::Faces plain_faces(const FaceList* list) {
  if (!list) return {};
  return {list->faces.data(),
          list->landmarks.data(),
          static_cast<int>(list->faces.size()),
          list->landmarks_per_face,
          list->searched,
          list->part,
          list->landmark_confidences.empty() ? nullptr : list->landmark_confidences.data()};
}

/// Carries a track from the previous frame to this one. False once it is stopped.
bool CpuTracker::move(int slot, const track::TrackedFrame& frame, GaussianPyramid& now) {
  const track::Points points = track::choose_points(state_, slot, frame.feedback);
  if (!points.array) {
    for (int i = 0; i < points.count; ++i) {
      grid_[i] = track::grid_point(state_.track[slot].face.box, i);
    }
  }
  const auto n = static_cast<std::size_t>(points.count);
  const std::span<const Point> from(points.array ? points.array : grid_, n);
  const std::span<Point> to(to_, n), back(back_, n);
  const std::span<std::uint8_t> good(good_, n), good_back(good_back_, n);
  if (!flow(*before_, now, from, to, good, config_.flow, scratch_, stop_)) return false;
  if (!flow(now, *before_, to, back, good_back, config_.flow, scratch_, stop_)) return false;
  for (std::size_t i = 0; i < n; ++i) good[i] = good[i] && good_back[i];
  track::Motion motion;
  track::carry_track(SerialLanes{}, state_, slot, frame, config_, points, from, to, back, good,
                     motion, motion_);
  return true;
}

void CpuTracker::write(const FaceList* faces, const track::Outcome& outcome,
                       TrackOutput& out) const {
  out.lost = outcome.lost;
  std::copy_n(outcome.lost_by, kLossCount, out.lost_by.begin());
  out.search_wanted = outcome.search_wanted;
  FaceList& list = out.faces;
  list.width = width_;
  list.height = height_;
  list.searched = faces && faces->searched;
  list.detector = detector_;
  list.faces.clear();
  list.landmarks.clear();
  list.landmark_confidences.clear();
  list.followed.clear();
  const track::Common common = track::common_landmarks(SerialLanes{}, state_, kMaxTrackPoints);
  list.landmarks_per_face = common.landmarks;
  list.followed_per_face = common.followed;
  for (int i = 0, n = state_.faces(); i < n; ++i) {
    const Point* landmarks = state_.landmark[state_.slot[i]];
    list.faces.push_back(state_.of(i).face);
    list.landmarks.insert(list.landmarks.end(), landmarks, landmarks + list.landmarks_per_face);
    for (int p = 0; p < list.followed_per_face; ++p)
      list.followed.push_back(track::followed_point(state_, i, p));
  }
}

Status CpuTracker::enqueue(const TrackInput& input, TrackOutput& out) {
  if (!input.pyramid || input.pyramid->level(0).width != width_ ||
      input.pyramid->level(0).height != height_) {
    return Status(StatusCode::kInvalidArgument, "track: the picture is not of the planned size");
  }
  GaussianPyramid& now = *input.pyramid;
  track::TrackedFrame frame;
  frame.faces = plain_faces(input.faces);
  frame.feedback = plain_faces(input.feedback);
  frame.number = input.frame;
  frame.elapsed = track::known_elapsed(input.elapsed);
  frame.width = width_;
  frame.height = height_;
  if (config_.revive == Revive::kFeatures) {
    frame.memory = memory_.get();
    frame.pattern = orb::kPattern;
  }
  track::begin_frame(state_, frame, config_);
  const bool has_faces = frame.faces.count > 0;
  if (has_faces) detector_ = input.faces->detector;
  frame.now = now.level(0).all();
  if (state_.had_tracks) frame.before = before_->level(0).all();
  for (int i = 0; i < state_.count; ++i) {
    const int slot = state_.slot[i];
    track::age_track(SerialLanes{}, state_, slot, frame, config_, motion_.robust.sums);
    if (!state_.track[slot].lost && !move(slot, frame, now)) return cancelled();
  }
  track::Outcome outcome;
  track::finish_frame(SerialLanes{}, state_, frame, config_, detections_, outcome);
  before_ = state_.count > 0 ? input.pyramid : nullptr;
  write(input.faces, outcome, out);
  return {};
}

void CpuTracker::pass_gap(TrackOutput& out) {
  track::Outcome outcome;
  track::gap_frame(SerialLanes{}, state_, height_, outcome);
  write(nullptr, outcome, out);
}

Status CpuTracker::configure(const TrackConfig& config) {
  CUFACE_TRY(validate(config));
  if (config.flow.window != config_.flow.window) scratch_ = FlowScratch(config.flow);
  config_ = config;
  remember_faces();
  return {};
}

}  // namespace

Status validate(const TrackConfig& c) {
  CUFACE_TRY(validate(c.flow));
  struct Range {
    const char* name;
    double value, low, high;
  };
  if (c.revive != Revive::kLook && c.revive != Revive::kFeatures)
    return {StatusCode::kInvalidArgument, "track: revive must be look or features"};
  const Range ranges[] = {
      {"max_faces", static_cast<double>(c.max_faces), 1, kMaxTracks},
      {"forward_backward", c.forward_backward, 0.01, 100},
      {"max_residual", c.max_residual, 0.001, 1},
      {"min_points", c.min_points, 0, 1},
      {"min_confidence", c.min_confidence, 0, 1},
      {"max_scale_step", c.max_scale_step, 1, 10},
      {"max_shape_change", c.max_shape_change, 0, 10},
      {"min_visible", c.min_visible, 0, 1},
      {"min_width", c.min_width, 1, 1000},
      {"min_overlap", c.min_overlap, 0.01, 1},
      {"min_correlation", c.min_correlation, 0, 1},
      {"max_missed", static_cast<double>(c.max_missed), 0, 1000},
      {"min_confirmed", static_cast<double>(c.min_confirmed), 1, 1000},
      {"doubt_below", c.doubt_below, 0, 1},
      {"hold_time", c.hold_time, 0, 60},
      {"revive_time", c.revive_time, 0, 60},
      {"revive_distance", c.revive_distance, 0, 10},
      {"revive_motion", c.revive_motion, 0, 60},
  };
  for (const Range& r : ranges) {
    // Bounds in float: 0.01f is a little less than 0.01.
    if (!(static_cast<float>(r.value) >= static_cast<float>(r.low) &&
          static_cast<float>(r.value) <= static_cast<float>(r.high))) {
      return Status(StatusCode::kInvalidArgument, std::string("track: ") + r.name +
                                                      " must be between " + std::to_string(r.low) +
                                                      " and " + std::to_string(r.high));
    }
  }
  return {};
}

Result<std::unique_ptr<Tracker>> Tracker::create(Backend backend, const TrackConfig& config,
                                                 int width, int height, std::uint64_t first_id,
                                                 const StopFlag* stop) {
  if (backend != Backend::kCpu) {
    return Status(StatusCode::kUnsupported, "track: this build has no CUDA");
  }
  CUFACE_TRY(simd::status());
  CUFACE_TRY(validate(config));
  if (width < 1 || height < 1) {
    return Status(StatusCode::kInvalidArgument, "track: the picture is empty");
  }
  return std::unique_ptr<Tracker>(
      std::make_unique<CpuTracker>(config, width, height, first_id, stop));
}

}  // namespace cuface
