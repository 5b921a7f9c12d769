// The mipmap of a picture in device memory, with the means of cuface::surf::Mipmap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/surf/mipmap.h"

namespace cuface::cuda::surf {

/// Level 0 is the picture itself; the others lie one behind the other.
struct MipmapView {
  struct Level {
    std::int32_t width, height;
    std::uint32_t first;  ///< of its means
  };
  ImageView<const std::uint8_t> grey;
  float* means;
  std::int32_t count;
  Level all[cuface::surf::kMostMipmapLevels];

  CUFACE_HD int levels() const { return count; }
  CUFACE_HD int width(int level) const { return all[level].width; }
  CUFACE_HD int height(int level) const { return all[level].height; }
  CUFACE_HD float* at(int level, int x, int y) const {
    return means + all[level].first + y * all[level].width + x;
  }
  CUFACE_HD float mean(int level, int x, int y) const {
    if (level > 0) return *at(level, x, y);
    return x < grey.width && y < grey.height ? static_cast<float>(grey.at(x, y)) : 0;
  }
};

/// plan(), then bind() to a scratch, then enqueue() as often as wanted.
class Mipmap {
 public:
  void plan(int width, int height, ScratchLayout& layout);
  void bind(std::byte* scratch) { means_.bind(scratch); }
  MipmapView view(ImageView<const std::uint8_t> grey) const;
  /// Fills what view() has.
  Status enqueue(ImageView<const std::uint8_t> grey, Launcher launch) const;

 private:
  MipmapView view_{};
  ScratchPart<float> means_;
};

}  // namespace cuface::cuda::surf
