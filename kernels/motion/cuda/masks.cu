#include <algorithm>
#include <cstddef>

#include "kernels/motion/cuda/follow.cuh"
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

/// The method edges. A dilation goes along columns first: so each word is widened once.
__device__ std::uint64_t changed_edges_at(const MotionPlan& plan, Bits then, Bits now, int i,
                                          int y) {
  const int reach = plan.config.tolerance, words = now.width, height = now.height;
  EdgeWords edges;
  edges.then = then.row(y)[i];
  edges.now = now.row(y)[i];
  // The words beside are nearly always asked for, so all three columns are read at once.
  const auto near = [&](const auto& word_at) {
    std::uint64_t beside[3] = {};
    const int left = max(i - 1, 0), right = min(i + 1, words - 1);
    const int last = min(y + reach, height - 1);
#pragma unroll 4
    for (int v = max(y - reach, 0); v <= last; ++v) {
      beside[0] |= word_at(left, v);
      beside[1] |= word_at(i, v);
      beside[2] |= word_at(right, v);
    }
    const auto column_at = [&](int j) {
      if (j == i) return beside[1];
      if (j == i - 1) return beside[0];
      if (j == i + 1) return beside[2];
      return column([&](int v) { return word_at(j, v); }, height, y, reach);
    };
    return widened(column_at, words, i, reach);
  };
  if (edges.now != 0) edges.near_then = near([&](int j, int v) { return then.row(v)[j]; });
  if ((edges.then & ~edges.now) == 0) {
    // No edge has gone.
  } else if (plan.config.symmetric) {
    edges.near_now = near([&](int j, int v) { return now.row(v)[j]; });
  } else {
    edges.solid_then =
        ~near([&](int j, int v) { return ~then.row(v)[j] & bits_between(j, 0, plan.width); });
  }
  return changed_edges(edges, plan.config.symmetric);
}

__device__ std::uint64_t changed(const MotionPlan& plan, const MaskViews& views, Bits edges,
                                 const MotionFrame& frame, const Seen& seen, int i, int y) {
  switch (plan.config.method) {
    case MotionMethod::kEdges:
      views.maps.view(frame.now).row(y)[i] = edges.row(y)[i];
      return seen.compared ? changed_edges_at(plan, views.maps.view(frame.then), edges, i, y) : 0;
    case MotionMethod::kDifference:
      return seen.compared ? majority(views.found, i, y) : 0;
    case MotionMethod::kBackground: {
      const std::uint64_t moved =
          seen.begin ? 0 : majority(views.found, i, y) & bits_between(i, 0, plan.width);
      views.moved.row(y)[i] = moved;
      if (moved == 0 || seen.global) return 0;
      return moved & column([&](int v) { return views.near.row(v)[i]; }, plan.height, y,
                            cuface::motion::stay_reach(plan.width));
    }
  }
  return 0;
}

/// What the host says of the frame, where a launch before has kept it.
struct KeptFrame {
  const MotionMemory* memory;
  __device__ MotionFrame get() const { return memory->frame; }
};

/// A thread a word. The last block to come goes on with the cells. `edges`: the method edges.
template <typename Told>
__global__ void __launch_bounds__(kMaskThreads)
    mask_kernel(const __grid_constant__ MotionPlan plan, const __grid_constant__ MaskViews views,
                Bits edges, Told told, MotionMemory* memory, MotionResult* out,
                MotionCounters* counters) {
  __shared__ CellCounts changes, stirs;
  __shared__ FollowMemory shared;
  __shared__ bool last;
  const int thread = static_cast<int>(threadIdx.x);
  const bool background = plan.config.method == MotionMethod::kBackground;
  const MotionFrame frame = told.get();
  Seen seen = memory->seen;
  if (!background) seen.compared = frame.then >= 0;
  const int first = static_cast<int>(blockIdx.x) * kMaskWords;
  const int top = static_cast<int>(blockIdx.y) * kMaskRows;
  const CellPart part(plan, first, top);
  changes.clear(part, thread);
  if (background) stirs.clear(part, thread);
  shared.clear(thread);
  const unsigned blocks = gridDim.x * gridDim.y, block = blockIdx.y * gridDim.x + blockIdx.x;
  clear_cells(out, block * kMaskThreads + threadIdx.x, blocks * kMaskThreads);
  __syncthreads();
  const int i = first + thread % kMaskWords, y = top + thread / kMaskWords;
  if (i < views.mask.width && y < plan.height) {
    const std::uint64_t word =
        changed(plan, views, edges, frame, seen, i, y) & views.kept.row(y)[i];
    views.mask.row(y)[i] = word;
    changes.add(plan, part, i, y, word);
    if (background) {
      std::uint64_t& before = views.before.row(y)[i];
      if (frame.forget) before = 0;
      if (seen.compared) {
        stirs.add(plan, part, i, y, before ^ word);
        before = word;
      }
    }
  }
  __syncthreads();
  changes.give(plan, part, thread, memory->changed);
  if (background) stirs.give(plan, part, thread, memory->stirred);
  __threadfence();
  __syncthreads();
  if (thread == 0) last = atomicAdd(&memory->blocks_done, 1u) == blocks - 1;
  __syncthreads();
  if (!last) return;
  if (thread == 0) memory->blocks_done = 0;
  __threadfence();
  follow(plan, frame, seen, views.cell_pixels, memory, out, counters, shared);
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
  return launch("a mask of motion", mask_kernel<KeptFrame>, {mask_grid(plan, views), kMaskThreads},
                plan, views, Bits{}, KeptFrame{memory}, memory, out, counters);
}

Status mask_edges(Bits edges, const MotionPlan& plan, const MotionFrame& frame,
                  const MaskViews& views, MotionMemory* memory, MotionResult* out,
                  MotionCounters* counters, Launcher launch) {
  return launch.tell(frame, [&](const auto& told) {
    return launch("a mask of motion", mask_kernel<std::decay_t<decltype(told)>>,
                  {mask_grid(plan, views), kMaskThreads}, plan, views, edges, told, memory, out,
                  counters);
  });
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
