#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/colour/bgr.h"
#include "kernels/colour/colour_cuda.h"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "kernels/pyramid/cuda/resize.cuh"

namespace cuface::cuda {
namespace {

constexpr int kBlockX = 32, kBlockY = 8;
constexpr int kMaxGridY = 65535;

/// A thread a pixel of the picture, from the four pixels of the frame.
template <typename Told>
__global__ void bgr_kernel(const __grid_constant__ Told told, bgr::Weights weights,
                           const ResizeTap* columns, const ResizeTap* rows, const std::int32_t* run,
                           ImageView<Bgr> out) {
  if (run && *run == 0) return;
  const FrameView& frame = told.get();
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (x >= out.width) return;
  const LinearResize::Tap column = unpacked(columns[x]);
  for (int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y); y < out.height;
       y += static_cast<int>(gridDim.y * blockDim.y))
    out.at(x, y) = bgr::pixel_of(frame, weights, column, unpacked(rows[y]));
}

unsigned blocks(int n, int block) { return static_cast<unsigned>((n - 1) / block + 1); }

}  // namespace

Result<BgrScaler> BgrScaler::create(int width, int height, int input_size) {
  return guarded("planning a BGR picture", [&]() -> Result<BgrScaler> {
    CUFACE_TRY(bgr::validate_plan(width, height, input_size));
    BgrScaler scaler;
    scaler.width_ = width;
    scaler.height_ = height;
    scaler.size_ = bgr_size(width, height, input_size);
    const LinearResize resize(width, height, scaler.size_.width, scaler.size_.height);
    std::vector<ResizeTap> taps;
    add_taps(resize.columns(), taps);
    add_taps(resize.rows(), taps);
    CUFACE_TRY(take(upload(taps), scaler.taps_));
    return Result<BgrScaler>(std::move(scaler));  // nvcc does not move by itself
  });
}

Status BgrScaler::enqueue(const FrameView& frame, ColorMatrix matrix, const std::int32_t* run,
                          ImageView<Bgr> out, Launcher launch) const {
  CUFACE_TRY(bgr::validate_run(frame, width_, height_, out, size_));
  const bgr::Weights weights = bgr::make_weights(matrix, frame.full_range);
  const dim3 block(kBlockX, kBlockY);
  const dim3 grid(blocks(out.width, kBlockX),
                  std::min<unsigned>(blocks(out.height, kBlockY), kMaxGridY));
  const ResizeTap* columns = taps_.data();
  return launch.tell(frame, [&](const auto& told) {
    return launch("colour", bgr_kernel<std::decay_t<decltype(told)>>, {grid, block}, told, weights,
                  columns, columns + size_.width, run, out);
  });
}

}  // namespace cuface::cuda
