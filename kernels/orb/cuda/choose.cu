#include <algorithm>
#include <cstddef>

#include "kernels/common/cuda/ranks.cuh"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/orb/cuda/choose.h"
#include "kernels/orb/cuda/lists.cuh"
#include "kernels/orb/rules.h"

namespace cuface::cuda::orb {
namespace {

using cuface::orb::HarrisSums;
using cuface::orb::kHarrisBlock;

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
/// Corners that a warp looks at before it measures those that count. Few, as one in ten counts.
constexpr int kAtOnce = 8;
constexpr std::size_t kMostBlocks = 528;
constexpr int kChooseThreads = 1024;

/// For a whole warp: a lane two pixels of the block.
__device__ float harris(ImageView<const std::uint8_t> level, int x, int y, int lane) {
  HarrisSums sums;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int pixel = lane + i * kWarp;
    if (pixel >= kHarrisBlock * kHarrisBlock) continue;
    const int u = x - kHarrisBlock / 2 + pixel % kHarrisBlock;
    const int v = y - kHarrisBlock / 2 + pixel / kHarrisBlock;
    const std::uint8_t *above = level.row(v - 1) + u, *here = level.row(v) + u,
                       *below = level.row(v + 1) + u;
    const int dx = 2 * (here[1] - here[-1]) + (above[1] - above[-1]) + (below[1] - below[-1]);
    const int dy = 2 * (below[0] - above[0]) + (below[-1] - above[-1]) + (below[1] - above[1]);
    sums.xx += dx * dx;
    sums.yy += dy * dy;
    sums.xy += dx * dy;
  }
  sums.xx = sum_of_warp(sums.xx);
  sums.yy = sum_of_warp(sums.yy);
  sums.xy = sum_of_warp(sums.xy);
  return cuface::orb::harris_response(sums);
}

__global__ void __launch_bounds__(kThreads)
    measure_kernel(const __grid_constant__ LevelParts levels, bool by_harris,
                   const __grid_constant__ Work work) {
  __shared__ Concatenated corners;
  __shared__ int least[kMostOrbLevels];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  corners.make(work.corners.counts, levels.count);
  // All that equal the last one of what is wanted stay; where there are no more, all do.
  for (int i = warp; i < levels.count; i += kWarps) {
    const auto wanted = static_cast<std::uint32_t>(levels.all[i].share * (by_harris ? 2 : 1));
    if (lane == 0) least[i] = wanted == 0 ? kBins : 0;
    __syncwarp();
    if (wanted > 0)
      find_from_top(work.corners.of_scores + i * kBins, wanted, lane,
                    [&](int bin, std::uint32_t) { least[i] = bin; });
  }
  __syncthreads();
  const std::uint32_t all = corners.size();
  for (std::uint32_t begin = (blockIdx.x * kWarps + static_cast<std::uint32_t>(warp)) * kAtOnce;
       begin < all; begin += gridDim.x * kWarps * kAtOnce) {
    const std::uint32_t i = begin + static_cast<std::uint32_t>(lane);
    int level = 0, score = 0;
    std::uint32_t place = 0;
    bool counts = lane < kAtOnce && i < all;
    if (counts) {
      level = corners.level_of(i, levels.count);
      const std::uint32_t at = levels.all[level].first + i - corners.begin[level];
      score = work.corners.scores[at];
      counts = score >= least[level];
      if (counts) place = work.corners.places[at];
    }
    for (unsigned rest = __ballot_sync(kAllLanes, counts); rest; rest &= rest - 1) {
      const int from = __ffs(static_cast<int>(rest)) - 1;
      const int l = __shfl_sync(kAllLanes, level, from), s = __shfl_sync(kAllLanes, score, from);
      const std::uint32_t p = __shfl_sync(kAllLanes, place, from);
      const LevelPart& of = levels.all[l];
      const float response =
          by_harris ? harris(of.grey, fast::x_of(p), fast::y_of(p), lane) : static_cast<float>(s);
      if (lane == 0)
        work.candidates[of.first + atomicAdd(work.candidate_counts + l, 1u)] = {p, response};
    }
  }
}

/// rows[i] := the sum of those before; the sum of all.
__device__ std::uint32_t sum_rows(std::uint32_t* rows, int count) {
  __shared__ std::uint32_t sums[kChooseThreads / kWarp];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const int each = (count + kChooseThreads - 1) / kChooseThreads;
  const int first = min(thread * each, count), end = min(first + each, count);
  std::uint32_t mine = 0;
  for (int i = first; i < end; ++i) mine += __ldcg(rows + i);
  std::uint32_t before = prefix_sum(mine) - mine;
  if (lane == kWarp - 1) sums[warp] = before + mine;
  __syncthreads();
  std::uint32_t all = 0;
  for (int i = 0; i < kChooseThreads / kWarp; ++i) {
    if (i == warp) before += all;
    all += sums[i];
  }
  for (int i = first; i < end; ++i) {
    const std::uint32_t own = __ldcg(rows + i);
    rows[i] = before;
    before += own;
  }
  return all;
}

/// A block a level.
__global__ void __launch_bounds__(kChooseThreads)
    choose_kernel(const __grid_constant__ LevelParts levels, bool by_harris,
                  const __grid_constant__ Work work) {
  const int l = static_cast<int>(blockIdx.x);
  const LevelPart& level = levels.all[l];
  const Candidate* candidates = work.candidates + level.first;
  const std::uint32_t count = work.candidate_counts[l];
  const auto share = static_cast<std::uint32_t>(level.share);
  const std::uint32_t least =
      by_harris && count > share
          ? key_of_rank<kChooseThreads>([&](std::uint32_t i) { return candidates[i].response; },
                                        count, share)
          : 0;
  std::uint32_t* rows = work.rows + level.first_row;
  for (std::uint32_t i = threadIdx.x; i < count; i += kChooseThreads) {
    const Candidate candidate = candidates[i];
    if (key_of(candidate.response) < least) continue;
    const int x = fast::x_of(candidate.place) - level.left;
    const int y = fast::y_of(candidate.place) - level.top;
    atomicOr(work.bits + level.first_word + y * level.words_across + x / kWarp, 1u << x % kWarp);
    atomicAdd(rows + y, 1u);
  }
  __syncthreads();
  const std::uint32_t all = sum_rows(rows, level.rows);
  if (threadIdx.x == 0) {
    work.least[l] = least;
    work.keypoint_counts[l] = all;
  }
}

}  // namespace

Status measure(const LevelParts& levels, KeypointScore score, std::size_t most, const Work& work,
               Launcher launch) {
  const std::size_t blocks = most / (kAtOnce * kWarps) + 1;
  return launch("measuring corners", measure_kernel,
                {static_cast<unsigned>(std::min(blocks, kMostBlocks)), kThreads}, levels,
                score == KeypointScore::kHarris, work);
}

Status choose(const LevelParts& levels, KeypointScore score, const Work& work, Launcher launch) {
  return launch("choosing keypoints", choose_kernel,
                {static_cast<unsigned>(levels.count), kChooseThreads}, levels,
                score == KeypointScore::kHarris, work);
}

}  // namespace cuface::cuda::orb
