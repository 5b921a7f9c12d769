// The method edges [S1.09]: two edge maps differ at a pixel, and within the tolerance around it the
// former has no pixel like the latter's. So an edge that has moved by no more is no change.
//
// By the published rule an edge that has gone counts only where the former map is all edges around
// it. The symmetric rule asks for both directions alike.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"

namespace cuface {

/// A word of two maps and of what lies around their pixels.
struct EdgeWords {
  std::uint64_t then = 0, now = 0;
  std::uint64_t near_then = 0;   ///< an edge of `then` is within the tolerance
  std::uint64_t near_now = 0;    ///< symmetric only: of `now`
  std::uint64_t solid_then = 0;  ///< not symmetric only: all of `then` within the tolerance is edge
};

CUFACE_HD inline std::uint64_t changed_edges(const EdgeWords& words, bool symmetric) {
  const std::uint64_t come = words.now & ~words.near_then;
  const std::uint64_t gone =
      words.then & ~words.now & (symmetric ? ~words.near_now : words.solid_then);
  return come | gone;
}

}  // namespace cuface
