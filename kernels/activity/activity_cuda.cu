#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/activity/activity_cuda.h"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/try.h"

namespace cuface::cuda {
namespace {

constexpr int kThreads = 256, kCells = kThreads / kWarp;  // of a block, of a row

/// The means of a picture's blocks.
class Blocks {
 public:
  __device__ explicit Blocks(const ImageView<const std::uint8_t>& picture)
      : picture_(picture),
        words_((reinterpret_cast<std::uintptr_t>(picture.data) |
                static_cast<std::uintptr_t>(picture.stride)) %
                   sizeof(unsigned) ==
               0) {}
  __device__ std::uint8_t mean(int x, int y) const {
    static_assert(kBlock == 4);
    int sum = 0;
#pragma unroll
    for (int row = 0; row < kBlock; ++row) {
      const std::uint8_t* in = picture_.row(y * kBlock + row) + x * kBlock;
      if (words_) {
        sum += static_cast<int>(__vsadu4(__ldg(reinterpret_cast<const unsigned*>(in)), 0));
      } else {
        for (int i = 0; i < kBlock; ++i) sum += __ldg(in + i);
      }
    }
    return block_mean(sum);
  }

 private:
  const ImageView<const std::uint8_t> picture_;
  const bool words_;  ///< rows begin where words do
};

/// Of a cell in which somebody followed may move; for all lanes of a warp.
__device__ bool is_of_followed(const FollowedFaces* followed, float beside, int full_width,
                               int full_height, const CellGrid& grid, int row, int c) {
  std::uint64_t own = 0;
  for (int i = static_cast<int>(threadIdx.x) % kWarp; i < followed->count; i += kWarp)
    own |= person_row(followed->faces[i].box, beside, full_width, full_height, grid, row);
  return __any_sync(kAllLanes, static_cast<int>(own >> c & 1));
}

/// A warp a cell. Cells of a row write their own bits of its words.
__global__ void __launch_bounds__(kThreads)
    changes_kernel(ImageView<const std::uint8_t> picture, CellGrid grid, int full_width,
                   int full_height, bool no_parts, const std::int32_t* run,
                   const SearchRegion* band, const FollowedFaces* followed, std::uint8_t* then,
                   Activity::State* state) {
  const bool look = band && band->active_only;
  // Whether active parts are to be searched, the map tells.
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
    state->search = !idle(run) && !look;
    state->due = !idle(run);
  }
  if (idle(run) || (band && band->is_part() && !look)) return;
  const int row = static_cast<int>(blockIdx.y);
  const int c = static_cast<int>(blockIdx.x * kCells + threadIdx.x / kWarp);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (c >= grid.columns) return;
  const Blocks blocks(picture);
  const int blocks_across = picture.width / kBlock;
  const int top = first_block(row, grid.rows, grid.height);
  const int rows = first_block(row + 1, grid.rows, grid.height) - top;
  const int left = first_block(c, grid.columns, grid.width);
  const int columns = first_block(c + 1, grid.columns, grid.width) - left;
  const int count = columns * rows;
  const auto place = [&](int x, int y) { return std::ptrdiff_t{y} * blocks_across + x; };
  bool take = !look || (state->taken[row] >> c & 1) == 0;
  __syncwarp();  // all lanes have read what the first one will write
  if (!take) {
    int differ = 0;
#pragma unroll 2
    for (int i = lane; i < count; i += kWarp) {
      const int x = left + i % columns, y = top + i / columns;
      differ += differs(blocks.mean(x, y), then[place(x, y)]);
    }
    for (int apart = kWarp / 2; apart > 0; apart /= 2)
      differ += __shfl_xor_sync(kAllLanes, differ, apart);
    take = has_changed(differ, count);
    if (take && band->only_new() && followed)
      take =
          !is_of_followed(followed, person_beside(no_parts), full_width, full_height, grid, row, c);
  }
  const bool remember = take && !(look && no_parts);
  if (remember) {
#pragma unroll 2
    for (int i = lane; i < count; i += kWarp) {
      const int x = left + i % columns, y = top + i / columns;
      then[place(x, y)] = blocks.mean(x, y);
    }
  }
  if (lane > 0) return;
  auto* changed = reinterpret_cast<unsigned long long*>(state->changed + row);
  auto* taken = reinterpret_cast<unsigned long long*>(state->taken + row);
  if (take) {
    atomicOr(changed, 1ull << c);
    if (remember) atomicOr(taken, 1ull << c);
  } else {
    atomicAnd(changed, ~(1ull << c));
  }
}

/// A block a class of sizes, a thread a row of cells.
__global__ void __launch_bounds__(kMostCells)
    map_kernel(CellGrid grid, int full_width, int full_height, bool no_parts,
               const std::int32_t* run, const SearchRegion* band, const FollowedFaces* followed,
               Activity::State* state) {
  if (idle(run) || !band || !band->active_only) return;
  __shared__ FollowedCells cells[kMaxFaces];
  const int size = static_cast<int>(blockIdx.x), row = static_cast<int>(threadIdx.x);
  const bool large = no_parts && band->only_new();
  const bool moved =
      __syncthreads_or(row < grid.rows && (large ? is_large(state->changed, grid, row)
                                                 : state->changed[row] != 0)) != 0;
  const int count = followed && !band->only_new() ? followed->count : 0;
  for (int i = row; i < count; i += kMostCells)
    cells[i] = followed_cells(followed->faces[i].box, full_width, full_height, grid,
                              band->only_if_changed());
  __syncthreads();
  if (size == 0 && row == 0) {
    state->changed_cells = moved ? count_cells(state->changed, grid) : 0;
    state->cells = grid.columns * grid.rows;
    if (state->is_unchanged(*band)) state->due = 0;
  }
  if (row >= grid.rows) return;
  const std::uint64_t on =
      moved || !large ? map_row(state->changed, grid, cells, count, size, row) : 0;
  state->map.cells[size][row] = on;
  // Whoever says so says the same.
  if (on != 0 && (moved || !band->only_if_changed())) state->search = 1;
}

}  // namespace

