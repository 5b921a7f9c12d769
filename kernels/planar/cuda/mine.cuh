// What kernels of flat objects read and write of one object.
#pragma once

#include <span>

#include "kernels/common/lanes.h"
#include "kernels/common/random.h"
#include "kernels/homography/find.h"
#include "kernels/planar/cuda/steps.h"
#include "kernels/planar/rules.h"

namespace cuface::cuda::planar {

using namespace cuface::planar;

constexpr int kThreads = 128;

/// What belongs to one object.
struct Mine {
  const PlanarWork& work;
  const Model& model;
  Object& object;
  std::size_t first;  ///< its first point
  unsigned number;

  __device__ Mine(const PlanarWork& all, unsigned object_number)
      : work(all),
        model(all.models[object_number]),
        object(all.objects[object_number]),
        first(std::size_t{object_number} * static_cast<std::size_t>(all.stride)),
        number(object_number) {}

  __device__ std::uint64_t seed() const { return random_at(work.shared->moment.frame, number); }
  /// The map of those of n points whose status is not 0: from `from` to where they are now. Gives
  /// the number of inliers; `found` is visible to all lanes.
  __device__ int find(const BlockLanes& lanes, int n, const Point* from, float threshold,
                      Homography& found, homography::FindScratch& scratch) const {
    const std::uint8_t* status = work.status + first;
    Point *pair_from = work.pair_from + first, *pair_to = work.pair_to + first;
    const auto count = static_cast<std::size_t>(lanes.pick(
        n, [&](int i) { return status[i] != 0; },
        [&](int i, int place) {
          pair_from[place] = from[first + static_cast<std::size_t>(i)];
          pair_to[place] = work.after[first + static_cast<std::size_t>(i)];
        }));
    HomographyConfig config = model.homography;
    config.threshold = threshold;
    return homography::find(lanes, std::span<const Point>(pair_from, count),
                            std::span<const Point>(pair_to, count), std::span<const float>(),
                            config, seed(), std::span<std::uint8_t>(work.inlier + first, count),
                            found, scratch);
  }
  __device__ PlanarPose pose(const Homography& map, int inliers, bool is_found) const {
    return pose_of(map, model.octave[0].width, model.octave[0].height, inliers, is_found);
  }
  __device__ bool is_in_view(const Homography& map) const {
    Point corners[4];
    return place_corners(map, model.octave[0].width, model.octave[0].height, corners);
  }
};

/// A block an object.
inline LaunchShape each(const PlanarWork& work) {
  return {static_cast<unsigned>(work.count), kThreads};
}

}  // namespace cuface::cuda::planar
