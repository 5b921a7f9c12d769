#include <algorithm>
#include <limits>

#include "kernels/cascade/cuda/pair_search.cuh"
#include "kernels/cascade/cuda/plan.h"
#include "kernels/cascade/cuda/search.h"
#include "kernels/cascade/cuda/survivors.cuh"
#include "kernels/cascade/cuda/tile.cuh"
#include "kernels/cascade/cuda/window_search.cuh"
#include "kernels/common/cuda/attributes.h"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/try.h"

namespace cuface::cuda {

constexpr std::size_t kOwnShared = 2048;  // what kernels have besides: TileBlock, counts of pairs

Result<CascadeSearch> CascadeSearch::create(DeviceCascade& cascade,
                                            const std::vector<Level>& levels,
                                            const std::vector<AtlasSlot>& slots,
                                            std::uint32_t limit, ScratchLayout& scratch) {
  CascadeSearch search;
  TilePlan& plan = search.plan_;
  int most_step = 1;
  for (const Level& level : levels) most_step = std::max(most_step, level.grid.step);
  CUFACE_TAKE(most_shared, most_shared_memory());
  const auto pairs = [&](const SearchLayouts& layouts, int most_stages) -> const PairNodes& {
    return cascade.pairs(layouts, most_stages);
  };
  const std::size_t shared = static_cast<std::size_t>(most_shared) - kOwnShared;
  CUFACE_TRY(take(plan_tiles(cascade.model(), pairs, most_step, shared), plan));
  // The limit belongs to the kernel: one of this plan would be too little for others.
  for (const void* kernel : {plan.in_pairs ? reinterpret_cast<const void*>(pairs_for(false))
                                           : reinterpret_cast<const void*>(search_kernel),
                             reinterpret_cast<const void*>(pairs_for(true)),
                             reinterpret_cast<const void*>(pairs_of_many_kernel)}) {
    CUFACE_TRY(check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          static_cast<int>(shared)),
                     "asking for shared memory"));
  }

  std::vector<WindowLevel> parts;
  std::vector<std::uint16_t> level_of;
  for (std::size_t i = levels.size(); i-- > 0;) {
    const SearchGrid& grid = levels[i].grid;
    WindowLevel level = {};
    level.columns = (grid.columns + grid.step - 1) / grid.step;
    level.rows = (grid.rows + grid.step - 1) / grid.step;
    if (level.columns == 0 || level.rows == 0) continue;
    level.step = grid.step;
    level.tile_columns = plan.table.columns[level.step - 1];
    level.tile_rows = plan.table.rows[level.step - 1];
    level.tiles_across = static_cast<std::uint32_t>((level.columns - 1) / level.tile_columns + 1);
    level.scale = levels[i].scale;
    level.width = levels[i].width;
    level.height = levels[i].height;
    level.size_class = level_class(plan.table.width, levels[i].scale);
    level.x = slots[i].x;
    level.y = slots[i].y;
    level.end = level.rows;
    parts.push_back(level);
  }
  CUFACE_TAKE(processors, multiprocessors());
  if (plan.in_pairs) cut_tiles(parts, processors * kPairBlocks);
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
  CUFACE_TRY(take(cascade.tables(plan.layouts, plan.queues_survivors), search.tables_));
  CUFACE_TRY(take(upload(parts), search.levels_));
  CUFACE_TRY(take(upload(level_of), search.level_of_));
  search.raw_ = scratch.add<Rect>(limit);
  search.queue_ = scratch.add<Survivor>(kQueueCapacity);
  const std::size_t first_zero = scratch.bytes();
  search.counts_ = scratch.add<SearchCounts>(1);
  search.skips_ = scratch.add<unsigned long long>(tiles);
  search.queue_states_ = scratch.add<SurvivorState>(kQueueCapacity);
  search.zeroed_ = {first_zero, scratch.bytes() - first_zero};
  return Result<CascadeSearch>(std::move(search));  // nvcc does not move by itself
}

void CascadeSearch::bind(std::byte* scratch) {
  raw_.bind(scratch);
  queue_.bind(scratch);
  queue_states_.bind(scratch);
  counts_.bind(scratch);
  skips_.bind(scratch);
  zeroed_.bind(scratch);
}

Zeros CascadeSearch::zeros() const {
  return {reinterpret_cast<uint4*>(zeroed_.data()), zeroed_.size() / sizeof(uint4)};
}

Status CascadeSearch::enqueue(ImageView<const std::uint8_t> pixels, const std::int32_t* run,
                              const SearchRegion* band, const DeviceMap& active, Launcher launch) {
  if (tiles_ == 0) return {};
  const DeviceTables& tables = *tables_;
  const LaunchShape shape = {tiles_, kSearchThreads, plan_.shared_bytes};
  if (plan_.in_pairs)
    return launch("all stages", pairs_for(active.map), shape, table(), tables.view(2), pair_nodes(),
                  pixels, skips_.data(), output(), run, band, active);
  return launch("all stages", search_kernel, shape, table(), tables.view(0), tables.view(1),
                tables.view(2), pixels, skips_.data(), output(), run, band, active);
}

Status CascadeSearch::enqueue_many(ImageView<const std::uint8_t> pixels, std::byte* scratch,
                                   unsigned pictures, std::size_t apart, Launcher launch) {
  if (!plan_.in_pairs) {
    ImageView<const std::uint8_t> of_picture = pixels;
    for (unsigned i = 0; i < pictures; ++i, of_picture.data += apart) {
      bind(scratch + i * apart);
      CUFACE_TRY(enqueue(of_picture, nullptr, nullptr, {}, launch));
    }
    bind(scratch);
    return {};
  }
  bind(scratch);
  if (tiles_ == 0) return {};
  return launch("all stages", pairs_of_many_kernel,
                {dim3(tiles_, pictures), kSearchThreads, plan_.shared_bytes}, table(),
                tables_->view(2), pair_nodes(), pixels, skips_.data(), output(), apart);
}

TileTable CascadeSearch::table() const {
  TileTable table = plan_.table;
  table.levels = levels_.data();
  table.level_of = level_of_.data();
  table.survivor_nodes =
      tables_->survivor_nodes.size() > 0 ? tables_->survivor_nodes.data() : nullptr;
  return table;
}

PairNodes CascadeSearch::pair_nodes() const {
  PairNodes nodes = plan_.pairs;
  nodes.nodes = tables_->pair_words.data();
  return nodes;
}

SearchOutput CascadeSearch::output() const {
  return {raw_.data(),   raw_.size(),    queue_.data(),
          queue_.size(), counts_.data(), queue_states_.data()};
}

}  // namespace cuface::cuda
