#include <algorithm>
#include <limits>

#include "kernels/common/cuda_table.h"
#include "kernels/common/warp.cuh"
#include "kernels/pyramid/resize_cuda.h"

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
constexpr int kQuad = 4;                  // columns of a thread
constexpr int kQuadColumns = kQuad * kWarp, kQuadRows = 32;
constexpr int kRowsOfWarp = kQuadRows / (kThreads / kWarp);

__device__ LinearResize::Tap unpacked(ResizeTap tap) {
  const auto second = static_cast<std::uint16_t>(tap.weights >> 16);
  return {tap.first, tap.first + (second > 0), static_cast<std::uint16_t>(tap.weights), second};
}

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

/// Four neighbouring columns, whose pixels of a row lie in three words, those of the first two in
/// two.
struct Quad {
  int word;                    ///< the first
  int last;                    ///< the last that there is; those behind it are not needed
  std::uint32_t bytes[kQuad];  ///< which of two words' bytes: a selector of __byte_perm()
  bool later[kQuad];           ///< of the second and the third word
  std::uint32_t weights[kQuad];

  /// False where the pixels do not lie so.
  __device__ bool make(const ResizeTap (&columns)[kQuad], int src_width) {
    const ResizeTap& end = columns[kQuad - 1];
    word = columns[0].first / 4;
    last = src_width / 4 - 1;  // whole words only
    const int last_pixel = end.first + (end.weights >> 16 > 0);
    bool lie_so = last_pixel / 4 <= last;
#pragma unroll
    for (int k = 0; k < kQuad; ++k) {
      int offset = columns[k].first - 4 * word;
      later[k] = k > 1 && offset >= 4;
      if (later[k]) offset -= 4;
      lie_so = lie_so && offset < 7;
      bytes[k] = static_cast<std::uint32_t>(offset + (offset + 1) * 16);
      weights[k] = columns[k].weights;
    }
    return lie_so;
  }

  /// What LinearResize::along_row() is for each.
  __device__ void along_row(const std::uint8_t* row, std::uint32_t (&values)[kQuad]) const {
    const auto* words = reinterpret_cast<const std::uint32_t*>(row);
    const std::uint32_t a = words[word], b = words[min(word + 1, last)],
                        c = words[min(word + 2, last)];
#pragma unroll
    for (int k = 0; k < kQuad; ++k)
      values[k] =
          __dp2a_lo(weights[k], __byte_perm(later[k] ? b : a, later[k] ? c : b, bytes[k]), 0u);
  }
};

/// A thread four columns, a warp rows one behind the other, as neighbours often read the same.
__device__ void resize_quads(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> out,
                             const ResizeTile& tile, const ResizeTap* taps) {
  const int x = static_cast<int>(threadIdx.x) % kWarp * kQuad;
  const int top = static_cast<int>(threadIdx.x) / kWarp * kRowsOfWarp;
  if (x >= tile.columns) return;
  const int columns = min(kQuad, tile.columns - x);
  ResizeTap column[kQuad];
#pragma unroll
  for (int k = 0; k < kQuad; ++k)
    column[k] = taps[tile.first_column + static_cast<unsigned>(x + min(k, columns - 1))];
  const int rows = min(kRowsOfWarp, tile.rows - top);
  if (rows <= 0) return;
  const ResizeTap* row = taps + tile.first_row + top;
  Quad quad;
  if (!quad.make(column, src.width)) {
    for (int r = 0; r < rows; ++r) {
      const LinearResize::Tap y = unpacked(row[r]);
      for (int k = 0; k < columns; ++k) {
        const LinearResize::Tap tap = unpacked(column[k]);
        out.at(tile.x + x + k, tile.y + top + r) = LinearResize::blend(
            LinearResize::along_row(src.row(y.first), tap),
            LinearResize::along_row(src.row(y.second), tap), y.weight_first, y.weight_second);
      }
    }
    return;
  }
  ResizeTap next = row[0];
#pragma unroll
  for (int r = 0; r < kRowsOfWarp; ++r) {
    if (r >= rows) return;
    const LinearResize::Tap y = unpacked(next);
    next = row[min(r + 1, rows - 1)];
    // Rows that neighbours share are made again: to ask whether they are the same takes longer.
    std::uint32_t above[kQuad], below[kQuad];
    quad.along_row(src.row(y.first), above);
    quad.along_row(src.row(y.second), below);
    std::uint8_t* to = &out.at(tile.x + x, tile.y + top + r);
    std::uint8_t made[kQuad];
#pragma unroll
    for (int k = 0; k < kQuad; ++k)
      made[k] = LinearResize::blend(above[k], below[k], y.weight_first, y.weight_second);
    if (columns == kQuad) {
      *reinterpret_cast<uchar4*>(to) = {made[0], made[1], made[2], made[3]};
    } else {
#pragma unroll
      for (int k = 0; k < kQuad; ++k)
        if (k < columns) to[k] = made[k];
    }
  }
}

