#include <algorithm>
#include <array>
#include <limits>

#include "kernels/cascade/active_cuda.cuh"
#include "kernels/cascade/cascade_cuda.h"
#include "kernels/cascade/late_cuda.cuh"
#include "kernels/cascade/pairs_cuda.cuh"
#include "kernels/cascade/passes_cuda.cuh"
#include "kernels/cascade/stages_cuda.cuh"
#include "kernels/cascade/tile_cuda.cuh"
#include "kernels/common/cuda_table.h"

namespace cuface::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kBlocksPerProcessor = 3;                          // that shared memory
constexpr std::size_t kMostShared = std::size_t{76} << 10;      // of this size lets through
constexpr std::size_t kMostPatches = std::size_t{48} << 10;     // without asking for it
constexpr int kLateStage = 10;                                  // from which on windows are late
constexpr std::size_t kMostPairShared = std::size_t{73} << 10;  // the same beside kPairThreads' own
constexpr int kFewestPairStages = 6;                            // for which pairs pay
constexpr unsigned kLateBlocks = 528;
constexpr int kRowWindows = kTileColumns / kWarp;  // of a row of a tile, per thread of a warp
static_assert(kRowWindows == 2 && kTileColumns == 64);

/// A block a tile: all stages.
template <bool kTiled>
__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor)
    search_kernel(const __grid_constant__ TileTable table, CascadeView by_step_1,
                  CascadeView by_step_2, const __grid_constant__ FirstNodes first_nodes,
                  ImageView<const std::uint8_t> pixels, SumPlanes planes, unsigned long long* skips,
                  Output out, const std::int32_t* run, const Band* band, DeviceMap active) {
  if (idle(run)) return;
  Tile tile = tile_at(table, blockIdx.x);
  if (band && !keep_band(tile, table, *band)) return;
  __shared__ Block block;
  if (!find_active(active, band, table, tile, skips, block)) return;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const int threads = static_cast<int>(blockDim.x), warps = threads / kWarp;
  if (thread < 3) block.listed[thread] = 0;
  const WindowLevel level = *tile.level;
  const Lists lists(tile_sums + table.list_offset[level.step - 1],
                    table.rows[level.step - 1] * kTileColumns);
  for (int i = thread; i < Lists::kFew; i += threads) lists.sum[i] = 0;
  __syncthreads();
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
      const bool live = lane + u * kWarp < tile.columns && is_active(block, y, lane + u * kWarp) &&
                        norm[u] != 0.0f;  // 0: flat
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
  drop_skipped(tile, skips, block);
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
  for (bool may_leave = kTiled; s < table.stage_count && __any_sync(kAllLanes, count > 0); ++s) {
    if (may_leave && s >= table.late_stage) {
      if (thread == 0) block.first_late = out.late_places(static_cast<std::uint32_t>(count));
      __syncthreads();
      const int first_late = block.first_late;
      if (first_late >= 0) {
        for (int i = thread; i < count; i += threads) {
          const int window = lists.list(s)[i];
          out.late[first_late + i] = {
              static_cast<std::uint16_t>(tile.level - table.levels), static_cast<std::uint16_t>(s),
              static_cast<std::uint16_t>((tile.x + window % kTileColumns) * level.step),
              static_cast<std::uint16_t>((tile.y + window / kTileColumns) * level.step),
              lists.norm[window]};
        }
        return;
      }
      may_leave = false;
    }
    if (thread == 0) block.listed[(s + 2) % 3] = 0;
    std::uint32_t* next_count = &block.listed[(s + 1) % 3];
    const Pass pass = {cascade, cascade.stages[s], lists,      lists.list(s),
                       count,   lists.list(s + 1), next_count, &out.counts->exact};
    const SearchNode* nodes = first_nodes.node + among_first;
    if (s >= first_nodes.stage_count) {
      take<false>(pass, cascade.nodes, pass.stage, corner);
    } else {
      take<true>(pass, nodes, first_nodes.stage[s], corner);
    }
    count = static_cast<int>(*next_count);
  }
  for (int i = thread; i < count; i += threads) {
    const int window = lists.list(s)[i];
    out.add(table, level, (tile.x + window % kTileColumns) * level.step,
            (tile.y + window / kTileColumns) * level.step);
  }
}

/// Words of a tile's sums, a multiple of four.
std::size_t sums_of(const TileTable& table, int step) {
  const auto words = static_cast<std::size_t>(table.stride[step - 1]) *
                     static_cast<std::size_t>((table.rows[step - 1] - 1) * step + table.height + 1);
  return (words + 3) / 4 * 4;
}

/// Of the lists, and the sums before them.
std::size_t shared_bytes(std::size_t sums, int rows) {
  constexpr std::size_t kWindow = sizeof(float) + 2 * sizeof(std::uint16_t);
  return sums * sizeof(std::uint32_t) + Lists::kFew * sizeof(std::int32_t) +
         static_cast<std::size_t>(rows) * kTileColumns * kWindow;
}

