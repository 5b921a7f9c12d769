#include "gst/facedetect/search_cuda.h"
#include "kernels/common/cuda.h"

namespace cuface::cuda {
namespace {

__global__ void begin_kernel(SearchState* state, SearchBegin begin) {
  if (begin.restart) state->wish = {};
  const bool due = begin.due || (begin.asker && begin.asker->search_wanted);
  state->frame = begin.frame;
  state->run = state->wish.next(due, begin.searchable);
}

/// A block; thread 0 decides, all copy.
__global__ void end_kernel(SearchState* state, const DeviceFaces* before, const DeviceFaces* found,
                           DeviceFaces* out, int landmarks) {
  const bool run = state->run != 0;
  if (before) {
    for (int i = threadIdx.x; i < before->count; i += blockDim.x) out->faces[i] = before->faces[i];
    // Landmarks of an element before would not fit the faces added here.
    const bool keep = !run && before->landmarks_per_face <= landmarks;
    const int points = keep ? before->count * before->landmarks_per_face : 0;
    for (int i = threadIdx.x; i < points; i += blockDim.x)
      out->landmarks()[i] = before->landmarks()[i];
    __syncthreads();
    if (threadIdx.x != 0) return;
    out->count = before->count;
    out->landmarks_per_face = keep ? before->landmarks_per_face : 0;
    out->searched = before->searched || run;
    out->overflow = run ? found->overflow : before->overflow;
    if (run)
      out->count = gst::merge_faces(found->faces, found->count, out->faces, out->count, kMaxFaces);
  } else {
    if (threadIdx.x != 0) return;
    out->searched = run;
    out->landmarks_per_face = 0;
    if (!run) {
      out->count = 0;
      out->overflow = 0;
    }
  }
  out->lost = 0;
  out->search_wanted = 0;
  out->frame = state->frame;
  if (run) state->wish.searched(out->count > 0);
}

constexpr int kThreads = 128;

}  // namespace

Status begin_search(SearchState* state, const SearchBegin& begin, cudaStream_t stream) {
  begin_kernel<<<1, 1, 0, stream>>>(state, begin);
  return check_launch("deciding on a search");
}

Status end_search(SearchState* state, const DeviceFaces* before, const DeviceFaces* found,
                  DeviceFaces* out, int landmarks, cudaStream_t stream) {
  end_kernel<<<1, kThreads, 0, stream>>>(state, before, found, out, landmarks);
  return check_launch("joining the faces found");
}

}  // namespace cuface::cuda