/// A block a tile.
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    resize_kernel(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> out, bool words,
                  const ResizeTile* tiles, const ResizeTap* taps, const std::int32_t* run) {
  if (idle(run)) return;
  const ResizeTile tile = tiles[blockIdx.x];
  if (words && tile.quads) {
    resize_quads(src, out, tile, taps);
  } else {
    resize_pixels(src, out, tile, taps);
  }
}

void add_taps(const std::vector<LinearResize::Tap>& from, std::vector<ResizeTap>& to) {
  for (const LinearResize::Tap& tap : from)
    to.push_back(
        {tap.first, tap.weight_first | static_cast<std::uint32_t>(tap.weight_second) << 16});
}

bool rows_are_words(const void* data, std::ptrdiff_t stride) {
  return reinterpret_cast<std::uintptr_t>(data) % 4 == 0 && stride % 4 == 0;
}

}  // namespace

Result<LevelResize> LevelResize::create(int src_width, int src_height,
                                        const std::vector<AtlasSlot>& slots) {
  LevelResize resize;
  std::vector<ResizeTap> taps;
  std::vector<ResizeTile> tiles;
  for (const AtlasSlot& slot : slots) {
    const LinearResize plan(src_width, src_height, slot.width, slot.height);
    const auto first_column = static_cast<std::uint32_t>(taps.size());
    add_taps(plan.columns(), taps);
    const auto first_row = static_cast<std::uint32_t>(taps.size());
    add_taps(plan.rows(), taps);
    // Four columns' pixels lie in three words wherever they begin.
    const bool quads = slot.x % kQuad == 0 && 3LL * src_width <= 7LL * slot.width;
    const int width = quads ? kQuadColumns : kColumns, height = quads ? kQuadRows : kRows;
    for (int y = 0; y < slot.height; y += height)
      for (int x = 0; x < slot.width; x += width)
        tiles.push_back({slot.x + x, slot.y + y, std::min(width, slot.width - x),
                         std::min(height, slot.height - y),
                         first_column + static_cast<std::uint32_t>(x),
                         first_row + static_cast<std::uint32_t>(y), quads});
    if (tiles.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      return Status(StatusCode::kUnsupported, "the levels of this picture are too many");
  }
  if (Status s = take(upload(taps), resize.taps_); !s.ok()) return s;
  if (Status s = take(upload(tiles), resize.tiles_); !s.ok()) return s;
  return Result<LevelResize>(std::move(resize));  // nvcc does not move by itself
}

Status LevelResize::enqueue(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> out,
                            const std::int32_t* run, Launcher launch) const {
  if (tiles_.size() == 0) return {};
  const bool words = rows_are_words(src.data, src.stride) && rows_are_words(out.data, out.stride);
  return launch("resizing the levels", resize_kernel,
                {static_cast<unsigned>(tiles_.size()), kThreads}, src, out, words, tiles_.data(),
                taps_.data(), run);
}

}  // namespace cuface::cuda
