#include "kernels/track/track.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/track/rules.h"

namespace cuface {
namespace {

using track::Motion;

constexpr double kUnknownElapsed = 1.0 / 30;

struct Track {
  Face face;
  int confirmed = 0;       // searches that found it
  int missed = 0;          // searches in a row that did not find it
  double unconfirmed = 0;  // seconds since the last confirmation
  bool lost = false;       // decided on this frame
  Loss reason = Loss::kPoints;
  int landmarks = 0;     // held here, from the elements before (order detect, landmark, track)
  int shape_points = 0;  // of the fed-back shape at the last confirmation
  Point landmark[kMaxTrackPoints];
  Point shape[kMaxTrackPoints];
};

/// A lost track that may come back.
struct Ghost {
  std::uint64_t id = 0;
  Box box;
  double age = 0;  // seconds
};

/// A box to start or confirm a track with: finite, and some of it inside the frame.
bool usable(const Box& b, int width, int height) {
  return b.w > 0 && b.h > 0 && b.x - b.x == 0 && b.y - b.y == 0 && b.w - b.w == 0 &&
         b.h - b.h == 0 && track::visible_fraction(b, width, height) > 0;
}

/// One random stream per frame and face.
std::uint64_t seed_of(std::uint64_t frame, std::uint64_t id) {
  return frame * 0xd1342543de82ef95u ^ id * 0xaf251af3b0f025b5u;
}

class CpuTracker final : public Tracker {
 public:
  CpuTracker(const TrackConfig& config, int width, int height, std::uint64_t first_id)
      : config_(config),
        width_(width),
        height_(height),
        pyramids_{{width, height, config.flow.levels, config.flow.window},
                  {width, height, config.flow.levels, config.flow.window}},
        scratch_(config.flow),
        last_id_(first_id - 1) {
    tracks_.reserve(kMaxTracks);
    ghosts_.reserve(kMaxTracks);
  }

  Status enqueue(const TrackInput& input, TrackOutput& out) override;
  void end_tracks() override {
    tracks_.clear();
    ghosts_.clear();
  }
  Status configure(const TrackConfig& config) override;

 private:
  std::span<const Point> choose_points(const Track& t, const FaceList* feedback);
  void move(Track& t, const TrackInput& input);
  void check_shape(Track& t, const FaceList* feedback);
  void confirm(Track& t, const FaceList& faces, std::size_t face);
  void match_detections(const FaceList& faces);
  void start(const FaceList& faces, std::size_t face);
  void apply_search();
  void bury_lost(TrackOutput& out);
  void write(const FaceList* faces, TrackOutput& out) const;

