// integral on CUDA: the sums of all levels of an atlas, word for word those of integral.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/cuda.h"
#include "kernels/common/image.h"
#include "kernels/common/launch_cuda.h"
#include "kernels/common/scratch_cuda.h"
#include "kernels/common/status.h"
#include "kernels/pyramid/atlas.h"

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

/// One level of LevelIntegrals, as its kernels read it. The slot is the level's pixels; its sums
/// take a row and a column more.
struct IntegralLevel {
  AtlasSlot slot;
  std::uint32_t first_row, first_diagonal;
  std::uint32_t first_above, first_arrived;  ///< in what band_kernel works in
  std::int32_t bands, chunks;                ///< of rows, and of columns
};

/// What a block of LevelIntegrals works on.
struct BandChunk {
  std::int32_t level, band, chunk;
};

class LevelIntegrals {
 public:
  /// Every slot has room for a row and a column more in the atlas of sums, and begins at a multiple
  /// of four columns. Allocates its tables.
  static Result<LevelIntegrals> create(const std::vector<AtlasSlot>& slots, bool tilted,
                                       ScratchLayout& layout);
  void bind(std::byte* scratch) {
    above_.bind(scratch);
    edge_.bind(scratch);
  }

  /// `pixels` is the atlas the levels' pictures lie in; its rows begin at multiples of four bytes,
  /// those of the planes at multiples of four words (kInvalidArgument). Two launches, four with
  /// tilted sums, none without levels; nothing is written where *run is 0. One call at a time.
  Status enqueue(ImageView<const std::uint8_t> pixels, const SumPlanes& planes,
                 const std::int32_t* run, Launcher launch);

 private:
  DeviceBuffer<IntegralLevel> levels_;
  DeviceBuffer<BandChunk> chunks_, bands_;
  DeviceBuffer<std::uint32_t> arrived_;  ///< blocks per chunk of columns; 0 between launches
  ScratchPart<std::uint32_t> above_;     ///< per band and column: what is above the band
  ScratchPart<std::uint32_t> edge_;      ///< per row of sums: see integral_cuda.cu
  std::uint32_t diagonals_ = 0;
  bool aligned_ = true;
};

}  // namespace cuface::cuda
