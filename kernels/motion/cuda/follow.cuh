// From the mask of a frame to its cells, and what they make of those before (events.h): one block,
// a thread a cell where cells do not ask each other.
#pragma once

#include <cstdint>

#include "kernels/common/bits.h"
#include "kernels/motion/cuda/memory.h"

namespace cuface::cuda::motion {

/// A block's part of the mask.
inline constexpr int kMaskThreads = 256, kMaskWords = 8, kMaskRows = kMaskThreads / kMaskWords;

/// The cells that a block's part of the mask has pixels of. A cell has at least a pixel each way.
struct CellPart {
  int left, above, columns, rows;

  __device__ CellPart(const MotionPlan& plan, int first_word, int top) {
    const int right = min((first_word + kMaskWords) * kWordBits, plan.width) - 1;
    const int bottom = min(top + kMaskRows, plan.height) - 1;
    left = cell_of(first_word * kWordBits, plan.config.columns, plan.width);
    above = cell_of(top, plan.config.rows, plan.height);
    columns = cell_of(right, plan.config.columns, plan.width) - left + 1;
    rows = cell_of(bottom, plan.config.rows, plan.height) - above + 1;
  }
  static constexpr int kMost = kMostMotionCells * kMaskRows;
  __device__ int cells() const { return columns * rows; }
};

/// The set pixels of a part's cells.
struct CellCounts {
  std::uint32_t of[CellPart::kMost];

  __device__ void clear(const CellPart& part, int thread) {
    for (int i = thread; i < part.cells(); i += kMaskThreads) of[i] = 0;
  }
  /// Those of a word.
  __device__ void add(const MotionPlan& plan, const CellPart& part, int i, int y,
                      std::uint64_t word) {
    if (word == 0) return;
    const int columns = plan.config.columns;
    const int begin = i * kWordBits, end = min(begin + kWordBits, plan.width);
    const int last = cell_of(end - 1, columns, plan.width);
    std::uint32_t* row =
        of + (cell_of(y, plan.config.rows, plan.height) - part.above) * part.columns;
    for (int c = cell_of(begin, columns, plan.width); c <= last; ++c) {
      const std::uint64_t own = word & bits_between(i, first_pixel(c, columns, plan.width),
                                                    first_pixel(c + 1, columns, plan.width));
      if (own != 0)
        atomicAdd(row + c - part.left,
                  static_cast<std::uint32_t>(__popcll(static_cast<unsigned long long>(own))));
    }
  }
  /// Adds them to those of the frame.
  __device__ void give(const MotionPlan& plan, const CellPart& part, int thread,
                       std::uint32_t* frame) const {
    for (int i = thread; i < part.cells(); i += kMaskThreads) {
      const int row = part.above + i / part.columns, column = part.left + i % part.columns;
      if (of[i] != 0) atomicAdd(frame + row * plan.config.columns + column, of[i]);
    }
  }
};

/// follow_cells(), or the rest of a frame that was compared with nothing. All threads of a block of
/// kMaskThreads call it.
__device__ inline void follow(const MotionPlan& plan, const MotionFrame& frame, const Seen& seen,
                              const std::uint32_t* cell_pixels, MotionMemory* memory,
                              MotionResult* out, MotionCounters* counters) {
  __shared__ unsigned long long active[kMostMotionCells], moving[kMostMotionCells];
  __shared__ std::uint8_t streaks[kMostMotionCells * kMostMotionCells];
  __shared__ std::uint32_t changed, pixels, active_cells, counted_cells, moving_cells;
  MotionState& state = memory->state;
  const int thread = static_cast<int>(threadIdx.x);
  const int columns = plan.config.columns, cells = columns * plan.config.rows;
  static_assert(sizeof(MotionResult) % sizeof(std::uint64_t) == 0);
  auto* words = reinterpret_cast<std::uint64_t*>(out);
  for (unsigned i = threadIdx.x; i < sizeof(MotionResult) / sizeof(std::uint64_t);
       i += kMaskThreads)
    words[i] = 0;
  if (thread < kMostMotionCells) active[thread] = moving[thread] = 0;
  if (frame.forget)
    for (int i = thread; i < kMostMotionCells * kMostMotionCells; i += kMaskThreads)
      state.streak[i] = 0;
  if (thread == 0) {
    changed = pixels = active_cells = counted_cells = moving_cells = 0;
    if (frame.forget) state.known_count = 0;
    if (frame.finish) state.in_event = 0;
  }
  __syncthreads();
  if (!seen.compared) {
    if (thread == 0) follow_event(plan, frame.time, state, *out);
    return;
  }
  for (int i = thread; i < cells; i += kMaskThreads) {
    const std::uint32_t own = __ldcg(memory->changed + i);
    out->cell_changed[i] = own;
    out->cell_stirred[i] = __ldcg(memory->stirred + i);
    out->cell_pixels[i] = cell_pixels[i];
    memory->changed[i] = memory->stirred[i] = 0;
    atomicAdd(&changed, own);
    atomicAdd(&pixels, cell_pixels[i]);
    if (cell_pixels[i] > 0) atomicAdd(&counted_cells, 1u);
  }
  __syncthreads();
  for (int i = thread; i < cells; i += kMaskThreads) {
    const int row = i / columns, column = i % columns;
    if (!is_cell_active(plan, *out, row, column)) continue;
    atomicOr(active + row, 1ull << column);
    atomicAdd(&active_cells, 1u);
  }
  __syncthreads();
  if (thread < plan.config.rows) out->active[thread] = active[thread];
  bool global = seen.global;
  if (plan.config.find_global_changes && plan.config.method != MotionMethod::kBackground)
    global = is_most(static_cast<int>(active_cells), static_cast<int>(counted_cells));
  __syncthreads();
  for (int i = thread; i < cells; i += kMaskThreads) {
    const int row = i / columns, column = i % columns;
    const std::uint8_t streak =
        global ? std::uint8_t{0} : streak_of(plan, *out, row, column, [&](int r, int c) {
          return state.streak[r * columns + c];
        });
    streaks[i] = streak;
    if (global || streak < plan.config.min_frames) continue;
    atomicOr(moving + row, 1ull << column);
    atomicAdd(&moving_cells, 1u);
  }
  __syncthreads();
  for (int i = thread; i < cells; i += kMaskThreads) state.streak[i] = streaks[i];
  if (thread < plan.config.rows) out->moving[thread] = moving[thread];
  __syncthreads();
  if (thread != 0) return;
  out->compared = 1;
  out->learning = seen.learning;
  out->global_change = global;
  out->changed = changed;
  out->pixels = pixels;
  out->moving_cells = static_cast<std::int32_t>(moving_cells);
  follow_moving(plan, frame.time, state, *out);
  if (!counters) return;
  counters->moving_frames += out->moving_cells > 0;
  counters->global_changes += out->global_change;
  counters->events += out->began;
}

}  // namespace cuface::cuda::motion
