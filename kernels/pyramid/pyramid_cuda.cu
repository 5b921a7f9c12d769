#include <algorithm>

#include "kernels/common/border.h"
#include "kernels/pyramid/pyramid_cuda.h"

namespace cuface::cuda {
namespace {

constexpr int kTileWidth = 32, kTileHeight = 8;  // destination pixels of a block
constexpr int kSourceWidth = 2 * kTileWidth + 3, kSourceHeight = 2 * kTileHeight + 3;
constexpr int kThreads = kTileWidth * kTileHeight;

/// One octave: dst := src blurred by [1 4 6 4 1]^2 / 256 and halved, where dst has data; and
/// copy := src, where copy has data. The grid covers 2x2 source pixels a thread.
__global__ void __launch_bounds__(kThreads)
    down(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst,
         ImageView<std::uint8_t> copy) {
  __shared__ std::uint8_t tile[kSourceHeight][kSourceWidth];
  __shared__ std::uint16_t sums[kTileHeight][kSourceWidth];
  const int tid = static_cast<int>(threadIdx.x);
  const int x0 = static_cast<int>(blockIdx.x) * kTileWidth;
  const int y0 = static_cast<int>(blockIdx.y) * kTileHeight;
  // Nothing is needed beyond the last centre's two neighbours; reflecting those is one step.
  const int last_x = src.width + 1, last_y = src.height + 1;
  for (int k = tid; k < kSourceWidth * kSourceHeight; k += kThreads) {
    const int x = k % kSourceWidth, y = k / kSourceWidth;
    const int sx = 2 * x0 + x - 2, sy = 2 * y0 + y - 2;
    const std::uint8_t value =
        src.at(reflect_101(min(sx, last_x), src.width), reflect_101(min(sy, last_y), src.height));
    tile[y][x] = value;
    const bool mine = x >= 2 && x < 2 + 2 * kTileWidth && y >= 2 && y < 2 + 2 * kTileHeight;
    if (copy.data && mine && sx < src.width && sy < src.height) copy.at(sx, sy) = value;
  }
  if (!dst.data) return;
  __syncthreads();
  for (int k = tid; k < kSourceWidth * kTileHeight; k += kThreads) {
    const int x = k % kSourceWidth, y = k / kSourceWidth;
    const std::uint8_t(*t)[kSourceWidth] = tile + 2 * y;
    sums[y][x] =
        static_cast<std::uint16_t>(t[0][x] + t[4][x] + 4 * (t[1][x] + t[3][x]) + 6 * t[2][x]);
  }
  __syncthreads();
  const int x = tid % kTileWidth, y = tid / kTileWidth;
  if (x0 + x >= dst.width || y0 + y >= dst.height) return;
  const std::uint16_t* s = sums[y] + 2 * x;
  const int sum = s[0] + s[4] + 4 * (s[1] + s[3]) + 6 * s[2] + 128;
  dst.at(x0 + x, y0 + y) = static_cast<std::uint8_t>(sum >> 8);
}

Status launch_down(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst,
                   ImageView<std::uint8_t> copy, Launcher launch) {
  const int width = (src.width + 1) / 2, height = (src.height + 1) / 2;
  const dim3 grid(static_cast<unsigned>((width + kTileWidth - 1) / kTileWidth),
                  static_cast<unsigned>((height + kTileHeight - 1) / kTileHeight));
  return launch("pyramid", down, {grid, kThreads}, src, dst, copy);
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
    auto level = DeviceImage<std::uint8_t>::create(width, height);
    if (!level.ok()) return level.status();
    made->levels_.push_back(std::move(level.value()));
  }
  return Result<std::unique_ptr<GaussianPyramid>>(std::move(made));
}

Status GaussianPyramid::enqueue(ImageView<const std::uint8_t> picture, int levels,
                                Launcher launch) {
  const ImageView<std::uint8_t> base = levels_[0].view();
  if (!picture.data || picture.width != base.width || picture.height != base.height) {
    return Status(StatusCode::kInvalidArgument, "pyramid: the picture is not of the planned size");
  }
  levels = std::min(levels, this->levels());
  const ImageView<std::uint8_t> first = levels > 1 ? levels_[1].view() : ImageView<std::uint8_t>{};
  if (Status s = launch_down(picture, first, base, launch); !s.ok()) return s;
  return enqueue_above(2, levels, launch);
}

Status GaussianPyramid::enqueue_above(int first, int levels, Launcher launch) {
  levels = std::min(levels, this->levels());
  for (int i = first; i < levels; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (Status s = launch_down(levels_[k - 1].view(), levels_[k].view(), {}, launch); !s.ok()) {
      return s;
    }
  }
  return {};
}

ImageView<const std::uint8_t> GaussianPyramid::level(int i) const {
  return levels_[static_cast<std::size_t>(i)].view();
}

}  // namespace cuface::cuda
