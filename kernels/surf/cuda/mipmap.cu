#include <algorithm>
#include <bit>

#include "kernels/common/try.h"
#include "kernels/surf/cuda/mipmap.h"

namespace cuface::cuda::surf {
namespace {

constexpr int kThreads = 256;
/// Levels that a block makes of its tile of a level.
constexpr int kLevels = 6, kTile = 1 << kLevels;

/// A block a tile: the levels from `from + 1` on, as far as a tile or the mipmap goes.
__global__ void __launch_bounds__(kThreads)
    halve_kernel(const __grid_constant__ MipmapView mipmap, int from) {
  const int tiles_across = (mipmap.all[from].width + kTile - 1) / kTile;
  const int tile_x = static_cast<int>(blockIdx.x) % tiles_across * kTile,
            tile_y = static_cast<int>(blockIdx.x) / tiles_across * kTile;
  for (int level = from + 1; level <= min(from + kLevels, mipmap.count - 1); ++level) {
    const int by = level - from;
    // Of a side of one pixel, which has no second one, the tile has all.
    const int w = max(min(kTile, mipmap.all[from].width) >> by, 1),
              h = max(min(kTile, mipmap.all[from].height) >> by, 1);
    const int across = mipmap.all[level - 1].width > 1 ? 1 : 0,
              down = mipmap.all[level - 1].height > 1 ? 1 : 0;
    for (int i = static_cast<int>(threadIdx.x); i < w * h; i += kThreads) {
      const int x = (tile_x >> by) + i % w, y = (tile_y >> by) + i / w;
      const int left = x << across, top = y << down;
      *mipmap.at(level, x, y) = cuface::surf::mean_of_four(
          mipmap.mean(level - 1, left, top), mipmap.mean(level - 1, left + across, top),
          mipmap.mean(level - 1, left, top + down),
          mipmap.mean(level - 1, left + across, top + down));
    }
    __syncthreads();
  }
}

}  // namespace

void Mipmap::plan(int width, int height, ScratchLayout& layout) {
  const auto power = [](int side) {
    return static_cast<int>(std::bit_ceil(static_cast<unsigned>(side)));
  };
  int w = power(width), h = power(height);
  view_.count = std::bit_width(static_cast<unsigned>(std::max(w, h)));
  std::uint32_t means = 0;
  for (int level = 0; level < view_.count; ++level) {
    view_.all[level] = {w, h, means};
    if (level > 0) means += static_cast<std::uint32_t>(w) * static_cast<std::uint32_t>(h);
    w = std::max(1, w / 2);
    h = std::max(1, h / 2);
  }
  means_ = layout.add<float>(means);
}

MipmapView Mipmap::view(ImageView<const std::uint8_t> grey) const {
  MipmapView out = view_;
  out.grey = grey;
  out.means = means_.data();
  return out;
}

Status Mipmap::enqueue(ImageView<const std::uint8_t> grey, Launcher launch) const {
  const MipmapView view = this->view(grey);
  const auto tiles = [](int side) { return static_cast<unsigned>((side + kTile - 1) / kTile); };
  for (int from = 0; from < view.count - 1; from += kLevels)
    CUFACE_TRY(launch("halving the picture", halve_kernel,
                      {tiles(view.all[from].width) * tiles(view.all[from].height), kThreads}, view,
                      from));
  return {};
}

}  // namespace cuface::cuda::surf
