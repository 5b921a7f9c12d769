// activity: where a picture has changed since it was last searched [S1.10], and
// from that and the faces that are followed the map of what to search now.
// Inside a face that is followed no smaller one is looked for.
//
// The picture is reduced to means of kBlock x kBlock pixels, rounded half up; columns and rows that
// fill no block are left out. A block differs where its mean is more than kTolerance from that of
// the picture in which its cell was last searched. A cell has changed where more than kFewest of a
// hundred of its blocks differ. A block belongs to the cell of its pixel (kBlock / 2, kBlock / 2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cells/cells.h"
#include "kernels/cells/region.h"
#include "kernels/common/image.h"
#include "kernels/faces/followed.h"

namespace cuface {

inline constexpr int kBlock = 4;
inline constexpr int kTolerance = 6;  ///< grey levels
inline constexpr int kFewest = 1;     ///< percent: the published Gamma

/// How many faces to either side of a followed one its person may move. Less where only large new
/// motion counts (is_large()): then a rim does not.
CUFACE_HD inline float person_beside(bool no_parts) { return no_parts ? 0.25f : 0.75f; }

/// A cell's blocks: the number of those that differ, and of all.
CUFACE_HD inline bool has_changed(int differ, int blocks) {
  return 100 * differ > kFewest * blocks;
}

/// The first of the blocks along a side that belong to a cell or to one behind it.
CUFACE_HD inline int first_block(int cell, int cells, int size) {
  const int pixel = (cell * size + cells - 1) / cells;  // the cell's first
  const int block = (pixel + kBlock / 2 - 1) / kBlock;
  return block < size / kBlock ? block : size / kBlock;
}

/// The mean of a block by the sum of its pixels.
CUFACE_HD inline std::uint8_t block_mean(int sum) {
  constexpr int kPixels = kBlock * kBlock;
  return static_cast<std::uint8_t>((sum + kPixels / 2) / kPixels);
}
CUFACE_HD inline bool differs(std::uint8_t now, std::uint8_t then) {
  const int by = now > then ? now - then : then - now;
  return by > kTolerance;
}

/// For pictures of one size. Allocates when it is made; serves one thread at a time.
class Activity {
 public:
  /// `full_*`: of the picture that boxes of followed faces are in. `no_parts`: the search behind is
  /// of the whole picture, or none. Then look() takes nothing, and of kNewParts there are large
  /// ones only (is_large()) or none.
  Activity(int width, int height, int full_width, int full_height, bool no_parts = false);

  /// All of this picture is searched now.
  void take(ImageView<const std::uint8_t> picture);
  /// The picture taken last is not searched after all: as before the first take().
  void forget() { taken_ = false; }
  /// The part of this picture to search; changed cells count as searched from now on. Before the
  /// first take() all has changed. Valid until the next call. `what` is kActiveParts, kChangedParts
  /// or kNewParts.
  const ActivityMap& look(ImageView<const std::uint8_t> picture, std::span<const Followed> followed,
                          const SearchRegion& what = kActiveParts);

  const CellGrid& grid() const { return grid_; }
  /// Rows of cells: those that had changed at the last look().
  std::span<const std::uint64_t> changed() const { return {changed_, kMostCells}; }
  std::int32_t changed_cells() const { return count_cells(changed_, grid_); }
  std::int32_t cells() const { return grid_.columns * grid_.rows; }

 private:
  /// The means of a row of blocks.
  void reduce(ImageView<const std::uint8_t> picture, int row, std::uint8_t* out);

  const CellGrid grid_;
  const int full_width_, full_height_, blocks_across_, blocks_down_;
  const bool no_parts_;
  bool taken_ = false;
  std::vector<std::uint8_t> cell_of_column_;  ///< of blocks
  std::vector<FollowedCells> followed_;
  std::vector<std::uint8_t> column_differs_;  ///< of a row of cells, fewer than 100 rows of blocks
  std::vector<std::uint8_t> now_, then_;      ///< means, row after row
  std::uint64_t changed_[kMostCells] = {};
  ActivityMap map_;
};

}  // namespace cuface
