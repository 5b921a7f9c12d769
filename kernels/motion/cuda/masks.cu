#include <algorithm>
#include <cstddef>

#include "kernels/common/cuda/early.cuh"
#include "kernels/motion/cuda/counts.cuh"
#include "kernels/motion/cuda/memory.h"
#include "kernels/motion/cuda/words.cuh"
#include "kernels/motion/edges.h"
#include "kernels/motion/steps.h"

namespace cuface::cuda::motion {
namespace {

using cuface::motion::kAround;
using cuface::motion::kLeastAround;
using cuface::motion::kLeastDifference;

/// A thread a quad.
template <typename Told>
__global__ void __launch_bounds__(kBlockX* kBlockY)
    differ_kernel(ImageView<const std::uint8_t> picture, Told told, Slots<std::uint8_t> pictures,
                  ImageView<std::uint64_t> found, MotionMemory* memory) {
  const Place at = place();
  const MotionFrame frame = told.get();
  if (at.x == 0 && at.y == 0) memory->frame = frame;
  std::uint32_t bits = 0;
  if (at.y < picture.height) {
    const std::uint8_t* in = picture.row(at.y);
    std::uint8_t* now = pictures.view(frame.now).row(at.y);
    const std::uint8_t* then = frame.then < 0 ? nullptr : pictures.view(frame.then).row(at.y);
    for (int k = 0; k < kQuad; ++k) {
      const int x = at.x * kQuad + k;
      if (x >= picture.width) break;
      const int grey = in[x];
      if (then && cuface::motion::distance(grey, then[x]) > kLeastDifference) bits |= 1u << k;
      now[x] = static_cast<std::uint8_t>(grey);
    }
  }
  store_quad(bits, at, found);
}

/// What motion::Majority keeps of a word.
__device__ std::uint64_t majority(Bits bits, int i, int y) {
  constexpr int kHalf = kAround / 2;
  Counts<3> left, own, right;  // of a column, up to kAround
  for (int v = max(y - kHalf, 0); v <= min(y + kHalf, bits.height - 1); ++v) {
    const std::uint64_t* row = bits.row(v);
    if (i > 0) left.add(row[i - 1]);
    own.add(row[i]);
    if (i + 1 < bits.width) right.add(row[i + 1]);
  }
  Counts<6> all;
#pragma unroll
  for (int b = 0; b < 3; ++b) {
    all.add(own.bits[b], b);
#pragma unroll
    for (int by = 1; by <= kHalf; ++by) {
      all.add(own.bits[b] << by | left.bits[b] >> (kWordBits - by), b);
      all.add(own.bits[b] >> by | right.bits[b] << (kWordBits - by), b);
    }
  }
  return all.at_least(kLeastAround);
}

/// What the method edges compares.
struct EdgeMaps {
  Bits then, now;
  bool symmetric;
  int width, reach;
};
/// Of words of a column, within the reach of a row: whether `then` has the pixel, and whether `now`
/// has it - or where the rule is not symmetric, whether `then` lacks it.
struct Columns {
  std::uint64_t then = 0, other = 0;
};
__device__ inline Columns columns_of(const EdgeMaps& maps, int j, int y) {
  Columns out;
  const std::uint64_t all = bits_between(j, 0, maps.width);
  // Rows that are read at once: all of 1080p. Some of them twice does not matter.
  constexpr int kRows = 9;
  const int first = max(y - maps.reach, 0), last = min(y + maps.reach, maps.now.height - 1);
#pragma unroll 1
  for (int v = first; v <= last; v += kRows) {
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const std::uint64_t then = maps.then.row(min(v + k, last))[j];
      out.then |= then;
      out.other |= maps.symmetric ? maps.now.row(min(v + k, last))[j] : ~then & all;
    }
  }
  return out;
}
/// The same where it is rare.
__device__ __attribute__((noinline)) Columns columns_afar(const EdgeMaps& maps, int j, int y) {
  return columns_of(maps, j, y);
}

/// The method edges, of word i of row y, by a warp that has words of the row one after the other. A
/// dilation goes along columns first, so that each word is widened once, and then asks the lanes
/// beside. All lanes call it; `inside`: it has a word.
__device__ std::uint64_t changed_edges_by_row(const EdgeMaps& maps, bool inside, int i, int y) {
  EdgeWords edges;
  if (inside) {
    edges.then = maps.then.row(y)[i];
    edges.now = maps.now.row(y)[i];
  }
  const Columns own = inside ? columns_of(maps, i, y) : Columns{};
  if (!__any_sync(kAllLanes, (edges.then | edges.now) != 0)) return 0;
  Columns left{__shfl_up_sync(kAllLanes, own.then, 1), __shfl_up_sync(kAllLanes, own.other, 1)};
  Columns right{__shfl_down_sync(kAllLanes, own.then, 1),
                __shfl_down_sync(kAllLanes, own.other, 1)};
  if (!inside) return 0;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, words = maps.now.width;
  if (lane == 0 && i > 0) left = columns_afar(maps, i - 1, y);
  if (lane == kWarp - 1 && i + 1 < words) right = columns_afar(maps, i + 1, y);
  const auto near = [&](std::uint64_t Columns::*part) {
    return widened(
        [&](int j) {
          return j == i       ? own.*part
                 : j == i - 1 ? left.*part
                 : j == i + 1 ? right.*part
                              : columns_afar(maps, j, y).*part;
        },
        words, i, maps.reach);
  };
  edges.near_then = near(&Columns::then);
  const std::uint64_t near_other = near(&Columns::other);
  edges.near_now = near_other;
  edges.solid_then = ~near_other;
  return changed_edges(edges, maps.symmetric);
}

template <MotionMethod kMethod>
__device__ std::uint64_t changed(const MotionPlan& plan, const MaskViews& views, Bits edges,
                                 const MotionFrame& frame, const Seen& seen, bool inside, int i,
                                 int y) {
  if constexpr (kMethod == MotionMethod::kEdges) {
    if (inside) views.maps.view(frame.now).row(y)[i] = edges.row(y)[i];
    return seen.compared
               ? changed_edges_by_row({views.maps.view(frame.then), edges, plan.config.symmetric,
                                       plan.width, plan.config.tolerance},
                                      inside, i, y)
               : 0;
  } else if (!inside) {
    return 0;
  } else if constexpr (kMethod == MotionMethod::kDifference) {
    return seen.compared ? majority(views.found, i, y) : 0;
  } else {
    const std::uint64_t moved =
        seen.begin ? 0 : majority(views.found, i, y) & bits_between(i, 0, plan.width);
    views.moved.row(y)[i] = moved;
    if (moved == 0 || seen.global) return 0;
    return moved & column([&](int v) { return views.near.row(v)[i]; }, plan.height, y,
                          cuface::motion::stay_reach(plan.width));
  }
}

/// What the host says of the frame, where a launch before has kept it.
struct KeptFrame {
  const MotionMemory* memory;
  __device__ MotionFrame get() const { return memory->frame; }
};

/// A thread a word, a warp a row of them. `edges`: the method edges, which nothing has kept the
/// frame for.
template <MotionMethod kMethod, typename Told>
__global__ void __launch_bounds__(kMaskThreads)
    mask_kernel(const __grid_constant__ MotionPlan plan, const __grid_constant__ MaskViews views,
                const __grid_constant__ CellPlaces places, Bits edges, Told told,
                MotionMemory* memory, MotionResult* out) {
  constexpr bool kBackground = kMethod == MotionMethod::kBackground;
  __shared__ CellCounts changes, stirs;
  allow_next_launch();  // follow()
  const int thread = static_cast<int>(threadIdx.x);
  const MotionFrame frame = told.get();
  Seen seen = memory->seen;
  if (!kBackground) seen.compared = frame.then >= 0;
  const unsigned blocks = gridDim.x * gridDim.y, block = blockIdx.y * gridDim.x + blockIdx.x;
  if (kMethod == MotionMethod::kEdges && block == 0 && thread == 0) memory->frame = frame;
  const int first = static_cast<int>(blockIdx.x) * kMaskWords;
  const int top = static_cast<int>(blockIdx.y) * kMaskRows;
  const int i = first + thread % kMaskWords, y = top + thread / kMaskWords;
  const bool inside = i < views.mask.width && y < plan.height;
  const std::uint64_t kept = inside ? views.kept.row(y)[i] : 0;
  const std::uint64_t all = changed<kMethod>(plan, views, edges, frame, seen, inside, i, y) & kept;
  const CellPart part(places, first, top);
  changes.clear(part, thread);
  if (kBackground) stirs.clear(part, thread);
  clear_cells(out, block * kMaskThreads + threadIdx.x, blocks * kMaskThreads);
  __syncthreads();
  if (inside) {
    views.mask.row(y)[i] = all;
    changes.add(places, part, i, y, all);
    if (kBackground) {
      std::uint64_t& before = views.before.row(y)[i];
      if (frame.forget) before = 0;
      if (seen.compared) {
        stirs.add(places, part, i, y, before ^ all);
        before = all;
      }
    }
  }
  __syncthreads();
  changes.give(places, part, thread, memory->changed);
  if (kBackground) stirs.give(places, part, thread, memory->stirred);
}

__global__ void __launch_bounds__(kBlockX* kBlockY)
    unpack_kernel(Bits bits, ImageView<std::uint8_t> out) {
  const Place at = place();
  if (at.x < out.width && at.y < out.height)
    out.at(at.x, at.y) = bit_at(bits, at.x, at.y) ? 255 : 0;
}

__global__ void __launch_bounds__(kBlockX* kBlockY)
    draw_kernel(const __grid_constant__ MotionPlan plan, const MotionResult* result,
                ImageView<std::uint8_t> out) {
  const Place at = place();
  if (at.x >= out.width || at.y >= out.height) return;
  const std::uint64_t moving =
      result ? result->moving[cell_of(at.y, plan.config.rows, plan.height)] : 0;
  const int column = cell_of(at.x, plan.config.columns, plan.width);
  out.at(at.x, at.y) = moving >> column & 1 ? 255 : 0;
}

}  // namespace

