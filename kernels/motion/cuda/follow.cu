// From the counts of a mask's cells to what they make of those before (events.h): one block, a warp
// a row of cells, then one warp for boxes and ids, one for what is known of the frame as a whole.
#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/early.cuh"
#include "kernels/common/cuda/raw.cuh"
#include "kernels/motion/cuda/boxes.cuh"
#include "kernels/motion/cuda/memory.h"

namespace cuface::cuda::motion {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
static_assert(kWarps > 2 && kWarps <= kWarp);

/// Words of a T between global and shared memory, by all threads: all are on their way at once.
template <typename T>
struct SharedCopy {
  static constexpr int kWords = sizeof(T) / sizeof(std::uint64_t);
  static constexpr int kEach = (kWords + kThreads - 1) / kThreads;
  static_assert(sizeof(T) % sizeof(std::uint64_t) == 0);
  std::uint64_t words[kEach] = {};

  __device__ static int at(int k) { return static_cast<int>(threadIdx.x) + k * kThreads; }
  __device__ void load(const T& from) {
#pragma unroll
    for (int k = 0; k < kEach; ++k)
      if (at(k) < kWords) words[k] = reinterpret_cast<const std::uint64_t*>(&from)[at(k)];
  }
  __device__ void store(T& to) const {
#pragma unroll
    for (int k = 0; k < kEach; ++k)
      if (at(k) < kWords) reinterpret_cast<std::uint64_t*>(&to)[at(k)] = words[k];
  }
};

/// Of a frame, in shared memory.
struct Follow {
  Raw<MotionSummary> summary;
  Raw<MotionTracks> tracks;
  std::uint8_t before[kMostMotionCells * kMostMotionCells];  ///< streaks before this frame
  std::uint8_t next[kMostMotionCells * kMostMotionCells];    ///< those that active cells have now
  std::uint64_t active[kMostMotionCells], ready[kMostMotionCells];  ///< `ready`: moves if active
  // Of a warp's rows:
  std::uint32_t changed[kWarps];
  std::int32_t active_cells[kWarps];
};

struct Follower {
  const MotionPlan& plan;
  const Counted& counted;
  MotionMemory* memory;
  Follow& shared;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarp, warp = thread / kWarp;
  const int columns = plan.config.columns, rows = plan.config.rows;

  /// What does not need the counts.
  __device__ void prepare() const {
    SharedCopy<MotionTracks> tracks;
    tracks.load(memory->state);
    const std::uint8_t* streak = memory->state.streak;
    const int cells = rows * columns;
    const std::uint8_t first = thread < cells ? streak[thread] : std::uint8_t{0};
    SharedCopy<MotionSummary>().store(shared.summary.get());
    if (thread < cells) shared.before[thread] = first;
#pragma unroll 1
    for (int i = thread + kThreads; i < cells; i += kThreads) shared.before[i] = streak[i];
    tracks.store(shared.tracks.get());
    __syncthreads();
    const auto before = [&](int r, int c) { return shared.before[r * columns + c]; };
    for_rows(0, [&](int r) {
      const std::uint64_t ready = bits_of_row([&](int c) {
        const std::uint8_t next = streak_of(plan, ~std::uint64_t{0}, r, c, before);
        shared.next[r * columns + c] = next;
        return next >= plan.config.min_frames;
      });
      if (lane == 0) shared.ready[r] = ready;
    });
  }

  /// follow_cells(), or the rest of a frame that was compared with nothing. The counts are 0 again.
  __device__ void finish(const MotionFrame& frame, const Seen& seen, MotionResult* out,
                         MotionCounters* counters) const {
    find_active({memory->changed, counted.of_cells, memory->stirred}, seen.compared != 0, out);
    __syncthreads();
    const bool global = seen.compared && is_global(seen);
    const auto moving = [&](int r) {
      if (r >= rows || !seen.compared || global) return std::uint64_t{0};
      const bool soon = frame.forget && plan.config.min_frames <= 1;
      return shared.active[r] & (soon ? ~std::uint64_t{0} : frame.forget ? 0 : shared.ready[r]);
    };
    MotionTracks& tracks = shared.tracks.get();
    MotionSummary& summary = shared.summary.get();
    if (warp == 0) {
      if (lane == 0 && frame.forget) tracks.known_count = 0;
      __syncwarp();
      if (seen.compared) {
        for (int r = lane; r < rows; r += kWarp) {
          summary.active[r] = shared.active[r];
          summary.moving[r] = moving(r);
        }
        if (columns <= kWarp && rows <= kWarp)
          follow_moving_by_warp(plan, frame.time, CellRows<std::uint32_t, 1>(lane, moving), tracks,
                                summary);
        else
          follow_moving_by_warp(plan, frame.time, CellRows<std::uint64_t, 2>(lane, moving), tracks,
                                summary);
      }
    } else if (warp == 1) {
      summarise(frame, seen, global, moving, counters);
    } else if (seen.compared) {
      for_rows(2, [&](int r) {
        for (int c = lane; c < columns; c += kWarp) {
          const int i = r * columns + c;
          const bool active = !global && (shared.active[r] >> c & 1) != 0;
          memory->state.streak[i] = !active ? 0 : frame.forget ? 1 : shared.next[i];
          memory->changed[i] = memory->stirred[i] = 0;
        }
      });
    } else if (frame.forget) {
      for (int i = thread - 2 * kWarp; i < rows * columns; i += kThreads - 2 * kWarp)
        memory->state.streak[i] = 0;
    }
    __syncthreads();
    SharedCopy<MotionSummary> result;
    SharedCopy<MotionTracks> state;
    result.load(summary);
    state.load(tracks);
    result.store(*out);
    state.store(memory->state);
  }

