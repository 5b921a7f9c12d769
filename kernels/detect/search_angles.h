// The angles of a search with DetectConfig::roll, and the merging of their faces into one list. One
// source for the CPU and for CUDA (kernels/common/lanes.h).
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/faces/faces.h"

namespace cuface {

/// Degrees between angles, at most. A cascade finds most faces within half of it from the angle
/// that it looks at (docs/design/detect.md).
inline constexpr int kTurnStep = 25;
inline constexpr int kMaxRoll = 90;
/// Angles of a search, upright among them.
inline constexpr int kMaxAngles = 1 + 2 * ((kMaxRoll + kTurnStep - 1) / kTurnStep);

/// The angles of a search in degrees: upright, then evenly spaced up to `roll` on both sides, those
/// nearest upright first, clockwise before counter-clockwise. So each is followed by its opposite,
/// whose canvas has the same size.
std::vector<double> search_angles(int roll);

/// Which plan searches the canvas of an angle: both sides share one.
constexpr std::size_t search_of(std::size_t angle) { return (angle + 1) / 2; }

/// DetectConfig::min_neighbors at an angle that is not upright: heads are seldom turned, but what
/// looks like a face by chance does so at every angle alike.
constexpr int turned_neighbors(int min_neighbors) { return 2 * min_neighbors; }

/// Data that the lanes of one join share.
struct JoinScratch {
  int next[kMaxAngles];  ///< of each angle's list
  int kept, angle;
  bool same[64];
};

/// Goes through the faces of all angles, most neighbours first, the same number by angle, upright
/// first, then by their places in that angle's list (which is sorted by neighbours). Keeps those
/// that are of no head kept from another angle (is_one_head), until there are `most`. `Lists` has
///   int count(angle), neighbors(angle, place); Box box(angle, place);
///   int kept_angle(k); Box kept_box(k); void keep(k, angle, place).
/// Returns how many are kept. `scratch` is visible to all lanes.
CUFACE_HD_GENERIC
template <typename Lanes, typename Lists>
CUFACE_HD int join_angles(const Lanes& lanes, Lists& lists, int angles, int most,
                          JoinScratch& scratch) {
  constexpr int kParts = 64;
  lanes.each(angles, [&](int a) { scratch.next[a] = 0; });
  lanes.once([&] { scratch.kept = 0; });
  for (;;) {
    lanes.once([&] {
      int best = -1, neighbors = 0;
      for (int a = 0; a < angles && scratch.kept < most; ++a) {
        if (scratch.next[a] >= lists.count(a)) continue;
        const int n = lists.neighbors(a, scratch.next[a]);
        if (best >= 0 && n <= neighbors) continue;
        best = a;
        neighbors = n;
      }
      scratch.angle = best;
    });
    const int angle = scratch.angle;
    if (angle < 0) return scratch.kept;
    const int place = scratch.next[angle], kept = scratch.kept;
    const Box box = lists.box(angle, place);
    lanes.each(kParts, [&](int part) {
      scratch.same[part] = false;
      for (int k = part; k < kept; k += kParts)
        if (lists.kept_angle(k) != angle && is_one_head(box, lists.kept_box(k)))
          scratch.same[part] = true;
    });
    lanes.once([&] {
      bool same = false;
      for (int part = 0; part < kParts; ++part) same = same || scratch.same[part];
      if (!same) lists.keep(scratch.kept++, angle, place);
      ++scratch.next[angle];
    });
  }
}

}  // namespace cuface
