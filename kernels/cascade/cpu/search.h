// The search in vector code: what its instruction sets share.
//
// A vector holds neighbouring windows of a row. They go through the stages together, reading their
// sums side by side, until few of them are left. Those wait, stage by stage, until windows from
// anywhere fill vectors. Parts of several levels that lie in the same planes wait together: else
// the last vectors of each part's stages would be nearly empty.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/cascade/vector_tables.h"
#include "kernels/common/image.h"
#include "kernels/common/stop_flag.h"

namespace cuface {

/// A list of windows that wait for a stage.
struct WaitingWindows {
  static constexpr std::size_t kCapacity = 256;
  static constexpr std::size_t kPadding = 32;  ///< what two vectors may read and write behind
  /// Whether two more vectors may leave no room for another two.
  bool is_full() const { return count > kCapacity - kPadding; }
  std::size_t count = 0;
  std::array<std::int32_t, kCapacity + kPadding> offset;  ///< of their first word in the sum plane
  std::array<float, kCapacity + kPadding> norm;
};

/// Of each stage.
struct WaitingLists {
  explicit WaitingLists(std::size_t stages) : of_stage(stages) {}
  void clear() {
    for (WaitingWindows& list : of_stage) list.count = 0;
    full = 0;
  }
  std::vector<WaitingWindows> of_stage;
  std::size_t full = 0;  ///< the last stage whose list is full; 0 = none is
};

/// Where the sums of a window go when it is copied: row after row, the columns in order. Word after
/// word lie those of a vector's windows together.
struct PackedLayout {
  /// Larger windows are read where they are: copies of 32 of them would leave the nearest cache.
  static constexpr int kMostWords = 28 * 25;

  /// Nothing to copy for cascades with tilted features, which read another plane.
  PackedLayout(const CascadeModel& model, const SumLayout& layout);
  int words() const { return rows * row_words; }
  bool packs() const { return row_words > 0 && words() <= kMostWords; }
  std::int32_t packed(std::int32_t corner, const SumLayout& layout) const;

  int stride, step;         ///< of the plane that is copied from
  int rows, row_words = 0;  ///< of a copy; what is read behind the window is not used
};

/// What all searches of a bound cascade read. Thread-safe. The cascade must outlive it.
class SearchTables {
 public:
  explicit SearchTables(const BoundCascade& cascade);

  const BoundCascade& cascade() const { return cascade_; }
  const std::vector<VectorStage>& stages() const { return tables_.stages(); }
  int most_nodes() const { return tables_.most_nodes(); }
  const PackedLayout& packed_layout() const { return packed_layout_; }
  /// The same for copies of `lanes` windows: corners of nodes that are short are places in the
  /// copy. Once a number of lanes is in use, another may be asked for by the only search that runs.
  const std::vector<VectorStage>& packed_stages(std::size_t lanes);

 private:
  const BoundCascade& cascade_;
  const VectorTables tables_;
  const PackedLayout packed_layout_;
  std::vector<VectorNode> packed_nodes_;
  std::vector<VectorStage> packed_stages_;
  std::mutex mutex_;                           ///< of packed_nodes_ while they change
  std::atomic<std::size_t> packed_lanes_ = 0;  ///< that packed_nodes_ are for
};

/// Serves one thread at a time.
class VectorSearch {
 public:
  VectorSearch(std::shared_ptr<SearchTables> tables, std::shared_ptr<WaitingLists> waiting,
               int max_columns, const StopFlag* stop);

  /// As CascadeSearch::run.
  bool run(const LevelSums& sums, std::span<const SearchPart> parts, std::size_t limit,
           std::vector<RawWindow>& out);

  // For the code of each instruction set.

  const BoundCascade& cascade() const { return tables_->cascade(); }
  const std::vector<VectorStage>& stages() const { return tables_->stages(); }
  const PackedLayout& packed_layout() const { return tables_->packed_layout(); }
  const std::vector<VectorStage>& packed_stages(std::size_t lanes) {
    return tables_->packed_stages(lanes);
  }
  std::int16_t* packed() { return packed_.view().data; }
  /// Of a tree that has a node `node`: room for the value of each of a tree's nodes.
  std::vector<std::int32_t>& node_values() { return node_values_; }
  std::vector<float>& row_norm() { return row_norm_; }
  /// A bit for each window of a row.
  std::vector<std::uint64_t>& failed() { return failed_; }
  std::vector<std::uint64_t>& alive() { return alive_; }
  WaitingWindows& waiting(std::size_t stage) { return waiting_->of_stage[stage]; }
  std::size_t full() const { return waiting_->full; }
  void set_full(std::size_t stage) { waiting_->full = stage; }
  /// Offsets of the windows that passed all stages, in any order.
  std::vector<std::int32_t>& found() { return found_; }
  /// Asked every kWindowsPerLook windows of a row, and before each stage of those that wait.
  bool stopped() const { return is_raised(stop_); }

 private:
  const std::shared_ptr<SearchTables> tables_;
  const std::shared_ptr<WaitingLists> waiting_;
  const StopFlag* const stop_;
  Image<std::int16_t> packed_;
  std::vector<std::int32_t> node_values_;
  std::vector<float> row_norm_;
  std::vector<std::uint64_t> failed_, alive_;
  std::vector<std::int32_t> found_;
};

}  // namespace cuface
