#include <algorithm>
#include <bit>
#include <cstddef>

#include "kernels/common/cuda/early.cuh"
#include "kernels/motion/cuda/counts.cuh"
#include "kernels/motion/cuda/memory.h"
#include "kernels/motion/cuda/words.cuh"
#include "kernels/motion/half.h"
#include "kernels/motion/steps.h"

namespace cuface::cuda::motion {
namespace {

using cuface::motion::doubled;
using cuface::motion::half_size;
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
template <int kSide, int kLeast>
__device__ std::uint64_t majority(Bits bits, int i, int y) {
  constexpr int kHalf = kSide / 2;
  static_assert(kSide <= 7);
  Counts<3> left, own, right;  // of a column
  for (int v = max(y - kHalf, 0); v <= min(y + kHalf, bits.height - 1); ++v) {
    const std::uint64_t* row = bits.row(v);
    if (i > 0) left.add(row[i - 1]);
    own.add(row[i]);
    if (i + 1 < bits.width) right.add(row[i + 1]);
  }
  Counts<std::bit_width(unsigned{kSide * kSide})> all;
#pragma unroll
  for (int b = 0; b < 3; ++b) {
    all.add(own.bits[b], b);
#pragma unroll
    for (int by = 1; by <= kHalf; ++by) {
      all.add(own.bits[b] << by | left.bits[b] >> (kWordBits - by), b);
      all.add(own.bits[b] >> by | right.bits[b] << (kWordBits - by), b);
    }
  }
  return all.at_least(kLeast);
}

/// A word of what changed; of the background, of half the picture.
template <MotionMethod kMethod>
__device__ std::uint64_t changed(const MotionPlan& plan, const MaskViews& views, const Seen& seen,
                                 int i, int y) {
  if constexpr (kMethod == MotionMethod::kDifference) {
    constexpr auto kRule = cuface::motion::kDifferenceMajority;
    return seen.compared ? majority<kRule.side, kRule.least>(views.found, i, y) : 0;
  } else {
    constexpr auto kRule = cuface::motion::kBackgroundMajority;
    const int width = half_size(plan.width);
    const std::uint64_t moved = seen.begin ? 0
                                           : majority<kRule.side, kRule.least>(views.found, i, y) &
                                                 bits_between(i, 0, width);
    views.moved.row(y)[i] = moved;
    if (moved == 0 || seen.global) return 0;
    return moved & column([&](int v) { return views.near.row(v)[i]; }, views.near.height, y,
                          cuface::motion::stay_reach(width));
  }
}

/// A block's part of what changed: words of some rows, a thread each.
template <MotionMethod kMethod>
struct MaskBlock {
  static constexpr bool kHalf = kMethod == MotionMethod::kBackground;
  static constexpr int kWords = kHalf ? kWarp / 2 : kWarp, kRows = 4, kThreads = kWords * kRows;
  /// Words, and rows, of the mask that one word of the half map fills.
  static constexpr int kEach = kHalf ? 2 : 1;
};

/// Differences and background.
template <MotionMethod kMethod>
__global__ void __launch_bounds__(MaskBlock<kMethod>::kThreads)
    mask_kernel(const __grid_constant__ MotionPlan plan, const __grid_constant__ MaskViews views,
                const __grid_constant__ CellPlaces places, MotionMemory* memory,
                MotionResult* out) {
  using Block = MaskBlock<kMethod>;
  constexpr bool kBackground = kMethod == MotionMethod::kBackground;
  constexpr int kEach = Block::kEach, kThreads = Block::kThreads;
  using Cells = CellCounts<Block::kRows * kEach, kThreads>;
  __shared__ Cells changes, stirs;
  allow_next_launch();  // follow()
  const int thread = static_cast<int>(threadIdx.x);
  Seen seen = memory->seen;
  if (!kBackground) seen.compared = memory->frame.then >= 0;
  const unsigned blocks = gridDim.x * gridDim.y, block = blockIdx.y * gridDim.x + blockIdx.x;
  const int first = static_cast<int>(blockIdx.x) * Block::kWords;
  const int top = static_cast<int>(blockIdx.y) * Block::kRows;
  const int i = first + thread % Block::kWords, y = top + thread / Block::kWords;
  const bool inside = i < views.found.width && y < views.found.height;
  const std::uint64_t now = inside ? changed<kMethod>(plan, views, seen, i, y) : 0;
  std::uint64_t stirred = 0;
  const CellPart part(places, kEach * first, kEach * (first + Block::kWords), kEach * top,
                      kEach * (top + Block::kRows));
  changes.clear(part, thread);
  if (kBackground) stirs.clear(part, thread);
  clear_cells(out, block * kThreads + threadIdx.x, blocks * kThreads);
  if (kBackground && inside) {
    std::uint64_t& before = views.before.row(y)[i];
    if (memory->frame.forget) before = 0;
    if (seen.compared) {
      stirred = before ^ now;
      before = now;
    }
  }
  __syncthreads();
  for (int k = 0; k < kEach && inside; ++k) {
    const int word = kEach * i + k;
    if (word >= views.mask.width) break;
    const auto whole = [&](std::uint64_t bits) {
      return kBackground ? doubled(static_cast<std::uint32_t>(bits >> (k * kWordBits / 2))) : bits;
    };
    std::uint64_t change[kEach], stir[kEach];
    for (int r = 0; r < kEach; ++r) {
      const int row = kEach * y + r;
      const std::uint64_t kept = row < plan.height ? views.kept.row(row)[word] : 0;
      change[r] = whole(now) & kept;
      stir[r] = whole(stirred) & kept;
      if (row < plan.height) views.mask.row(row)[word] = change[r];
    }
    changes.add(places, part, word, kEach * y, change);
    if (kBackground) stirs.add(places, part, word, kEach * y, stir);
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

Status finish_mask(const MotionPlan& plan, const MaskViews& views, MotionMemory* memory,
                   MotionResult* out, MotionCounters* counters, Launcher launch) {
  const auto make = [&](const auto& kernel, auto block) {
    using Block = decltype(block);
    const dim3 grid(parts(views.found.width, Block::kWords),
                    parts(views.found.height, Block::kRows));
    return launch("a mask of motion", kernel, {grid, Block::kThreads}, plan, views,
                  CellPlaces(plan), memory, out);
  };
  constexpr auto kBackground = MotionMethod::kBackground, kDifference = MotionMethod::kDifference;
  CUFACE_TRY(plan.config.method == kBackground
                 ? make(mask_kernel<kBackground>, MaskBlock<kBackground>())
                 : make(mask_kernel<kDifference>, MaskBlock<kDifference>()));
  return follow(plan, views.counted, memory, out, counters, launch.early(views.early));
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
