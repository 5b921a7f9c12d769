#include "kernels/cascade/cuda/plan.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "kernels/cascade/cuda/survivors.h"

namespace cuface::cuda {
namespace {

constexpr std::size_t kMostShared = std::size_t{76} << 10;   // that blocks have room beside others
constexpr std::size_t kMostPatches = std::size_t{48} << 10;  // without asking for it
constexpr std::size_t kMostPairShared = std::size_t{74} << 10;  // the same beside kPairThreads' own
constexpr int kFewestPairStages = 6;                            // for which pairs pay
constexpr int kSurvivorStage = 10;                              // from which on windows are queued
constexpr int kFewestColumns = 8;  // of a tile, where windows are large
constexpr int kLowRows = 16;       // as many as leave no warp without a row of pairs
constexpr int kLowOf = 3;          // so many of those that run at once, one is low at the end

SumLayout tile_layout(const CascadeModel& model, int step, int columns) {
  const int words = (columns - 1) * step + model.window_width + 1, even = words + words % step;
  // A row of tilted sums lies behind each row of sums; with step 2 each half behind its half.
  if (model.has_tilted()) return {2 * even, even / step, step};
  return {even, 0, step};
}

std::size_t multiple_of_four(std::size_t words) { return (words + 3) / 4 * 4; }

/// Words of a tile's sums.
std::size_t sums_of(const TileTable& table, int step) {
  const auto i = static_cast<std::size_t>(step - 1);
  return multiple_of_four(static_cast<std::size_t>(table.stride[i]) *
                          static_cast<std::size_t>((table.rows[i] - 1) * step + table.height + 1));
}

/// Bytes of the lists of windows one by one.
std::size_t list_bytes(int rows) {
  constexpr std::size_t kWindow = sizeof(float) + 2 * sizeof(std::uint16_t);
  return kFewWindows * sizeof(std::int32_t) +
         static_cast<std::size_t>(rows) * kTileColumns * kWindow;
}

/// Words of the lists of a search in pairs; the tile's pixels lie there before.
std::size_t pair_words(const TileTable& table, int step) {
  constexpr std::size_t kPair =
      2 * sizeof(float) + 2 * sizeof(std::int32_t) + 2 * sizeof(std::uint16_t);
  const int rows = table.rows[step - 1], width = (kTileColumns - 1) * step + table.width;
  const auto lists = static_cast<std::size_t>(rows / 2) * kTileColumns * kPair / kWordBytes;
  const auto pixels = static_cast<std::size_t>(tile_words(width)) *
                      static_cast<std::size_t>((rows - 1) * step + table.height);
  return multiple_of_four(std::max(lists, pixels));
}

/// Half the pixels of a window without its border have sums of 16 bits.
bool has_pair_norms(const CascadeModel& model) {
  const int rows = model.window_height - 1 - model.window_height / 2;
  return (model.window_width - 2) * rows * 255 < 1 << 16;
}

std::size_t patch_words(const TilePlan& plan) {
  return plan.queues_survivors ? kSearchThreads / 32 *
                                     static_cast<std::size_t>(
                                         survivor_patch_words(plan.table.width, plan.table.height))
                               : 0;
}

/// Gives the tiles of a step so many columns, and as many rows as fit `room`. Returns the bytes
/// that a block needs; more than `room` where not even two rows fit.
std::size_t fit_rows(const CascadeModel& model, TilePlan& plan, int step, int columns,
                     std::size_t room) {
  const auto i = static_cast<std::size_t>(step - 1);
  TileTable& table = plan.table;
  plan.layouts[i] = tile_layout(model, step, columns);
  table.stride[i] = plan.layouts[i].stride;
  table.tilted[i] = static_cast<std::int32_t>(plan.layouts[i].tilted);
  table.columns[i] = columns;
  for (table.rows[i] = kMostTileRows;; table.rows[i] -= 2) {
    // The sums of survivors lie in place of the tile's.
    const std::size_t sums = std::max(sums_of(table, step), patch_words(plan));
    const std::size_t behind = sums + (plan.in_pairs ? pair_words(table, step) : 0);
    table.list_offset[i] = static_cast<std::int32_t>(sums);
    table.node_offset[i] = static_cast<std::int32_t>(behind);
    const std::size_t bytes =
        behind * sizeof(std::uint32_t) +
        (plan.in_pairs ? static_cast<std::size_t>(plan.pairs.size) * sizeof(uint4)
                       : list_bytes(table.rows[i]));
    if (bytes <= room || table.rows[i] == 2) return bytes;
  }
}

/// Gives tiles the columns with which they have most windows. False where no tile fits `room`.
bool fit_tiles(const CascadeModel& model, TilePlan& plan, int most_step, std::size_t room) {
  plan.shared_bytes = 0;
  for (int step = 1; step <= 2; ++step) {
    int best = 0, most = 0;
    for (int columns = kTileColumns; columns >= (plan.in_pairs ? kTileColumns : kFewestColumns);
         columns /= 2) {
      if (fit_rows(model, plan, step, columns, room) > room) continue;
      const int windows = columns * plan.table.rows[step - 1];
      if (windows <= most) continue;
      most = windows;
      best = columns;
    }
    if (best == 0 && step <= most_step) return false;
    const std::size_t bytes = fit_rows(model, plan, step, best > 0 ? best : kFewestColumns, room);
    if (step <= most_step) plan.shared_bytes = std::max(plan.shared_bytes, bytes);
  }
  return true;
}

/// What does not depend on how tiles are cut, and what follows from that.
void fill_table(const CascadeModel& model, TilePlan& plan) {
  TileTable& table = plan.table;
  table.patch_words = plan.queues_survivors ? survivor_patch_words(table.width, table.height) : 0;
  table.survivor_bytes = plan.queues_survivors ? static_cast<std::int32_t>(plan.shared_bytes) : 0;
  table.stage_count = static_cast<std::int32_t>(model.stages.size());
  table.survivor_stage = plan.in_pairs           ? plan.pairs.stage_count
                         : plan.queues_survivors ? kSurvivorStage
                                                 : table.stage_count;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto offset = [&](int x, int y) {
      return kWordBytes * static_cast<std::int32_t>(plan.layouts[i].offset(x, y));
    };
    for (int c = 0; c < 4; ++c)
      table.border[i][c] =
          offset(c % 2 == 0 ? 1 : table.width - 1, c / 2 == 0 ? 1 : table.height - 1);
    for (int c = 0; c < 2; ++c)
      table.middle[i][c] = offset(c == 0 ? 1 : table.width - 1, table.height / 2);
  }
}

}  // namespace

