#include <algorithm>
#include <array>
#include <limits>

#include "kernels/cascade/cascade_cuda.h"
#include "kernels/cascade/stages_cuda.cuh"
#include "kernels/cascade/tile_cuda.cuh"
#include "kernels/common/cuda_table.h"

namespace cuface::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kBlocksPerProcessor = 3;                      // that shared memory
constexpr std::size_t kMostShared = std::size_t{76} << 10;  // of this size lets through
constexpr int kRowWindows = kTileColumns / kWarp;  // of a row of a tile, per thread of a warp
static_assert(kRowWindows == 2 && kTileColumns == 64);

/// The sum over a window less a border of one pixel.
template <typename C>
__device__ std::uint32_t inner_sum(C corner, const std::int32_t (&border)[4]) {
  return *pointer(corner, border[0]) - *pointer(corner, border[1]) - *pointer(corner, border[2]) +
         *pointer(corner, border[3]);
}

/// The windows of a list that go through a stage, and where those that pass are listed.
struct Pass {
  const CascadeView& cascade;
  const SearchStage& stage;
  const Lists& lists;
  const std::uint16_t* list;
  int count;
  std::uint16_t* next;
  std::uint32_t* next_count;
  std::uint32_t* exact;

  /// For whole warps: of the windows that are `live`, with their sums.
  template <typename C>
  __device__ void keep(C at, float norm, std::int32_t sum, bool live, int window) const {
    const unsigned lane = threadIdx.x % kWarp;
    const unsigned pass = passing(cascade, stage, at, norm, sum, live, exact);
    if (pass == 0) return;
    std::uint32_t first = 0;
    if (lane == 0) first = atomicAdd(next_count, static_cast<std::uint32_t>(__popc(pass)));
    first = __shfl_sync(kAllLanes, first, 0);
    if (pass >> lane & 1)
      next[first + static_cast<std::uint32_t>(__popc(pass & ((1u << lane) - 1)))] =
          static_cast<std::uint16_t>(window);
  }
};

/// Takes many windows through a stage whose nodes are among the first: a thread takes kWindows of
/// them through the same trees. Votes keep loops such that the compiler knows all threads of a warp
/// to be at the same node.
template <int kWindows, typename CornerOf>
__device__ void take_many(const Pass& pass, const SearchNode* first_nodes, const SearchStage& stage,
                          const CornerOf& corner) {
  const int threads = static_cast<int>(blockDim.x);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int first = (static_cast<int>(threadIdx.x) - lane) * kWindows;
       __any_sync(kAllLanes, first < pass.count); first += threads * kWindows) {
    int window[kWindows], index[kWindows];
    decltype(corner(0)) at[kWindows];
    float norm[kWindows];
    std::int32_t sum[kWindows] = {};
#pragma unroll
    for (int u = 0; u < kWindows; ++u) {
      index[u] = first + u * kWarp + lane;
      window[u] = pass.list[min(index[u], pass.count - 1)];
      at[u] = corner(window[u]);
      norm[u] = pass.lists.norm[window[u]];
    }
    add_leaves<true>(pass.cascade, first_nodes, stage, 0, 1, at, norm, sum);
#pragma unroll
    for (int u = 0; u < kWindows; ++u)
      pass.keep(at[u], norm[u], sum[u], index[u] < pass.count, window[u]);
  }
  __syncthreads();
}

