// Objects that are lost: what is looked for, by which matches, and what of all is told.
#include <span>

#include "kernels/common/cuda/raw.cuh"
#include "kernels/planar/cuda/mine.cuh"

namespace cuface::cuda::planar {
namespace {

/// One block.
__global__ void __launch_bounds__(kThreads) decide_kernel(const __grid_constant__ PlanarWork work) {
  const BlockLanes lanes;
  Object* objects = work.objects;
  const auto is_missing = [&](int o) { return !objects[o].pose.visible; };
  const int lost = lanes.pick(
      work.count, [&](int o) { return objects[o].active && is_missing(o); }, [](int, int) {});
  const bool runs = work.shared->moment.searches &&
                    lanes.largest(work.count, [&](int o) { return int{is_missing(o)}; });
  lanes.each(work.count, [&](int o) {
    objects[o].active = runs && is_missing(o);
    objects[o].wanted = objects[o].active ? work.models[o].keypoints : 0;
    objects[o].pairs = 0;
  });
  lanes.once([&] {
    work.shared->lost = lost;
    work.shared->run = runs;
  });
}

/// One block.
__global__ void __launch_bounds__(kThreads)
    pair_kernel(const __grid_constant__ PlanarWork work, int number, const DeviceMatches* found,
                const Keypoint* in_picture, const __grid_constant__ DeviceKeypoints in_frame) {
  Object& object = work.objects[number];
  if (!object.active) return;
  const BlockLanes lanes;
  const std::size_t first = static_cast<std::size_t>(work.models[number].first_match);
  const int n = found->count;
  lanes.each(n, [&](int i) {
    const Match match = found->all()[i];
    const Keypoint &ours = in_picture[match.query], &theirs = in_frame.at(match.train);
    work.match_from[first + static_cast<std::size_t>(i)] = {ours.x, ours.y};
    work.match_to[first + static_cast<std::size_t>(i)] = {theirs.x, theirs.y};
    work.match_turn[first + static_cast<std::size_t>(i)] = theirs.angle - ours.angle;
  });
  lanes.once([&] { object.pairs = n; });
}

__global__ void __launch_bounds__(kThreads)
    guess_kernel(const __grid_constant__ PlanarWork work, int attempt) {
  __shared__ Raw<homography::FindScratch> scratch;
  __shared__ Raw<Homography> map;
  const Mine my(work, blockIdx.x);
  Object& object = my.object;
  if (!object.active) return;
  const BlockLanes lanes;
  const auto half = [&](int turn) {
    return static_cast<std::size_t>(turn % 2 * work.matches + my.model.first_match);
  };
  Point *from = work.match_from + half(attempt), *to = work.match_to + half(attempt);
  float* turns = work.match_turn + half(attempt);
  std::uint8_t* inlier = work.match_inlier + my.model.first_match;
  int n = object.pairs;
  if (attempt > 0) {
    // Something else of the frame has the picture's corners in part: the next map is without it.
    const Point* before_from = work.match_from + half(attempt - 1);
    const Point* before_to = work.match_to + half(attempt - 1);
    const float* before_turns = work.match_turn + half(attempt - 1);
    n = lanes.pick(
        n, [&](int i) { return inlier[i] == 0; },
        [&](int i, int place) {
          from[place] = before_from[i];
          to[place] = before_to[i];
          turns[place] = before_turns[i];
        });
  }
  const auto count = static_cast<std::size_t>(n);
  const int inliers =
      homography::find(lanes, std::span<const Point>(from, count),
                       std::span<const Point>(to, count), std::span<const float>(turns, count),
                       my.model.homography, my.seed() + static_cast<std::uint64_t>(attempt),
                       std::span<std::uint8_t>(inlier, count), map.get(), scratch.get());
  lanes.once([&] {
    object.pairs = n;
    object.active = inliers >= work.least_matches;
    if (!object.active) return;
    object.map = map.get();
    object.looks = my.is_in_view(object.map) ? Looks::kForMap : Looks::kNot;
  });
}

/// One block.
__global__ void __launch_bounds__(kThreads)
    write_kernel(const __grid_constant__ PlanarWork work, Written how, DevicePlanarObjects* out,
                 PlanarCounts* counted) {
  const BlockLanes lanes;
  Object* objects = work.objects;
  lanes.each(how == Written::kLost ? work.count : 0,
             [&](int o) { objects[o].pose = PlanarPose{}; });
  lanes.once([&] {
    for (int o = 0; o < work.count; ++o)
      if (objects[o].pose.visible && objects[o].id == 0) objects[o].id = ++work.shared->ids;
  });
  const int visible = lanes.pick(
      work.count, [&](int o) { return objects[o].pose.visible; },
      [&](int o, int place) {
        DevicePlanarObject& one = out->all()[place];
        one.pose = objects[o].pose;
        one.picture = o;
        one.unused = 0;
        one.id = objects[o].id;
      });
  lanes.once([&] {
    out->count = visible;
    if (!counted) return;
    counted->visible += static_cast<std::uint64_t>(visible);
    if (how != Written::kLookedAt) return;
    counted->lost += static_cast<std::uint64_t>(work.shared->lost);
    counted->searches += static_cast<std::uint64_t>(work.shared->run);
  });
}

}  // namespace

Status decide(const PlanarWork& work, Launcher launch) {
  return launch("planar: decide", decide_kernel, {1, kThreads}, work);
}

Status pair(const PlanarWork& work, int object, const DeviceMatches* found,
            const Keypoint* in_picture, const DeviceKeypoints& in_frame, Launcher launch) {
  return launch("planar: pair", pair_kernel, {1, kThreads}, work, object, found, in_picture,
                in_frame);
}

Status guess(const PlanarWork& work, int attempt, Launcher launch) {
  return launch("planar: guess", guess_kernel, each(work), work, attempt);
}

Status write(const PlanarWork& work, Written how, DevicePlanarObjects* out, PlanarCounts* counted,
             Launcher launch) {
  return launch("planar: write", write_kernel, {1, kThreads}, work, how, out, counted);
}

}  // namespace cuface::cuda::planar
