#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/common/cuda/raw.cuh"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/lanes.h"
#include "kernels/common/try.h"
#include "kernels/flow/cuda/lucas_kanade.h"
#include "kernels/orb/pattern.h"
#include "kernels/track/detections.h"
#include "kernels/track/gap.h"
#include "kernels/track/loss_rules.h"
#include "kernels/track/state.h"
#include "kernels/track/track_cuda.h"

namespace cuface::cuda {
namespace {

static_assert(kMaxTracks == kMaxFaces);

constexpr int kPlanThreads = 256, kCarryThreads = 256, kFinishThreads = 128;
constexpr int kMaxPoints = kMaxTracks * kMaxTrackPoints;

/// What is another on each frame. Only the first kernel is told, and the others read it in the
/// plan: in a graph each argument that changes costs the host as much as a launch.
struct Moment {
  std::uint64_t number;
  double elapsed;
};

/// Which points are followed on a frame: those of the track with place i lie from offset[i] on, and
/// offset[number of tracks] counts them all.
struct FramePlan {
  Moment moment;
  std::int32_t total;
  std::int32_t offset[kMaxTracks + 1];
};

/// The points of a frame, track after track; device memory.
struct PointArrays {
  Point* from;
  Point* to;
  Point* back;
  std::uint8_t* good;
};

/// What an enqueue passes to its kernels. Without padding: a list compares arguments as bytes, and
/// one that seems to differ costs the host as much as a launch.
struct Told {
  const DeviceFaces* faces;
  const DeviceFaces* feedback;
  int width, height, room, unused;
  ImageView<const std::uint8_t> before, now;
  track::KnownFaces* memory;  // null: faces are not known by their descriptors
  const cuface::orb::Pair* pattern;
};

__device__ track::Faces plain_faces(const DeviceFaces* list) {
  if (!list) return {};
  return {list->faces,
          list->landmarks(),
          list->count,
          list->landmarks_per_face,
          list->searched != 0,
          list->part,
          list->confidences_of(0)};
}

__device__ track::TrackedFrame frame_of(const Told& told, const Moment& moment) {
  track::TrackedFrame frame;
  frame.faces = plain_faces(told.faces);
  frame.feedback = plain_faces(told.feedback);
  frame.number = moment.number;
  frame.elapsed = moment.elapsed;
  frame.width = told.width;
  frame.height = told.height;
  frame.max_landmarks = told.room;
  frame.before = told.before;
  frame.now = told.now;
  frame.memory = told.memory;
  frame.pattern = told.pattern;
  return frame;
}

/// What the lanes that plan a frame share, of each track.
struct PlanScratch {
  int count[kMaxTracks], offset[kMaxTracks + 1];
  const Point* array[kMaxTracks];
  Box box[kMaxTracks];
};

/// One block: begins the frame and gathers the points of all tracks.
template <typename MomentTold>
__global__ void __launch_bounds__(kPlanThreads)
    plan_frame(track::State* state, const __grid_constant__ Told told, MomentTold now,
               const __grid_constant__ TrackConfig config, bool ended, FramePlan* plan,
               Point* from) {
  const Moment moment = now.get();
  __shared__ Raw<PlanScratch> shared;
  PlanScratch& scratch = shared.get();
  const track::TrackedFrame frame = frame_of(told, moment);
  const BlockLanes lanes;
  lanes.once([&] {
    if (ended) track::end_tracks(*state);
    track::begin_frame(*state, frame, config);
  });
  const int tracks = state->count;
  lanes.each(tracks, [&](int i) {
    const int slot = state->slot[i];
    const track::Points points = track::choose_points(*state, slot, frame.feedback);
    scratch.array[i] = points.array;
    scratch.count[i] = points.count;
    scratch.box[i] = state->track[slot].face.box;
  });
  lanes.once([&] {
    scratch.offset[0] = 0;
    for (int i = 0; i < tracks; ++i) scratch.offset[i + 1] = scratch.offset[i] + scratch.count[i];
    plan->total = scratch.offset[tracks];
    plan->moment = moment;
  });
  lanes.each(tracks + 1, [&](int i) { plan->offset[i] = scratch.offset[i]; });
  for (int i = 0; i < tracks; ++i) {
    const track::Points points{scratch.array[i], scratch.count[i], {}, nullptr};
    for (int p = static_cast<int>(threadIdx.x); p < points.count; p += kPlanThreads)
      from[scratch.offset[i] + p] = track::point_at(points, scratch.box[i], p);
  }
}

/// A block a track.
__global__ void __launch_bounds__(kCarryThreads)
    carry_tracks(track::State* state, const __grid_constant__ Told told,
                 const __grid_constant__ TrackConfig config, const FramePlan* plan,
                 PointArrays points) {
  __shared__ Raw<track::Motion> motion;
  __shared__ Raw<track::MotionScratch> scratch;
  const int i = static_cast<int>(blockIdx.x);
  if (i >= state->count) return;
  const track::TrackedFrame frame = frame_of(told, plan->moment);
  const BlockLanes lanes;
  const int slot = state->slot[i];
  track::age_track(lanes, *state, slot, frame, config, scratch.get().robust.sums);
  if (state->track[slot].lost) return;
  const int first = plan->offset[i];
  const auto n = static_cast<std::size_t>(plan->offset[i + 1] - first);
  const track::Points source = track::choose_points(*state, slot, frame.feedback);
  track::carry_track(
      lanes, *state, slot, frame, config, source, std::span<const Point>(points.from + first, n),
      std::span<const Point>(points.to + first, n), std::span<const Point>(points.back + first, n),
      std::span<std::uint8_t>(points.good + first, n), motion.get(), scratch.get());
}

/// What is passed on; but for `searched` and `overflow`, which are the detector's.
__device__ void write_faces(const BlockLanes& lanes, const track::State& state,
                            const track::Outcome& outcome, std::uint64_t frame, int room,
                            DeviceFaces* out) {
  const auto [n, followed] = track::common_landmarks(lanes, state, room);
  const int count = state.faces();
  lanes.once([&] {
    out->count = count;
    out->landmarks_per_face = n;
    out->followed_per_face = followed;
    out->has_confidences = 0;
    out->part = {};
    out->lost = outcome.lost;
    out->search_wanted = outcome.search_wanted;
    out->frame = frame;
  });
  lanes.each(count, [&](int i) { out->faces[i] = state.of(i).face; });
  lanes.each(count * n,
             [&](int k) { out->landmarks()[k] = state.landmark[state.slot[k / n]][k % n]; });
  lanes.each(count * followed, [&](int k) {
    out->landmarks()[k] = track::followed_point(state, k / followed, k % followed);
  });
}

/// One block: detections, losses, and what is passed on.
__global__ void __launch_bounds__(kFinishThreads)
    finish_tracks(track::State* state, const __grid_constant__ Told told,
                  const __grid_constant__ TrackConfig config, const FramePlan* plan,
                  DeviceFaces* out) {
  __shared__ Raw<track::DetectionScratch> scratch;
  __shared__ Raw<track::Outcome> shared_outcome;
  track::Outcome& outcome = shared_outcome.get();
  const track::TrackedFrame frame = frame_of(told, plan->moment);
  const BlockLanes lanes;
  track::finish_frame(lanes, *state, frame, config, scratch.get(), outcome);
  lanes.once([&] {
    out->searched = frame.faces.searched;
    out->overflow = told.faces ? told.faces->overflow : 0;
  });
  write_faces(lanes, *state, outcome, frame.number, told.room, out);
}

/// One block: a frame without a picture.
template <typename NumberTold>
__global__ void __launch_bounds__(kFinishThreads)
    gap_tracks(track::State* state, NumberTold number, int height, int room, bool ended,
               DeviceFaces* out) {
  __shared__ Raw<track::Outcome> shared_outcome;
  track::Outcome& outcome = shared_outcome.get();
  const BlockLanes lanes;
  lanes.once([&] {
    if (ended) track::end_tracks(*state);
    out->searched = 0;
    out->overflow = 0;
  });
  track::gap_frame(lanes, *state, height, outcome);
  write_faces(lanes, *state, outcome, number.get(), room, out);
}

}  // namespace

struct Tracker::Buffers {
  DeviceBuffer<track::State> state;
  DeviceBuffer<FramePlan> plan;
  DeviceBuffer<Point> points;  // from, to, back
  DeviceBuffer<std::uint8_t> good;
  DeviceBuffer<track::KnownFaces> memory;
  DeviceBuffer<cuface::orb::Pair> pattern;

