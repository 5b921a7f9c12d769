// integral on CUDA: the levels of a picture and their sums, word for word those of resizing and of
// integral.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/pyramid/atlas.h"
#include "kernels/pyramid/cuda/resize.h"

namespace cuface::cuda {

/// How the planes of an atlas's sums lie in one block of words: row by row the sums, the squares
/// and, if any, the tilted sums of that row, so that offsets from a window stay small.
struct SumPlanes {
  std::uint32_t* data = nullptr;
  std::ptrdiff_t stride = 0;   ///< words between rows of one plane
  std::ptrdiff_t squared = 0;  ///< words from a sum to its square, and
  std::ptrdiff_t tilted = 0;   ///< to its tilted sum; 0 = none

  CUFACE_HD std::uint32_t* row(const AtlasSlot& slot, int y) const {
    return data + (slot.y + y) * stride + slot.x;
  }
};

/// One level of LevelIntegrals, as the kernels of tilted sums read it. The slot is the level's
/// pixels; its sums take a row and a column more.
struct IntegralLevel {
  AtlasSlot slot;
  std::uint32_t first_row, first_diagonal;
};

/// What a block of LevelIntegrals makes.
struct SumTile {
  AtlasSlot slot;                         ///< the level
  std::uint32_t first_column, first_row;  ///< of the level, in the table of taps
  std::int32_t columns;                   ///< of tiles that the level has
  std::int32_t band, column;              ///< which of the level's tiles it is
  std::int32_t quads;                     ///< four columns' pixels lie in few words
  std::int32_t same_size;                 ///< the level has the picture's size
};

/// Tells what one launch of LevelIntegrals has left from what the one before has.
struct LaunchMark {
  std::uint32_t mark;     ///< of this launch
  std::uint32_t arrived;  ///< blocks that need it no more; 0 between launches
};

/// The levels of a picture and their sums.
class LevelIntegrals {
 public:
  /// Plans the sizes and places of `slots`, as LevelResize. Every slot has room for a row and a
  /// column more in the atlas of sums, and begins at a multiple of four columns. Allocates.
  static Result<LevelIntegrals> create(int src_width, int src_height,
                                       const std::vector<AtlasSlot>& slots, bool tilted,
                                       ScratchLayout& layout);
  void bind(std::byte* scratch) { edge_.bind(scratch); }

  /// `src` has the planned size; `pixels` is the atlas that the levels' pictures are put in; its
  /// rows begin at multiples of four bytes, those of the planes at multiples of four words
  /// (kInvalidArgument). One launch, three with tilted sums, none without levels; nothing is
  /// written where *run is 0. One call at a time.
  Status enqueue(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> pixels,
                 const SumPlanes& planes, const std::int32_t* run, Launcher launch);

 private:
  DeviceBuffer<IntegralLevel> levels_;
  DeviceBuffer<SumTile> tiles_;
  DeviceBuffer<ResizeTap> taps_;
  DeviceBuffer<std::uint64_t> said_;  ///< by each tile of its columns, its rows and itself
  DeviceBuffer<LaunchMark> mark_;
  ScratchPart<std::uint32_t> edge_;  ///< per row of sums: see level_sums.cu
  std::uint32_t diagonals_ = 0;
  bool aligned_ = true;
};

}  // namespace cuface::cuda