Result<TilePlan> plan_tiles(const CascadeModel& model, const PairNodesOf& pairs, int most_step,
                            std::size_t shared) {
  TilePlan plan;
  plan.table.width = model.window_width;
  plan.table.height = model.window_height;
  for (int step = 1; step <= 2; ++step)
    plan.layouts[static_cast<std::size_t>(step - 1)] = tile_layout(model, step, kTileColumns);
  plan.layouts[2] = {model.window_width + 1};
  plan.queues_survivors = !model.has_tilted();
  plan.queues_survivors =
      plan.queues_survivors && patch_words(plan) * sizeof(std::uint32_t) <= kMostPatches;
  bool fits = false;
  if (plan.queues_survivors && has_pair_norms(model) && plan.layouts[1].stride <= kMostEach * 32) {
    plan.pairs = pairs(plan.layouts, kSurvivorStage);
    plan.in_pairs = plan.pairs.stage_count >=
                    std::min(static_cast<int>(model.stages.size()), kFewestPairStages);
    fits = plan.in_pairs && fit_tiles(model, plan, most_step, std::min(shared, kMostPairShared));
    plan.in_pairs = fits;
  }
  // Large windows take a block all there is.
  for (const std::size_t room : {std::min(shared, kMostShared), shared})
    fits = fits || fit_tiles(model, plan, most_step, room);
  if (!fits)
    return Status(StatusCode::kUnsupported,
                  "windows of " + std::to_string(model.window_width) + "x" +
                      std::to_string(model.window_height) +
                      " pixels are too large for this GPU's shared memory: search on the CPU, "
                      "with backend=cpu and frames in system memory");
  fill_table(model, plan);
  return plan;
}

std::uint64_t tiles_of(const WindowLevel& level) {
  return std::uint64_t{level.tiles_across} *
         static_cast<std::uint64_t>((level.end - level.begin - 1) / level.tile_rows + 1);
}

void cut_tiles(std::vector<WindowLevel>& levels, int at_once) {
  std::uint64_t all = 0;
  for (const WindowLevel& level : levels) all += tiles_of(level);
  if (all < static_cast<std::uint64_t>(at_once)) return;
  int left = at_once / kLowOf;
  for (std::size_t i = levels.size(); i-- > 0 && left > 0;) {
    const int full = levels[i].tile_rows;
    if (full <= kLowRows) continue;
    const int across = static_cast<int>(levels[i].tiles_across);
    const int rows = levels[i].end - levels[i].begin;
    const int low_rows = (left - 1) / across * kLowRows + kLowRows;
    const int above = std::max(rows - low_rows, 0) / full * full;
    if (above == 0) {
      levels[i].tile_rows = kLowRows;
      left -= static_cast<int>(tiles_of(levels[i]));
      continue;
    }
    WindowLevel below = levels[i];
    levels[i].end = below.begin += above;
    below.tile_rows = kLowRows;
    levels.insert(levels.begin() + static_cast<std::ptrdiff_t>(i) + 1, below);
    return;
  }
}

}  // namespace cuface::cuda