/// The same of a search in pairs, with its nodes.
std::size_t pair_bytes(std::size_t sums, int rows, std::size_t nodes) {
  constexpr std::size_t kPair =
      sizeof(Two<float>) + sizeof(Two<std::int32_t>) + 2 * sizeof(std::uint16_t);
  return sums * sizeof(std::uint32_t) + nodes * sizeof(uint4) +
         static_cast<std::size_t>(rows / 2) * kTileColumns * kPair;
}

/// Half the pixels of a window without its border have sums of 16 bits.
bool has_pair_norms(const CascadeModel& model) {
  const int rows = model.window_height - 1 - model.window_height / 2;
  return (model.window_width - 2) * rows * 255 < 1 << 16;
}

}  // namespace

void CascadeSearch::plan_tiles(const CascadeModel& model, const SumPlanes& planes, int most_step,
                               std::size_t room, std::array<SumLayout, 3>& layouts,
                               std::vector<uint4>& nodes) {
  TileTable& table = table_;
  table.width = model.window_width;
  table.height = model.window_height;
  table.stage_count = static_cast<std::int32_t>(model.stages.size());
  for (int step = 1; step <= 2; ++step) {
    const int words = (kTileColumns - 1) * step + table.width + 1;
    layouts[static_cast<std::size_t>(step - 1)] = {words + words % step, 0, step};
  }
  layouts[2] = {table.width + 1};  // of a window alone
  const std::size_t patches =
      kLateThreads / kWarp * static_cast<std::size_t>((table.width + 1) * (table.height + 1));
  patch_bytes_ = patches * sizeof(std::uint32_t);
  makes_sums_ = !model.has_tilted();
  leaves_late_ = makes_sums_ && patch_bytes_ <= kMostPatches;
  if (leaves_late_ && has_pair_norms(model) && layouts[1].stride <= kMostEach * kWarp) {
    pair_nodes_ = pair_nodes(model, {layouts[0], layouts[1]}, kLateStage, nodes);
    in_pairs_ = pair_nodes_.stage_count >= std::min(table.stage_count, kFewestPairStages);
    if (in_pairs_) room = std::min(room, kMostPairShared);
  }
  for (int step = 1; step <= 2; ++step) {
    const auto i = static_cast<std::size_t>(step - 1);
    table.stride[i] = layouts[i].stride;
    int& rows = table.rows[i] = kMostTileRows;
    // Where pairs leave no room in the list of late windows, their sums lie in place of the tile's.
    const auto sums = [&] {
      return std::max(sums_of(table, step), in_pairs_ ? (patches + 3) / 4 * 4 : 0);
    };
    const auto bytes = [&] {
      return in_pairs_ ? pair_bytes(sums(), rows, static_cast<std::size_t>(pair_nodes_.size))
                       : shared_bytes(sums(), rows);
    };
    while (rows > 2 && bytes() > room) rows -= 2;
    table.list_offset[i] = static_cast<std::int32_t>(sums());
    if (step > most_step) continue;
    makes_sums_ = makes_sums_ && bytes() <= room;
    shared_bytes_ = std::max(shared_bytes_, bytes());
  }
  if (!makes_sums_) {
    in_pairs_ = leaves_late_ = false;
    std::fill_n(layouts.begin(), 2, SumLayout{static_cast<int>(planes.stride), planes.tilted});
    std::fill_n(table.stride, 2, layouts[0].stride);
    std::fill_n(table.rows, 2, kMostTileRows);
    std::fill_n(table.list_offset, 2, 0);
    shared_bytes_ = shared_bytes(0, kMostTileRows);
  }
  table.late_stage = leaves_late_ ? kLateStage : table.stage_count;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto offset = [&](int x, int y) {
      return kWordBytes * static_cast<std::int32_t>(layouts[i].offset(x, y));
    };
    for (int c = 0; c < 4; ++c)
      table.border[i][c] =
          offset(c % 2 == 0 ? 1 : table.width - 1, c / 2 == 0 ? 1 : table.height - 1);
    for (int c = 0; c < 2; ++c)
      table.middle[i][c] = offset(c == 0 ? 1 : table.width - 1, table.height / 2);
  }
}

