// What a search on CUDA prepares on the host, without a GPU.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cascade/cuda/plan.h"
#include "kernels/cascade/cuda/search_tables.h"

namespace cuface::test {

/// The tables that CUDA reads, made as cuda::CascadeSearch asks for them, for one search; nothing
/// is launched.
inline void make_device_tables(const CascadeModel& model) {
  constexpr std::size_t kShared = 62 << 10;  // of the oldest GPUs
  std::vector<uint4> pair_words;
  cuda::PairNodes pairs;
  const auto make_pairs = [&](const cuda::SearchLayouts& layouts,
                              int most) -> const cuda::PairNodes& {
    return pairs = cuda::pair_nodes(model, {layouts[0], layouts[1]}, most, pair_words);
  };
  const auto plan = cuda::plan_tiles(model, make_pairs, 2, kShared);
  if (!plan.ok()) return;
  cuda::FlatCascade flat;
  BoundCascade bound(model);
  for (const SumLayout& layout : plan.value().layouts) {
    bound.bind(layout);
    cuda::add_layout(bound, flat);
  }
  if (plan.value().queues_survivors) (void)cuda::survivor_nodes(model);
}

}  // namespace cuface::test
