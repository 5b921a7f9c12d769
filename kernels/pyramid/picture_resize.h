// Resizing whole pictures, one after the other: LinearResize's bits, in less time where the result
// is smaller by up to a half.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/pyramid/pyramid.h"

namespace cuface {

/// Where two rows of the result lie between the same rows of the source, these are read once.
/// Serves one thread at a time.
class PictureResize {
 public:
  PictureResize(int src_width, int src_height, int dst_width, int dst_height);

  /// As LinearResize::run().
  bool run(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst,
           const StopFlag* stop = nullptr);

  /// Eight columns of the result, whose pixels lie within 16 bytes of the source's row.
  struct Eight {
    std::int32_t start;
    std::uint8_t places[16];  ///< of the two pixels of each
    std::uint16_t weight_second[8];
  };

 private:
  LinearResize plan_;
  std::vector<Eight> eights_;           ///< none where eight columns lie too far apart
  std::vector<std::uint16_t> rows_[2];  ///< of the source, at the columns, times 256
};

}  // namespace cuface
