// OpenCV's row rule, for the host and for a device alike. A window that fails the first stage makes
// the search skip the next one in its row. A flat window does not, and skipped ones fail nothing.
// Which rows and columns have windows at all is kernels/levels/levels.h's. search_plain() in
// reference.cc is the plain user.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"

namespace cuface {

/// For a search window by window: whether it skips the next window.
CUFACE_HD inline bool skips_next(std::size_t failed_stage) { return failed_stage == 0; }

/// The windows among 64 of a row that the rule skips. `failed` has the windows that would fail the
/// first stage, skipped or not. `carry` says in and out whether the first window of the next word
/// is skipped.
CUFACE_HD inline std::uint64_t skipped_windows(std::uint64_t failed, bool& carry) {
  // A run of failures fails every second of its windows and skips those between. Adding its first
  // bit to a run makes it overflow into the bit behind it, which tells where runs end. Whether they
  // began at an odd or an even place tells which of their windows are skipped.
  constexpr std::uint64_t kEven = 0x5555555555555555;
  const std::uint64_t first = carry ? 1 : 0;
  failed &= ~first;
  const std::uint64_t behind = failed << 1 | first;
  const std::uint64_t odd_starts = failed & ~kEven & ~behind;
  const std::uint64_t sum = odd_starts + failed;
  carry = sum < failed;
  return (kEven ^ (sum << 1)) & behind;
}

/// The same of the first `count` windows, where the others are none: `carry` comes out for the
/// window behind them.
CUFACE_HD inline std::uint64_t skipped_windows(std::uint64_t failed, int count, bool& carry) {
  const std::uint64_t skipped = skipped_windows(failed, carry);
  if (count < 64) carry = skipped >> count & 1;
  return skipped;
}

}  // namespace cuface
