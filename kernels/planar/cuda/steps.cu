#include <limits>
#include <type_traits>

#include "kernels/common/cuda/raw.cuh"
#include "kernels/flow/cuda/block_patch.cuh"
#include "kernels/flow/follow.h"
#include "kernels/planar/cuda/mine.cuh"

namespace cuface::cuda::planar {
namespace {

template <typename MomentTold>
__global__ void __launch_bounds__(kThreads)
    begin_kernel(const __grid_constant__ PlanarWork work, MomentTold told) {
  const Moment moment = told.get();
  const Mine my(work, blockIdx.x);
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
  const Mine my(work, blockIdx.x);
  Object& object = my.object;
  if (!object.active) return;
  const BlockLanes lanes;
  const int inliers = my.find(lanes, object.pairs, work.from, kFollowed, map.get(), scratch.get());
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
  const Mine my(work, blockIdx.y);
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

__global__ void __launch_bounds__(kThreads)
    fit_kernel(const __grid_constant__ PlanarWork work, int round, float threshold) {
  __shared__ Raw<homography::FindScratch> scratch;
  __shared__ Raw<Homography> map;
  const Mine my(work, blockIdx.x);
  Object& object = my.object;
  if (object.looks != Looks::kForMap) return;
  const BlockLanes lanes;
  const bool is_last = round == kFollowing || round == kRounds - 1;
  const int inliers =
      my.find(lanes, my.model.points, work.points, threshold, map.get(), scratch.get());
  const bool agrees = inliers >= work.least_followed;
  note_alike(my, lanes, agrees);
  lanes.once([&] {
    if (agrees) object.map = map.get();
    if (agrees && !is_last) return;
    object.looks = Looks::kNot;
    const bool is_search = round != kFollowing;
    if (!agrees || (is_search && inliers < work.least_found)) return;
    object.pose = my.pose(object.map, inliers, is_search);
    if (!is_search) return;
    object.active = 0;
    if (object.pose.visible) object.looks = Looks::kForMore;
  });
}

/// A map by which more points look like the picture takes the place of the last one.
__global__ void __launch_bounds__(kThreads)
    grow_kernel(const __grid_constant__ PlanarWork work, float threshold) {
  __shared__ Raw<homography::FindScratch> scratch;
  __shared__ Raw<Homography> map;
  __shared__ bool grows;
  const Mine my(work, blockIdx.x);
  Object& object = my.object;
  if (object.looks != Looks::kForMore) return;
  const BlockLanes lanes;
  const int inliers =
      my.find(lanes, my.model.points, work.points, threshold, map.get(), scratch.get());
  lanes.once([&] {
    const PlanarPose pose = my.pose(map.get(), inliers, true);
    grows = inliers >= work.least_followed && pose.inliers > object.pose.inliers;
    if (!grows) {
      object.looks = Looks::kNot;
      return;
    }
    object.map = map.get();
    object.pose = pose;
  });
  if (grows) note_alike(my, lanes, true);
}

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

}  // namespace cuface::cuda::planar
