#include <algorithm>

#include "kernels/common/border.h"
#include "kernels/common/try.h"
#include "kernels/pyramid/cuda/octaves.h"

namespace cuface::cuda {
namespace {

// A block makes a tile of an octave, and of it a tile of the next one. For that it makes what is
// around the tile too: a quad to each side, and two rows.
constexpr int kQuad = 4;                                  // columns of a thread
constexpr int kTileWidth = 16 * kQuad, kTileHeight = 32;  // even
constexpr int kAroundWidth = kTileWidth + 2 * kQuad, kAroundHeight = kTileHeight + 4;
constexpr int kRows = 2;  // of a thread in the first octave
constexpr int kThreads = (kAroundWidth / kQuad * kAroundHeight / kRows + 31) / 32 * 32;

/// reflect_101() for what is at most two outside, without a loop.
__device__ inline int reflect_near(int i, int n) {
  const int right = abs(i);
  return min(right < n ? right : abs(2 * (n - 1) - right), n - 1);
}

/// What four columns of an octave are made of: eleven pixels of a row, from two left of column x
/// of the source on. They begin in the upper half of the first word. From single bytes.
__device__ inline uint4 source_bytes(const std::uint8_t* row, int x, int width) {
  std::uint32_t words[4] = {};
#pragma unroll
  for (int i = 2; i < 13; ++i) {
    // Nothing is needed beyond the last centre's two neighbours.
    const int at = reflect_near(min(x + i - 4, width + 1), width);
    words[i / 4] |= static_cast<std::uint32_t>(row[at]) << (i % 4 * 8);
  }
  return {words[0], words[1], words[2], words[3]};
}

/// The same where x is a multiple of eight and eight pixels from there on lie in the picture.
__device__ inline uint4 source_words(const std::uint8_t* row, int x, int width) {
  const uint2 own = *reinterpret_cast<const uint2*>(row + x);
  const std::uint32_t left = x > 0 ? *reinterpret_cast<const std::uint32_t*>(row + x - 4)
                                   : __byte_perm(own.x, 0, 0x1200);  // the border
  const std::uint32_t right = x + 8 < width ? row[x + 8] : own.y >> 16;
  return {left, own.x, own.y, right};
}

/// [1 4 6 4 1] along a row: the sums of columns 0 and 1, then of 2 and 3, two in a word.
__device__ inline uint2 along_row(const uint4& source) {
  constexpr std::uint32_t kFourWeights = 0x04060401, kThird = 1u << 16;
  // The fifth pixel of column 0 is the third byte of its word.
  const auto even = [&](std::uint32_t left, std::uint32_t own) {
    return __dp4a(own, kThird, __dp4a(__byte_perm(left, own, 0x5432), kFourWeights, 0u));
  };
  const auto odd = [&](std::uint32_t own, std::uint32_t right) {
    return __dp4a(own, kFourWeights, right & 0xff);
  };
  return {even(source.x, source.y) | odd(source.y, source.z) << 16,
          even(source.y, source.z) | odd(source.z, source.w) << 16};
}

/// Writes the first `count` of eight or four pixels.
template <typename Words>
__device__ inline void store_pixels(std::uint8_t* to, const Words& pixels, int count) {
  if (count >= static_cast<int>(sizeof pixels)) {
    *reinterpret_cast<Words*>(to) = pixels;
    return;
  }
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&pixels);
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof pixels) - 1; ++i)
    if (i < count) to[i] = bytes[i];
}

/// A few rows of four columns of an octave, and what they are made of.
template <int kCount>
struct Quad {
  static constexpr int kSourceRows = 2 * kCount + 3;
  uint4 source[kSourceRows];
  std::uint32_t made[kCount];

  /// From column x and row y of the octave on; row_of(y) is a row of its source, which is width x
  /// height pixels. `words` where its rows begin at pairs of words.
  template <typename RowOf>
  __device__ Quad(const RowOf& row_of, int x, int y, int width, int height, bool words) {
    const auto row = [&](int r) {
      return row_of(reflect_101(min(2 * y + r - 2, height + 1), height));
    };
    if (words && 2 * (x + kQuad) <= width) {
#pragma unroll
      for (int r = 0; r < kSourceRows; ++r) source[r] = source_words(row(r), 2 * x, width);
    } else {
#pragma unroll
      for (int r = 0; r < kSourceRows; ++r) source[r] = source_bytes(row(r), 2 * x, width);
    }
    uint2 sums[kSourceRows];
#pragma unroll
    for (int r = 0; r < kSourceRows; ++r) sums[r] = along_row(source[r]);
#pragma unroll
    for (int r = 0; r < kCount; ++r) {
      const auto down_column = [&](std::uint32_t uint2::*two) {  // up to 255 * 256 + 128 each
        const auto sum = [&](int k) { return sums[2 * r + k].*two; };
        return sum(0) + sum(4) + 4 * (sum(1) + sum(3)) + 6 * sum(2) + 0x00800080u;
      };
      made[r] = __byte_perm(down_column(&uint2::x), down_column(&uint2::y), 0x7531);
    }
  }
};

