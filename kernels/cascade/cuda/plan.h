// How a search on CUDA cuts levels into tiles, and what lies where in a block's shared memory. On
// the host, and without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/cascade/cascade.h"
#include "kernels/cascade/cuda/pair_tables.h"
#include "kernels/cascade/cuda/search_tables.h"
#include "kernels/common/status.h"

namespace cuface::cuda {

/// The windows of one level, or of some of its rows. A tile is tile_columns x tile_rows of them.
struct WindowLevel {
  std::uint32_t first_tile, tiles_across;
  std::int32_t columns, rows, step;
  float scale;
  std::int32_t width, height;            ///< of the level, in pixels
  std::int32_t size_class;               ///< of its windows, in a map of active parts
  std::int32_t x, y;                     ///< of the level's first pixel, in the atlas
  std::int32_t tile_columns, tile_rows;  ///< at most those of TileTable
  std::int32_t begin, end;               ///< the rows of windows that are here
};

inline constexpr unsigned kSearchThreads = 256;  ///< of a block that takes windows one by one
inline constexpr int kTileColumns = 64;          ///< of a tile, at most
inline constexpr int kMostTileRows = 32;
inline constexpr int kFewWindows = 128;  ///< whose trees warps share, at most
inline constexpr int kMostEach = 5;      ///< columns of sums that a thread of pairs makes of a row

/// Words of a row of a tile's pixels in shared memory.
constexpr int tile_words(int width) { return (width + kWordBytes - 1) / kWordBytes; }

struct TileTable {
  const WindowLevel* levels;
  const std::uint16_t* level_of;       ///< of each tile
  const SurvivorNode* survivor_nodes;  ///< or null
  std::int32_t stage_count;
  std::int32_t survivor_stage;  ///< from which on windows go to the queue of survivors
  std::int32_t survivor_bytes;  ///< of shared memory, for survivors and their nodes
  std::int32_t patch_words;     ///< of shared memory, for a survivor; 0: there are none
  std::int32_t width, height;   ///< the cascade's window
  /// By step - 1: words between rows of sums, and from a sum to its tilted sum (0 = there are
  /// none).
  std::int32_t stride[2], tilted[2];
  std::int32_t columns[2], rows[2];  ///< of windows in a tile
  std::int32_t list_offset[2];       ///< words of the sums in front of the lists
  std::int32_t node_offset[2];       ///< the same in front of the nodes of pairs
  /// By step - 1: where the windows' borders lie, less a pixel all around: top left, top right,
  /// bottom left, bottom right.
  std::int32_t border[2][4];
  std::int32_t middle[2][2];  ///< left and right, halfway down
};

/// How the windows of a cascade are searched.
struct TilePlan {
  SearchLayouts layouts;
  TileTable table = {};           ///< but for the pointers
  PairNodes pairs = {};           ///< but for the pointer
  bool in_pairs = false;          ///< else windows go through the first stages one by one
  bool queues_survivors = false;  ///< there is a queue of survivors
  std::size_t shared_bytes = 0;   ///< of a block
};

/// The first stages of the cascade for a search in pairs (pair_nodes()). Asked at most once.
using PairNodesOf = std::function<const PairNodes&(const SearchLayouts& layouts, int most_stages)>;

/// Plans for levels whose windows lie at most `most_step` apart. Blocks may have `shared` bytes of
/// shared memory. kUnsupported: not even a small tile fits.
Result<TilePlan> plan_tiles(const CascadeModel& model, const PairNodesOf& pairs, int most_step,
                            std::size_t shared);

std::uint64_t tiles_of(const WindowLevel& level);

/// Makes the last tiles lower than they may be, so that all blocks of a GPU end at about the same
/// time. `at_once` of them run side by side. The levels come in the order in which they are
/// searched; one of them may become two. Where all tiles run at once, lower ones would only be more
/// work.
void cut_tiles(std::vector<WindowLevel>& levels, int at_once);

}  // namespace cuface::cuda
