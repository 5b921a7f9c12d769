// The search schedule on the GPU: whether this frame is searched is decided there, with the very
// functions of schedule.h.
#pragma once

#include <cstdint>

#include "kernels/activity/activity_cuda.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"
#include "kernels/detect/cuda/verifier.h"
#include "kernels/detect/schedule.h"
#include "kernels/faces/faces_cuda.h"

namespace cuface::cuda {

/// In device memory; begin_search() with `restart` initialises it.
struct SearchState {
  SearchSchedule wish;
  std::uint64_t frame;
  /// Whether this frame is searched: the flag for cuda::Detector; as CountedWork has it.
  std::int32_t run;
  std::int32_t skipped;      ///< whether it is not because frames are late
  SearchRegion what;         ///< of it is searched
  std::int32_t pause, rest;  ///< behind it, for SearchSchedule; the usual ones or a network's
  FollowedFaces followed;    ///< whom the detector is told of
};

/// What the host is told of a schedule, in pinned memory: how it was behind frame `frame`, which is
/// written last.
struct ScheduleSeen {
  SearchSchedule wish;
  std::uint64_t frame;
};

struct SearchBegin {
  bool restart = false;  ///< forget what earlier searches found
  SearchRequest ask;
  std::uint64_t frame = 0;  ///< the chain's number of it
  /// The tracker's faces of the frame before: their search_wanted asks too, their count tells that
  /// it follows some. May be null.
  const DeviceFaces* asker = nullptr;
  /// Whether those faces are to be verified, in a picture so many times as wide and high as theirs.
  /// A search of active parts is told of them too.
  bool verify = false;
  float scale_x = 1, scale_y = 1;
  /// Which of their points are the eyes, where they have so many; of others, and 0, those of the
  /// number's scheme. A scheme as a whole is no part of a message: it is too long for one.
  std::int32_t scheme_points = 0;
  Eyes eyes{};
};

/// Decides; sets state->run, ->what, ->skipped and ->followed. One launch.
Status begin_search(SearchState* state, const SearchBegin& begin, Launcher launch);

/// Before a detector that has no parts, and behind `moved` of state->run and ->what: where only
/// what has changed is searched, and nothing has, state->run becomes 0; else state->what the whole
/// picture. Sets ->pause and ->rest. One launch.
Status search_whole(SearchState* state, const Activity::State* moved, Launcher launch);

/// After the detector, which has written `found` where state->run: `out` gets the faces of the
/// detector before (`before`, may be null) and those found; the next frame is searched too where
/// there are none. The three do not overlap. `landmarks`: points per face there
/// is room for in `out`. `seen`: where the host looks; null = it does not. `moved`: what the
/// detector knows of changes; null = nothing. A search that it has left out, as nothing has
/// changed, is none: state->run becomes 0. One launch.
Status end_search(SearchState* state, const DeviceFaces* before, const DeviceFaces* found,
                  DeviceFaces* out, int landmarks, Launcher launch, ScheduleSeen* seen = nullptr,
                  const Activity::State* moved = nullptr);

}  // namespace cuface::cuda
