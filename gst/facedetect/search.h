// When cufacedetect searches, and how what it finds joins what was found before it.
#pragma once

#include <cstdint>

#include "kernels/detect/detect.h"
#include "kernels/faces/faces.h"

namespace cuface::gst {

/// A search happens on frame n with n mod interval = 0, after a search that found nothing, and on
/// request. n counts frames from restart(). A frame that cannot be searched passes its turn on.
class SearchSchedule {
 public:
  void restart() { *this = {}; }
  void request() { wanted_ = true; }

  /// Counts a frame and says whether to search it. `interval` >= 1.
  bool next(std::uint64_t interval, bool searchable) {
    if (frame_++ % interval == 0) wanted_ = true;
    return searchable && wanted_;
  }
  void searched(bool found_any) { wanted_ = !found_any; }

 private:
  std::uint64_t frame_ = 0;
  bool wanted_ = false;
};

/// The detections as faces of a frame.
FaceList faces_from_detections(const std::vector<Detection>& detections, const std::string& cascade,
                               int width, int height);

/// Adds `found` to the faces of a detector before. Where two overlap by more than half
/// (intersection over union) the more confident stays, in the place of the earlier.
void merge_faces(const FaceList& found, FaceList& into);

}  // namespace cuface::gst
