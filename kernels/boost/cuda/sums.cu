// A thread a sample: neighbouring ones write side by side.
#include "kernels/boost/cuda/sums.h"
#include "kernels/cascade/evaluate.h"

namespace cuface::cuda::boost {
namespace {

constexpr unsigned kThreads = 64;  // few, as there are no more than some for each processor

__global__ void __launch_bounds__(kThreads)
    sums_kernel(const __grid_constant__ DeviceWindows windows, std::size_t stride,
                std::uint32_t* sums, float* norms) {
  const int sample = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (sample >= windows.count) return;
  const int width = windows.width, height = windows.height;
  const std::uint8_t* pixels =
      windows.pixels + static_cast<std::size_t>(sample) * static_cast<std::size_t>(width * height);
  std::uint32_t* corner = sums + sample;
  for (int x = 0; x <= width; ++x, corner += stride) *corner = 0;
  const std::uint32_t* above = sums + sample + stride;
  // Over the window less a border of one pixel: WindowSums::norm().
  std::uint32_t inner = 0, squares = 0;
  for (int y = 0; y < height; ++y, above += stride) {
    std::uint32_t row = 0;
    *corner = 0;
    corner += stride;
    for (int x = 0; x < width; ++x, corner += stride, above += stride) {
      const std::uint32_t v = *pixels++;
      row += v;
      *corner = *above + row;
      if (x == 0 || x == width - 1 || y == 0 || y == height - 1) continue;
      inner += v;
      squares += v * v;
    }
  }
  norms[sample] = inverse_norm((width - 2) * (height - 2), inner, squares);
}

}  // namespace

Status make_sums(const DeviceWindows& windows, std::size_t stride, std::uint32_t* sums,
                 float* norms, Launcher launch) {
  const unsigned blocks = (static_cast<unsigned>(windows.count) + kThreads - 1) / kThreads;
  return launch("adding up windows", sums_kernel, {blocks, kThreads}, windows, stride, sums, norms);
}

}  // namespace cuface::cuda::boost
