// Matching in device memory: the matches of cuface::Matcher, in its order.
//
// nearest.h: its kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/status.h"
#include "kernels/match/cuda/nearest.h"
#include "kernels/match/match.h"

namespace cuface::cuda {

/// Matches sets up to a size. Allocates nothing; its scratch is used by one pair of sets at a time.
class Matcher {
 public:
  /// For up to so many descriptors a set; adds what it needs to `layout`. kInvalidArgument as
  /// cuface::Matcher, or where these are more than kMostKeypoints.
  static Result<Matcher> create(const MatchConfig& config, int most_queries, int most_trains,
                                ScratchLayout& layout);
  /// The memory of the layout, all zero, before the first sets.
  void bind(std::byte* scratch);

  /// Puts two kernels there; all lies in device memory, `out` with room for query.most. Errors as
  /// cuface::Matcher::run(), and kInvalidArgument where a set is larger than planned or no
  /// multiple of 16 bytes begins a descriptor.
  Status enqueue(const DeviceBinarySet& query, const DeviceBinarySet& train, DeviceMatches* out,
                 Launcher launch) const;
  Status enqueue(const DeviceFloatSet& query, const DeviceFloatSet& train, DeviceMatches* out,
                 Launcher launch) const;

 private:
  explicit Matcher(const MatchConfig& config) : config_(config) {}
  template <typename T>
  Status enqueue_sets(const DeviceSet<T>& query, const DeviceSet<T>& train, DeviceMatches* out,
                      Launcher launch) const;

  MatchConfig config_;
  int most_queries_ = 0, most_trains_ = 0;
  int parts_ = 1;  ///< of `train`
  ScratchPart<match::Nearest> of_queries_;
  ScratchPart<match::Owner> owners_;  ///< with cross_check
};

}  // namespace cuface::cuda