/// Takes any number of windows through any stage. Where they are few, several warps share the trees
/// of the same windows.
template <bool kFirst, typename CornerOf>
__device__ void take_few(const Pass& pass, const SearchNode* nodes, const SearchStage& stage,
                         const CornerOf& corner) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  const int groups = (pass.count - 1) / kWarp + 1, slices = max(warps / groups, 1);
  for (int task = warp; task < groups * slices; task += warps) {
    const int slice = task / groups, i = task % groups * kWarp + lane;
    const int window = pass.list[min(i, pass.count - 1)];
    const decltype(corner(0)) at[1] = {corner(window)};
    const float norm[1] = {pass.lists.norm[window]};
    std::int32_t sum[1] = {};
    add_leaves<kFirst>(pass.cascade, nodes, stage, slice, slices, at, norm, sum);
    if (i < pass.count) atomicAdd(&pass.lists.sum[i], sum[0]);
  }
  __syncthreads();
  for (int first = warp * kWarp; first < pass.count; first += warps * kWarp) {
    const int i = min(first + lane, pass.count - 1), window = pass.list[i];
    const std::int32_t sum = pass.lists.sum[i];
    __syncwarp();  // the last one may be read by several
    pass.lists.sum[i] = 0;
    pass.keep(corner(window), pass.lists.norm[window], sum, first + lane < pass.count, window);
  }
  __syncthreads();
}

struct Output {
  Rect* raw;
  std::uint32_t limit;
  SearchCounts* counts;
};