/// An octave is its source blurred by [1 4 6 4 1]^2 / 256 and halved. octave := that of src, where
/// octave has data; next := that of octave, where next has; copy := src, where copy has data. A
/// block a tile. Rows of octaves begin at whole words, those of copy at pairs of them, and those of
/// src too where `words`.
__global__ void __launch_bounds__(kThreads)
    down(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> octave,
         ImageView<std::uint8_t> next, ImageView<std::uint8_t> copy, bool words) {
  // Columns begin at a word, so that those of the tile itself begin at a pair of words.
  __shared__ __align__(8) std::uint8_t tile[kAroundHeight][kQuad + kAroundWidth + kQuad];
  const int width = (src.width + 1) / 2, height = (src.height + 1) / 2;
  const int left = static_cast<int>(blockIdx.x) * kTileWidth - kQuad;
  const int top = static_cast<int>(blockIdx.y) * kTileHeight - 2;
  const int thread = static_cast<int>(threadIdx.x);
  constexpr int kQuads = kAroundWidth / kQuad;
  const int column = thread % kQuads * kQuad, row = thread / kQuads * kRows;
  const int x = left + column, y = top + row;
  const bool of_tile =
      column >= kQuad && column < kQuad + kTileWidth && row >= 2 && row < 2 + kTileHeight;
  if (x >= 0 && x < width && y >= 0 && y < height && row < kAroundHeight &&
      (of_tile || next.data)) {
    const Quad<kRows> quad([&](int r) { return src.row(r); }, x, y, src.width, src.height, words);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (next.data)
        *reinterpret_cast<std::uint32_t*>(&tile[row + r][kQuad + column]) = quad.made[r];
      if (of_tile && octave.data && y + r < height)
        store_pixels(&octave.at(x, y + r), quad.made[r], width - x);
    }
    if (of_tile && copy.data) {
#pragma unroll
      for (int r = 0; r < 2 * kRows; ++r)
        if (2 * y + r < src.height)
          store_pixels(&copy.at(2 * x, 2 * y + r),
                       uint2{quad.source[r + 2].y, quad.source[r + 2].z}, src.width - 2 * x);
    }
  }
  if (!next.data) return;
  __syncthreads();
  constexpr int kNextQuads = kTileWidth / 2 / kQuad;
  const int next_row = thread / kNextQuads;
  const int next_x = (left + kQuad) / 2 + thread % kNextQuads * kQuad;
  const int next_y = (top + 2) / 2 + next_row;
  if (next_row >= kTileHeight / 2 || next_x >= next.width || next_y >= next.height) return;
  const Quad<1> quad([&](int r) { return &tile[r - top][kQuad] - left; }, next_x, next_y, width,
                     height, true);
  store_pixels(&next.at(next_x, next_y), quad.made[0], next.width - next_x);
}

Status launch_down(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> octave,
                   ImageView<std::uint8_t> next, ImageView<std::uint8_t> copy, Launcher launch) {
  const auto parts = [](int n, int of) { return static_cast<unsigned>((n + of - 1) / of); };
  const bool words = reinterpret_cast<std::uintptr_t>(src.data) % (2 * kQuad) == 0 &&
                     src.stride % (2 * kQuad) == 0;
  const dim3 grid(parts(src.width, 2 * kTileWidth), parts(src.height, 2 * kTileHeight));
  return launch("pyramid", down, {grid, kThreads}, src, octave, next, copy, words);
}

}  // namespace

Result<std::unique_ptr<GaussianPyramid>> GaussianPyramid::create(int width, int height, int levels,
                                                                 int min_side) {
  if (width < 1 || height < 1 || levels < 1 || levels > kMaxLevels) {
    return Status(StatusCode::kInvalidArgument, "pyramid: the size or the levels are out of range");
  }
  std::unique_ptr<GaussianPyramid> made(new GaussianPyramid);
  for (int i = 0; i < levels; ++i) {
    if (i > 0) {
      width = (width + 1) / 2;
      height = (height + 1) / 2;
      if (width <= min_side || height <= min_side) break;
    }
    CUFACE_TAKE(level, DeviceImage<std::uint8_t>::create(width, height));
    made->levels_.push_back(std::move(level));
  }
  return Result<std::unique_ptr<GaussianPyramid>>(std::move(made));
}

Status GaussianPyramid::begin(ImageView<const std::uint8_t> picture) {
  const ImageView<const std::uint8_t> base = level(0);
  if (!picture.data || picture.width != base.width || picture.height != base.height) {
    return Status(StatusCode::kInvalidArgument, "pyramid: the picture is not of the planned size");
  }
  picture_ = picture;
  built_ = 0;
  return {};
}

Status GaussianPyramid::enqueue(int levels, Launcher launch) {
  levels = std::min(levels, this->levels());
  if (built_ >= levels) return {};
  const Status launched = built_ > 0 ? enqueue_above(built_, levels, launch)
                                     : enqueue_two(picture_, levels_[0].view(), 1, levels, launch);
  if (launched.ok()) built_ = levels;
  return launched;
}

Status GaussianPyramid::enqueue(ImageView<const std::uint8_t> picture, Launcher launch) {
  CUFACE_TRY(begin(picture));
  return enqueue(levels(), launch);
}

/// Levels `first`..`levels`-1 from the one below, which has been built; first >= 1.
Status GaussianPyramid::enqueue_above(int first, int levels, Launcher launch) {
  if (first >= levels) return {};
  return enqueue_two(level(first - 1), {}, first, levels, launch);
}

Status GaussianPyramid::enqueue_two(ImageView<const std::uint8_t> source,
                                    ImageView<std::uint8_t> copy, int first, int levels,
                                    Launcher launch) {
  const auto octave = [&](int i) {
    return i < levels ? levels_[static_cast<std::size_t>(i)].view() : ImageView<std::uint8_t>{};
  };
  CUFACE_TRY(launch_down(source, octave(first), octave(first + 1), copy, launch));
  return enqueue_above(first + 2, levels, launch);
}

ImageView<const std::uint8_t> GaussianPyramid::level(int i) const {
  return levels_[static_cast<std::size_t>(i)].view();
}

}  // namespace cuface::cuda
