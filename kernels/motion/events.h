// What the cells of one frame make of those before: cells that have been active for long enough,
// boxes of cells that are connected, with ids that last, and the begin and the end of an event.
// One source for the CPU and CUDA; it takes one thread.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/motion/rules.h"

namespace cuface {

inline constexpr int kMostMotionBoxes = 64;

/// The smallest box around cells that move and touch, corners included. In cells; `right` and
/// `bottom` are outside.
struct MotionBox {
  std::int32_t id = 0;  ///< from 1
  std::int32_t left = 0, top = 0, right = 0, bottom = 0;
  std::int32_t cells = 0;  ///< that move in it
};

/// What is known of one frame, but for the counts of its cells.
struct MotionSummary {
  std::int32_t compared = 0;       ///< 0 = there was nothing to compare with: all else is 0
  std::int32_t learning = 0;       ///< the method background: all is taken for it, and none moves
  std::int32_t global_change = 0;  ///< the picture changed as a whole: no cell moves
  std::int32_t began = 0, ended = 0;  ///< an event, with this frame
  std::int32_t in_event = 0;
  std::int64_t begin = 0, last = 0;  ///< of that event: its first and its latest frame with motion
  std::uint32_t changed = 0;         ///< pixels of the mask that are not ignored
  std::uint32_t pixels = 0;          ///< that are not ignored
  std::int32_t moving_cells = 0;
  std::int32_t count = 0;   ///< boxes
  std::int32_t beyond = 0;  ///< boxes that there was no room for: the last from the top
  MotionBox boxes[kMostMotionBoxes] = {};
  /// Rows of cells, bit c is column c: those active now, and of these those that move.
  std::uint64_t active[kMostMotionCells] = {}, moving[kMostMotionCells] = {};
};

/// What is known of one frame.
struct MotionResult : MotionSummary {
  /// Row after row, `columns` in each: pixels that changed, and that are not ignored.
  std::uint32_t cell_changed[kMostMotionCells * kMostMotionCells] = {};
  std::uint32_t cell_pixels[kMostMotionCells * kMostMotionCells] = {};
  /// The method background only: pixels, not ignored now, that the background finds on one of this
  /// frame and the one before.
  std::uint32_t cell_stirred[kMostMotionCells * kMostMotionCells] = {};
};

/// A box that is, or was a moment ago.
struct KnownMotion {
  MotionBox box;
  std::int64_t seen = 0;
};

/// What lasts from one frame to the next, but for that of cells. All zero at the beginning.
struct MotionTracks {
  KnownMotion known[kMostMotionBoxes] = {};  ///< by their ids
  std::int32_t known_count = 0;
  std::int32_t last_id = 0;
  std::int32_t in_event = 0;
  std::int64_t begin = 0, last = 0;
};

/// What lasts from one frame to the next. All zero at the beginning.
struct MotionState : MotionTracks {
  std::uint8_t streak[kMostMotionCells * kMostMotionCells] = {};  ///< frames in a row, at most 255
};

/// Pixels of the cells, row after row, as MotionResult has them.
struct MotionCellCounts {
  const std::uint32_t *changed, *pixels, *stirred;
};

/// The method background: whether something moves in a cell or beside it, corners included. What
/// only stands there is in the mask all the same. So many pixels come or go as make a cell active.
CUFACE_HD inline bool is_stirred(const MotionPlan& plan, const MotionCellCounts& counts, int row,
                                 int column) {
  const int columns = plan.config.columns, rows = plan.config.rows;
  std::uint32_t stirred = 0;
  for (int r = row > 0 ? row - 1 : 0; r <= row + 1 && r < rows; ++r)
    for (int c = column > 0 ? column - 1 : 0; c <= column + 1 && c < columns; ++c)
      stirred += counts.stirred[r * columns + c];
  return is_active(stirred, counts.pixels[row * columns + column], plan.config.threshold);
}

/// Whether a cell is active.
CUFACE_HD inline bool is_cell_active(const MotionPlan& plan, const MotionCellCounts& counts,
                                     int row, int column) {
  const MotionConfig& config = plan.config;
  const std::uint32_t changed = counts.changed[row * config.columns + column];
  const std::uint32_t pixels = counts.pixels[row * config.columns + column];
  if (!(config.published_density ? is_active_as_published(changed, plan)
                                 : is_active(changed, pixels, config.threshold)))
    return false;
  return config.method != MotionMethod::kBackground || is_stirred(plan, counts, row, column);
}

CUFACE_HD inline void find_active(const MotionPlan& plan, MotionResult& result) {
  const int columns = plan.config.columns;
  const MotionCellCounts counts{result.cell_changed, result.cell_pixels, result.cell_stirred};
  for (int r = 0; r < plan.config.rows; ++r) {
    result.active[r] = 0;
    for (int c = 0; c < columns; ++c) {
      result.changed += result.cell_changed[r * columns + c];
      result.pixels += result.cell_pixels[r * columns + c];
      if (is_cell_active(plan, counts, r, c)) result.active[r] |= std::uint64_t{1} << c;
    }
  }
}

/// So many active cells are a change of the whole picture: three quarters of those that are not all
/// ignored.
CUFACE_HD inline bool is_most(int active, int all) { return 4 * active > 3 * all; }

/// Edges and differences: whether so many cells are active that the picture changed as a whole, as
/// where light is switched or the camera turns.
CUFACE_HD inline bool most_are_active(const MotionPlan& plan, const MotionResult& result) {
  int active = 0, all = 0;
  for (int r = 0; r < plan.config.rows; ++r) active += count_bits(result.active[r]);
  for (int i = 0; i < plan.config.rows * plan.config.columns; ++i) all += result.cell_pixels[i] > 0;
  return is_most(active, all);
}

/// A cell's frames in a row: an active one goes on with the longest streak around it, so that what
/// passes from cell to cell is seen. `active`: of the row; `before(row, column)` is the streak of
/// the frame before.
template <typename Before>
CUFACE_HD inline std::uint8_t streak_of(const MotionPlan& plan, std::uint64_t active, int row,
                                        int column, const Before& before) {
  if ((active >> column & 1) == 0) return 0;
  int longest = 0;
  for (int r = row > 0 ? row - 1 : 0; r <= row + 1 && r < plan.config.rows; ++r) {
    for (int c = column > 0 ? column - 1 : 0; c <= column + 1 && c < plan.config.columns; ++c) {
      const int streak = before(r, c);
      longest = longest > streak ? longest : streak;
    }
  }
  return static_cast<std::uint8_t>(longest < 255 ? longest + 1 : 255);
}

/// The cells beside those of a row, corners included, and they themselves: of `rows` rows.
CUFACE_HD inline std::uint64_t around(const std::uint64_t* cells, int rows, int row) {
  std::uint64_t near = cells[row];
  if (row > 0) near |= cells[row - 1];
  if (row + 1 < rows) near |= cells[row + 1];
  return near | near << 1 | near >> 1;
}

/// Which of the active cells move.
CUFACE_HD inline void find_moving(const MotionPlan& plan, MotionState& state,
                                  MotionResult& result) {
  const int columns = plan.config.columns, rows = plan.config.rows;
  std::uint8_t above[kMostMotionCells] = {}, here[kMostMotionCells] = {};  // before this frame
  for (int r = 0; r < rows; ++r) {
    result.moving[r] = 0;
    for (int c = 0; c < columns; ++c) here[c] = state.streak[r * columns + c];
    for (int c = 0; c < columns; ++c) {
      const std::uint8_t streak = streak_of(plan, result.active[r], r, c, [&](int row, int column) {
        return row < r    ? above[column]
               : row == r ? here[column]
                          : state.streak[row * columns + column];
      });
      state.streak[r * columns + c] = streak;
      if (streak >= plan.config.min_frames) result.moving[r] |= std::uint64_t{1} << c;
    }
    for (int c = 0; c < columns; ++c) above[c] = here[c];
    result.moving_cells += count_bits(result.moving[r]);
  }
}

/// The boxes of the cells that move, from the top, in the order of their first cells; no ids yet.
CUFACE_HD inline void find_boxes(const MotionPlan& plan, MotionSummary& result) {
  const int columns = plan.config.columns, rows = plan.config.rows;
  std::uint64_t left[kMostMotionCells];
  for (int r = 0; r < rows; ++r) left[r] = result.moving[r];
  for (int r = 0; r < rows; ++r) {
    while (left[r] != 0) {
      std::uint64_t part[kMostMotionCells];
      for (int y = r > 0 ? r - 1 : 0; y < rows; ++y) part[y] = 0;
      part[r] = left[r] & (~left[r] + 1);
      bool grew = true;
      while (grew) {
        grew = false;
        for (int y = r; y < rows; ++y) {
          const std::uint64_t more = around(part, rows, y) & left[y];
          grew |= more != part[y];
          part[y] = more;
        }
      }
      MotionBox box;
      box.left = columns;
      box.top = r;
      for (int y = r; y < rows; ++y) {
        if (part[y] == 0) continue;
        left[y] &= ~part[y];
        box.bottom = y + 1;
        box.cells += count_bits(part[y]);
        for (int x = 0; x < columns; ++x) {
          if ((part[y] >> x & 1) == 0) continue;
          if (x < box.left) box.left = x;
          if (x >= box.right) box.right = x + 1;
        }
      }
      if (result.count < kMostMotionBoxes)
        result.boxes[result.count++] = box;
      else
        ++result.beyond;
    }
  }
}

/// Cells that both boxes have where each is a cell wider to all sides; 0 = too far apart.
CUFACE_HD inline int common_cells(const MotionBox& a, const MotionBox& b) {
  const int left = a.left > b.left ? a.left : b.left, right = a.right < b.right ? a.right : b.right;
  const int top = a.top > b.top ? a.top : b.top;
  const int bottom = a.bottom < b.bottom ? a.bottom : b.bottom;
  const int width = right - left + 2, height = bottom - top + 2;
  return width > 0 && height > 0 ? width * height : 0;
}

/// Gives the boxes the ids of those before. The oldest id chooses first, and takes the box with
/// which it has most in common, of equal ones the first. An id is kept for the gap after its box
/// was seen last.
CUFACE_HD inline void keep_ids(const MotionPlan& plan, std::int64_t time, MotionTracks& state,
                               MotionSummary& result) {
  int kept = 0;
  for (int k = 0; k < state.known_count; ++k) {
    KnownMotion known = state.known[k];
    int best = -1, most = 0;
    for (int i = 0; i < result.count; ++i) {
      const int common = common_cells(known.box, result.boxes[i]);
      if (result.boxes[i].id == 0 && common > most) {
        best = i;
        most = common;
      }
    }
    if (best >= 0) {
      result.boxes[best].id = known.box.id;
      known = {result.boxes[best], time};
    } else if (time - known.seen > plan.config.gap) {
      continue;
    }
    state.known[kept++] = known;
  }
  state.known_count = kept;
}

/// The boxes without one get ids of their own.
CUFACE_HD inline void give_new_ids(std::int64_t time, MotionTracks& state, MotionSummary& result) {
  for (int i = 0; i < result.count; ++i) {
    MotionBox& box = result.boxes[i];
    if (box.id != 0) continue;
    box.id = ++state.last_id;
    if (state.known_count == kMostMotionBoxes) {  // the one unseen for longest makes room
      int oldest = 0;
      for (int k = 1; k < state.known_count; ++k)
        if (state.known[k].seen < state.known[oldest].seen) oldest = k;
      for (int k = oldest; k + 1 < state.known_count; ++k) state.known[k] = state.known[k + 1];
      --state.known_count;
    }
    state.known[state.known_count++] = {box, time};
  }
}

/// Begins an event with motion, and ends it where there was none for the gap.
CUFACE_HD inline void follow_event(const MotionPlan& plan, std::int64_t time, MotionTracks& state,
                                   MotionSummary& result) {
  if (result.moving_cells > 0) {
    if (state.in_event == 0) {
      state.in_event = result.began = 1;
      state.begin = time;
    }
    state.last = time;
  } else if (state.in_event != 0 && time - state.last >= plan.config.gap) {
    state.in_event = 0;
    result.ended = 1;
  }
  result.in_event = state.in_event;
  result.begin = state.begin;
  result.last = state.last;
}

/// The end of the video ends an event.
CUFACE_HD inline void end_event(MotionTracks& state, MotionSummary& result) {
  result.ended = state.in_event;
  state.in_event = 0;
  result.begin = state.begin;
  result.last = state.last;
}

/// What the cells that move come to.
CUFACE_HD inline void follow_moving(const MotionPlan& plan, std::int64_t time, MotionTracks& state,
                                    MotionSummary& result) {
  if (result.moving_cells > 0) find_boxes(plan, result);
  keep_ids(plan, time, state, result);
  give_new_ids(time, state, result);
  follow_event(plan, time, state, result);
}

/// All of it, by the counts of the cells in the result, which is zero otherwise. `global` is what
/// the method knows of itself; edges and differences know it by their cells.
CUFACE_HD inline void follow_cells(const MotionPlan& plan, bool global, std::int64_t time,
                                   MotionState& state, MotionResult& result) {
  result.compared = 1;
  find_active(plan, result);
  if (plan.config.find_global_changes && plan.config.method != MotionMethod::kBackground)
    global = most_are_active(plan, result);
  if (global) {
    result.global_change = 1;
    for (int i = 0; i < plan.config.rows * plan.config.columns; ++i) state.streak[i] = 0;
  } else {
    find_moving(plan, state, result);
  }
  follow_moving(plan, time, state, result);
}

}  // namespace cuface
