#include <algorithm>
#include <limits>

#include "kernels/cascade/cuda/pair_search.cuh"
#include "kernels/cascade/cuda/plan.h"
#include "kernels/cascade/cuda/search.h"
#include "kernels/cascade/cuda/survivors.cuh"
#include "kernels/cascade/cuda/tile.cuh"
#include "kernels/cascade/cuda/window_search.cuh"
#include "kernels/common/cuda/tables.h"

namespace cuface::cuda {
namespace {

constexpr std::size_t kMostShared = std::size_t{76} << 10;   // that blocks have room beside others
constexpr std::size_t kMostPatches = std::size_t{48} << 10;  // without asking for it
constexpr int kLateStage = 10;                               // from which on windows are late
constexpr std::size_t kMostPairShared = std::size_t{74} << 10;  // the same beside kPairThreads' own
constexpr int kFewestPairStages = 6;                            // for which pairs pay

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

/// Words of the lists of a search in pairs; the tile's pixels lie there before.
std::size_t pair_words(const TileTable& table, int step) {
  constexpr std::size_t kPair =
      sizeof(Two<float>) + sizeof(Two<std::int32_t>) + 2 * sizeof(std::uint16_t);
  const int rows = table.rows[step - 1], width = (kTileColumns - 1) * step + table.width;
  const auto lists = static_cast<std::size_t>(rows / 2) * kTileColumns * kPair / kWordBytes;
  const auto pixels = static_cast<std::size_t>(tile_words(width)) *
                      static_cast<std::size_t>((rows - 1) * step + table.height);
  return (std::max(lists, pixels) + 3) / 4 * 4;
}

/// Half the pixels of a window without its border have sums of 16 bits.
bool has_pair_norms(const CascadeModel& model) {
  const int rows = model.window_height - 1 - model.window_height / 2;
  return (model.window_width - 2) * rows * 255 < 1 << 16;
}

}  // namespace

void CascadeSearch::plan_tiles(DeviceCascade& cascade, const SumPlanes& planes, int most_step,
                               std::size_t room, SearchLayouts& layouts) {
  const CascadeModel& model = cascade.model();
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
      kThreads / kWarp * static_cast<std::size_t>(late_patch_words(table.width, table.height));
  makes_sums_ = !model.has_tilted();
  leaves_late_ = makes_sums_ && patches * sizeof(std::uint32_t) <= kMostPatches;
  if (leaves_late_ && has_pair_norms(model) && layouts[1].stride <= kMostEach * kWarp) {
    pair_nodes_ = cascade.pairs(layouts, kLateStage);
    in_pairs_ = pair_nodes_.stage_count >= std::min(table.stage_count, kFewestPairStages);
    if (in_pairs_) room = std::min(room, kMostPairShared);
  }
  for (int step = 1; step <= 2; ++step) {
    const auto i = static_cast<std::size_t>(step - 1);
    table.stride[i] = layouts[i].stride;
    int& rows = table.rows[i] = kMostTileRows;
    // The sums of late windows lie in place of the tile's.
    const auto sums = [&] { return std::max(sums_of(table, step), leaves_late_ ? patches : 0); };
    const auto bytes = [&] {
      if (!in_pairs_) return shared_bytes(sums(), rows);
      return (sums() + pair_words(table, step)) * sizeof(std::uint32_t) +
             static_cast<std::size_t>(pair_nodes_.size) * sizeof(uint4);
    };
    while (rows > 2 && bytes() > room) rows -= 2;
    table.list_offset[i] = static_cast<std::int32_t>(sums());
    table.node_offset[i] = static_cast<std::int32_t>(sums() + pair_words(table, step));
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
  table.patch_words = leaves_late_ ? late_patch_words(table.width, table.height) : 0;
  table.late_bytes = leaves_late_ ? static_cast<std::int32_t>(shared_bytes_) : 0;
  table.late_stage = in_pairs_      ? pair_nodes_.stage_count
                     : leaves_late_ ? kLateStage
                                    : table.stage_count;
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

Result<CascadeSearch> CascadeSearch::create(DeviceCascade& cascade,
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
  SearchLayouts layouts;
  search.plan_tiles(cascade, planes, most_step, room, layouts);
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

  std::vector<WindowLevel> parts;
  std::vector<std::uint16_t> level_of;
  for (std::size_t i = levels.size(); i-- > 0;) {
    const SearchGrid& grid = levels[i].grid;
    WindowLevel level = {};
    level.columns = (grid.columns + grid.step - 1) / grid.step;
    level.rows = (grid.rows + grid.step - 1) / grid.step;
    if (level.columns == 0 || level.rows == 0) continue;
    level.tiles_across = static_cast<std::uint32_t>((level.columns - 1) / kTileColumns + 1);
    level.step = grid.step;
    level.scale = levels[i].scale;
    level.width = levels[i].width;
    level.height = levels[i].height;
    level.size_class = level_class(table.width, levels[i].scale);
    level.x = slots[i].x;
    level.y = slots[i].y;
    level.tile_rows = table.rows[level.step - 1];
    level.end = level.rows;
    parts.push_back(level);
  }
  int processors = 0;
  if (Status s = check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
                       "asking for the GPU's processors");
      !s.ok())
    return s;
  if (search.in_pairs_) cut_tiles(parts, processors * kPairBlocks);
  std::uint64_t tiles = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    WindowLevel& level = parts[i];
    level.first_tile = static_cast<std::uint32_t>(tiles);
    tiles += tiles_of(level);
    if (tiles > std::numeric_limits<std::int32_t>::max())
      return Status(StatusCode::kUnsupported, "the windows of this picture are too many");
    level_of.resize(static_cast<std::size_t>(tiles), static_cast<std::uint16_t>(i));
  }
  search.tiles_ = static_cast<std::uint32_t>(tiles);
  if (Status s = take(cascade.tables(layouts, search.leaves_late_), search.tables_); !s.ok())
    return s;
  if (Status s = take(upload(parts), search.levels_); !s.ok()) return s;
  if (Status s = take(upload(level_of), search.level_of_); !s.ok()) return s;
  search.raw_ = scratch.add<Rect>(limit);
  search.late_ = scratch.add<LateWindow>(kMostLate);
  const std::size_t first_zero = scratch.bytes();
  search.counts_ = scratch.add<SearchCounts>(1);
  search.skips_ = scratch.add<unsigned long long>(tiles);
  search.late_states_ = scratch.add<LateState>(kMostLate);
  search.zeroed_ = {first_zero, scratch.bytes() - first_zero};
  return Result<CascadeSearch>(std::move(search));  // nvcc does not move by itself
}

void CascadeSearch::bind(std::byte* scratch) {
  raw_.bind(scratch);
  late_.bind(scratch);
  late_states_.bind(scratch);
  counts_.bind(scratch);
  skips_.bind(scratch);
  zeroed_.bind(scratch);
}

Zeros CascadeSearch::zeros() const {
  return {reinterpret_cast<uint4*>(zeroed_.data()), zeroed_.size() / sizeof(uint4)};
}

Status CascadeSearch::enqueue(ImageView<const std::uint8_t> pixels, const SumPlanes& planes,
                              const std::int32_t* run, const Band* band, const DeviceMap& active,
                              Launcher launch) {
  constexpr unsigned kResetBlocks = 32, kResetThreads = 256;
  if (!makes_sums_)
    if (Status s =
            launch("starting the search", reset_kernel, {kResetBlocks, kResetThreads}, zeros());
        !s.ok())
      return s;
  if (tiles_ == 0) return {};
  TileTable table = table_;
  table.levels = levels_.data();
  table.level_of = level_of_.data();
  const DeviceTables& tables = *tables_;
  table.late_nodes = tables.late_nodes.size() > 0 ? tables.late_nodes.data() : nullptr;
  PairNodes pair_nodes = pair_nodes_;
  pair_nodes.nodes = tables.pair_words.data();
  const Output out = {raw_.data(),  raw_.size(),    late_.data(),
                      late_.size(), counts_.data(), late_states_.data()};
  const LaunchShape shape = {tiles_, kThreads, shared_bytes_};
  if (in_pairs_)
    return launch("all stages", pairs_for(active.map), shape, table, tables.view(2), pair_nodes,
                  pixels, skips_.data(), out, run, band, active);
  return launch("all stages", makes_sums_ ? search_kernel<true> : search_kernel<false>, shape,
                table, tables.view(0), tables.view(1), tables.view(2), pixels, planes,
                skips_.data(), out, run, band, active);
}

}  // namespace cuface::cuda
