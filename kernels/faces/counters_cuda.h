// The GPU's counters for the elements' stats. The host reads them in pinned memory, without a copy
// or a wait.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/tally.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces_cuda.h"

namespace cuface::cuda {

struct FaceCounters {
  std::uint64_t searches, skipped_searches, overflows, faces, lost_tracks;
  std::uint64_t unused[2];
  std::uint64_t last_id;  ///< the greatest id of any face
};

/// What of a frame's faces an element counts as its own.
struct CountedWork {
  /// Device flag of whether it has searched: 0 = no, 1 = yes, 2 = yes, as a part of a search that
  /// is counted already. Null = never.
  const std::int32_t* searched = nullptr;
  bool tracks = false;                    ///< the tracks lost are its own
  const std::int32_t* skipped = nullptr;  ///< device flag of a search skipped; null = never
  /// In pinned memory: whether the faces want a search (DeviceFaces::search_wanted), 0 or 1. Null =
  /// nobody asks.
  std::int32_t* wants_search = nullptr;
  Tally<std::uint64_t> over{};  ///< as count_over() counts (submissions.h); none = nobody asks
};

/// Lists that an element's kernels write, always to the same memory, and where they go from there:
/// another place on each frame.
struct Delivery {
  static constexpr int kMost = 2;
  struct From {
    const DeviceFaces* list[kMost] = {};
  };
  struct To {
    DeviceFaces* list[kMost] = {};  ///< those that are null get nothing
  };
  From from;
  To to;
};

/// Delivers the lists, and adds one frame's faces. One launch.
Status count_faces(const DeviceFaces* faces, const CountedWork& work, Tally<FaceCounters> counters,
                   Launcher launch, const Delivery& delivery = {});

}  // namespace cuface::cuda