/// A block a tile: all stages.
template <bool kTiled>
__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor)
    search_kernel(const __grid_constant__ TileTable table, CascadeView by_step_1,
                  CascadeView by_step_2, const __grid_constant__ FirstNodes first_nodes,
                  ImageView<const std::uint8_t> pixels, SumPlanes planes, int list_offset,
                  unsigned long long* skips, Output out, const std::int32_t* run,
                  const Band* band) {
  if (idle(run)) return;
  Tile tile = tile_at(table, blockIdx.x);
  if (band && !keep_band(tile, table, *band)) return;
  __shared__ Block block;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const int threads = static_cast<int>(blockDim.x), warps = threads / kWarp;
  if (thread < 3) block.listed[thread] = 0;
  const Lists lists(tile_sums + list_offset, table.rows * kTileColumns);
  for (int i = thread; i < table.rows * kTileColumns; i += threads) lists.sum[i] = 0;
  __syncthreads();
  const WindowLevel level = *tile.level;
  const CascadeView cascade = level.step == 2 ? by_step_2 : by_step_1;
  const int among_first = blockIdx.x < table.step_2 ? 0 : FirstNodes::kCount;
  const int stride = table.stride[level.step - 1];
  const auto& border = table.border[level.step - 1];
  const auto corner = [&](int window) -> Corner<kTiled> {
    const int y = window / kTileColumns, x = window % kTileColumns;
    if constexpr (kTiled) {
      return (y * level.step * stride + x) * kWordBytes;
    } else {
      return planes.row({level.x, level.y, 0, 0}, (tile.y + y) * level.step) +
             (tile.x + x) * level.step;
    }
  };
  const auto for_each_row = [&](auto&& f) {
    for (int y = warp; __any_sync(kAllLanes, y < tile.rows); y += warps) {
      int window[kRowWindows];
      for (int u = 0; u < kRowWindows; ++u)
        window[u] = y * kTileColumns + min(lane + u * kWarp, tile.columns - 1);
      f(y, window);
    }
  };

  // Norms, of which the squares are in the way of the sums.
  if constexpr (kTiled) {
    ImageView<const std::uint8_t> in = pixels;
    in.data = pixels.row(level.y + tile.y * level.step) + level.x + tile.x * level.step;
    const int width = (tile.columns - 1) * level.step + table.width;
    const int height = (tile.rows - 1) * level.step + table.height;
    make_sums<true>(in, width, height, level.step, stride);
    for_each_row([&](int, const int(&window)[kRowWindows]) {
      for (const int w : window) lists.norm[w] = __uint_as_float(inner_sum(corner(w), border));
    });
    __syncthreads();
    make_sums<false>(in, width, height, level.step, stride);
  }

  // The first stage, whether or not a window will turn out to be skipped.
  const SearchStage& first = cascade.stages[0];
  for_each_row([&](int y, const int(&window)[kRowWindows]) {
    Corner<kTiled> at[kRowWindows];
    float norm[kRowWindows];
    std::int32_t sum[kRowWindows] = {};
    std::uint64_t failed = 0, passed = 0;
    for (int u = 0; u < kRowWindows; ++u) {
      at[u] = corner(window[u]);
      std::uint32_t squares;
      if constexpr (kTiled) {
        squares = __float_as_uint(lists.norm[window[u]]);
      } else {
        squares = inner_sum(at[u] + planes.squared, border);
      }
      norm[u] = inverse_norm((table.width - 2) * (table.height - 2),
                             static_cast<std::int32_t>(inner_sum(at[u], border)), squares);
    }
    __syncwarp();  // the last window may be read by several
    for (int u = 0; u < kRowWindows; ++u) lists.norm[window[u]] = norm[u];
    if (first_nodes.stage_count > 0) {
      add_leaves<true>(cascade, first_nodes.node + among_first, first_nodes.stage[0], 0, 1, at,
                       norm, sum);
    } else {
      add_leaves<false>(cascade, cascade.nodes, first, 0, 1, at, norm, sum);
    }
    for (int u = 0; u < kRowWindows; ++u) {
      const bool live = lane + u * kWarp < tile.columns && norm[u] != 0.0f;  // 0: flat
      const unsigned all = __ballot_sync(kAllLanes, live);
      const unsigned pass =
          passing(cascade, first, at[u], norm[u], sum[u], live, &out.counts->exact);
      passed |= static_cast<std::uint64_t>(pass) << (u * kWarp);
      failed |= static_cast<std::uint64_t>(all & ~pass) << (u * kWarp);
    }
    if (lane == 0) {
      block.failed[y] = failed;
      block.passed[y] = passed;
    }
  });
  __syncthreads();
  if (warp == 0) {
    const bool is_row = lane < tile.rows;
    const std::uint64_t failed = is_row ? block.failed[lane] : 0;
    const std::uint64_t passed = is_row ? block.passed[lane] : 0;
    bool carry_visited = false, carry_skipped = true;
    const std::uint64_t if_visited = passed & ~skipped_windows(failed, carry_visited);
    const std::uint64_t if_skipped = passed & ~skipped_windows(failed, carry_skipped);
    const bool skipped = first_is_skipped(skips + blockIdx.x, tile.left_tiles,
                                          if_visited != if_skipped, carry_visited, carry_skipped);
    if (is_row) block.passed[lane] = skipped ? if_skipped : if_visited;
  }
  __syncthreads();
  for_each_row([&](int y, const int(&)[kRowWindows]) {
    const std::uint64_t mask = block.passed[y];
    if (mask == 0) return;
    std::uint32_t at = 0;
    if (lane == 0) at = atomicAdd(&block.listed[1], static_cast<std::uint32_t>(__popcll(mask)));
    at = __shfl_sync(kAllLanes, at, 0);
    for (int x = lane; x < kTileColumns; x += kWarp)
      if (mask >> x & 1)
        lists.list(
            1)[at + static_cast<std::uint32_t>(__popcll(mask & ((std::uint64_t{1} << x) - 1)))] =
            static_cast<std::uint16_t>(y * kTileColumns + x);
  });
  __syncthreads();

  int s = 1, count = static_cast<int>(block.listed[1]);
  if (thread == 0 && count > 0) atomicAdd(&out.counts->listed, static_cast<std::uint32_t>(count));
#pragma unroll 1
  for (; s < table.stage_count && __any_sync(kAllLanes, count > 0); ++s) {
    if (thread == 0) block.listed[(s + 2) % 3] = 0;
    std::uint32_t* next_count = &block.listed[(s + 1) % 3];
    const Pass pass = {cascade, cascade.stages[s], lists,      lists.list(s),
                       count,   lists.list(s + 1), next_count, &out.counts->exact};
    const SearchNode* nodes = first_nodes.node + among_first;
    if (s >= first_nodes.stage_count) {
      take_few<false>(pass, cascade.nodes, pass.stage, corner);
    } else if (__any_sync(kAllLanes, count > threads)) {
      take_many<2>(pass, nodes, first_nodes.stage[s], corner);
    } else if (__any_sync(kAllLanes, count > threads / 2)) {
      take_many<1>(pass, nodes, first_nodes.stage[s], corner);
    } else {
      take_few<true>(pass, nodes, first_nodes.stage[s], corner);
    }
    count = static_cast<int>(*next_count);
  }
  for (int i = thread; i < count; i += threads) {
    const int window = lists.list(s)[i];
    const std::uint32_t at = atomicAdd(&out.counts->raw, 1u);
    if (at < out.limit)
      out.raw[at] = window_box((tile.x + window % kTileColumns) * level.step,
                               (tile.y + window / kTileColumns) * level.step, table.width,
                               table.height, level.scale);
  }
}

