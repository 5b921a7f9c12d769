// The plain reference: window after window, as the definition says.
#include <utility>

#include "kernels/cascade/cpu/search.h"
#include "kernels/cascade/evaluate.h"
#include "kernels/cascade/row_rule.h"
#include "kernels/common/simd.h"

namespace cuface {
namespace {

// The norm leaves out a border of one pixel.
class WindowNorm {
 public:
  explicit WindowNorm(const BoundCascade& cascade) {
    const int w = cascade.model().window_width, h = cascade.model().window_height;
    const SumLayout& layout = cascade.layout();
    area_ = (w - 2) * (h - 2);
    corner_[0] = layout.offset(1, 1);
    corner_[1] = layout.offset(w - 1, 1);
    corner_[2] = layout.offset(1, h - 1);
    corner_[3] = layout.offset(w - 1, h - 1);
  }
  float operator()(const std::uint32_t* sum, const std::uint32_t* squared) const {
    return inverse_norm(area_, static_cast<std::int32_t>(inner(sum)), inner(squared));
  }

 private:
  std::uint32_t inner(const std::uint32_t* plane) const {
    return plane[corner_[0]] - plane[corner_[1]] - plane[corner_[2]] + plane[corner_[3]];
  }

  double area_;
  std::ptrdiff_t corner_[4];
};

bool search_plain(const BoundCascade& cascade, const LevelSums& sums, const SearchPart& part,
                  std::size_t limit, std::vector<RawWindow>& out, const StopFlag* stop) {
  const WindowNorm norm_of(cascade);
  const std::size_t stages = cascade.stages().size();
  const SearchGrid& grid = part.grid;
  for (int y = 0; y < grid.rows; y += grid.step) {
    const std::uint64_t* active = part.mask.row(y / grid.step);
    int next_look = 0;
    for (int x = 0; x < grid.columns; x += grid.step) {
      if (x >= next_look) {
        if (is_raised(stop)) return false;
        next_look = x + kWindowsPerLook * grid.step;
      }
      const int bit = x / grid.step;
      if (active && !(active[bit / 64] >> (bit % 64) & 1)) continue;
      const std::ptrdiff_t at = cascade.layout().offset(x, part.row + y);
      const float norm = norm_of(sums.sum + at, sums.squared + at);
      if (norm == 0.0f) continue;
      const std::size_t failed = cascade.failed_stage(sums.sum + at, norm);
      if (skips_next(failed)) x += grid.step;
      if (failed < stages) continue;
      if (out.size() >= limit) return false;
      out.push_back({part.level, part.left + x, part.top + y});
    }
  }
  return true;
}

}  // namespace

std::shared_ptr<SearchTables> make_search_tables(const BoundCascade& cascade) {
  return simd::vectors() ? std::make_shared<SearchTables>(cascade) : nullptr;
}

std::shared_ptr<WaitingLists> make_waiting_lists(std::size_t stages) {
  return std::make_shared<WaitingLists>(stages);
}

CascadeSearch::CascadeSearch(const BoundCascade& cascade, int max_columns, const StopFlag* stop)
    : CascadeSearch(cascade, max_columns, make_search_tables(cascade),
                    make_waiting_lists(cascade.stages().size()), stop) {}

CascadeSearch::CascadeSearch(const BoundCascade& cascade, int max_columns,
                             std::shared_ptr<SearchTables> tables,
                             std::shared_ptr<WaitingLists> waiting, const StopFlag* stop)
    : cascade_(cascade), stop_(stop) {
  if (tables)
    vector_ =
        std::make_unique<VectorSearch>(std::move(tables), std::move(waiting), max_columns, stop);
}

CascadeSearch::~CascadeSearch() = default;

bool CascadeSearch::run(const LevelSums& sums, std::span<const SearchPart> parts, std::size_t limit,
                        std::vector<RawWindow>& out) {
  if (vector_) return vector_->run(sums, parts, limit, out);
  for (const SearchPart& part : parts)
    if (!search_plain(cascade_, sums, part, limit, out, stop_)) return false;
  return true;
}

}  // namespace cuface