 private:
  /// Each warp from the `first` one on has rows of cells.
  template <typename Use>
  __device__ void for_rows(int first, const Use& use) const {
#pragma unroll 1
    for (int r = warp - first; r < rows; r += kWarps - first) use(r);
  }
  /// For a whole warp: a bit for each column of a row of cells, of what a lane each says.
  template <typename Is>
  __device__ std::uint64_t bits_of_row(const Is& is) const {
    std::uint64_t bits = 0;
#pragma unroll 1
    for (int first = 0; first < columns; first += kWarp) {
      const int c = first + lane;
      bits |= std::uint64_t{__ballot_sync(kAllLanes, c < columns && is(c))} << first;
    }
    return bits;
  }

  /// The counts of the cells go to the result; which of them are active. Nothing waits for whether
  /// the frame was compared: the counts are 0 where it was not.
  __device__ void find_active(const MotionCellCounts& counts, bool compared,
                              MotionResult* out) const {
    std::uint32_t all_changed = 0;
    std::int32_t all_active = 0;
    for_rows(0, [&](int r) {
      const std::uint64_t active = bits_of_row([&](int c) {
        const int i = r * columns + c;
        const std::uint32_t changed = counts.changed[i], pixels = counts.pixels[i];
        const bool is = is_cell_active(plan, counts, r, c) && compared;
        all_changed += changed;
        out->cell_changed[i] = changed;
        out->cell_pixels[i] = compared ? pixels : 0;
        if (plan.config.method == MotionMethod::kBackground)
          out->cell_stirred[i] = counts.stirred[i];
        return is;
      });
      all_active += count_bits(active);
      if (lane == 0) shared.active[r] = active;
    });
    all_changed = sum_of_warp(all_changed);
    if (lane != 0) return;
    shared.changed[warp] = all_changed;
    shared.active_cells[warp] = all_active;
  }
  /// For a whole warp: the sum over the block's.
  template <typename T>
  __device__ T of_all(const T (&of_warps)[kWarps]) const {
    return sum_of_warp(lane < kWarps ? of_warps[lane] : T{});
  }
  __device__ bool is_global(const Seen& seen) const {
    if (!plan.config.find_global_changes || plan.config.method == MotionMethod::kBackground)
      return seen.global != 0;
    return is_most(of_all(shared.active_cells), counted.cells);
  }

  /// By a warp: what is known of the frame as a whole.
  template <typename Moving>
  __device__ void summarise(const MotionFrame& frame, const Seen& seen, bool global,
                            const Moving& moving, MotionCounters* counters) const {
    MotionTracks& tracks = shared.tracks.get();
    MotionSummary& summary = shared.summary.get();
    const int cells = sum_of_warp(count_bits(moving(lane)) + count_bits(moving(lane + kWarp)));
    const std::uint32_t changed = of_all(shared.changed);
    if (lane != 0) return;
    if (frame.finish) tracks.in_event = 0;
    if (seen.compared) {
      summary.compared = 1;
      summary.learning = seen.learning;
      summary.global_change = global;
      summary.changed = changed;
      summary.pixels = counted.pixels;
      summary.moving_cells = cells;
    }
    follow_event(plan, frame.time, tracks, summary);
    if (!counters || !seen.compared) return;
    counters->moving_frames += cells > 0;
    counters->global_changes += global;
    counters->events += summary.began;
  }
};

__global__ void __launch_bounds__(kThreads)
    follow_kernel(const __grid_constant__ MotionPlan plan, const __grid_constant__ Counted counted,
                  MotionMemory* memory, MotionResult* out, MotionCounters* counters) {
  __shared__ Follow shared;
  const Follower follower{plan, counted, memory, shared};
  follower.prepare();
  // So far nothing of the mask: this launch may be early.
  wait_for_launch();
  const MotionFrame frame = memory->frame;
  Seen seen = memory->seen;
  if (plan.config.method != MotionMethod::kBackground) seen.compared = frame.then >= 0;
  follower.finish(frame, seen, out, counters);
}

}  // namespace

Status follow(const MotionPlan& plan, const Counted& counted, MotionMemory* memory,
              MotionResult* out, MotionCounters* counters, Launcher launch) {
  return launch("what moves", follow_kernel, {1, kThreads}, plan, counted, memory, out, counters);
}

Result<bool> follow_can_be_early() {
  return can_be_early(reinterpret_cast<const void*>(follow_kernel));
}

}  // namespace cuface::cuda::motion
