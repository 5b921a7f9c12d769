// What the kernels of a shape search leave each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/shape/cuda/device_model.h"
#include "kernels/shape/shape_model.h"

namespace cuface::cuda {

/// A picture, its faces, and where these go with their landmarks.
struct ShapeFrame {
  ImageView<const std::uint8_t> luma;
  const DeviceFaces* in;
  DeviceFaces* out;
  /// [kMaxFaces][points]: where searches start; null = in boxes, or at followed points.
  const Point* starts = nullptr;
};

/// Of several streams.
struct ShapeFrames {
  static constexpr int kMost = 16;
  ShapeFrame frame[kMost];
  std::int64_t count;
  std::int64_t follows;  ///< searches start from followed points
};

/// One face's search.
struct FaceJob {
  /// A level that is searched; or what comes behind level 0.
  enum Stage : std::int32_t { kRefit = -1, kFound = -2, kRefused = -3 };
  std::int32_t stage;
  std::int32_t frame, face;
  Rect window;                             ///< the part of the picture
  double scale, back;                      ///< from it to level 0, and back
  std::int32_t sides[kMaxShapeLevels][2];  ///< width and height of each level
};

/// What a round is of; kFound behind the last one.
CUFACE_HD inline std::int32_t stage_of(const ShapeTables& t, int round) {
  return round < t.rounds_of_levels() ? t.levels - 1 - round / t.iterations
         : round < t.rounds()         ? FaceJob::kRefit
                                      : FaceJob::kFound;
}
/// Of a stage.
CUFACE_HD inline int first_round(const ShapeTables& t, std::int32_t stage) {
  return stage >= 0                 ? (t.levels - 1 - stage) * t.iterations
         : stage == FaceJob::kRefit ? t.rounds_of_levels()
                                    : t.rounds();
}

/// Where a point's texture fits best.
struct FoundPoint {
  ShapePoint to;
  double cost;
};

/// Memory of all searches; `faces` of them fit.
struct ShapeWork {
  FaceJob* jobs;            ///< [faces]
  std::int32_t* counts;     ///< [kCounts]
  std::int32_t* strongest;  ///< [faces][levels]: square of the strongest edge
  /// [faces][rounds + 1][points]: from where a round's searches start, and what is found in the
  /// end; [faces][rounds][points]: what a round's searches find. Both as once.cuh says.
  ShapePoint* points;
  FoundPoint* found;
  double* weights;         ///< [faces][modes]
  double* costs;           ///< [faces][points]
  double* sums_of_faces;   ///< [faces], of ConstraintMemory, where points weigh by costs
  std::uint8_t* pictures;  ///< [faces]: all levels, where `rooms` says
  std::int64_t picture_bytes;
  struct Room {
    std::int64_t at, stride;
  } rooms[kMaxShapeLevels];
  std::int64_t faces;
  std::int32_t rounds, landmarks;

  static constexpr int kMostIterations = kMaxShapeLevels * kMaxShapeIterations + kMaxShapeRefits;
  static constexpr int kMultiprocessors = 256;  ///< that are told apart
  /// Faces; whether points are to be searched for again; blocks of launches of rounds that have
  /// begun, of all and of each multiprocessor; what blocks of each launch have taken.
  enum Count {
    kJobs,
    kRefits,
    kBegun,
    kBegunThere,
    kTaken = kBegunThere + kMultiprocessors,
    kTakenOfLaunch = 4,
    kCounts = kTaken + kTakenOfLaunch * kMostIterations
  };

#ifdef __CUDACC__
  __device__ ShapePoint* points_of(int job, int round) const {
    return points + (job * (rounds + 1) + round) * landmarks;
  }
  __device__ FoundPoint* found_of(int job, int round) const {
    return found + (job * rounds + round) * landmarks;
  }
  __device__ ImageView<std::uint8_t> level(int job, int i) const {
    const FaceJob& of = jobs[job];
    return {pictures + job * picture_bytes + rooms[i].at, of.sides[i][0], of.sides[i][1],
            static_cast<std::ptrdiff_t>(rooms[i].stride)};
  }
#endif
};

/// Bytes of shared memory that a search needs at least, or with so many faces at once.
std::size_t shared_bytes(const DeviceShape& model, int faces = 1);

/// How iterations are launched.
struct SearchShape {
  unsigned blocks;
  unsigned staged_at;  ///< bytes of their shared memory before what they keep copies in
  unsigned room;       ///< for the copies; 0: there is no room
  int faces;           ///< that a block searches at once
  bool early;          ///< launches may be Launcher::early()
  bool cooperative;    ///< all iterations of levels are one launch
};
/// On the current device, whose kernels may then have all its shared memory. kUnsupported where it
/// has too little.
Result<SearchShape> search_shape(const DeviceShape& model);

/// Launches the start; what makes the levels of all searches, and finds their strongest edges; the
/// iterations of all levels, the refits, and what hands out the points.
Status start_searches(const DeviceShape& model, const ShapeWork& work, const ShapeFrames& frames,
                      Launcher launch);
Status make_levels(const DeviceShape& model, const SearchShape& shape, const ShapeWork& work,
                   const ShapeFrames& frames, Launcher launch);
Status search_all(const DeviceShape& model, const SearchShape& shape, const ShapeWork& work,
                  const ShapeFrames& frames, Launcher launch);

}  // namespace cuface::cuda