Result<CascadeSearch> CascadeSearch::create(const CascadeModel& model,
                                            const std::vector<Level>& levels,
                                            const std::vector<AtlasSlot>& slots,
                                            const SumPlanes& planes, std::uint32_t limit,
                                            ScratchLayout& scratch) {
  CascadeSearch search;
  TileTable& table = search.table_;
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
  std::array<SumLayout, 3> layouts;
  std::vector<uint4> pair_nodes;
  search.plan_tiles(model, planes, most_step, room, layouts, pair_nodes);
  // The limit belongs to the kernel: one of this plan would be too little for others.
  for (const bool active : {false, true}) {
    const void* kernel = search.in_pairs_     ? reinterpret_cast<const void*>(pairs_for(active))
                         : search.makes_sums_ ? reinterpret_cast<const void*>(search_kernel<true>)
                                              : reinterpret_cast<const void*>(search_kernel<false>);
    if (Status s = check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              static_cast<int>(room)),
                         "asking for shared memory");
        !s.ok())
      return s;
  }

  FlatCascade flat;
  BoundCascade bound(model);
  for (const SumLayout& layout : layouts) {
    bound.bind(layout);
    add_layout(bound, flat);
  }
  search.first_nodes_ = first_nodes(flat, flat.nodes.size() / layouts.size());
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
    level.width = levels[i].width;
    level.height = levels[i].height;
    level.size_class = level_class(model.window_width, levels[i].scale);
    level.x = slots[i].x;
    level.y = slots[i].y;
    if (level.step == 2) table.step_2 = std::min(table.step_2, level.first_tile);
    parts.push_back(level);
    tiles += std::uint64_t{level.tiles_across} *
             static_cast<std::uint64_t>((level.rows - 1) / table.rows[level.step - 1] + 1);
    if (tiles > std::numeric_limits<std::int32_t>::max())
      return Status(StatusCode::kUnsupported, "the windows of this picture are too many");
  }
  table.count = static_cast<std::int32_t>(parts.size());
  search.tiles_ = static_cast<std::uint32_t>(tiles);
  search.node_count_ = static_cast<std::int32_t>(flat.nodes.size() / layouts.size());
  if (Status s = take(upload(flat.stages), search.stages_); !s.ok()) return s;
  if (Status s = take(upload(flat.nodes), search.nodes_); !s.ok()) return s;
  if (Status s = take(upload(flat.trees), search.trees_); !s.ok()) return s;
  if (Status s = take(upload(flat.exact_nodes), search.exact_nodes_); !s.ok()) return s;
  if (Status s = take(upload(flat.leaves), search.leaves_); !s.ok()) return s;
  if (Status s = take(upload(parts), search.levels_); !s.ok()) return s;
  if (Status s = take(upload(late_nodes(model)), search.late_nodes_); !s.ok()) return s;
  if (Status s = take(upload(pair_nodes), search.pair_node_words_); !s.ok()) return s;
  search.raw_ = scratch.add<Rect>(limit);
  search.late_ = scratch.add<LateWindow>(kMostLate);
  search.counts_ = scratch.add<SearchCounts>(1);
  search.skips_ = scratch.add<unsigned long long>(tiles);
  return Result<CascadeSearch>(std::move(search));  // nvcc does not move by itself
}

void CascadeSearch::bind(std::byte* scratch) {
  raw_.bind(scratch);
  late_.bind(scratch);
  counts_.bind(scratch);
  skips_.bind(scratch);
}

Status CascadeSearch::enqueue(ImageView<const std::uint8_t> pixels, const SumPlanes& planes,
                              const std::int32_t* run, const Band* band, const DeviceMap& active,
                              Launcher launch) {
  constexpr unsigned kBlock = 256;
  if (Status s = launch("starting the search", reset_kernel, {tiles_ / kBlock + 1, kBlock},
                        counts_.data(), skips_.data(), tiles_);
      !s.ok())
    return s;
  if (tiles_ == 0) return {};
  TileTable table = table_;
  table.levels = levels_.data();
  table.late_nodes = late_nodes_.size() > 0 ? late_nodes_.data() : nullptr;
  const auto view = [&](int layout) -> CascadeView {
    const std::ptrdiff_t first = std::ptrdiff_t{layout} * node_count_;
    return {stages_.data(), nodes_.data() + first, trees_.data(), exact_nodes_.data() + first,
            leaves_.data()};
  };
  PairNodes pair_nodes = pair_nodes_;
  pair_nodes.nodes = pair_node_words_.data();
  const Output out = {raw_.data(), raw_.size(), late_.data(), late_.size(), counts_.data()};
  const LaunchShape shape = {tiles_, kThreads, shared_bytes_};
  if (Status s =
          in_pairs_ ? launch("all stages", pairs_for(active.map), shape, table, view(2), pair_nodes,
                             pixels, skips_.data(), out, run, band, active)
                    : launch("all stages", makes_sums_ ? search_kernel<true> : search_kernel<false>,
                             shape, table, view(0), view(1), first_nodes_, pixels, planes,
                             skips_.data(), out, run, band, active);
      !s.ok())
    return s;
  if (!leaves_late_) return {};
  return launch("windows that got far", late_kernel, {kLateBlocks, kLateThreads, patch_bytes_},
                table, view(2), pixels,
                static_cast<int>(patch_bytes_ / (kLateThreads / kWarp * sizeof(std::uint32_t))),
                out);
}

}  // namespace cuface::cuda
