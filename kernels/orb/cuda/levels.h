// What ORB's kernels know of each level, and what they leave each other in device memory.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/fast/cuda/corners.h"
#include "kernels/orb/orb.h"

namespace cuface::cuda::orb {

struct LevelPart {
  ImageView<const std::uint8_t> grey;
  std::int32_t share;            ///< of the keypoints
  float scale;                   ///< how many pixels of the picture one of the level is
  std::uint32_t first;           ///< of its corners and candidates, in their lists
  std::uint32_t first_row;       ///< of its part's rows, in Work::rows
  std::uint32_t first_word;      ///< of its part's bits
  std::int32_t words_across;     ///< of a row of these
  std::int32_t left, top, rows;  ///< where its part begins, and its height
};

struct LevelParts {
  std::int32_t count;
  LevelPart all[kMostOrbLevels];
};
static_assert(kMostOrbLevels <= fast::kMostPictures);

/// A corner that may become a keypoint.
struct Candidate {
  std::uint32_t place;  ///< fast::packed_place()
  float response;
};

/// Counts, bits and rows begin at 0.
struct Work {
  fast::Corners corners;
  Candidate* candidates;
  std::uint32_t* candidate_counts;  ///< of each level
  std::uint32_t* least;             ///< key_of() the last response that stays
  std::uint32_t* keypoint_counts;
  std::uint32_t* bits;  ///< of each pixel of the parts: is it a keypoint?
  std::uint32_t* rows;  ///< how many of the level's keypoints lie above each row
};

}  // namespace cuface::cuda::orb
