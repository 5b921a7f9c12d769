// What becomes of flat objects on a frame, in device memory: each launch is one step of
// cuface::PlanarTracker for all objects, a block an object, or a block a point of each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/features/device_features.h"
#include "kernels/homography/homography.h"
#include "kernels/match/cuda/nearest.h"
#include "kernels/planar/planar.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface::cuda {

/// An object that is visible on a frame.
struct DevicePlanarObject {
  PlanarPose pose;
  std::int32_t picture, unused;
  std::uint64_t id;
};

/// A list: this, then the objects. Its first bytes tell how many there are.
struct DevicePlanarObjects {
  std::int32_t count, unused[3];
  CUFACE_HD DevicePlanarObject* all() { return reinterpret_cast<DevicePlanarObject*>(this + 1); }
  CUFACE_HD const DevicePlanarObject* all() const {
    return reinterpret_cast<const DevicePlanarObject*>(this + 1);
  }
};
static_assert(sizeof(DevicePlanarObjects) % alignof(DevicePlanarObject) == 0);
constexpr std::size_t device_planar_bytes(std::size_t count) {
  return sizeof(DevicePlanarObjects) + count * sizeof(DevicePlanarObject);
}

/// What is counted of frames, in memory that the device reaches.
struct PlanarCounts {
  std::uint64_t searches, visible, lost;
};

namespace planar {

/// What is another on each frame.
struct Moment {
  std::uint64_t frame;
  std::int32_t loses;     ///< nothing is visible any more
  std::int32_t searches;  ///< what is missing is looked for
};

/// What stays as it is of an object.
struct Model {
  ImageView<const std::uint8_t> octave[cuface::GaussianPyramid::kMaxLevels];
  std::int32_t octaves, points;
  std::int32_t first_match;     ///< of its pairs among those of all objects
  std::int32_t keypoints;       ///< of the picture: as many matches at most
  HomographyConfig homography;  ///< of matches
};

/// What for: a map of matches or of flow; or more points, after it was found.
enum class Looks : std::int32_t { kNot, kForMap, kForMore };

/// What becomes of it.
struct Object {
  PlanarPose pose;
  Homography map;       ///< that is looked at
  std::uint64_t id;     ///< 0 until it is found
  std::int32_t active;  ///< it is being followed, or looked for
  Looks looks;          ///< its points are to be looked at, by `map`
  std::int32_t pairs;   ///< matches that are left
  std::int32_t wanted;  ///< keypoints that are to be matched: all or none
};

/// Of all objects.
struct Shared {
  Moment moment;
  std::uint64_t ids;
  std::int32_t run;    ///< something is looked for on this frame
  std::int32_t lost;   ///< objects, on this frame
  std::int32_t flows;  ///< points whose flow is asked for: all places
  std::int32_t unused;
};

/// All of it, in device memory, for kernels. Points of object o lie from o * stride on, its pairs
/// from its first_match on.
struct PlanarWork {
  const Model* models;
  Object* objects;
  Shared* shared;
  const Point* points;           ///< of the pictures
  std::uint8_t* alike;           ///< of each point: it looks like the picture
  Point *from, *before, *after;  ///< flow from frame to frame
  std::uint8_t* status;          ///< of flow, or of a look
  Point *pair_from, *pair_to;    ///< those with a status
  Point *match_from, *match_to;  ///< in two halves, which attempts take in turns
  float* match_turn;             ///< so too
  std::uint8_t *inlier, *match_inlier;
  std::int32_t count, stride, matches, unused;
  std::int32_t least_matches, least_found, least_followed, unused2;
};

/// Which points of visible objects are followed: work.before.
Status begin(const PlanarWork& work, const Moment& moment, Launcher launch);
/// The maps of their flow, work.after.
Status carry(const PlanarWork& work, Launcher launch);
/// Where the points are by what the picture looks like there: work.after.
Status look(const PlanarWork& work, ImageView<const std::uint8_t> frame, Looks looks,
            bool must_look_alike, Launcher launch);
/// The maps of that, in a round of a search, or of what is followed.
inline constexpr int kFollowing = -1;
Status fit(const PlanarWork& work, int round, Launcher launch);
/// The maps of what was found on this frame, where they have more points.
Status grow(const PlanarWork& work, Launcher launch);
/// Whether something is to be looked for: shared->run, and what of it is to be matched.
Status decide(const PlanarWork& work, Launcher launch);
/// Pairs of an object's matches.
Status pair(const PlanarWork& work, int object, const DeviceMatches* found,
            const Keypoint* in_picture, const DeviceKeypoints& in_frame, Launcher launch);
/// The map of the pairs that are left, for attempt number `attempt`.
Status guess(const PlanarWork& work, int attempt, Launcher launch);
/// What is visible, and ids for what is found first. `counted` may be null.
enum class Written { kLookedAt, kAtRest, kLost };
Status write(const PlanarWork& work, Written how, DevicePlanarObjects* out, PlanarCounts* counted,
             Launcher launch);

}  // namespace planar
}  // namespace cuface::cuda
