// The first stage is computed for whole rows of windows; those that pass it are collected over
// several rows and taken through the further stages together.
#include <algorithm>

#include "kernels/cascade/cascade.h"
#include "kernels/cascade/evaluate.h"
#include "kernels/cascade/stage_sums.h"

namespace cuface {
namespace {

// As many candidates are taken through the stages at a time.
constexpr std::size_t kBatch = 1024;

}  // namespace

void CascadeSearch::Candidates::clear() {
  x.clear();
  y.clear();
  offset.clear();
  norm.clear();
}

CascadeSearch::CascadeSearch(const CascadeModel& model, const SumLayout& layout, int max_columns)
    : window_width_(model.window_width),
      window_height_(model.window_height),
      layout_(layout),
      cascade_(model) {
  cascade_.bind(layout);
  const std::size_t row = static_cast<std::size_t>(max_columns), most = row + kBatch;
  row_norm_.resize(row);
  row_sum_.resize(row);
  candidates_.x.reserve(most);
  candidates_.y.reserve(most);
  candidates_.offset.reserve(most);
  candidates_.norm.reserve(most);
  candidates_.sum.resize(most);
  node_value_.assign(static_cast<std::size_t>(cascade_.most_nodes()), std::vector<float>(most));
}

// The norm leaves out a border of one pixel.
template <int kStep>
void CascadeSearch::compute_norms(const std::uint32_t* sum, const std::uint32_t* squared,
                                  int count) {
  const double area = (window_width_ - 2) * (window_height_ - 2);
  const std::ptrdiff_t corner[4] = {layout_.offset(1, 1), layout_.offset(window_width_ - 1, 1),
                                    layout_.offset(1, window_height_ - 1),
                                    layout_.offset(window_width_ - 1, window_height_ - 1)};
  const auto inner_sum = [&](const std::uint32_t* plane, int x) {
    return plane[x + corner[0]] - plane[x + corner[1]] - plane[x + corner[2]] +
           plane[x + corner[3]];
  };
  for (int i = 0; i < count; ++i) {
    const double s = static_cast<std::int32_t>(inner_sum(sum, i * kStep));
    const std::uint32_t q = inner_sum(squared, i * kStep);
    row_norm_[static_cast<std::size_t>(i)] = inverse_norm(area, s, q);
  }
}

// Appends the windows of row y that pass the first stage.
template <int kStep>
void CascadeSearch::run_row(const LevelSums& sums, int y, int count) {
  const std::ptrdiff_t start = layout_.offset(0, y);
  compute_norms<kStep>(sums.sum + start, sums.squared + start, count);
  const BoundCascade::Stage& stage = cascade_.stages().front();
  StageSums(node_value_)
      .compute(stage, sums.sum + start, RowOfWindows<kStep>{}, row_norm_.data(), count,
               row_sum_.data());
  for (int i = 0; i < count; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    if (row_norm_[at] == 0.0f) continue;
    if (row_sum_[at] < stage.threshold) {
      ++i;
      continue;
    }
    candidates_.x.push_back(i * kStep);
    candidates_.y.push_back(y);
    candidates_.offset.push_back(static_cast<std::int32_t>(start + i * kStep));
    candidates_.norm.push_back(row_norm_[at]);
  }
}

// Takes the candidates through the stages behind the first; those that pass stay in the lists.
void CascadeSearch::keep_passing(const std::uint32_t* sum) {
  Candidates& c = candidates_;
  std::size_t count = c.x.size();
  for (const BoundCascade::Stage& stage : cascade_.stages().subspan(1)) {
    if (count == 0) break;
    StageSums(node_value_)
        .compute(stage, sum, ListOfWindows{c.offset.data()}, c.norm.data(), static_cast<int>(count),
                 c.sum.data());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      c.x[kept] = c.x[i];
      c.y[kept] = c.y[i];
      c.offset[kept] = c.offset[i];
      c.norm[kept] = c.norm[i];
      kept += c.sum[i] < stage.threshold ? 0u : 1u;
    }
    count = kept;
  }
  c.x.resize(count);
}

bool CascadeSearch::run(const LevelSums& sums, const SearchGrid& grid, int level, std::size_t limit,
                        std::vector<RawWindow>& out) {
  const int count = (grid.columns + grid.step - 1) / grid.step;
  candidates_.clear();
  for (int y = 0; y < grid.rows; y += grid.step) {
    if (grid.step == 2) {
      run_row<2>(sums, y, count);
    } else {
      run_row<1>(sums, y, count);
    }
    if (candidates_.x.size() < kBatch && y + grid.step < grid.rows) continue;
    keep_passing(sums.sum);
    for (std::size_t i = 0; i < candidates_.x.size(); ++i) {
      if (out.size() >= limit) return false;
      out.push_back({level, candidates_.x[i], candidates_.y[i]});
    }
    candidates_.clear();
  }
  return true;
}

}  // namespace cuface
