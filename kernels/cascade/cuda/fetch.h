// What searches of several pictures found, to memory that the host reads: one launch instead of
// copies of which nobody knows how long they must be.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cascade/cuda/plan.h"
#include "kernels/cascade/cuda/search.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"

namespace cuface::cuda {

/// The windows of a search, of one picture; of the others they lie as far behind as the pictures.
struct RawWindows {
  const Rect* boxes;
  const SearchCounts* counts;
  const WindowLevel* levels;  ///< the same of all pictures
  std::int32_t level_count;
  std::int32_t width, height;  ///< of a window, in its level
};

/// Page-locked host memory, picture behind picture. It is written by the launch.
struct FetchedWindows {
  SearchCounts* counts;
  Rect* boxes;  ///< most_boxes of each, as far as there are
  /// Windows of all pictures, one behind the other, row after row. A picture has all of its windows
  /// there, or none where begin_of_next() says that they do not fit.
  std::uint8_t* pixels;
  std::uint32_t most_boxes, most_windows;

  /// Where the pixels of the next picture's windows begin, behind a picture with `count` windows
  /// whose own begin at `begin`. That one's fit where this is at most most_windows.
  CUFACE_HD static std::uint32_t begin_of_next(std::uint32_t begin, std::uint32_t count,
                                               std::uint32_t most_windows) {
    return begin > most_windows || count > most_windows - begin ? most_windows + 1 : begin + count;
  }
};

/// Of `pictures` pictures, of which each has its atlas and its windows `apart` bytes behind those
/// of the one before. The k-th window's pixels belong to the k-th box.
Status fetch_windows(const RawWindows& from, ImageView<const std::uint8_t> atlas, unsigned pictures,
                     std::size_t apart, const FetchedWindows& to, Launcher launch);

}  // namespace cuface::cuda
