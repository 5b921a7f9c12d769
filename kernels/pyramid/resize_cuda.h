// pyramid on CUDA: a picture at several sizes by one launch; each has the bytes of LinearResize.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/cuda.h"
#include "kernels/common/image.h"
#include "kernels/common/launch_cuda.h"
#include "kernels/common/status.h"
#include "kernels/pyramid/atlas.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface::cuda {

/// One destination size of a LevelResize, as its kernel reads it.
struct ResizeTarget {
  std::uint32_t first_tile, tiles_across;
  std::uint32_t first_column, first_row;  ///< in the table of taps
  AtlasSlot slot;
};

class LevelResize {
 public:
  /// Plans the sizes and places of `slots`; allocates. There may be none.
  static Result<LevelResize> create(int src_width, int src_height,
                                    const std::vector<AtlasSlot>& slots);

  /// `src` has the planned size, `out` is the atlas, both in device memory. One launch, or none;
  /// nothing is written where *run is 0.
  Status enqueue(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> out,
                 const std::int32_t* run, Launcher launch) const;

 private:
  DeviceBuffer<LinearResize::Tap> taps_;
  DeviceBuffer<ResizeTarget> targets_;
  std::uint32_t tiles_ = 0;
};

}  // namespace cuface::cuda