Status differ(ImageView<const std::uint8_t> picture, const MotionFrame& frame,
              const Slots<std::uint8_t>& pictures, const MaskViews& views, MotionMemory* memory,
              Launcher launch) {
  const dim3 grid(parts(views.found.width * kWordBits, kQuad * kBlockX),
                  parts(picture.height, kBlockY));
  return launch.tell(frame, [&](const auto& told) {
    return launch("a difference", differ_kernel<std::decay_t<decltype(told)>>,
                  {grid, dim3(kBlockX, kBlockY)}, picture, told, pictures, views.found, memory);
  });
}

static dim3 mask_grid(const MotionPlan& plan, const MaskViews& views) {
  return {parts(views.mask.width, kMaskWords), parts(plan.height, kMaskRows)};
}

Status finish_mask(const MotionPlan& plan, const MaskViews& views, MotionMemory* memory,
                   MotionResult* out, MotionCounters* counters, Launcher launch) {
  const auto kernel = plan.config.method == MotionMethod::kBackground
                          ? mask_kernel<MotionMethod::kBackground, KeptFrame>
                          : mask_kernel<MotionMethod::kDifference, KeptFrame>;
  CUFACE_TRY(launch("a mask of motion", kernel, {mask_grid(plan, views), kMaskThreads}, plan, views,
                    CellPlaces(plan), Bits{}, KeptFrame{memory}, memory, out));
  return follow(plan, views.cell_pixels, memory, out, counters, launch.early(views.early));
}

