#include <limits>

#include "kernels/common/cuda_table.h"
#include "kernels/pyramid/resize_cuda.h"

namespace cuface::cuda {
namespace {

constexpr int kTileX = 64, kTileY = 32;
constexpr int kThreadsY = 4;

/// A block a tile of a destination; a thread pixels of one column, whose reads do not wait for one
/// another.
__global__ void resize_kernel(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> out,
                              const ResizeTarget* targets, int count, const LinearResize::Tap* taps,
                              const std::int32_t* run) {
  if (idle(run)) return;
  const ResizeTarget target =
      targets[part_of<&ResizeTarget::first_tile>(targets, count, blockIdx.x)];
  const std::uint32_t tile = blockIdx.x - target.first_tile;
  const int x = static_cast<int>(tile % target.tiles_across * kTileX + threadIdx.x);
  const int top = static_cast<int>(tile / target.tiles_across * kTileY + threadIdx.y);
  if (x >= target.slot.width) return;
  const LinearResize::Tap column = taps[target.first_column + static_cast<std::uint32_t>(x)];
#pragma unroll
  for (int y = top; y < top + kTileY; y += kThreadsY) {
    if (y >= target.slot.height) return;
    const LinearResize::Tap row = taps[target.first_row + static_cast<std::uint32_t>(y)];
    out.at(target.slot.x + x, target.slot.y + y) = LinearResize::blend(
        LinearResize::along_row(src.row(row.first), column),
        LinearResize::along_row(src.row(row.second), column), row.weight_first, row.weight_second);
  }
}

}  // namespace

Result<LevelResize> LevelResize::create(int src_width, int src_height,
                                        const std::vector<AtlasSlot>& slots) {
  LevelResize resize;
  std::vector<LinearResize::Tap> taps;
  std::vector<ResizeTarget> targets;
  std::uint64_t tiles = 0;
  for (const AtlasSlot& slot : slots) {
    const LinearResize plan(src_width, src_height, slot.width, slot.height);
    ResizeTarget target = {};
    target.slot = slot;
    target.first_tile = static_cast<std::uint32_t>(tiles);
    target.tiles_across = static_cast<std::uint32_t>((slot.width - 1) / kTileX + 1);
    target.first_column = static_cast<std::uint32_t>(taps.size());
    taps.insert(taps.end(), plan.columns().begin(), plan.columns().end());
    target.first_row = static_cast<std::uint32_t>(taps.size());
    taps.insert(taps.end(), plan.rows().begin(), plan.rows().end());
    tiles += static_cast<std::uint64_t>(target.tiles_across) *
             static_cast<std::uint64_t>((slot.height - 1) / kTileY + 1);
    if (tiles > std::numeric_limits<std::int32_t>::max())
      return Status(StatusCode::kUnsupported, "the levels of this picture are too many");
    targets.push_back(target);
  }
  resize.tiles_ = static_cast<std::uint32_t>(tiles);
  if (Status s = take(upload(taps), resize.taps_); !s.ok()) return s;
  if (Status s = take(upload(targets), resize.targets_); !s.ok()) return s;
  return Result<LevelResize>(std::move(resize));  // nvcc does not move by itself
}

Status LevelResize::enqueue(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> out,
                            const std::int32_t* run, Launcher launch) const {
  if (tiles_ == 0) return {};
  return launch("resizing the levels", resize_kernel, {tiles_, dim3(kTileX, kThreadsY)}, src, out,
                targets_.data(), static_cast<int>(targets_.size()), taps_.data(), run);
}

}  // namespace cuface::cuda