__global__ void reset_kernel(SearchCounts* counts, unsigned long long* skips, std::uint32_t tiles) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) *counts = {};
  if (i < tiles) skips[i] = 0;
}

/// Words of a tile's sums.
std::size_t sums_of(const TileTable& table, int step) {
  return static_cast<std::size_t>(table.stride[step - 1]) *
         static_cast<std::size_t>((table.rows - 1) * step + table.height + 1);
}

/// Of the lists, and the sums before them.
std::size_t shared_bytes(std::size_t sums, int rows) {
  constexpr std::size_t kWindow = sizeof(float) + sizeof(std::int32_t) + 2 * sizeof(std::uint16_t);
  return sums * sizeof(std::uint32_t) + static_cast<std::size_t>(rows) * kTileColumns * kWindow;
}

}  // namespace

Result<CascadeSearch> CascadeSearch::create(const CascadeModel& model,
                                            const std::vector<Level>& levels,
                                            const std::vector<AtlasSlot>& slots,
                                            const SumPlanes& planes, std::uint32_t limit,
                                            ScratchLayout& scratch) {
  CascadeSearch search;
  TileTable& table = search.table_;
  table.width = model.window_width;
  table.height = model.window_height;
  int most_step = 1;
  for (const Level& level : levels) most_step = std::max(most_step, level.grid.step);
  int device = 0, most_shared = 0;
  if (Status s = check(cudaGetDevice(&device), "asking for the GPU"); !s.ok()) return s;
  if (Status s = check(
          cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
          "asking for the GPU's shared memory");
      !s.ok())
    return s;
  const auto room = std::min(static_cast<std::size_t>(most_shared) - 2048, kMostShared);
  std::array<SumLayout, 2> layouts;
  for (int step = 1; step <= 2; ++step) {
    const int words = (kTileColumns - 1) * step + table.width + 1;
    layouts[static_cast<std::size_t>(step - 1)] = {words + words % step, 0, step};
    table.stride[step - 1] = words + words % step;
  }
  table.rows = kMostTileRows;
  while (table.rows > 1 && shared_bytes(sums_of(table, most_step), table.rows) > room)
    table.rows /= 2;
  std::size_t sums = sums_of(table, most_step);
  search.makes_sums_ = !model.has_tilted() && shared_bytes(sums, table.rows) <= room;
  if (!search.makes_sums_) {
    layouts.fill({static_cast<int>(planes.stride), planes.tilted});
    std::fill_n(table.stride, 2, layouts[0].stride);
    table.rows = kMostTileRows;
    sums = 0;
  }
  search.shared_bytes_ = shared_bytes(sums, table.rows);
  // The limit belongs to the kernel: one of this plan would be too little for others.
  const auto kernel = search.makes_sums_ ? search_kernel<true> : search_kernel<false>;
  if (Status s = check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(room)),
                       "asking for shared memory");
      !s.ok())
    return s;

  FlatCascade flat;
  BoundCascade bound(model);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const SumLayout& layout = layouts[i];
    for (int c = 0; c < 4; ++c)
      table.border[i][c] =
          kWordBytes * static_cast<std::int32_t>(layout.offset(c % 2 == 0 ? 1 : table.width - 1,
                                                               c / 2 == 0 ? 1 : table.height - 1));
    bound.bind(layout);
    add_layout(bound, flat);
  }
  search.first_nodes_ = first_nodes(flat);
  std::vector<WindowLevel> parts;
  std::uint64_t tiles = 0;
  table.step_2 = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t i = levels.size(); i-- > 0;) {
    const SearchGrid& grid = levels[i].grid;
    WindowLevel level = {};
    level.columns = (grid.columns + grid.step - 1) / grid.step;
    level.rows = (grid.rows + grid.step - 1) / grid.step;
    if (level.columns == 0 || level.rows == 0) continue;
    level.first_tile = static_cast<std::uint32_t>(tiles);
    level.tiles_across = static_cast<std::uint32_t>((level.columns - 1) / kTileColumns + 1);
    level.step = grid.step;
    level.scale = levels[i].scale;
    level.height = levels[i].height;
    level.x = slots[i].x;
    level.y = slots[i].y;
    if (level.step == 2) table.step_2 = std::min(table.step_2, level.first_tile);
    parts.push_back(level);
    tiles += std::uint64_t{level.tiles_across} *
             static_cast<std::uint64_t>((level.rows - 1) / table.rows + 1);
    if (tiles > std::numeric_limits<std::int32_t>::max())
      return Status(StatusCode::kUnsupported, "the windows of this picture are too many");
  }
  table.count = static_cast<std::int32_t>(parts.size());
  search.tiles_ = static_cast<std::uint32_t>(tiles);
  table.stage_count = static_cast<std::int32_t>(flat.stages.size());
  search.node_count_ = static_cast<std::int32_t>(flat.nodes.size() / layouts.size());
  if (Status s = take(upload(flat.stages), search.stages_); !s.ok()) return s;
  if (Status s = take(upload(flat.nodes), search.nodes_); !s.ok()) return s;
  if (Status s = take(upload(flat.trees), search.trees_); !s.ok()) return s;
  if (Status s = take(upload(flat.exact_nodes), search.exact_nodes_); !s.ok()) return s;
  if (Status s = take(upload(flat.leaves), search.leaves_); !s.ok()) return s;
  if (Status s = take(upload(parts), search.levels_); !s.ok()) return s;
  search.raw_ = scratch.add<Rect>(limit);
  search.counts_ = scratch.add<SearchCounts>(1);
  search.skips_ = scratch.add<unsigned long long>(tiles);
  return Result<CascadeSearch>(std::move(search));  // nvcc does not move by itself
}

