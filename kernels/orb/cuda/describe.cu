#include <algorithm>
#include <cstddef>

#include "kernels/common/cuda/ranks.cuh"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/try.h"
#include "kernels/fast/rules.h"
#include "kernels/orb/cuda/describe.h"
#include "kernels/orb/cuda/lists.cuh"
#include "kernels/orb/cuda/patch.cuh"
#include "kernels/orb/plan.h"

namespace cuface::cuda::orb {
namespace {

constexpr std::size_t kMostBlocks = 4096;
constexpr int kAdmitThreads = 1024;

/// For a whole warp: how many keypoints come before one of its level.
__device__ std::uint32_t rank_of(const LevelPart& level, const Work& work, std::uint32_t place,
                                 int lane) {
  const int x = fast::x_of(place) - level.left, y = fast::y_of(place) - level.top;
  const std::uint32_t* words = work.bits + level.first_word + y * level.words_across;
  std::uint32_t before = 0;
  for (int i = lane; i <= x / kWarp; i += kWarp) {
    const std::uint32_t mask = i < x / kWarp ? ~0u : (1u << x % kWarp) - 1;
    before += static_cast<std::uint32_t>(__popc(words[i] & mask));
  }
  return work.rows[level.first_row + static_cast<std::uint32_t>(y)] + sum_of_warp(before);
}

/// A block a candidate.
__global__ void __launch_bounds__(kThreads)
    describe_kernel(const __grid_constant__ LevelParts levels, const __grid_constant__ Work work,
                    const Pair* pattern, bool upright, DeviceFeatures* out,
                    std::uint64_t* counted) {
  __shared__ Concatenated candidates;
  __shared__ std::uint32_t keypoints_before[kWarp];
  __shared__ KeypointPatch patch;
  __shared__ std::uint32_t before;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  candidates.make(work.candidate_counts, levels.count);
  if (warp == 1) {
    const std::uint32_t mine = lane < levels.count ? work.keypoint_counts[lane] : 0;
    keypoints_before[lane] = prefix_sum(mine) - mine;
    if (blockIdx.x == 0 && lane == kWarp - 1) {
      const std::uint32_t all =
          min(keypoints_before[lane] + mine, static_cast<std::uint32_t>(kMostKeypoints));
      out->count = static_cast<std::int32_t>(all);
      if (counted) *counted += all;
    }
  }
  __syncthreads();
  for (std::uint32_t i = blockIdx.x; i < candidates.size(); i += gridDim.x) {
    const int l = candidates.level_of(i, levels.count);
    const LevelPart& level = levels.all[l];
    const Candidate candidate = work.candidates[level.first + i - candidates.begin[l]];
    if (key_of(candidate.response) < work.least[l]) continue;
    const int x = fast::x_of(candidate.place), y = fast::y_of(candidate.place);
    const int begin = load_patch(level.grey, x, y, patch.grey);
    if (warp == kWarps - 1) {
      const std::uint32_t rank = rank_of(level, work, candidate.place, lane);
      if (lane == 0) before = keypoints_before[l] + rank;
    }
    __syncthreads();
    const std::uint32_t rank = before;
    if (rank >= kMostKeypoints) {
      __syncthreads();
      continue;
    }
    DeviceFeature& feature = out->all()[rank];
    describe_patch(patch, begin, !upright, pattern, feature.descriptor, [&](float direction) {
      Keypoint k;
      k.x = static_cast<float>(x) * level.scale;
      k.y = static_cast<float>(y) * level.scale;
      k.size = cuface::orb::kPatch * level.scale;
      k.angle = direction;
      k.response = candidate.response;
      k.octave = l;
      feature.keypoint = k;
      feature.sign = cuface::fast::sign_of(level.grey, x, y);
      return direction;
    });
  }
}

__device__ bool is_inside(const Keypoint& k, const LevelPart& level) {
  return cuface::orb::can_be_described(k, level.scale, level.grey.width, level.grey.height);
}

/// One block: those that can be described, in their order.
__global__ void __launch_bounds__(kAdmitThreads)
    admit_kernel(const __grid_constant__ LevelParts levels, const Keypoint* given, int count,
                 DeviceFeatures* out) {
  __shared__ int counts[2][kAdmitThreads / kWarp];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  int admitted = 0, round = 0;
  for (int begin = 0; begin < count; begin += kAdmitThreads, round ^= 1) {
    const int i = begin + thread;
    Keypoint k;
    if (i < count) k = given[i];
    const bool there =
        i < count && k.octave >= 0 && k.octave < levels.count && is_inside(k, levels.all[k.octave]);
    const unsigned all = __ballot_sync(kAllLanes, there);
    if (lane == 0) counts[round][warp] = __popc(all);
    __syncthreads();
    int before = 0, these = 0;
    for (int w = 0; w < kAdmitThreads / kWarp; ++w) {
      if (w == warp) before = these;
      these += counts[round][w];
    }
    before += admitted + __popc(all & ((1u << lane) - 1));
    if (there) out->all()[before].keypoint = k;
    admitted += these;
  }
  if (thread == 0) out->count = admitted;
}

/// A block a keypoint of the list.
__global__ void __launch_bounds__(kThreads)
    describe_given_kernel(const __grid_constant__ LevelParts levels, const Pair* pattern,
                          DeviceFeatures* out) {
  __shared__ KeypointPatch patch;
  for (int i = static_cast<int>(blockIdx.x); i < out->count; i += static_cast<int>(gridDim.x)) {
    DeviceFeature& feature = out->all()[i];
    const Keypoint k = feature.keypoint;
    const LevelPart& level = levels.all[k.octave];
    const int x = cuface::orb::on_level(k.x, level.scale);
    const int y = cuface::orb::on_level(k.y, level.scale);
    const int begin = load_patch(level.grey, x, y, patch.grey);
    __syncthreads();
    describe_patch(patch, begin, false, pattern, feature.descriptor, [&](float) {
      feature.sign = cuface::fast::sign_of(level.grey, x, y);
      return k.angle;
    });
  }
}

}  // namespace

Status describe(const LevelParts& levels, const Work& work, const Pair* pattern, bool upright,
                std::size_t most, DeviceFeatures* out, std::uint64_t* counted, Launcher launch) {
  const auto blocks = static_cast<unsigned>(std::clamp(most, std::size_t{1}, kMostBlocks));
  return launch("describing keypoints", describe_kernel, {blocks, kThreads}, levels, work, pattern,
                upright, out, counted);
}

Status describe_given(const LevelParts& levels, const Keypoint* given, int count,
                      const Pair* pattern, DeviceFeatures* out, Launcher launch) {
  CUFACE_TRY(
      launch("admitting keypoints", admit_kernel, {1, kAdmitThreads}, levels, given, count, out));
  const auto most = static_cast<std::size_t>(count);
  const auto blocks = static_cast<unsigned>(std::clamp(most, std::size_t{1}, kMostBlocks));
  return launch("describing given keypoints", describe_given_kernel, {blocks, kThreads}, levels,
                pattern, out);
}

}  // namespace cuface::cuda::orb
