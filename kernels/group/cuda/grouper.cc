#include "kernels/group/cuda/grouper.h"

#include <utility>
#include <vector>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/try.h"

namespace cuface::cuda {

Result<Grouper> Grouper::create(Grouping rule, int min_neighbors, std::uint32_t limit,
                                ScratchLayout& layout) {
  Grouper grouper;
  grouper.rule_ = rule;
  grouper.min_neighbors_ = min_neighbors;
  grouper.limit_ = limit;
  GroupProgress start = {};
  start.mark = 1;
  CUFACE_TRY(take(upload(std::vector{start}), grouper.progress_));
  constexpr std::size_t kRows = kFewWindows / 32;
  CUFACE_TRY(take(upload(std::vector<std::uint64_t>(kRows * (kRows + 1) / 2 * 32)), grouper.said_));
  grouper.parent_ = layout.add<std::int32_t>(limit);
  grouper.sums_ = layout.add<Detection>(limit);
  grouper.means_ = layout.add<Detection>(limit);
  return Result<Grouper>(std::move(grouper));
}

void Grouper::bind(std::byte* scratch) {
  parent_.bind(scratch);
  for (ScratchPart<Detection>* list : {&sums_, &means_}) list->bind(scratch);
}

}  // namespace cuface::cuda
