#include <algorithm>

#include "kernels/common/cuda/ranks.cuh"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/try.h"
#include "kernels/surf/cuda/orient.cuh"
#include "kernels/surf/cuda/strongest.h"
#include "kernels/surf/cuda/window.cuh"
#include "kernels/surf/describe.h"

namespace cuface::cuda::surf {
namespace {

constexpr int kChooseThreads = 1024;
constexpr int kThreads = kMostRing, kWarps = kThreads / kWarp;
constexpr unsigned kMostBlocks = 2112;

/// One block.
__global__ void __launch_bounds__(kChooseThreads)
    choose_kernel(std::uint32_t most, const __grid_constant__ BlobWork work) {
  const std::uint32_t count = *work.found_count;
  const std::uint32_t least =
      count > most ? key_of_rank<kChooseThreads>([&](std::uint32_t i) { return work.responses[i]; },
                                                 count, most)
                   : 0;
  for (std::uint32_t i = threadIdx.x; i < count; i += kChooseThreads) {
    const float response = work.responses[i];
    if (key_of(response) >= least) work.chosen[atomicAdd(work.chosen_count, 1u)] = {response, i};
  }
}

/// Whether `a` comes before `b`: as cuface::surf::sort().
__device__ bool is_before(const Found& a, const Found& b) {
  if (a.response != b.response) return a.response > b.response;
  if (a.size != b.size) return a.size > b.size;
  if (a.octave != b.octave) return a.octave > b.octave;
  if (a.y != b.y) return a.y > b.y;
  if (a.x != b.x) return a.x < b.x;
  return a.sign < b.sign;
}

/// For all threads: a keypoint's direction and window.
__device__ void turn(const SummedPicture& picture, const Tables& tables, bool upright, int pixels,
                     std::uint32_t number, Keypoint& k, RingGradients& gradients,
                     const BlobWork& work) {
  k.angle = upright ? 270 : direction_of(picture.sums, tables, k, gradients);
  if (threadIdx.x < kWarp) add_window(k, upright, pixels, number, work);
}

/// A block a chosen blob.
__global__ void __launch_bounds__(kThreads)
    place_kernel(const __grid_constant__ SummedPicture picture,
                 const __grid_constant__ Tables tables, bool upright, std::uint32_t most,
                 int pixels, const __grid_constant__ BlobWork work,
                 const __grid_constant__ DeviceFloatFeatures out) {
  __shared__ RingGradients gradients;
  __shared__ std::uint32_t of_warps[kWarps];
  const std::uint32_t count = *work.chosen_count;
  if (blockIdx.x == 0 && threadIdx.x == 0)
    out.count() = static_cast<std::int32_t>(min(count, most));
  for (std::uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
    const Chosen chosen = work.chosen[i];
    const Found found = work.found[chosen.index];
    std::uint32_t before = 0;
#pragma unroll 8
    for (std::uint32_t j = threadIdx.x; j < count; j += kThreads) {
      const Chosen other = work.chosen[j];
      bool is_first = other.response > chosen.response;
      if (other.response == chosen.response && j != i) {
        const Found same = work.found[other.index];
        is_first = is_before(same, found) || (!is_before(found, same) && j < i);
      }
      before += is_first;
    }
    before = sum_of_warp(before);
    __syncthreads();  // all are through with the blob before
    if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = before;
    __syncthreads();
    std::uint32_t rank = 0;
    for (const std::uint32_t of_warp : of_warps) rank += of_warp;
    if (rank >= most) continue;
    Keypoint k{found.x, found.y, found.size, 270, found.response, found.octave};
    turn(picture, tables, upright, pixels, rank, k, gradients, work);
    if (threadIdx.x > 0) continue;
    DeviceFloatKeypoint& to = out.keypoint(rank);
    to.keypoint = k;
    to.sign = static_cast<std::int8_t>(found.sign);
  }
}

/// One block: those that can be described, in their order.
__global__ void __launch_bounds__(kChooseThreads)
    admit_kernel(const __grid_constant__ SummedPicture picture,
                 const __grid_constant__ Tables tables, bool upright,
                 const __grid_constant__ DeviceKeypoints given,
                 const __grid_constant__ DeviceFloatFeatures out) {
  __shared__ int counts[2][kChooseThreads / kWarp];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int count = given.there();
  int admitted = 0, round = 0;
  for (int begin = 0; begin < count; begin += kChooseThreads, round ^= 1) {
    const int i = begin + thread;
    Keypoint k;
    if (i < count) k = given.at(i);
    const bool there = i < count &&
                       cuface::surf::can_be_described(k, picture.grey.width, picture.grey.height) &&
                       has_direction(picture.sums, upright, tables, k);
    const unsigned all = __ballot_sync(kAllLanes, there);
    if (lane == 0) counts[round][warp] = __popc(all);
    __syncthreads();
    int before = 0, these = 0;
    for (int w = 0; w < kChooseThreads / kWarp; ++w) {
      if (w == warp) before = these;
      these += counts[round][w];
    }
    before += admitted + __popc(all & ((1u << lane) - 1));
    if (there) out.keypoint(static_cast<std::size_t>(before)).keypoint = k;
    admitted += these;
  }
  if (thread == 0) out.count() = admitted;
}

/// A block a keypoint of the list.
__global__ void __launch_bounds__(kThreads)
    turn_kernel(const __grid_constant__ SummedPicture picture,
                const __grid_constant__ Tables tables, bool upright, int pixels,
                const __grid_constant__ BlobWork work,
                const __grid_constant__ DeviceFloatFeatures out) {
  __shared__ RingGradients gradients;
  const auto count = static_cast<std::uint32_t>(out.count());
  for (std::uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
    DeviceFloatKeypoint& to = out.keypoint(i);
    Keypoint k = to.keypoint;
    __syncthreads();  // all are through with the one before
    turn(picture, tables, upright, pixels, i, k, gradients, work);
    if (threadIdx.x > 0) continue;
    to.keypoint.angle = k.angle;
    to.sign = 0;
  }
}

unsigned blocks_of(int keypoints) {
  return std::clamp(static_cast<unsigned>(keypoints), 1u, kMostBlocks);
}

}  // namespace

Status choose(int most, const BlobWork& work, Launcher launch) {
  return launch("choosing the strongest blobs", choose_kernel, {1, kChooseThreads},
                static_cast<std::uint32_t>(most), work);
}

Status place(const SummedPicture& picture, const Tables& tables, bool upright, int most, int pixels,
             const BlobWork& work, const DeviceFloatFeatures& out, Launcher launch) {
  return launch("directions of blobs", place_kernel, {blocks_of(most), kThreads}, picture, tables,
                upright, static_cast<std::uint32_t>(most), pixels, work, out);
}

Status admit(const SummedPicture& picture, const Tables& tables, bool upright,
             const DeviceKeypoints& given, int pixels, const BlobWork& work,
             const DeviceFloatFeatures& out, Launcher launch) {
  CUFACE_TRY(launch("admitting keypoints", admit_kernel, {1, kChooseThreads}, picture, tables,
                    upright, given, out));
  return launch("directions of keypoints", turn_kernel, {blocks_of(given.most), kThreads}, picture,
                tables, upright, pixels, work, out);
}

}  // namespace cuface::cuda::surf
