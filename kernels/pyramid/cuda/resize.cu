#include <algorithm>
#include <limits>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/try.h"
#include "kernels/pyramid/cuda/resize.cuh"
#include "kernels/pyramid/cuda/resize.h"

namespace cuface::cuda {
namespace {

constexpr int kThreads = 256;
// As many as leave a thread enough registers; before sm_80 a processor has 1024 threads only.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kBlocksAtOnce = 4;
#else
constexpr int kBlocksAtOnce = 5;
#endif
constexpr int kColumns = 64, kRows = 16;  // of a tile, a thread pixels of one column
constexpr int kQuadColumns = kQuad * kWarp, kQuadRows = 32;
constexpr int kRowsOfWarp = kQuadRows / (kThreads / kWarp);

/// A thread pixels of one column, by the definition.
__device__ void resize_pixels(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> out,
                              const ResizeTile& tile, const ResizeTap* taps) {
  constexpr int kStep = kThreads / kColumns;
  for (int x = static_cast<int>(threadIdx.x) % kColumns; x < tile.columns; x += kColumns) {
    const LinearResize::Tap column = unpacked(taps[tile.first_column + static_cast<unsigned>(x)]);
#pragma unroll 4
    for (int y = static_cast<int>(threadIdx.x) / kColumns; y < tile.rows; y += kStep) {
      const LinearResize::Tap row = unpacked(taps[tile.first_row + static_cast<unsigned>(y)]);
      out.at(tile.x + x, tile.y + y) =
          LinearResize::blend(LinearResize::along_row(src.row(row.first), column),
                              LinearResize::along_row(src.row(row.second), column),
                              row.weight_first, row.weight_second);
    }
  }
}

/// A thread four columns, a warp rows one behind the other.
__device__ void resize_tile(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> out,
                            const ResizeTile& tile, const ResizeTap* taps) {
  const int x = static_cast<int>(threadIdx.x) % kWarp * kQuad;
  const int top = static_cast<int>(threadIdx.x) / kWarp * kRowsOfWarp;
  if (x >= tile.columns || top >= tile.rows) return;
  const int columns = min(kQuad, tile.columns - x);
  resize_quads<kRowsOfWarp>(src, true, tile.same_size, taps + tile.first_column + x, columns,
                            taps + tile.first_row + top, min(kRowsOfWarp, tile.rows - top),
                            [&](int r, std::uint32_t word) {
                              store_quad(&out.at(tile.x + x, tile.y + top + r), word, columns);
                            });
}

__device__ inline void resize_of_block(const ImageView<const std::uint8_t>& src,
                                       const ImageView<std::uint8_t>& out, bool words,
                                       const ResizeTile& tile, const ResizeTap* taps) {
  if (words && tile.quads) {
    resize_tile(src, out, tile, taps);
  } else {
    resize_pixels(src, out, tile, taps);
  }
}

/// A block a tile.
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    resize_kernel(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> out, bool words,
                  const ResizeTile* tiles, unsigned tile_count, const ResizeTap* taps,
                  const std::int32_t* run, Zeros zeros) {
  zeros.write();
  if (idle(run) || blockIdx.x >= tile_count) return;
  resize_of_block(src, out, words, tiles[blockIdx.x], taps);
}

/// A block a tile of one of several pictures.
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    resize_many_kernel(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> out, bool words,
                       const ResizeTile* tiles, unsigned tile_count, const ResizeTap* taps,
                       Zeros zeros, std::size_t apart) {
  const std::size_t behind = blockIdx.y * apart;
  zeros.data += behind / sizeof(uint4);
  zeros.write();
  if (blockIdx.x >= tile_count) return;
  src.data += behind;
  out.data += behind;
  resize_of_block(src, out, words, tiles[blockIdx.x], taps);
}

}  // namespace

Result<LevelResize> LevelResize::create(int src_width, int src_height,
                                        const std::vector<AtlasSlot>& slots, const StopFlag* stop) {
  LevelResize resize;
  std::vector<ResizeTap> taps;
  std::vector<ResizeTile> tiles;
  for (const AtlasSlot& slot : slots) {
    if (is_raised(stop)) return cancelled();
    const LinearResize plan(src_width, src_height, slot.width, slot.height);
    const auto first_column = static_cast<std::uint32_t>(taps.size());
    add_taps(plan.columns(), taps);
    const auto first_row = static_cast<std::uint32_t>(taps.size());
    add_taps(plan.rows(), taps);
    const bool quads = slot.x % kQuad == 0 && quads_fit(src_width, slot);
    const int width = quads ? kQuadColumns : kColumns, height = quads ? kQuadRows : kRows;
    for (int y = 0; y < slot.height; y += height)
      for (int x = 0; x < slot.width; x += width)
        tiles.push_back({slot.x + x, slot.y + y, std::min(width, slot.width - x),
                         std::min(height, slot.height - y),
                         first_column + static_cast<std::uint32_t>(x),
                         first_row + static_cast<std::uint32_t>(y), quads,
                         slot.width == src_width && slot.height == src_height});
    if (tiles.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      return Status(StatusCode::kUnsupported, "the levels of this picture are too many");
  }
  CUFACE_TRY(take(upload(taps), resize.taps_));
  CUFACE_TRY(take(upload(tiles), resize.tiles_));
  return Result<LevelResize>(std::move(resize));  // nvcc does not move by itself
}

Status LevelResize::enqueue(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> out,
                            const std::int32_t* run, Launcher launch, const Zeros& zeros) const {
  if (tiles_.size() == 0 && zeros.count == 0) return {};
  const auto tiles = static_cast<unsigned>(tiles_.size());
  const bool words = rows_are_words(src.data, src.stride) && rows_are_words(out.data, out.stride);
  return launch("resizing the levels", resize_kernel, {std::max(tiles, 1u), kThreads}, src, out,
                words, tiles_.data(), tiles, taps_.data(), run, zeros);
}

Status LevelResize::enqueue_many(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> out,
                                 unsigned pictures, std::size_t apart, Launcher launch,
                                 const Zeros& zeros) const {
  if (tiles_.size() == 0 && zeros.count == 0) return {};
  const auto tiles = static_cast<unsigned>(tiles_.size());
  const bool words = rows_are_words(src.data, src.stride) && rows_are_words(out.data, out.stride);
  return launch("resizing the levels", resize_many_kernel,
                {dim3(std::max(tiles, 1u), pictures), kThreads}, src, out, words, tiles_.data(),
                tiles, taps_.data(), zeros, apart);
}

}  // namespace cuface::cuda
