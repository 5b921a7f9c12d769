// Matches with several pictures in one list, with their places in the frame.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/status.h"
#include "kernels/features/device_features.h"
#include "kernels/match/cuda/nearest.h"

namespace cuface::cuda {

struct PlacedMatch {
  std::int32_t picture, query;  ///< the picture's keypoint
  float distance;
  Point at;  ///< of the frame's keypoint
};

/// A list: this, then the matches. Its first bytes tell how many there are.
struct PlacedMatches {
  std::int32_t count, unused[3];
  CUFACE_HD PlacedMatch* all() { return reinterpret_cast<PlacedMatch*>(this + 1); }
  CUFACE_HD const PlacedMatch* all() const {
    return reinterpret_cast<const PlacedMatch*>(this + 1);
  }
};
constexpr std::size_t placed_matches_bytes(std::size_t count) {
  return sizeof(PlacedMatches) + count * sizeof(PlacedMatch);
}

/// Puts a kernel there that appends `found`, the matches of a picture's keypoints with those of a
/// frame, to `out`, which has room for them; picture 0 begins the list. All in device memory.
/// `counted`, in memory that the device reaches, may be null; it grows by the number of matches.
Status append_placed(const DeviceMatches* found, const DeviceKeypoints& frame, int picture,
                     PlacedMatches* out, std::uint64_t* counted, Launcher launch);

}  // namespace cuface::cuda