Status mask_edges(Bits edges, const MotionPlan& plan, const MotionFrame& frame,
                  const MaskViews& views, MotionMemory* memory, MotionResult* out,
                  MotionCounters* counters, Launcher launch) {
  CUFACE_TRY(launch.tell(frame, [&](const auto& told) {
    return launch("a mask of motion",
                  mask_kernel<MotionMethod::kEdges, std::decay_t<decltype(told)>>,
                  {mask_grid(plan, views), kMaskThreads}, plan, views, CellPlaces(plan), edges,
                  told, memory, out);
  }));
  return follow(plan, views.cell_pixels, memory, out, counters, launch.early(views.early));
}

Status unpack(Bits bits, ImageView<std::uint8_t> out, Launcher launch) {
  const dim3 grid(parts(out.width, kBlockX), parts(out.height, kBlockY));
  return launch("drawing motion", unpack_kernel, {grid, dim3(kBlockX, kBlockY)}, bits, out);
}

Status draw_cells(const MotionPlan& plan, const MotionResult* result, ImageView<std::uint8_t> out,
                  Launcher launch) {
  const dim3 grid(parts(out.width, kBlockX), parts(out.height, kBlockY));
  return launch("drawing cells", draw_kernel, {grid, dim3(kBlockX, kBlockY)}, plan, result, out);
}

}  // namespace cuface::cuda::motion
