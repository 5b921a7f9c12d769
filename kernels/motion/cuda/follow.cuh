// From the mask of a frame to its cells, and what they make of those before (events.h): one block,
// a thread a cell where cells do not ask each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/bits.h"
#include "kernels/common/cuda/raw.cuh"
#include "kernels/motion/cuda/boxes.cuh"
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

/// Copies as words, by all threads of a block.
template <typename T>
__device__ void copy_words(const T& from, T& to) {
  static_assert(sizeof(T) % sizeof(std::uint64_t) == 0);
  const auto* in = reinterpret_cast<const std::uint64_t*>(&from);
  auto* out = reinterpret_cast<std::uint64_t*>(&to);
  for (unsigned i = threadIdx.x; i < sizeof(T) / sizeof *in; i += kMaskThreads) out[i] = in[i];
}

/// Clears the counts of a result's cells: thread `first` of `all` its share.
__device__ inline void clear_cells(MotionResult* out, unsigned first, unsigned all) {
  constexpr std::size_t kBytes = sizeof(MotionResult) - sizeof(MotionSummary);
  static_assert(kBytes ==
                sizeof out->cell_changed + sizeof out->cell_pixels + sizeof out->cell_stirred);
  auto* words =
      reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(out) + sizeof(MotionSummary));
  for (unsigned i = first; i < kBytes / sizeof *words; i += all) words[i] = 0;
}

/// What a block goes on with, in shared memory: all 0 in each block before it looks at its pixels.
struct FollowMemory {
  Raw<MotionSummary> summary;
  Raw<MotionTracks> tracks;
  std::uint8_t streaks[kMostMotionCells * kMostMotionCells];
  int active_cells, counted_cells;

  __device__ void clear(int thread) {
    auto* words = reinterpret_cast<std::uint64_t*>(&summary);
    for (int i = thread; i < static_cast<int>(sizeof summary / sizeof *words); i += kMaskThreads)
      words[i] = 0;
    if (thread == 0) active_cells = counted_cells = 0;
  }
};

/// The counts of the cells go to the result, and to its summary which of them are active, and which
/// move. Ends with a barrier.
__device__ inline void follow_counts(const MotionPlan& plan, const MotionFrame& frame,
                                     const Seen& seen, const std::uint32_t* cell_pixels,
                                     MotionMemory* memory, MotionResult* out,
                                     FollowMemory& shared) {
  MotionSummary& summary = shared.summary.get();
  const int thread = static_cast<int>(threadIdx.x);
  const int columns = plan.config.columns, cells = columns * plan.config.rows;
  const auto set = [&](std::uint64_t* rows, int i) {
    atomicOr(reinterpret_cast<unsigned long long*>(rows + i / columns), 1ull << i % columns);
  };
  std::uint8_t* streak = memory->state.streak;
  // Nobody has read them in this kernel, so no older ones are in the multiprocessor's cache.
  const MotionCellCounts counts{memory->changed, cell_pixels, memory->stirred};
  for (int i = thread; i < cells; i += kMaskThreads) {
    const std::uint32_t own = counts.changed[i], pixels = counts.pixels[i];
    shared.streaks[i] = frame.forget ? std::uint8_t{0} : streak[i];  // before this frame
    const bool active = is_cell_active(plan, counts, i / columns, i % columns);
    out->cell_changed[i] = own;
    out->cell_stirred[i] = counts.stirred[i];
    out->cell_pixels[i] = pixels;
    atomicAdd(&summary.changed, own);
    atomicAdd(&summary.pixels, pixels);
    if (pixels > 0) atomicAdd(&shared.counted_cells, 1);
    if (!active) continue;
    set(summary.active, i);
    atomicAdd(&shared.active_cells, 1);
  }
  __syncthreads();
  bool global = seen.global;
  if (plan.config.find_global_changes && plan.config.method != MotionMethod::kBackground)
    global = is_most(shared.active_cells, shared.counted_cells);
  if (thread == 0) {
    summary.compared = 1;
    summary.learning = seen.learning;
    summary.global_change = global;
  }
  for (int i = thread; i < cells; i += kMaskThreads) {
    memory->changed[i] = memory->stirred[i] = 0;
    const auto before = [&](int r, int c) { return shared.streaks[r * columns + c]; };
    const std::uint8_t now =
        global ? std::uint8_t{0} : streak_of(plan, summary, i / columns, i % columns, before);
    streak[i] = now;
    if (global || now < plan.config.min_frames) continue;
    set(summary.moving, i);
    atomicAdd(&summary.moving_cells, 1);
  }
  __syncthreads();
}

/// follow_cells(), or the rest of a frame that was compared with nothing. All threads of a block of
/// kMaskThreads call it.
__device__ inline void follow(const MotionPlan& plan, const MotionFrame& frame, const Seen& seen,
                              const std::uint32_t* cell_pixels, MotionMemory* memory,
                              MotionResult* out, MotionCounters* counters, FollowMemory& shared) {
  MotionSummary& summary = shared.summary.get();
  MotionTracks& tracks = shared.tracks.get();
  copy_words<MotionTracks>(memory->state, tracks);
  if (seen.compared) {
    follow_counts(plan, frame, seen, cell_pixels, memory, out, shared);
  } else {
    if (frame.forget)
      for (unsigned i = threadIdx.x; i < sizeof memory->state.streak; i += kMaskThreads)
        memory->state.streak[i] = 0;
    __syncthreads();
  }
  if (threadIdx.x < kWarp) {
    if (threadIdx.x == 0) {
      if (frame.forget) tracks.known_count = 0;
      if (frame.finish) tracks.in_event = 0;
      if (!seen.compared) follow_event(plan, frame.time, tracks, summary);
    }
    __syncwarp();
    if (seen.compared) follow_moving_by_warp(plan, frame.time, tracks, summary);
    if (threadIdx.x == 0 && counters && seen.compared) {
      counters->moving_frames += summary.moving_cells > 0;
      counters->global_changes += summary.global_change;
      counters->events += summary.began;
    }
  }
  __syncthreads();
  copy_words<MotionSummary>(summary, *out);
  copy_words<MotionTracks>(tracks, memory->state);
}

}  // namespace cuface::cuda::motion
