// cascade on CUDA: the windows of all levels that pass all stages, the same that CascadeSearch
// finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cascade/cascade.h"
#include "kernels/cascade/cuda/device_tables.h"
#include "kernels/cascade/cuda/pair_tables.h"
#include "kernels/cascade/cuda/tables.h"
#include "kernels/cells/cells_cuda.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/integral/cuda/level_sums.h"
#include "kernels/levels/levels.h"
#include "kernels/pyramid/atlas.h"

namespace cuface::cuda {

/// The windows of one level, or of some of its rows. A tile is kTileColumns x tile_rows of them.
struct WindowLevel {
  std::uint32_t first_tile, tiles_across;
  std::int32_t columns, rows, step;
  float scale;
  std::int32_t width, height;  ///< of the level, in pixels
  std::int32_t size_class;     ///< of its windows, in a map of active parts
  std::int32_t x, y;           ///< of the level's first pixel, and sum, in their atlases
  std::int32_t tile_rows;      ///< at most TileTable::rows[step - 1]
  std::int32_t begin, end;     ///< the rows of windows that are here
};

inline constexpr int kTileColumns = 64;
inline constexpr int kMostTileRows = 32;

struct TileTable {
  const WindowLevel* levels;
  const std::uint16_t* level_of;  ///< of each tile
  const LateNode* late_nodes;     ///< or null
  std::int32_t stage_count;
  std::int32_t late_stage;     ///< from which on windows go to the list of late ones
  std::int32_t late_bytes;     ///< of shared memory, for late windows and their nodes
  std::int32_t patch_words;    ///< of shared memory, for a late window; 0: there are none
  std::int32_t width, height;  ///< the cascade's window
  /// By step - 1: words between rows of sums, and where the windows' borders lie, without a pixel
  /// all around: top left, top right, bottom left, bottom right.
  std::int32_t stride[2];
  std::int32_t rows[2];         ///< of windows in a tile, at most kMostTileRows
  std::int32_t list_offset[2];  ///< words of the sums in front of the lists
  std::int32_t node_offset[2];  ///< the same in front of the nodes of a search in pairs
  std::int32_t border[2][4];
  std::int32_t middle[2][2];  ///< left and right, halfway down
};

/// A window that got far, and the stage that it is to go through next.
struct alignas(16) LateWindow {
  static constexpr std::uint16_t kNone = 0xffff;  ///< as the stage: there is no window
  std::uint32_t place;                            ///< of its first pixel: bytes from the atlas's
  float norm;
  std::uint16_t level, stage, x, y;  ///< the first pixel, in the level
};

/// Words of a row of a late window's pixels in shared memory, where it may begin at any byte.
inline constexpr int kLateRowWords = 8;
constexpr bool late_row_fits(int width) {
  return width + kWordBytes - 1 <= kLateRowWords * kWordBytes;
}

/// Words of its sums, and with its pixels; multiples of four.
constexpr int late_sum_words(int width, int height) {
  return ((width + 1) * (height + 1) + 3) / 4 * 4;
}
constexpr int late_patch_words(int width, int height) {
  return late_sum_words(width, height) + (late_row_fits(width) ? height * kLateRowWords : 0);
}

/// Of a place in the list of late windows: whether its window is there. kNone where all tiles are
/// done and none will be.
enum class LateState : std::uint8_t { kAwaited, kListed, kNone };

/// How many windows came how far.
struct SearchCounts {
  std::uint32_t listed;       ///< passed the stages that all go through, and were not skipped
  std::uint32_t exact;        ///< stages that were decided by the definition and not by integers
  std::uint32_t raw;          ///< passed all; more than kMaxRawWindows are counted, not stored
  std::uint32_t late;         ///< in the list of late windows
  std::uint32_t taken;        ///< of those, and of places behind the last
  std::uint32_t begun, done;  ///< tiles
};

class CascadeSearch {
 public:
  /// levels[i] lies at slots[i] of the pixels' atlas, and of the sums', whose planes lie like
  /// `planes`. Room for `limit` raw windows. Allocates its tables. kUnsupported where there are too
  /// many windows. Tables of the cascade are those that other searches of it use.
  static Result<CascadeSearch> create(DeviceCascade& cascade, const std::vector<Level>& levels,
                                      const std::vector<AtlasSlot>& slots, const SumPlanes& planes,
                                      std::uint32_t limit, ScratchLayout& scratch);
  void bind(std::byte* scratch);

  /// Whether the search makes the sums it needs, tile by tile; else it reads those in the planes.
  bool makes_sums() const { return makes_sums_; }

  /// What is to be 0 when enqueue()'s kernel begins, if makes_sums(): by a kernel in front of it,
  /// whether or not there is a search. Else enqueue() sees to it.
  Zeros zeros() const;

  /// Leaves the boxes of the windows that pass in raw_windows(), in any order, and their number in
  /// counts(); with *run 0 the number is 0. Pixels and sums are those of the planned layout. Only
  /// the rows of *band are searched (band_rows()); null = all. Of kActiveParts only the windows
  /// that `active` has on, the others neither pass nor fail.
  Status enqueue(ImageView<const std::uint8_t> pixels, const SumPlanes& planes,
                 const std::int32_t* run, const Band* band, const DeviceMap& active,
                 Launcher launch);

  const Rect* raw_windows() const { return raw_.data(); }        ///< in device memory
  const SearchCounts* counts() const { return counts_.data(); }  ///< in device memory

 private:
  /// Decides how the search is done, and on which layouts.
  void plan_tiles(DeviceCascade& cascade, const SumPlanes& planes, int most_step, std::size_t room,
                  SearchLayouts& layouts);

  std::shared_ptr<const DeviceTables> tables_;
  DeviceBuffer<WindowLevel> levels_;
  DeviceBuffer<std::uint16_t> level_of_;
  ScratchPart<Rect> raw_;
  static constexpr std::size_t kMostLate = 32768;
  ScratchPart<LateWindow> late_;
  ScratchPart<LateState> late_states_;
  ScratchPart<std::byte> zeroed_;  ///< the counts, skips and states
  bool leaves_late_ = false, in_pairs_ = false;
  PairNodes pair_nodes_ = {};  ///< but for the pointer
  ScratchPart<SearchCounts> counts_;
  ScratchPart<unsigned long long> skips_;  ///< per tile: see search.cu
  TileTable table_ = {};                   ///< but for the pointer
  std::uint32_t tiles_ = 0;
  std::size_t shared_bytes_ = 0;
  bool makes_sums_ = false;
};

}  // namespace cuface::cuda