void CascadeSearch::bind(std::byte* scratch) {
  raw_.bind(scratch);
  counts_.bind(scratch);
  skips_.bind(scratch);
}

Status CascadeSearch::enqueue(ImageView<const std::uint8_t> pixels, const SumPlanes& planes,
                              const std::int32_t* run, const Band* band, Launcher launch) {
  constexpr unsigned kBlock = 256;
  if (Status s = launch("starting the search", reset_kernel, {tiles_ / kBlock + 1, kBlock},
                        counts_.data(), skips_.data(), tiles_);
      !s.ok())
    return s;
  if (tiles_ == 0) return {};
  TileTable table = table_;
  table.levels = levels_.data();
  const auto view = [&](int layout) -> CascadeView {
    const std::ptrdiff_t first = std::ptrdiff_t{layout} * node_count_;
    return {stages_.data(), nodes_.data() + first, trees_.data(), exact_nodes_.data() + first,
            leaves_.data()};
  };
  const Output out = {raw_.data(), static_cast<std::uint32_t>(raw_.size()), counts_.data()};
  const int list_offset =
      static_cast<int>((shared_bytes_ - shared_bytes(0, table.rows)) / sizeof(std::uint32_t));
  return launch("all stages", makes_sums_ ? search_kernel<true> : search_kernel<false>,
                {tiles_, kThreads, shared_bytes_}, table, view(0), view(1), first_nodes_, pixels,
                planes, list_offset, skips_.data(), out, run, band);
}

}  // namespace cuface::cuda
