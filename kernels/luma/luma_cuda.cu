#include <algorithm>
#include <type_traits>

#include "kernels/common/cuda/runtime.h"
#include "kernels/common/try.h"
#include "kernels/luma/grey.h"
#include "kernels/luma/luma_cuda.h"

namespace cuface::cuda {
namespace {

constexpr int kBlockX = 64, kBlockY = 4;
constexpr int kMaxGridY = 65535;
constexpr int kVector = 16;

__device__ std::uint8_t luma_of(const Component& c, const std::uint8_t* at, bool full_range) {
  const std::uint32_t v = grey::sample(at, c.depth, c.shift);
  return full_range ? grey::full(v, c.depth) : grey::limited(v, c.depth);
}

__device__ const std::uint8_t* sample_at(const Component& c, int x, int y) {
  return c.data + y * c.stride + static_cast<std::ptrdiff_t>(x) * c.pixel_stride;
}

/// Any layout, a thread a pixel.
template <typename Told>
__global__ void luma_kernel(const __grid_constant__ Told told, ImageView<std::uint8_t> out) {
  const FrameView& frame = told.get();
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (x >= frame.width) return;
  for (int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y); y < frame.height;
       y += static_cast<int>(gridDim.y * blockDim.y)) {
    const Component& first = frame.component[0];
    if (!frame.rgb) {
      out.at(x, y) = luma_of(first, sample_at(first, x, y), frame.full_range);
      continue;
    }
    std::uint32_t v[3];
    for (int c = 0; c < 3; ++c)
      v[c] = grey::full(grey::sample(sample_at(frame.component[c], x, y), first.depth, first.shift),
                        first.depth);
    out.at(x, y) = grey::rgb(v[0], v[1], v[2]);
  }
}

__device__ std::uint32_t limited4(std::uint32_t bytes) {
  std::uint32_t out = 0;
  for (int i = 0; i < 32; i += 8)
    out |= static_cast<std::uint32_t>(grey::limited((bytes >> i) & 255, 8)) << i;
  return out;
}

/// A Y plane of bytes whose rows, as those of `out`, begin at multiples of 16: a thread 16 pixels.
template <typename Told>
__global__ void luma_vector_kernel(const __grid_constant__ Told told, bool full_range,
                                   ImageView<std::uint8_t> out) {
  const ImageView<const std::uint8_t> in = told.get();
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * kVector;
  if (x >= in.width) return;
  for (int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y); y < in.height;
       y += static_cast<int>(gridDim.y * blockDim.y)) {
    const std::uint8_t* from = in.row(y) + x;
    std::uint8_t* to = out.row(y) + x;
    if (x + kVector <= in.width) {
      uint4 v = *reinterpret_cast<const uint4*>(from);
      if (!full_range) v = {limited4(v.x), limited4(v.y), limited4(v.z), limited4(v.w)};
      *reinterpret_cast<uint4*>(to) = v;
      continue;
    }
    for (int i = 0; x + i < in.width; ++i) to[i] = full_range ? from[i] : grey::limited(from[i], 8);
  }
}

bool rows_are_aligned(const void* data, std::ptrdiff_t stride) {
  return reinterpret_cast<std::uintptr_t>(data) % kVector == 0 && stride % kVector == 0;
}

unsigned blocks(int n, int block) { return static_cast<unsigned>((n - 1) / block + 1); }

}  // namespace

Status luma(const FrameView& frame, ImageView<std::uint8_t> out, Launcher launch) {
  CUFACE_TRY(validate(frame));
  if (!out.data || out.width != frame.width || out.height != frame.height)
    return {StatusCode::kInvalidArgument, "luma: the output has not the frame's size"};
  const Component& y = frame.component[0];
  const dim3 block(kBlockX, kBlockY);
  const unsigned rows = std::min<unsigned>(blocks(frame.height, kBlockY), kMaxGridY);
  if (!frame.rgb && y.depth == 8 && y.shift == 0 && y.pixel_stride == 1 &&
      rows_are_aligned(y.data, y.stride) && rows_are_aligned(out.data, out.stride)) {
    const dim3 grid(blocks(frame.width, kBlockX * kVector), rows);
    const ImageView<const std::uint8_t> plane = {y.data, frame.width, frame.height, y.stride};
    return launch.tell(plane, [&](const auto& told) {
      return launch("luma", luma_vector_kernel<std::decay_t<decltype(told)>>, {grid, block}, told,
                    frame.full_range, out);
    });
  }
  return launch.tell(frame, [&](const auto& told) {
    return launch("luma", luma_kernel<std::decay_t<decltype(told)>>,
                  {dim3(blocks(frame.width, kBlockX), rows), block}, told, out);
  });
}

}  // namespace cuface::cuda
