#include "kernels/group/group_cuda.h"

#include <utility>
#include <vector>

#include "kernels/common/cuda_table.h"

namespace cuface::cuda {

Result<Grouper> Grouper::create(Grouping rule, int min_neighbors, std::uint32_t limit,
                                ScratchLayout& layout) {
  Grouper grouper;
  grouper.rule_ = rule;
  grouper.min_neighbors_ = min_neighbors;
  grouper.limit_ = limit;
  if (Status s = take(upload(std::vector<GroupProgress>(1)), grouper.progress_); !s.ok()) return s;
  grouper.related_ = layout.add<std::uint32_t>(kFewWindows / 32 * kFewWindows);
  grouper.parent_ = layout.add<std::int32_t>(limit);
  grouper.sums_ = layout.add<Detection>(limit);
  grouper.means_ = layout.add<Detection>(limit);
  return Result<Grouper>(std::move(grouper));
}

void Grouper::bind(std::byte* scratch) {
  related_.bind(scratch);
  parent_.bind(scratch);
  for (ScratchPart<Detection>* list : {&sums_, &means_}) list->bind(scratch);
}

}  // namespace cuface::cuda
