// What the searches of one detector share.
#include <algorithm>
#include <utility>

#include "kernels/detect/searcher.h"

namespace cuface {
namespace {

// The rows of windows in a stripe: what is scaled and summed twice, a window's height, stays a
// small part, and what is summed stays in the cache.
constexpr int kStripeRows = 128;
// Of the planes in which several stripes lie.
constexpr int kMostRows = 512;

}  // namespace

int rows_of_stripes(const SearchGrid& grid) {
  const int parts = std::max((grid.rows + kStripeRows / 2) / kStripeRows, 1);
  return (grid.rows + parts * grid.step - 1) / (parts * grid.step) * grid.step;
}

void SharedSearch::make_room(const SearchPlan& plan) {
  int all = 0;
  for (const Level& level : plan_levels(model_, plan)) {
    width_ = std::max(width_, level.width);
    if (level.grid.columns == 0) continue;
    const int rows = rows_of_stripes(level.grid), stripes = (level.grid.rows + rows - 1) / rows;
    rows_ = std::max(rows_, rows + model_.window_height);
    all = std::min(all + stripes * (rows + model_.window_height), kMostRows);
  }
  rows_ = std::max(rows_, all);
}

const SharedSearch::Bound& SharedSearch::bound(const SumLayout& layout) {
  for (const auto& bound : bound_)
    if (bound->cascade.layout() == layout) return *bound;
  auto bound = std::make_unique<Bound>(model_);
  bound->cascade.bind(layout);
  bound->tables = make_search_tables(bound->cascade);
  bound_.push_back(std::move(bound));
  return *bound_.back();
}

SharedSearch::Scratch& SharedSearch::scratch(std::size_t worker) {
  while (scratch_.size() <= worker) {
    scratch_.push_back(std::make_unique<Scratch>());
    scratch_.back()->waiting = make_waiting_lists(model_.stages.size());
  }
  return *scratch_[worker];
}

BoundCascade& SharedSearch::scaled() {
  if (!scaled_) scaled_ = std::make_unique<BoundCascade>(model_);
  return *scaled_;
}

}  // namespace cuface