  TrackConfig config_;
  int width_, height_;
  GaussianPyramid pyramids_[2];  // of this frame and the previous one
  int current_ = 0;              // which is this frame's
  FlowScratch scratch_;
  std::vector<Track> tracks_;  // by id
  std::vector<Ghost> ghosts_;  // oldest first
  std::uint64_t last_id_;
  std::string detector_;
  // Of one face at a time.
  Point grid_[track::kGridSide * track::kGridSide];
  Point to_[kMaxTrackPoints], back_[kMaxTrackPoints];
  std::uint8_t good_[kMaxTrackPoints], good_back_[kMaxTrackPoints];
  track::MotionScratch motion_;
};

const Point* find_landmarks(const FaceList* list, std::uint64_t id) {
  if (!list || list->landmarks_per_face < 2 || list->landmarks_per_face > kMaxTrackPoints) {
    return nullptr;
  }
  for (std::size_t i = 0; i < list->faces.size(); ++i) {
    if (list->faces[i].id == id) return list->landmarks_of(i);
  }
  return nullptr;
}

std::span<const Point> CpuTracker::choose_points(const Track& t, const FaceList* feedback) {
  if (const Point* fed = find_landmarks(feedback, t.face.id)) {
    return {fed, static_cast<std::size_t>(feedback->landmarks_per_face)};
  }
  if (t.landmarks >= 2) return {t.landmark, static_cast<std::size_t>(t.landmarks)};
  track::grid_points(t.face.box, grid_);
  return grid_;
}

/// Carries a track from the previous frame to this one, or marks it lost where it was.
void CpuTracker::move(Track& t, const TrackInput& input) {
  const std::span<const Point> from = choose_points(t, input.feedback);
  const std::span<Point> to(to_, from.size()), back(back_, from.size());
  const std::span<std::uint8_t> good(good_, from.size()), good_back(good_back_, from.size());
  const GaussianPyramid &prev = pyramids_[1 - current_], &next = pyramids_[current_];
  flow(prev, next, from, to, good, config_.flow, scratch_);
  flow(next, prev, to, back, good_back, config_.flow, scratch_);
  for (std::size_t i = 0; i < good.size(); ++i) good[i] = good[i] && good_back[i];
  const Motion m = track::judge_motion(t.face.box, from, to, back, good, config_,
                                       seed_of(input.frame, t.face.id), width_, height_, motion_);
  if (m.lost) {
    t.lost = true;
    t.reason = m.reason;
    return;
  }
  t.face.box = m.box;
  t.face.confidence = m.check / static_cast<float>(1 + t.missed);
  t.face.neighbors = -1;
  t.face.origin = Origin::kTracked;
  for (int i = 0; i < t.landmarks; ++i) {
    // Landmarks that could not be followed keep their place in the face.
    const auto k = static_cast<std::size_t>(i);
    const bool followed = from.data() == t.landmark && good[k];
    t.landmark[i] = followed ? to[k] : m.similarity.apply(t.landmark[i]);
  }
}

/// Compares the shape regressed in this track's box with the one at its last confirmation.
void CpuTracker::check_shape(Track& t, const FaceList* feedback) {
  const Point* fed = find_landmarks(feedback, t.face.id);
  if (!fed) return;
  const std::span<const Point> shape(fed, static_cast<std::size_t>(feedback->landmarks_per_face));
  if (t.face.age == 0) {
    std::copy(shape.begin(), shape.end(), t.shape);
    t.shape_points = feedback->landmarks_per_face;
    return;
  }
  if (t.shape_points != feedback->landmarks_per_face || !(config_.max_shape_change > 0)) return;
  const std::span<const Point> before(t.shape, shape.size());
  const float change = track::shape_distance(before, shape);
  if (!(change >= 0 && change <= config_.max_shape_change * t.face.box.w)) {
    t.lost = true;
    t.reason = Loss::kShape;
  }
}

void CpuTracker::confirm(Track& t, const FaceList& faces, std::size_t face) {
  const std::uint64_t id = t.face.id;
  t.face = faces.faces[face];
  t.face.id = id;
  t.face.age = 0;
  ++t.confirmed;
  t.missed = 0;
  t.unconfirmed = 0;
  t.lost = false;
  t.shape_points = 0;
  t.landmarks = 0;
  if (faces.landmarks_per_face >= 2 && faces.landmarks_per_face <= kMaxTrackPoints) {
    t.landmarks = faces.landmarks_per_face;
    std::copy_n(faces.landmarks_of(face), t.landmarks, t.landmark);
  }
}

/// A detection without a track: a face that was lost here a moment ago, or a new one.
void CpuTracker::start(const FaceList& faces, std::size_t face) {
  if (tracks_.size() >= static_cast<std::size_t>(config_.max_faces)) return;
  auto nearest = ghosts_.end();
  float best = 0;
  for (auto g = ghosts_.begin(); g != ghosts_.end(); ++g) {
    const float d2 =
        track::revive_distance2(g->box, faces.faces[face].box, config_.revive_distance);
    if (d2 >= 0 && (nearest == ghosts_.end() || d2 < best)) {
      best = d2;
      nearest = g;
    }
  }
  std::uint64_t id = 0;
  if (nearest != ghosts_.end()) {
    id = nearest->id;
    ghosts_.erase(nearest);
  } else {
    id = ++last_id_;
  }
  const auto place =
      std::find_if(tracks_.begin(), tracks_.end(), [id](const Track& t) { return t.face.id > id; });
  Track& t = *tracks_.insert(place, Track{});
  t.face.id = id;
  confirm(t, faces, face);
}

void CpuTracker::match_detections(const FaceList& faces) {
  Box track_boxes[kMaxTracks], boxes[kMaxTracks];
  std::size_t face_of[kMaxTracks];
  int match[kMaxTracks];
  bool used[kMaxTracks] = {};
  for (std::size_t t = 0; t < tracks_.size(); ++t) track_boxes[t] = tracks_[t].face.box;
  std::size_t count = 0;
  for (std::size_t f = 0; f < faces.faces.size() && count < kMaxTracks; ++f) {
    if (!usable(faces.faces[f].box, width_, height_)) continue;
    boxes[count] = faces.faces[f].box;
    face_of[count++] = f;
  }
  const std::size_t tracks = tracks_.size();
  track::associate(std::span(track_boxes, tracks), std::span(boxes, count), config_.min_overlap,
                   std::span(match, tracks));
  for (std::size_t t = 0; t < tracks; ++t) {
    if (match[t] < 0) {
      if (faces.searched) ++tracks_[t].missed;
      continue;
    }
    confirm(tracks_[t], faces, face_of[match[t]]);
    used[match[t]] = true;
  }
  apply_search();
  for (std::size_t d = 0; d < count; ++d) {
    if (!used[d]) start(faces, face_of[d]);
  }
}

/// What a search says about the tracks that it did not confirm.
void CpuTracker::apply_search() {
  for (Track& t : tracks_) {
    if (t.lost || t.missed == 0) continue;
    bool same = false;
    for (const Track& other : tracks_) {
      same = same || (other.missed == 0 && !other.lost &&
                      track::overlap(t.face.box, other.face.box) >= config_.min_overlap);
    }
    const bool held = t.confirmed >= config_.min_confirmed &&
                      t.unconfirmed <= static_cast<double>(config_.hold_time);
    const bool stale = t.missed > config_.max_missed && !held;
    if (same || stale) {
      t.lost = true;
      t.reason = Loss::kMissed;
    }
  }
}

/// Takes lost tracks out and remembers them for a while.
void CpuTracker::bury_lost(TrackOutput& out) {
  for (const Track& t : tracks_) {
    if (!t.lost) continue;
    ++out.lost;
    ++out.lost_by[static_cast<std::size_t>(t.reason)];
    if (ghosts_.size() == kMaxTracks) ghosts_.erase(ghosts_.begin());
    ghosts_.push_back({t.face.id, t.face.box, 0});
  }
  std::erase_if(tracks_, [](const Track& t) { return t.lost; });
}

void CpuTracker::write(const FaceList* faces, TrackOutput& out) const {
  FaceList& list = out.faces;
  list.width = width_;
  list.height = height_;
  list.searched = faces && faces->searched;
  list.detector = detector_;
  list.faces.clear();
  list.landmarks.clear();
  list.landmarks_per_face = tracks_.empty() ? 0 : tracks_.front().landmarks;
  for (const Track& t : tracks_) {
    list.faces.push_back(t.face);
    if (t.landmarks != list.landmarks_per_face) list.landmarks_per_face = 0;
  }
  if (list.landmarks_per_face == 0) return;
  for (const Track& t : tracks_) {
    list.landmarks.insert(list.landmarks.end(), t.landmark, t.landmark + t.landmarks);
  }
}

Status CpuTracker::enqueue(const TrackInput& input, TrackOutput& out) {
  if (!input.luma.data || input.luma.width != width_ || input.luma.height != height_) {
    return Status(StatusCode::kInvalidArgument, "track: the picture is not of the planned size");
  }
  out.lost = 0;
  out.lost_by.fill(0);
  const double elapsed = input.elapsed > 0 ? input.elapsed : kUnknownElapsed;
  for (Ghost& g : ghosts_) g.age += elapsed;
  std::erase_if(ghosts_, [this](const Ghost& g) {
    return !(g.age <= static_cast<double>(config_.revive_time));
  });

  const bool had_tracks = !tracks_.empty();
  const bool has_faces = input.faces && !input.faces->faces.empty();
  if (had_tracks || has_faces) {
    current_ = 1 - current_;
    pyramids_[current_].build(input.luma);
  }
  for (Track& t : tracks_) {
    check_shape(t, input.feedback);
    ++t.face.age;
    t.unconfirmed += elapsed;
    if (!t.lost) move(t, input);
  }
  if (input.faces && (input.faces->searched || has_faces)) {
    if (has_faces) detector_ = input.faces->detector;
    match_detections(*input.faces);
  }
  bury_lost(out);
  out.search_wanted = had_tracks && tracks_.empty();
  write(input.faces, out);
  return {};
}

Status CpuTracker::configure(const TrackConfig& config) {
  if (Status s = validate(config); !s.ok()) return s;
  if (config.flow.window != config_.flow.window || config.flow.levels != config_.flow.levels) {
    GaussianPyramid previous(width_, height_, config.flow.levels, config.flow.window);
    if (!tracks_.empty()) previous.build(pyramids_[current_].level(0));
    pyramids_[current_] = std::move(previous);
    pyramids_[1 - current_] =
        GaussianPyramid(width_, height_, config.flow.levels, config.flow.window);
    scratch_ = FlowScratch(config.flow);
  }
  config_ = config;
  return {};
}

}  // namespace

Status validate(const TrackConfig& c) {
  if (Status s = validate(c.flow); !s.ok()) return s;
  struct Range {
    const char* name;
    double value, low, high;
  };
  const Range ranges[] = {
      {"max_faces", static_cast<double>(c.max_faces), 1, kMaxTracks},
      {"forward_backward", c.forward_backward, 0.01, 100},
      {"max_residual", c.max_residual, 0.001, 1},
      {"min_points", c.min_points, 0, 1},
      {"max_scale_step", c.max_scale_step, 1, 10},
      {"max_shape_change", c.max_shape_change, 0, 10},
      {"min_visible", c.min_visible, 0, 1},
      {"min_width", c.min_width, 1, 1000},
      {"min_overlap", c.min_overlap, 0.01, 1},
      {"max_missed", static_cast<double>(c.max_missed), 0, 1000},
      {"min_confirmed", static_cast<double>(c.min_confirmed), 1, 1000},
      {"hold_time", c.hold_time, 0, 60},
      {"revive_time", c.revive_time, 0, 60},
      {"revive_distance", c.revive_distance, 0, 10},
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
                                                 int width, int height, std::uint64_t first_id) {
  if (backend != Backend::kCpu) {
    return Status(StatusCode::kUnsupported, "track: this build has no CUDA");
  }
  if (Status s = validate(config); !s.ok()) return s;
  if (width < 1 || height < 1) {
    return Status(StatusCode::kInvalidArgument, "track: the picture is empty");
  }
  return std::unique_ptr<Tracker>(std::make_unique<CpuTracker>(config, width, height, first_id));
}

}  // namespace cuface
