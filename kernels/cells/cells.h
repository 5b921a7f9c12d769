// Which windows of a search to look at: a grid of cells over the picture, on or off, for each size
// of faces. Rules of the map that the CPU and CUDA share.
#pragma once

#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"

namespace cuface {

/// Cells in a row, and rows of them, at most: a row is a word.
inline constexpr int kMostCells = 64;
/// Sizes of faces, half an octave each, the last for all above.
inline constexpr int kSizeClasses = 20;

/// A window belongs to the cell that its middle lies in. Bit c of cells[size][r] is column c of row
/// r, and on where windows of that size are to be looked at.
struct ActivityMap {
  std::uint64_t cells[kSizeClasses][kMostCells] = {};
};

/// The cell that a pixel lies in, of `cells` along a side of `size` pixels [S1.10].
CUFACE_HD inline int cell_of(int pixel, int cells, int size) { return pixel * cells / size; }

/// Cells along a side of the searched picture: of 32 pixels, and larger where that would be more
/// than kMostCells.
CUFACE_HD inline int cells_along(int size) {
  constexpr int kCellSide = 32;
  const int cells = size / kCellSide;
  return cells < 1 ? 1 : cells > kMostCells ? kMostCells : cells;
}

/// The cell along a side that a window belongs to, by its first pixel in a level of that size.
CUFACE_HD inline int window_cell(int at, int window, int cells, int level_size) {
  return cell_of(at + window / 2, cells, level_size);
}

/// The least side of a class: 16, 22, 32, 45 ... pixels. Smaller sides are class 0, too.
CUFACE_HD inline int least_side(int size_class) {
  const int octave = 16 << size_class / 2;
  return size_class % 2 == 0 ? octave : octave * 181 / 128;
}
CUFACE_HD inline int size_class_of(int side) {
  int c = 0;
  while (c + 1 < kSizeClasses && side >= least_side(c + 1)) ++c;
  return c;
}

/// Bits `first` to `last`, both with.
CUFACE_HD inline std::uint64_t cell_bits(int first, int last) {
  return (~std::uint64_t{0} >> (kMostCells - 1 - last)) & (~std::uint64_t{0} << first);
}

CUFACE_HD inline int count_bits(std::uint64_t word) {
#ifdef __CUDA_ARCH__
  return __popcll(static_cast<unsigned long long>(word));
#else
  int count = 0;
  for (; word != 0; word &= word - 1) ++count;
  return count;
#endif
}

/// The cells along a side.
struct CellGrid {
  int width = 0, height = 0;  ///< of the searched picture, in pixels
  int columns = 0, rows = 0;
};
CUFACE_HD inline CellGrid cell_grid(int width, int height) {
  return {width, height, cells_along(width), cells_along(height)};
}

/// How many cells of a grid are on, by its rows.
CUFACE_HD inline std::int32_t count_cells(const std::uint64_t* rows, const CellGrid& grid) {
  std::int32_t count = 0;
  for (int r = 0; r < grid.rows; ++r) count += count_bits(rows[r]);
  return count;
}

/// Whether cells are on three by two, the uppermost ones in this row: as somebody is who comes in.
/// Narrower is the rim of somebody who moves. In a smaller grid all columns or rows are enough.
CUFACE_HD inline bool is_large(const std::uint64_t* rows, const CellGrid& grid, int row) {
  const int below = grid.rows > 1 ? row + 1 : row;
  if (below >= grid.rows) return false;
  std::uint64_t all = rows[row] & rows[below];
  for (int c = 1; c < 3 && c < grid.columns; ++c) all &= rows[row] >> c & rows[below] >> c;
  return all != 0;
}

/// How far, in cells along a side, a change makes windows of a class be looked at whose own cell
/// has not changed: those that it lies in the inner half of.
CUFACE_HD inline int reach_of_change(int size_class, int cells, int size) {
  const int reach = (least_side(size_class + 1) * cells + 2 * size) / (4 * size);
  return reach < cells ? reach : cells - 1;
}

/// The part of a row of the map that changes make: `changed` are the rows of cells that have
/// changed.
CUFACE_HD inline std::uint64_t active_row(const std::uint64_t* changed, const CellGrid& grid,
                                          int size_class, int row) {
  const int down = reach_of_change(size_class, grid.rows, grid.height);
  const int across = reach_of_change(size_class, grid.columns, grid.width);
  std::uint64_t near = 0;
  for (int r = row - down; r <= row + down; ++r)
    if (r >= 0 && r < grid.rows) near |= changed[r];
  std::uint64_t wide = near;
  for (int i = 1; i <= across; ++i) wide |= near << i | near >> i;
  return wide & cell_bits(0, grid.columns - 1);
}

/// The cell at a place, the nearest one where that is outside of the picture.
CUFACE_HD inline int cell_at(float pixel, int full, int cells) {
  const float last = static_cast<float>(full - 1);
  const float inside = pixel > 0 ? (pixel < last ? pixel : last) : 0.0f;
  return cell_of(static_cast<int>(inside), cells, full);
}

/// Where a face that is followed is looked for: windows of nearly its size with their middle near
/// its own. And where no smaller windows are looked at, whatever moves: cells all inside its box.
struct FollowedCells {
  int first_class, last_class;
  int first_row, last_row;
  std::uint64_t columns;
  int first_inner_row, last_inner_row;
  std::uint64_t inner_columns;  ///< 0 = none
  int first_body_row;
  std::uint64_t body_columns;  ///< 0 = none
};

/// `box` in pixels of a picture of which the searched one is a reduced copy. `with_body`: objects
/// in front of a body are no further away. So no smaller faces are searched for below the box
/// either, twice as wide.
CUFACE_HD inline FollowedCells followed_cells(const Box& box, int full_width, int full_height,
                                              const CellGrid& grid, bool with_body = false) {
  constexpr float kAround = 0.375f;  // of its size
  const float x = box.x + box.w / 2, y = box.y + box.h / 2;
  const float dx = kAround * box.w, dy = kAround * box.h;
  const float most = 32768.0f;
  const int side = static_cast<int>(box.w < most ? box.w : most) * grid.width / full_width;
  const int size = size_class_of(side);
  FollowedCells out;
  out.first_class = size > 0 ? size - 1 : 0;
  out.last_class = size + 1 < kSizeClasses ? size + 1 : size;
  out.first_row = cell_at(y - dy, full_height, grid.rows);
  out.last_row = cell_at(y + dy, full_height, grid.rows);
  out.columns = cell_bits(cell_at(x - dx, full_width, grid.columns),
                          cell_at(x + dx, full_width, grid.columns));
  const auto first_inner = [&](float from, int full, int cells) {
    return from > 0 ? cell_at(from, full, cells) + 1 : 0;
  };
  const auto last_inner = [&](float to, int full, int cells) {
    return to < static_cast<float>(full) ? cell_at(to, full, cells) - 1 : cells - 1;
  };
  out.first_inner_row = first_inner(box.y, full_height, grid.rows);
  out.last_inner_row = last_inner(box.y + box.h, full_height, grid.rows);
  const int left = first_inner(box.x, full_width, grid.columns);
  const int right = last_inner(box.x + box.w, full_width, grid.columns);
  out.inner_columns = left <= right ? cell_bits(left, right) : 0;
  out.first_body_row = first_inner(box.y + box.h, full_height, grid.rows);
  const int body_left = first_inner(box.x - box.w / 2, full_width, grid.columns);
  const int body_right = last_inner(box.x + box.w * 1.5f, full_width, grid.columns);
  out.body_columns = with_body && body_left <= body_right ? cell_bits(body_left, body_right) : 0;
  return out;
}

/// The columns of a row in which the person of a followed face may move: `beside` faces to either
/// side of it, from half a face above it down.
CUFACE_HD inline std::uint64_t person_row(const Box& box, float beside, int full_width,
                                          int full_height, const CellGrid& grid, int row) {
  constexpr float kAbove = 0.5f;
  if (row < cell_at(box.y - kAbove * box.h, full_height, grid.rows)) return 0;
  return cell_bits(cell_at(box.x - beside * box.w, full_width, grid.columns),
                   cell_at(box.x + (1 + beside) * box.w, full_width, grid.columns));
}

/// A row of the map. Where one face lies inside another it is looked for.
CUFACE_HD inline std::uint64_t map_row(const std::uint64_t* changed, const CellGrid& grid,
                                       const FollowedCells* followed, int count, int size_class,
                                       int row) {
  std::uint64_t on = active_row(changed, grid, size_class, row), around = 0;
  for (int i = 0; i < count; ++i) {
    const FollowedCells& face = followed[i];
    if (size_class < face.first_class) {
      if (row >= face.first_inner_row && row <= face.last_inner_row) on &= ~face.inner_columns;
      if (row >= face.first_body_row) on &= ~face.body_columns;
    } else if (size_class <= face.last_class && row >= face.first_row && row <= face.last_row) {
      around |= face.columns;
    }
  }
  return on | around;
}

}  // namespace cuface
