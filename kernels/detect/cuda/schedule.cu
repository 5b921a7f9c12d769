#include <type_traits>

#include "kernels/common/cuda/runtime.h"
#include "kernels/detect/cuda/schedule.h"

namespace cuface::cuda {
namespace {

/// A block; thread 0 decides, all copy.
template <typename Told>
__global__ void begin_kernel(SearchState* state, const __grid_constant__ Told told) {
  const SearchBegin& begin = told.get();
  const DeviceFaces* faces =
      begin.verify || begin.ask.active_parts || begin.ask.motion ? begin.asker : nullptr;
  const int count = faces ? faces->count : 0, points = faces ? points_per_face(*faces) : 0;
  const Eyes eyes =
      points > 0 && begin.scheme_points == points ? begin.eyes : known_scheme(points).eyes;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
    state->followed.faces[i] = followed_face(faces->faces[i], faces->landmarks() + i * points, eyes,
                                             begin.scale_x, begin.scale_y);
  if (threadIdx.x != 0) return;
  if (begin.restart) state->wish = {};
  SearchRequest ask = begin.ask;
  if (begin.asker) {
    ask.tracker_asks(begin.asker->search_wanted);
    ask.follows = ask.follows || begin.asker->count > 0;
  }
  state->frame = begin.frame;
  const SearchRegion what = state->wish.next(ask);
  state->what = what;
  state->pause = state->rest = kUsualPause;
  state->followed.count = begin.verify || what.active_only ? count : 0;
  state->run = !what ? 0 : begins_search(ask, what) ? 1 : 2;
  state->skipped = state->wish.skipped(ask);
}

/// A block; thread 0 decides, all copy.
__global__ void end_kernel(SearchState* state, const DeviceFaces* before, const DeviceFaces* found,
                           DeviceFaces* out, int landmarks, ScheduleSeen* seen,
                           const Activity::State* moved) {
  const bool unchanged = moved && moved->is_unchanged(state->what);
  const bool run = state->run != 0 && !unchanged;
  const SearchRegion what = unchanged ? SearchRegion{} : state->what;
  const int earlier = before ? before->count : 0, added = run ? found->count : 0;
  // What is first is copied by all; the rest is joined.
  const Face* first = earlier > 0 ? before->faces : found->faces;
  const int first_count = earlier > 0 ? earlier : added;
  for (int i = threadIdx.x; i < first_count; i += blockDim.x) out->faces[i] = first[i];
  // Landmarks of an element before would not fit the faces added here.
  const bool keep = before && !run && before->landmarks_per_face <= landmarks;
  const int points = keep ? earlier * before->landmarks_per_face : 0;
  for (int i = threadIdx.x; i < points; i += blockDim.x)
    out->landmarks()[i] = before->landmarks()[i];
  const bool confident = keep && before->has_confidences;
  for (int i = threadIdx.x; confident && i < points; i += blockDim.x)
    out->confidences(1, points)[i] = before->confidences(1, points)[i];
  __syncthreads();
  if (threadIdx.x != 0) return;
  out->count = first_count;
  if (earlier > 0) out->count = merge_faces(found->faces, added, out->faces, earlier, kMaxFaces);
  out->landmarks_per_face = keep ? before->landmarks_per_face : 0;
  out->followed_per_face = 0;
  out->has_confidences = confident;
  out->searched = (run && !what.is_part()) || (before && before->searched);
  out->part = before ? before->part : what.is_part() && !what.only_new() ? what : SearchRegion{};
  out->overflow = run ? found->overflow : before ? before->overflow : 0;
  out->lost = 0;
  out->search_wanted = {};
  out->frame = state->frame;
  state->run = run ? state->run : 0;
  const bool share = moved && what.only_if_changed();
  if (run)
    state->wish.searched(
        what, out->count > 0,
        share ? motion_pause(what, moved->changed_cells, moved->cells) : state->pause, state->rest);
  if (!seen) return;
  seen->wish = state->wish;
  __threadfence_system();
  *static_cast<volatile std::uint64_t*>(&seen->frame) = state->frame;
}

/// A thread.
__global__ void whole_kernel(SearchState* state, const Activity::State* moved) {
  state->rest = kNetworkRest;
  if (state->run == 0 || !state->what.only_if_changed()) return;
  state->pause = network_pause(state->what, moved->changed_cells, moved->cells);
  if (moved->is_unchanged(state->what)) {
    state->run = 0;
    state->what = {};
  } else {
    state->what = kWholePicture;
  }
}

constexpr int kThreads = 128;

}  // namespace

Status begin_search(SearchState* state, const SearchBegin& begin, Launcher launch) {
  return launch.tell(begin, [&](const auto& told) {
    return launch("deciding on a search", begin_kernel<std::decay_t<decltype(told)>>,
                  {1, kMaxFaces}, state, told);
  });
}

Status search_whole(SearchState* state, const Activity::State* moved, Launcher launch) {
  return launch("whether something has changed", whole_kernel, {1, 1}, state, moved);
}

Status end_search(SearchState* state, const DeviceFaces* before, const DeviceFaces* found,
                  DeviceFaces* out, int landmarks, Launcher launch, ScheduleSeen* seen,
                  const Activity::State* moved) {
  return launch("joining the faces found", end_kernel, {1, kThreads}, state, before, found, out,
                landmarks, seen, moved);
}

}  // namespace cuface::cuda
