#include <limits>
#include <span>
#include <type_traits>

#include "kernels/common/cuda/raw.cuh"
#include "kernels/common/lanes.h"
#include "kernels/common/random.h"
#include "kernels/flow/cuda/block_patch.cuh"
#include "kernels/flow/follow.h"
#include "kernels/homography/find.h"
#include "kernels/planar/cuda/steps.h"
#include "kernels/planar/rules.h"

namespace cuface::cuda::planar {
namespace {

using namespace cuface::planar;

constexpr int kThreads = 128;

/// What belongs to one object.
struct Mine {
  const PlanarWork& work;
  const Model& model;
  Object& object;
  std::size_t first;  ///< its first point

  __device__ Mine(const PlanarWork& all, int number)
      : work(all),
        model(all.models[number]),
        object(all.objects[number]),
        first(static_cast<std::size_t>(number) * static_cast<std::size_t>(all.stride)) {}

  __device__ std::uint64_t seed(int number) const {
    return random_at(work.shared->moment.frame, static_cast<std::uint64_t>(number));
  }
  /// Makes pairs of those of n points whose status is not 0: from `from` to where they are now.
  __device__ int pick_pairs(const BlockLanes& lanes, int n, const Point* from) const {
    const std::uint8_t* status = work.status + first;
    return lanes.pick(
        n, [&](int i) { return status[i] != 0; },
        [&](int i, int place) {
          work.pair_from[first + static_cast<std::size_t>(place)] =
              from[first + static_cast<std::size_t>(i)];
          work.pair_to[first + static_cast<std::size_t>(place)] =
              work.after[first + static_cast<std::size_t>(i)];
        });
  }
  /// The map of the first n pairs; `found` is visible to all lanes.
  __device__ int find(const BlockLanes& lanes, int n, float threshold, std::uint64_t seed,
                      Homography& found, homography::FindScratch& scratch) const {
    const auto count = static_cast<std::size_t>(n);
    HomographyConfig config = model.homography;
    config.threshold = threshold;
    return homography::find(lanes, std::span<const Point>(work.pair_from + first, count),
                            std::span<const Point>(work.pair_to + first, count),
                            std::span<const float>(), config, seed,
                            std::span<std::uint8_t>(work.inlier + first, count), found, scratch);
  }
  __device__ bool place(const Homography& map, Point* corners) const {
    return place_corners(map, model.octave[0].width, model.octave[0].height, corners);
  }
};

template <typename MomentTold>
__global__ void __launch_bounds__(kThreads)
    begin_kernel(const __grid_constant__ PlanarWork work, MomentTold told) {
  const Moment moment = told.get();
  const Mine my(work, static_cast<int>(blockIdx.x));
  Object& object = my.object;
  const BlockLanes lanes;
  lanes.once([&] {
    if (blockIdx.x == 0) {
      work.shared->moment = moment;
      work.shared->flows = work.count * work.stride;
    }
    object.active = object.pose.visible && !moment.loses;
    object.looks = Looks::kNot;
    object.map = object.pose.map;
  });
  const std::uint8_t* alike = work.alike + my.first;
  const int places = lanes.pick(
      object.active ? my.model.points : 0, [&](int i) { return alike[i] != 0; },
      [&](int i, int place) {
        const Point p = work.points[my.first + static_cast<std::size_t>(i)];
        work.from[my.first + static_cast<std::size_t>(place)] = p;
        work.before[my.first + static_cast<std::size_t>(place)] = object.map.apply(p);
      });
  // Flow does not follow what is nowhere.
  constexpr float kNowhere = std::numeric_limits<float>::quiet_NaN();
  lanes.each(work.stride - places, [&](int i) {
    work.before[my.first + static_cast<std::size_t>(places + i)] = {kNowhere, kNowhere};
  });
  lanes.once([&] {
    object.pairs = places;
    object.pose = PlanarPose{};
  });
}

__global__ void __launch_bounds__(kThreads) carry_kernel(const __grid_constant__ PlanarWork work) {
  __shared__ Raw<homography::FindScratch> scratch;
  __shared__ Raw<Homography> map;
  const int number = static_cast<int>(blockIdx.x);
  const Mine my(work, number);
  Object& object = my.object;
  if (!object.active) return;
  const BlockLanes lanes;
  const int n = my.pick_pairs(lanes, object.pairs, work.from);
  const int inliers = my.find(lanes, n, kFollowed, my.seed(number), map.get(), scratch.get());
  lanes.once([&] {
    if (inliers < work.least_followed) return;
    object.map = map.get();
    object.looks = Looks::kForMap;
  });
}

/// One picture, as follow() wants a pyramid.
struct OnePicture {
  flow_steps::Picture picture;
  __device__ flow_steps::Picture level(int) const { return picture; }
};

/// A block a point of an object.
__global__ void __launch_bounds__(BlockPatch::kThreads)
    look_kernel(const __grid_constant__ PlanarWork work, ImageView<const std::uint8_t> frame,
                Looks looks, bool must_look_alike) {
  static_assert(BlockPatch::kThreads == kThreads);
  constexpr int kPixels = kSquareSide * kSquareSide;
  extern __shared__ std::uint8_t memory[];
  __shared__ BlockSum<BlockPatch::kWarps>::Parts parts;
  __shared__ std::uint8_t seen[kPixels];
  __shared__ int sums[5];
  const Mine my(work, static_cast<int>(blockIdx.y));
  const int i = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  if (my.object.looks != looks || i >= my.model.points) return;
  const std::size_t mine = my.first + static_cast<std::size_t>(i);
  const Homography map = my.object.map, back = inverse(map);
  const ImageView<const std::uint8_t>* octaves = my.model.octave;
  Point at{};
  Square square{};
  int octave = -1;
  if (place_point(map, work.points[mine], frame.width, frame.height, at, square))
    octave =
        octave_of(octaves[0].width, octaves[0].height, my.model.octaves, back, square, kMargin);
  if (octave < 0) {
    if (thread == 0) work.status[mine] = 0;
    return;
  }
  if (thread < 5) sums[thread] = 0;
  for (int k = thread; k < kPixels; k += kThreads)
    seen[k] = drawn_pixel(octaves[octave], octave, back, square.x + k % kSquareSide,
                          square.y + k / kSquareSide);
  __syncthreads();
  int of_thread[5] = {};
  for (int k = thread; k < kRefineWindow * kRefineWindow; k += kThreads) {
    const int x = kMargin + k % kRefineWindow, y = kMargin + k / kRefineWindow;
    const int a = seen[y * kSquareSide + x], b = frame.at(square.x + x, square.y + y);
    of_thread[0] += a;
    of_thread[1] += b;
    of_thread[2] += a * a;
    of_thread[3] += b * b;
    of_thread[4] += a * b;
  }
  for (int k = 0; k < 5; ++k) atomicAdd(&sums[k], of_thread[k]);
  __syncthreads();
  const Likeness like{kRefineWindow * kRefineWindow, sums[0], sums[1], sums[2], sums[3], sums[4]};
  if (must_look_alike && !like.at_least(kAlike)) {
    if (thread == 0) work.status[mine] = 0;
    return;
  }
  const Light light(like);
  for (int k = thread; k < kPixels; k += kThreads) seen[k] = light.apply(seen[k]);
  __syncthreads();
  // The frame with what the picture looks like in the square, of which no other pixel is read.
  const flow_steps::Picture drawn{seen - (square.y * kSquareSide + square.x), frame.width,
                                  frame.height, kSquareSide};
  FlowConfig config;
  config.window = kRefineWindow;
  config.levels = 1;
  BlockPatch patch(kRefineWindow, memory, parts);
  const OnePicture prev{drawn}, next{frame};
  Point to{};
  const bool good = flow_steps::follow(patch, prev, next, 1, at, config, to);
  if (thread > 0) return;
  work.after[mine] = to;
  work.status[mine] = good ? 1 : 0;
}

/// Which points look like the picture by the map of the first pairs.
__device__ void note_alike(const Mine& my, const BlockLanes& lanes, bool agrees) {
  const std::uint8_t* status = my.work.status + my.first;
  std::uint8_t* alike = my.work.alike + my.first;
  lanes.each(my.model.points, [&](int i) { alike[i] = 0; });
  lanes.pick(
      agrees ? my.model.points : 0, [&](int i) { return status[i] != 0; },
      [&](int i, int place) {
        alike[i] = my.work.inlier[my.first + static_cast<std::size_t>(place)];
      });
}

/// `pose` is visible if `map` shows all corners.
__device__ void settle(const Mine& my, const Homography& map, int inliers, bool found,
                       PlanarPose& pose) {
  pose.visible = my.place(map, pose.corners);
  pose.found = found;
  pose.map = scaled(map);
  pose.inliers = inliers;
}

__global__ void __launch_bounds__(kThreads)
    fit_kernel(const __grid_constant__ PlanarWork work, int round, float threshold) {
  __shared__ Raw<homography::FindScratch> scratch;
  __shared__ Raw<Homography> map;
  const int number = static_cast<int>(blockIdx.x);
  const Mine my(work, number);
  Object& object = my.object;
  if (object.looks != Looks::kForMap) return;
  const BlockLanes lanes;
  const int n = my.pick_pairs(lanes, my.model.points, work.points);
  const bool is_last = round == kFollowing || round == kRounds - 1;
  const int inliers = my.find(lanes, n, threshold, my.seed(number), map.get(), scratch.get());
  const bool agrees = inliers >= work.least_followed;
  note_alike(my, lanes, agrees);
  lanes.once([&] {
    if (agrees) object.map = map.get();
    if (agrees && !is_last) return;
    object.looks = Looks::kNot;
    const bool is_search = round != kFollowing;
    if (!agrees || (is_search && inliers < work.least_found)) return;
    PlanarPose pose;
    settle(my, object.map, inliers, is_search, pose);
    object.pose = pose.visible ? pose : PlanarPose{};
    if (!is_search) return;
    object.active = 0;
    if (pose.visible) object.looks = Looks::kForMore;
  });
}

/// A map by which more points look like the picture takes the place of the last one.
__global__ void __launch_bounds__(kThreads)
    grow_kernel(const __grid_constant__ PlanarWork work, float threshold) {
  __shared__ Raw<homography::FindScratch> scratch;
  __shared__ Raw<Homography> map;
  __shared__ Raw<PlanarPose> pose;
  __shared__ bool grows;
  const int number = static_cast<int>(blockIdx.x);
  const Mine my(work, number);
  Object& object = my.object;
  if (object.looks != Looks::kForMore) return;
  const BlockLanes lanes;
  const int n = my.pick_pairs(lanes, my.model.points, work.points);
  const int inliers = my.find(lanes, n, threshold, my.seed(number), map.get(), scratch.get());
  lanes.once([&] {
    grows = inliers >= work.least_followed && inliers > object.pose.inliers;
    if (grows) {
      settle(my, map.get(), inliers, true, pose.get());
      grows = pose.get().visible;
    }
    if (!grows) {
      object.looks = Looks::kNot;
      return;
    }
    object.map = map.get();
    object.pose = pose.get();
  });
  if (grows) note_alike(my, lanes, true);
}

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
  const int number = static_cast<int>(blockIdx.x);
  const Mine my(work, number);
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
                       my.model.homography, my.seed(number) + static_cast<std::uint64_t>(attempt),
                       std::span<std::uint8_t>(inlier, count), map.get(), scratch.get());
  lanes.once([&] {
    object.pairs = n;
    object.active = inliers >= work.least_matches;
    if (!object.active) return;
    object.map = map.get();
    Point corners[4];
    object.looks = my.place(object.map, corners) ? Looks::kForMap : Looks::kNot;
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

LaunchShape each(const PlanarWork& work) { return {static_cast<unsigned>(work.count), kThreads}; }

}  // namespace

Status begin(const PlanarWork& work, const Moment& moment, Launcher launch) {
  return launch.tell(moment, [&](const auto& told) {
    return launch("planar: begin", begin_kernel<std::decay_t<decltype(told)>>, each(work), work,
                  told);
  });
}

Status carry(const PlanarWork& work, Launcher launch) {
  return launch("planar: carry", carry_kernel, each(work), work);
}

Status look(const PlanarWork& work, ImageView<const std::uint8_t> frame, Looks looks,
            bool must_look_alike, Launcher launch) {
  const dim3 grid(static_cast<unsigned>(work.stride), static_cast<unsigned>(work.count));
  return launch(
      "planar: look", look_kernel,
      {grid, BlockPatch::kThreads, static_cast<std::size_t>(BlockPatch::bytes(kRefineWindow))},
      work, frame, looks, must_look_alike);
}

Status fit(const PlanarWork& work, int round, Launcher launch) {
  return launch("planar: fit", fit_kernel, each(work), work, round,
                kRefined[round == kFollowing ? kRounds - 1 : round]);
}

Status grow(const PlanarWork& work, Launcher launch) {
  return launch("planar: grow", grow_kernel, each(work), work, kRefined[kRounds - 1]);
}

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
