// activity on CUDA: the map that the CPU's Activity makes, left in device memory.
#pragma once

#include <cstdint>

#include "kernels/activity/activity.h"
#include "kernels/cells/cells_cuda.h"
#include "kernels/cells/region.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/faces/followed_cuda.h"

namespace cuface::cuda {

/// What it remembers of the picture last searched is its own, not of a scratch. Starts like the
/// CPU's. Serves one stream at a time.
class Activity {
 public:
  /// In device memory.
  struct State {
    ActivityMap map;
    std::uint64_t changed[kMostCells] = {};
    std::uint64_t taken[kMostCells] = {};  ///< bits like those: whether there are means of the cell
    std::int32_t search = 0;               ///< see search()
    std::int32_t due = 0;                  ///< see due()
    /// As the CPU's, of the last search of active parts.
    std::int32_t changed_cells = 0, cells = 0;

    /// Whether nothing is to be searched because nothing has changed.
    CUFACE_HD bool is_unchanged(const SearchRegion& searched) const {
      return searched.only_if_changed() && changed_cells == 0;
    }
  };

  Activity() = default;
  /// As cuface::Activity. Allocates.
  static Result<Activity> create(int width, int height, int full_width, int full_height,
                                 bool no_parts = false);

  /// Before a search of `band` (null = the whole picture): for kActiveParts, kChangedParts and
  /// kNewParts what look() does, for the whole picture take(). `run`, `band` and `followed` (null =
  /// nobody) in device memory; where *run is 0 nothing happens. Two launches.
  Status enqueue(ImageView<const std::uint8_t> picture, const std::int32_t* run,
                 const SearchRegion* band, const FollowedFaces* followed, Launcher launch);
  /// As the CPU's take(), where *run is not 0. One launch.
  Status take_all(ImageView<const std::uint8_t> picture, const std::int32_t* run, Launcher launch);

  /// For a search behind it.
  DeviceMap map() const {
    return {state_.size() > 0 ? &state_.data()->map : nullptr, grid_.columns, grid_.rows};
  }
  /// For a search behind it too, as its `run`: in device memory, 0 where *run is, and for
  /// active parts where no cell is on, or nothing has changed and nothing else counts.
  const std::int32_t* search() const { return &state_.data()->search; }
  std::int32_t* search() { return &state_.data()->search; }
  /// In device memory too: 0 where *run is, and where nothing has changed and nothing else counts.
  /// Behind it is what must run though no cell is on: it says that nothing was found.
  const std::int32_t* due() const { return &state_.data()->due; }
  const State* state() const { return state_.data(); }  ///< null before create()

 private:
  Status changes(ImageView<const std::uint8_t> picture, const std::int32_t* run,
                 const SearchRegion* band, const FollowedFaces* followed, Launcher launch);

  CellGrid grid_;
  int full_width_ = 0, full_height_ = 0;
  bool no_parts_ = false;
  DeviceBuffer<State> state_;
  DeviceBuffer<std::uint8_t> then_;  ///< means, row after row
};

}  // namespace cuface::cuda
