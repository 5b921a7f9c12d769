#include "kernels/cascade/cuda/fetch.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/levels/levels.h"

namespace cuface::cuda {
namespace {

constexpr int kThreads = 128;
constexpr unsigned kBlocks = 8;  // of a picture, which seldom has more windows than warps

/// Some blocks a picture, a warp the pixels of a window.
__global__ void __launch_bounds__(kThreads)
    fetch_kernel(RawWindows from, ImageView<const std::uint8_t> atlas, std::size_t apart,
                 FetchedWindows to) {
  const std::size_t picture = blockIdx.y, behind = picture * apart;
  const auto of_picture = [&](auto* at) {
    return reinterpret_cast<decltype(at)>(reinterpret_cast<const std::byte*>(at) + behind);
  };
  atlas.data = of_picture(atlas.data);
  const Rect* boxes = of_picture(from.boxes);
  const SearchCounts counts = *of_picture(from.counts);
  const unsigned thread = blockIdx.x * kThreads + threadIdx.x, threads = gridDim.x * kThreads;
  if (thread == 0) to.counts[picture] = counts;
  for (unsigned i = thread; i < min(counts.raw, to.most_boxes); i += threads)
    to.boxes[picture * to.most_boxes + i] = boxes[i];
  if (counts.raw == 0) return;
  __shared__ std::uint32_t before;
  if (threadIdx.x == 0) before = 0;
  __syncthreads();
  std::uint32_t some = 0;  // windows; more than fit count as one more than that, as sums stay small
  for (std::size_t other = threadIdx.x; other < picture; other += kThreads) {
    const auto* of_other = reinterpret_cast<const SearchCounts*>(
        reinterpret_cast<const std::byte*>(from.counts) + other * apart);
    some += min(of_other->raw, to.most_windows + 1);
  }
  if (some > 0) atomicAdd(&before, some);
  __syncthreads();
  const std::uint32_t begin = before;
  if (FetchedWindows::begin_of_next(begin, counts.raw, to.most_windows) > to.most_windows) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, bytes = from.width * from.height;
  for (unsigned i = thread / kWarp; i < counts.raw; i += threads / kWarp) {
    const Rect box = boxes[i];
    int number = 0;
    while (number + 1 < from.level_count &&
           !has_size(box, from.width, from.height, from.levels[number].scale))
      ++number;
    const WindowLevel level = from.levels[number];
    const std::uint8_t* first = &atlas.at(level.x + level_place(box.x, level.scale),
                                          level.y + level_place(box.y, level.scale));
    std::uint8_t* out = to.pixels + std::size_t{begin + i} * static_cast<unsigned>(bytes);
    for (int p = lane; p < bytes; p += kWarp)
      out[p] = first[p / from.width * atlas.stride + p % from.width];
  }
}

}  // namespace

Status fetch_windows(const RawWindows& from, ImageView<const std::uint8_t> atlas, unsigned pictures,
                     std::size_t apart, const FetchedWindows& to, Launcher launch) {
  return launch("fetching windows", fetch_kernel, {dim3(kBlocks, pictures), kThreads}, from, atlas,
                apart, to);
}

}  // namespace cuface::cuda
