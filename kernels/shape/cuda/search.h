// What the kernels of a shape search leave each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/geometry.h"
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
  std::int32_t searched;                   ///< points that the iteration has looked for
};

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
  ShapePoint* points;       ///< [faces][points]: before an iteration's search
  FoundPoint* found;        ///< [faces][points]: after it
  double* weights;          ///< [faces][modes]
  double* costs;            ///< [faces][points]
  double* sums_of_faces;    ///< [faces], of ConstraintMemory, where points weigh by costs
  std::uint8_t* pictures;   ///< [faces]: all levels, where `rooms` says
  std::int64_t picture_bytes;
  struct Room {
    std::int64_t at, stride;
  } rooms[kMaxShapeLevels];
  std::int64_t faces;

  static constexpr int kMostIterations = kMaxShapeLevels * kMaxShapeIterations + kMaxShapeRefits;
  static constexpr int kMultiprocessors = 256;  ///< that are told apart
  /// Faces; whether points are to be searched for again; blocks of iterations that have begun, of
  /// all and of each multiprocessor; of each iteration the numbers that its blocks have taken from
  /// the front and from the back.
  enum Count {
    kJobs,
    kRefits,
    kBegun,
    kBegunThere,
    kTaken = kBegunThere + kMultiprocessors,
    kCounts = kTaken + 2 * kMostIterations
  };

#ifdef __CUDACC__
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
  bool early;          ///< all launches but the first are Launcher::early()
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
