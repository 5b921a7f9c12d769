#include <algorithm>
#include <type_traits>

#include "kernels/common/try.h"
#include "kernels/luma/grey.h"
#include "kernels/luma/write_cuda.h"

namespace cuface::cuda {
namespace {

constexpr int kBlockX = 64, kBlockY = 4;

/// Whether a component's sample has a pixel that the mask leaves as it is.
__device__ bool stays(ImageView<const std::uint8_t> mask, const Component& c, int x, int y) {
  const int right = min((x + 1) << c.sub_x, mask.width);
  const int bottom = min((y + 1) << c.sub_y, mask.height);
  for (int v = y << c.sub_y; v < bottom; ++v)
    for (int u = x << c.sub_x; u < right; ++u)
      if (mask.at(u, v) != 0) return true;
  return false;
}

/// A thread a place: the sample of each component that has one there.
template <bool kMasks, typename Told>
__global__ void __launch_bounds__(kBlockX* kBlockY)
    write_kernel(ImageView<const std::uint8_t> picture, const __grid_constant__ Told told) {
  const FrameView& frame = told.get();
  const int x = static_cast<int>(blockIdx.x * kBlockX + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * kBlockY + threadIdx.y);
  for (int i = 0; i < 3; ++i) {
    const Component& c = frame.component[i];
    const int width = ((frame.width - 1) >> c.sub_x) + 1;
    const int height = ((frame.height - 1) >> c.sub_y) + 1;
    if (!c.data || x >= width || y >= height) continue;
    if (kMasks && stays(picture, c, x, y)) continue;
    const std::uint8_t level = kMasks ? 0 : picture.at(x << c.sub_x, y << c.sub_y);
    const std::uint32_t sample = i == 0 || frame.rgb
                                     ? grey::sample_of(level, c.depth, frame.full_range)
                                     : grey::neutral_chroma(c.depth);
    grey::put(c.data + y * c.stride + static_cast<std::ptrdiff_t>(x) * c.pixel_stride, c.depth,
              c.shift, sample);
  }
}

template <bool kMasks>
Status write(ImageView<const std::uint8_t> picture, const FrameView& frame, Launcher launch) {
  CUFACE_TRY(validate(frame));
  if (!picture.data || picture.width != frame.width || picture.height != frame.height)
    return {StatusCode::kInvalidArgument, "what is written has not the frame's size"};
  const auto blocks = [](int n, int block) { return static_cast<unsigned>((n - 1) / block + 1); };
  const dim3 grid(blocks(frame.width, kBlockX), blocks(frame.height, kBlockY));
  return launch.tell(frame, [&](const auto& told) {
    return launch("writing into the frame", write_kernel<kMasks, std::decay_t<decltype(told)>>,
                  {grid, dim3(kBlockX, kBlockY)}, picture, told);
  });
}

}  // namespace

Status write_grey(ImageView<const std::uint8_t> picture, const FrameView& frame, Launcher launch) {
  return write<false>(picture, frame, launch);
}

Status write_black(ImageView<const std::uint8_t> mask, const FrameView& frame, Launcher launch) {
  return write<true>(mask, frame, launch);
}

}  // namespace cuface::cuda
