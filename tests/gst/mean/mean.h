// A demonstration of gst/base: an element that publishes the mean of each frame's luma.
#pragma once

#include "kernels/common/image.h"
#include "kernels/common/status.h"

namespace cuface {
struct Mean {
  std::int64_t sum = 0, pixels = 0;
  friend bool operator==(const Mean&, const Mean&) = default;
};

namespace cuda {
class Launcher;
Status mean(ImageView<const std::uint8_t> luma, Mean* out, const Launcher& launch);
}  // namespace cuda
}  // namespace cuface
