// From the counts of a mask's cells to what they make of those before (events.h): one block, a warp
// a row of cells, and one warp for boxes and ids.
#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/early.cuh"
#include "kernels/common/cuda/raw.cuh"
#include "kernels/motion/cuda/boxes.cuh"
#include "kernels/motion/cuda/memory.h"

namespace cuface::cuda::motion {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;

/// Copies as words, by all threads of a block.
template <typename T>
__device__ void copy_words(const T& from, T& to) {
  static_assert(sizeof(T) % sizeof(std::uint64_t) == 0);
  const auto* in = reinterpret_cast<const std::uint64_t*>(&from);
  auto* out = reinterpret_cast<std::uint64_t*>(&to);
  for (unsigned i = threadIdx.x; i < sizeof(T) / sizeof *in; i += kThreads) out[i] = in[i];
}

/// What a warp's rows of cells come to.
struct Sums {
  std::uint32_t changed, pixels;
  std::int32_t active_cells, counted_cells;
};

/// Of a frame, in shared memory.
struct Follow {
  Raw<MotionSummary> summary;
  Raw<MotionTracks> tracks;
  std::uint8_t streaks[kMostMotionCells * kMostMotionCells];  ///< before this frame
  std::uint64_t active[kMostMotionCells];
  Sums sums[kWarps];
};

/// For a whole warp: a bit for each column of a row of cells, of what a lane each says.
template <typename Is>
__device__ std::uint64_t bits_of_row(int columns, Is is) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  std::uint64_t bits = 0;
#pragma unroll 1
  for (int first = 0; first < columns; first += kWarp) {
    const int c = first + lane;
    bits |= std::uint64_t{__ballot_sync(kAllLanes, c < columns && is(c))} << first;
  }
  return bits;
}

/// The counts of the cells go to the result; which of them are active.
__device__ void find_active_by_rows(const MotionPlan& plan, bool forget,
                                    const MotionCellCounts& counts, const std::uint8_t* streak,
                                    MotionResult* out, Follow& shared) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int columns = plan.config.columns, rows = plan.config.rows;
  Sums sums{};
#pragma unroll 1
  for (int r = warp; r < rows; r += kWarps) {
    const std::uint64_t active = bits_of_row(columns, [&](int c) {
      const int i = r * columns + c;
      const std::uint32_t changed = counts.changed[i], pixels = counts.pixels[i];
      shared.streaks[i] = forget ? std::uint8_t{0} : streak[i];
      out->cell_changed[i] = changed;
      out->cell_stirred[i] = counts.stirred[i];
      out->cell_pixels[i] = pixels;
      sums.changed += changed;
      sums.pixels += pixels;
      sums.counted_cells += pixels > 0;
      return is_cell_active(plan, counts, r, c);
    });
    sums.active_cells += count_bits(active);
    if (lane == 0) shared.active[r] = active;
  }
  sums.changed = sum_of_warp(sums.changed);
  sums.pixels = sum_of_warp(sums.pixels);
  sums.counted_cells = sum_of_warp(sums.counted_cells);
  if (lane == 0) shared.sums[warp] = sums;
}

/// Behind it, and a barrier: which of them move.
__device__ void find_moving_by_rows(const MotionPlan& plan, const Seen& seen, MotionMemory* memory,
                                    Follow& shared) {
  MotionSummary& summary = shared.summary.get();
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int columns = plan.config.columns, rows = plan.config.rows;
  Sums all{};
#pragma unroll
  for (const Sums& sums : shared.sums) {
    all.changed += sums.changed;
    all.pixels += sums.pixels;
    all.active_cells += sums.active_cells;
    all.counted_cells += sums.counted_cells;
  }
  bool global = seen.global;
  if (plan.config.find_global_changes && plan.config.method != MotionMethod::kBackground)
    global = is_most(all.active_cells, all.counted_cells);
  if (threadIdx.x == 0) {
    summary.compared = 1;
    summary.learning = seen.learning;
    summary.global_change = global;
    summary.changed = all.changed;
    summary.pixels = all.pixels;
  }
  const auto before = [&](int r, int c) { return shared.streaks[r * columns + c]; };
  int moving_cells = 0;
#pragma unroll 1
  for (int r = warp; r < rows; r += kWarps) {
    const std::uint64_t moving = bits_of_row(columns, [&](int c) {
      const int i = r * columns + c;
      const std::uint8_t now =
          global ? std::uint8_t{0} : streak_of(plan, shared.active[r], r, c, before);
      memory->state.streak[i] = now;
      memory->changed[i] = memory->stirred[i] = 0;
      return !global && now >= plan.config.min_frames;
    });
    moving_cells += count_bits(moving);
    if (lane != 0) continue;
    summary.active[r] = shared.active[r];
    summary.moving[r] = moving;
  }
  if (lane == 0 && moving_cells > 0) atomicAdd(&summary.moving_cells, moving_cells);
}

/// follow_cells(), or the rest of a frame that was compared with nothing.
__global__ void __launch_bounds__(kThreads)
    follow_kernel(const __grid_constant__ MotionPlan plan, const std::uint32_t* cell_pixels,
                  MotionMemory* memory, MotionResult* out, MotionCounters* counters) {
  __shared__ Follow shared;
  const int thread = static_cast<int>(threadIdx.x);
  MotionSummary& summary = shared.summary.get();
  MotionTracks& tracks = shared.tracks.get();
  copy_words<MotionTracks>(memory->state, tracks);
  auto* words = reinterpret_cast<std::uint64_t*>(&summary);
  for (int i = thread; i < static_cast<int>(sizeof summary / sizeof *words); i += kThreads)
    words[i] = 0;
  // So far nothing of the mask: this launch may be early.
  wait_for_launch();
  const MotionFrame frame = memory->frame;
  Seen seen = memory->seen;
  if (plan.config.method != MotionMethod::kBackground) seen.compared = frame.then >= 0;
  std::uint8_t* streak = memory->state.streak;
  if (seen.compared)
    find_active_by_rows(plan, frame.forget != 0, {memory->changed, cell_pixels, memory->stirred},
                        streak, out, shared);
  else if (frame.forget)
    for (int i = thread; i < kMostMotionCells * kMostMotionCells; i += kThreads) streak[i] = 0;
  __syncthreads();
  if (seen.compared) find_moving_by_rows(plan, seen, memory, shared);
  __syncthreads();
  if (thread < kWarp) {
    if (thread == 0) {
      if (frame.forget) tracks.known_count = 0;
      if (frame.finish) tracks.in_event = 0;
      if (!seen.compared) follow_event(plan, frame.time, tracks, summary);
    }
    __syncwarp();
    if (seen.compared) follow_moving_by_warp(plan, frame.time, tracks, summary);
    if (thread == 0 && counters && seen.compared) {
      counters->moving_frames += summary.moving_cells > 0;
      counters->global_changes += summary.global_change;
      counters->events += summary.began;
    }
  }
  __syncthreads();
  copy_words<MotionSummary>(summary, *out);
  copy_words<MotionTracks>(tracks, memory->state);
}

}  // namespace

Status follow(const MotionPlan& plan, const std::uint32_t* cell_pixels, MotionMemory* memory,
              MotionResult* out, MotionCounters* counters, Launcher launch) {
  return launch("what moves", follow_kernel, {1, kThreads}, plan, cell_pixels, memory, out,
                counters);
}

Result<bool> follow_can_be_early() {
  return can_be_early(reinterpret_cast<const void*>(follow_kernel));
}

}  // namespace cuface::cuda::motion
