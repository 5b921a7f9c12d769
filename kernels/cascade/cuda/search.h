// cascade on CUDA: the windows of all levels that pass all stages, the same that CascadeSearch
// finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cascade/cascade.h"
#include "kernels/cascade/cuda/device_tables.h"
#include "kernels/cascade/cuda/plan.h"
#include "kernels/cascade/cuda/survivors.h"
#include "kernels/cells/cells_cuda.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/levels/levels.h"
#include "kernels/pyramid/atlas.h"

namespace cuface::cuda {

struct SearchOutput;

/// How many windows came how far.
struct SearchCounts {
  std::uint32_t listed;       ///< passed the stages that all go through, and were not skipped
  std::uint32_t exact;        ///< stages that were decided by the definition and not by integers
  std::uint32_t raw;          ///< passed all; more than kMaxRawWindows are counted, not stored
  std::uint32_t queued;       ///< in the queue of survivors
  std::uint32_t taken;        ///< of those, and of places behind the last
  std::uint32_t begun, done;  ///< tiles
};

class CascadeSearch {
 public:
  /// levels[i] lies at slots[i] of the atlas of pixels. Room for `limit` raw windows. Allocates its
  /// tables. kUnsupported where there are too many windows, or those are too large (plan_tiles()).
  /// Tables of the cascade are those that other searches of it use.
  static Result<CascadeSearch> create(DeviceCascade& cascade, const std::vector<Level>& levels,
                                      const std::vector<AtlasSlot>& slots, std::uint32_t limit,
                                      ScratchLayout& scratch);
  void bind(std::byte* scratch);

  /// What is to be 0 when enqueue()'s kernel begins: by a kernel in front of it, whether or not
  /// there is a search.
  Zeros zeros() const;

  /// Leaves the boxes of the windows that pass in raw_windows(), in any order, and their number in
  /// counts(); with *run 0 the number is 0. `pixels` are the planned atlas. Only the rows of *band
  /// are searched (band_rows()); null = all. Of kActiveParts only the windows that `active` has on,
  /// the others neither pass nor fail.
  Status enqueue(ImageView<const std::uint8_t> pixels, const std::int32_t* run,
                 const SearchRegion* band, const DeviceMap& active, Launcher launch);

  /// Searches all of `pictures` pictures, of which each has its atlas and its scratch `apart` bytes
  /// behind those of the one before: by one launch, where windows are searched in pairs. `scratch`
  /// is the first one's, and bound afterwards.
  Status enqueue_many(ImageView<const std::uint8_t> pixels, std::byte* scratch, unsigned pictures,
                      std::size_t apart, Launcher launch);

  // In device memory.
  const Rect* raw_windows() const { return raw_.data(); }
  const SearchCounts* counts() const { return counts_.data(); }
  const WindowLevel* levels() const { return levels_.data(); }  ///< some of them in two parts
  std::int32_t level_count() const { return static_cast<std::int32_t>(levels_.size()); }

 private:
  TileTable table() const;
  PairNodes pair_nodes() const;
  SearchOutput output() const;

  std::shared_ptr<const DeviceTables> tables_;
  DeviceBuffer<WindowLevel> levels_;
  DeviceBuffer<std::uint16_t> level_of_;
  ScratchPart<Rect> raw_;
  static constexpr std::size_t kQueueCapacity = 32768;
  ScratchPart<Survivor> queue_;
  ScratchPart<SurvivorState> queue_states_;
  ScratchPart<std::byte> zeroed_;  ///< the counts, skips and states
  ScratchPart<SearchCounts> counts_;
  ScratchPart<unsigned long long> skips_;  ///< per tile: see tile.cuh
  TilePlan plan_;
  std::uint32_t tiles_ = 0;
};

}  // namespace cuface::cuda
