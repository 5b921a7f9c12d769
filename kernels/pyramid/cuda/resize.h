// pyramid on CUDA: a picture at several sizes by one launch; each has the bytes of LinearResize.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/pyramid/atlas.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface::cuda {

/// LinearResize::Tap in two words: the second index is the next one, or of no weight.
struct ResizeTap {
  std::int32_t first;
  std::uint32_t weights;  ///< of the second in the upper half
};

/// What a block of a LevelResize makes.
struct ResizeTile {
  std::int32_t x, y, columns, rows;       ///< in the atlas
  std::uint32_t first_column, first_row;  ///< in the table of taps
  std::int32_t quads;                     ///< a thread has four columns
  std::int32_t same_size;                 ///< the level has the picture's size
};

class LevelResize {
 public:
  /// Plans the sizes and places of `slots`; allocates. There may be none. Slots that begin at
  /// multiples of four columns are faster. kCancelled: `stop` was raised before it was done.
  static Result<LevelResize> create(int src_width, int src_height,
                                    const std::vector<AtlasSlot>& slots,
                                    const StopFlag* stop = nullptr);

  /// `src` has the planned size, `out` is the atlas, both in device memory. One launch, or none;
  /// no level is written where *run is 0, but `zeros` always are. Pictures whose rows begin at
  /// multiples of four bytes are faster.
  Status enqueue(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> out,
                 const std::int32_t* run, Launcher launch, const Zeros& zeros = {}) const;

  /// The same of `pictures` pictures by one launch: what is one's of `src`, `out` and `zeros` lies
  /// `apart` bytes, a multiple of 16, behind that of the one before.
  Status enqueue_many(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> out,
                      unsigned pictures, std::size_t apart, Launcher launch,
                      const Zeros& zeros) const;

 private:
  DeviceBuffer<ResizeTap> taps_;
  DeviceBuffer<ResizeTile> tiles_;
};

}  // namespace cuface::cuda
