// Which of the frames before is compared with: the newest that is at least the interval old. Frames
// are kept so far apart that a few slots reach back for it: at 200 ms all of up to 40 a second, and
// of more those 25 ms apart.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"

namespace cuface {

/// Slots for what frames leave, each frame's in one of them.
struct References {
  static constexpr int kApart = 8;  ///< an interval has so many spacings
  static constexpr int kSlots =
      kApart + 2;  ///< also the frame compared with, and the one looked at

  std::int64_t time[kSlots] = {};
  std::int64_t number[kSlots] = {};  ///< from 1, in the order of their frames; 0 = free
  std::int64_t newest = 0;
  std::int64_t newest_time = 0;

  /// What to do with a frame.
  struct Choice {
    int now = 0;    ///< its slot
    int then = -1;  ///< that of the frame to compare with; -1 = there is none yet
  };

  /// Of a frame at a time, not less than that of the frame before.
  CUFACE_HD Choice choose(std::int64_t now, std::int64_t interval) {
    Choice out;
    for (int i = 0; i < kSlots; ++i) {
      const bool old_enough = number[i] != 0 && now - time[i] >= interval;
      if (old_enough && (out.then < 0 || number[i] > number[out.then])) out.then = i;
    }
    for (int i = 0; i < kSlots; ++i)
      if (out.then >= 0 && number[i] < number[out.then]) number[i] = 0;  // never needed again
    for (int i = kSlots - 1; i >= 0; --i)
      if (number[i] == 0) out.now = i;
    if (newest == 0 || now - newest_time >= (interval + kApart - 1) / kApart) {
      number[out.now] = ++newest;
      time[out.now] = newest_time = now;
    }
    return out;
  }
};

}  // namespace cuface
