// colour of frames in device memory: the bytes of BgrScaler.
#pragma once

#include <cstdint>

#include "kernels/colour/colour.h"
#include "kernels/common/bgr.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/luma/color_matrix.h"
#include "kernels/luma/luma.h"
#include "kernels/pyramid/cuda/resize.h"

namespace cuface::cuda {

/// Makes the BGR pictures of frames of one size. Immutable once made; move-only.
class BgrScaler {
 public:
  /// As the CPU's create(); also kOutOfDeviceMemory. Allocates device memory for the tables.
  static Result<BgrScaler> create(int width, int height, int input_size);

  const BgrSize& size() const { return size_; }

  /// Enqueues the kernel that reads a decoder's frame. `frame` and `out`, of size(), lie in device
  /// memory, as does `run`: where *run is 0 nothing is read and nothing written; null = always.
  /// kInvalidArgument as the CPU's run(). One launch; no allocation, copy or wait. Thread-safe.
  Status enqueue(const FrameView& frame, ColorMatrix matrix, const std::int32_t* run,
                 ImageView<Bgr> out, Launcher launch) const;

 private:
  int width_ = 0, height_ = 0;  // of the frame
  BgrSize size_{};
  DeviceBuffer<ResizeTap> taps_;  // of the columns, then of the rows
};

}  // namespace cuface::cuda
