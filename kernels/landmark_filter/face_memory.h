// Where something is remembered of each face, by its id, until a frame without it. One source for
// the CPU and for CUDA (kernels/common/lanes.h).
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/lanes.h"
#include "kernels/faces/faces.h"

namespace cuface::forest {

/// Faces that something is remembered of.
inline constexpr int kSlots = 64;

/// What the lanes share.
struct FaceMemory {
  int slot[kSlots];  // of each face, or -1
  bool fresh[kSlots];
  bool used[kSlots];
};

/// Finds each face's slot, and a free one for a face whose id is new; forgets the ids that are
/// gone. Up to kSlots faces, each with another id, or 0 for none: these get no slot. `id` has
/// kSlots ids, 0 = free.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void assign_slots(const Lanes& lanes, std::uint64_t* id, const Face* faces, int count,
                            FaceMemory& slots) {
  lanes.each(kSlots, [&](int s) { slots.used[s] = false; });
  lanes.each(count, [&](int f) {
    slots.slot[f] = -1;
    slots.fresh[f] = false;
    for (int s = 0; s < kSlots && faces[f].id != 0; ++s) {
      if (id[s] == faces[f].id) slots.slot[f] = s;
    }
    if (slots.slot[f] >= 0) slots.used[slots.slot[f]] = true;
  });
  lanes.once([&] {
    int next = 0;
    for (int f = 0; f < count; ++f) {
      if (slots.slot[f] >= 0 || faces[f].id == 0) continue;
      while (slots.used[next]) ++next;  // there are as many as faces
      slots.used[next] = slots.fresh[f] = true;
      slots.slot[f] = next;
      id[next] = faces[f].id;
    }
  });
  lanes.each(kSlots, [&](int s) {
    if (!slots.used[s]) id[s] = 0;
  });
}

}  // namespace cuface::forest
