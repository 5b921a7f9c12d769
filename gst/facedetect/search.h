// When cufacedetect searches, and how what it finds joins what was found before it.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/detect/detect.h"
#include "kernels/faces/faces.h"

namespace cuface::gst {

// A search happens on frame n with n mod interval = 0, after a search that found nothing, and on
// request. A frame that cannot be searched, or may not because frames are late, passes its turn on.

/// The part that counts, from restart(). `interval` >= 1.
class SearchPeriod {
 public:
  void restart() { frame_ = 0; }
  bool next(std::uint64_t interval) { return frame_++ % interval == 0; }

 private:
  std::uint64_t frame_ = 0;
};

/// The part that depends on what searches find: lives where they run.
struct SearchWish {
  std::int32_t wanted = 0;

  /// Whether to search this frame; `due`: its turn has come, or somebody asks for it.
  CUFACE_HD bool next(bool due, bool searchable) {
    if (due) wanted = 1;
    return searchable && wanted;
  }
  /// After next(): whether a search was skipped on this frame because frames are late.
  CUFACE_HD bool skipped(bool late) const { return late && wanted; }
  CUFACE_HD void searched(bool found_any) { wanted = !found_any; }
};

/// Two boxes that overlap by more than half (intersection over union) are one face.
CUFACE_HD inline bool is_same_face(const Box& a, const Box& b) {
  const float left = a.x > b.x ? a.x : b.x, top = a.y > b.y ? a.y : b.y;
  const float right = a.x + a.w < b.x + b.w ? a.x + a.w : b.x + b.w;
  const float bottom = a.y + a.h < b.y + b.h ? a.y + a.h : b.y + b.h;
  const float w = right - left, h = bottom - top;
  if (!(w > 0 && h > 0)) return false;
  const float both = w * h;
  return both / (a.w * a.h + b.w * b.h - both) > 0.5f;
}

/// Adds `found[0..n)` to the faces of a detector before, `into[0..count)`, which has room for
/// `capacity`. Where two are the same the more confident stays, in the place of the earlier.
/// Returns the new count.
CUFACE_HD inline int merge_faces(const Face* found, int n, Face* into, int count, int capacity) {
  const int before = count;
  for (int i = 0; i < n; ++i) {
    int same = 0;
    while (same < before && !is_same_face(found[i].box, into[same].box)) ++same;
    if (same < before) {
      if (found[i].confidence > into[same].confidence) into[same] = found[i];
    } else if (count < capacity) {
      into[count++] = found[i];
    }
  }
  return count;
}

/// The detections as faces of a frame.
FaceList faces_from_detections(const DetectResult& found, const std::string& cascade, int width,
                               int height);

/// The same for lists, without a limit.
void merge_faces(const FaceList& found, FaceList& into);

}  // namespace cuface::gst