Result<Activity> Activity::create(int width, int height, int full_width, int full_height,
                                  bool no_parts) {
  Activity activity;
  activity.grid_ = cell_grid(width, height);
  activity.full_width_ = full_width;
  activity.full_height_ = full_height;
  activity.no_parts_ = no_parts;
  CUFACE_TRY(take(upload(std::vector<State>(1)), activity.state_));
  const std::size_t blocks =
      static_cast<std::size_t>(width / kBlock) * static_cast<std::size_t>(height / kBlock);
  CUFACE_TRY(take(DeviceBuffer<std::uint8_t>::create(blocks), activity.then_));
  return Result<Activity>(std::move(activity));  // nvcc does not move by itself
}

Status Activity::take_all(ImageView<const std::uint8_t> picture, const std::int32_t* run,
                          Launcher launch) {
  return changes(picture, run, nullptr, nullptr, launch);
}

Status Activity::changes(ImageView<const std::uint8_t> picture, const std::int32_t* run,
                         const SearchRegion* band, const FollowedFaces* followed, Launcher launch) {
  const dim3 cells(static_cast<unsigned>((grid_.columns - 1) / kCells + 1),
                   static_cast<unsigned>(grid_.rows));
  return launch("what has changed", changes_kernel, {cells, kThreads}, picture, grid_, full_width_,
                full_height_, no_parts_, run, band, followed, then_.data(), state_.data());
}

Status Activity::enqueue(ImageView<const std::uint8_t> picture, const std::int32_t* run,
                         const SearchRegion* band, const FollowedFaces* followed, Launcher launch) {
  CUFACE_TRY(changes(picture, run, band, followed, launch));
  return launch("what is active", map_kernel, {kSizeClasses, kMostCells}, grid_, full_width_,
                full_height_, no_parts_, run, band, followed, state_.data());
}

}  // namespace cuface::cuda
