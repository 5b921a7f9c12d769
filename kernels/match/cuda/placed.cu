#include "kernels/match/cuda/placed.h"

namespace cuface::cuda {
namespace {

constexpr int kThreads = 256;

/// One block.
__global__ void __launch_bounds__(kThreads)
    append_kernel(const DeviceMatches* found, DeviceKeypoints frame, int picture,
                  PlacedMatches* out, std::uint64_t* counted) {
  const int before = picture == 0 ? 0 : out->count, these = found->count;
  for (int i = static_cast<int>(threadIdx.x); i < these; i += kThreads) {
    const Match match = found->all()[i];
    const Keypoint& at = frame.at(match.train);
    out->all()[before + i] = {picture, match.query, match.distance, {at.x, at.y}};
  }
  __syncthreads();
  if (threadIdx.x > 0) return;
  out->count = before + these;
  if (counted) *counted += static_cast<std::uint64_t>(these);
}

}  // namespace

Status append_placed(const DeviceMatches* found, const DeviceKeypoints& frame, int picture,
                     PlacedMatches* out, std::uint64_t* counted, Launcher launch) {
  return launch("placing matches", append_kernel, {1, kThreads}, found, frame, picture, out,
                counted);
}

}  // namespace cuface::cuda