  PointArrays arrays() {
    return {points.data(), points.data() + kMaxPoints, points.data() + 2 * kMaxPoints, good.data()};
  }
};

Tracker::Tracker() : buffers_(std::make_unique<Buffers>()) {}
Tracker::~Tracker() = default;

Result<std::unique_ptr<Tracker>> Tracker::create(const TrackConfig& config, int width, int height,
                                                 std::uint64_t first_id) {
  CUFACE_TRY(validate(config));
  if (width < 1 || height < 1) {
    return Status(StatusCode::kInvalidArgument, "track: the picture is empty");
  }
  std::unique_ptr<Tracker> made(new Tracker);
  made->config_ = config;
  made->width_ = width;
  made->height_ = height;
  Buffers& b = *made->buffers_;
  std::vector<track::State> start(1);
  track::start_state(start[0], first_id);
  CUFACE_TRY(take(upload(start), b.state));
  CUFACE_TRY(take(DeviceBuffer<FramePlan>::create(1), b.plan));
  CUFACE_TRY(take(DeviceBuffer<Point>::create(3 * kMaxPoints), b.points));
  CUFACE_TRY(take(DeviceBuffer<std::uint8_t>::create(kMaxPoints), b.good));
  CUFACE_TRY(take(DeviceBuffer<track::KnownFaces>::create(1), b.memory));
  const std::vector<cuface::orb::Pair> pattern(std::begin(cuface::orb::kPattern),
                                               std::end(cuface::orb::kPattern));
  CUFACE_TRY(take(upload(pattern), b.pattern));
  return Result<std::unique_ptr<Tracker>>(std::move(made));
}

Status Tracker::enqueue(const TrackerInputs& inputs, DeviceFaces* out, Launcher launch) {
  if (!inputs.pyramid || inputs.pyramid->level(0).width != width_ ||
      inputs.pyramid->level(0).height != height_) {
    return Status(StatusCode::kInvalidArgument, "track: the picture is not of the planned size");
  }
  Buffers& b = *buffers_;
  // The first frame has no track to follow.
  GaussianPyramid &next = *inputs.pyramid, &prev = before_ ? *before_ : next;
  const int levels = flow_levels(next, config_.flow);
  // After configure() the previous picture may lack levels.
  for (GaussianPyramid* pyramid : {&next, &prev}) CUFACE_TRY(pyramid->enqueue(levels, launch));

  const Told told{inputs.faces,
                  inputs.feedback,
                  width_,
                  height_,
                  std::min(inputs.room, kMaxTrackPoints),
                  0,
                  prev.level(0),
                  next.level(0),
                  config_.revive == Revive::kFeatures ? b.memory.data() : nullptr,
                  b.pattern.data()};
  const Moment moment{inputs.frame, track::known_elapsed(inputs.elapsed)};
  const PointArrays points = b.arrays();
  CUFACE_TRY(launch.tell(moment, [&](const auto& now) {
    return launch("track: plan", plan_frame<std::decay_t<decltype(now)>>, {1, kPlanThreads},
                  b.state.data(), told, now, config_, ended_, b.plan.data(), points.from);
  }));
  FlowPoints flow;
  flow.from = points.from;
  flow.count = &b.plan.data()->total;
  flow.max_count = kMaxPoints;
  flow.to = points.to;
  flow.back = points.back;
  flow.status = points.good;
  CUFACE_TRY(enqueue_flow(prev, next, flow, config_.flow, launch));
  CUFACE_TRY(launch("track: carry", carry_tracks, {kMaxTracks, kCarryThreads}, b.state.data(), told,
                    config_, b.plan.data(), points));
  CUFACE_TRY(launch("track: finish", finish_tracks, {1, kFinishThreads}, b.state.data(), told,
                    config_, b.plan.data(), out));
  ended_ = false;
  before_ = inputs.pyramid;
  return {};
}

Status Tracker::pass_gap(std::uint64_t frame, int room, DeviceFaces* out, Launcher launch) {
  const Status passed = launch.tell(frame, [&](const auto& number) {
    return launch("track: gap", gap_tracks<std::decay_t<decltype(number)>>, {1, kFinishThreads},
                  buffers_->state.data(), number, height_, std::min(room, kMaxTrackPoints), ended_,
                  out);
  });
  if (passed.ok()) ended_ = false;
  return passed;
}

void Tracker::end_tracks() { ended_ = true; }

Status Tracker::configure(const TrackConfig& config) {
  CUFACE_TRY(validate(config));
  config_ = config;
  return {};
}

}  // namespace cuface::cuda
