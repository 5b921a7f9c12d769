// The counters of an element.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace cuface::gst {

/// Each number in its place; the places are the element's own. The last one is no sum, but the
/// greatest number that came up.
using Counts = std::array<std::uint64_t, 8>;

inline void add_counts(Counts& to, const Counts& more) {
  for (std::size_t i = 0; i + 1 < to.size(); ++i) to[i] += more[i];
  to.back() = std::max(to.back(), more.back());
}

}  // namespace cuface::gst
