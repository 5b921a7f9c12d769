// The elements of a program that holds them itself: a plugin beside it has other types.
#pragma once

#include <gst/gst.h>

#include <vector>

#include "gst/facedetect/facedetect.h"
#include "gst/lktrack/lktrack.h"
#include "tests/gst/mean/meanelement.h"
#include "tests/gst/mean/octaveelement.h"

namespace cuface::test {

inline void register_elements() {
  gst_element_register(nullptr, "cumean", GST_RANK_NONE, cuface_mean_element_get_type());
  gst_element_register(nullptr, "cuoctaves", GST_RANK_NONE, cuface_octave_element_get_type());
  gst_element_register(nullptr, "cufacedetect", GST_RANK_NONE, gst_cuface_detect_get_type());
  gst_element_register(nullptr, "culktrack", GST_RANK_NONE, gst_cuface_lk_track_get_type());
}

/// All that elements have published on a frame, in their order; as they lie in memory, read.
template <typename T>
std::vector<T> results_of(GstBuffer* buffer) {
  std::vector<T> results;
  for (const auto& entry : gst::get_frame_record(buffer)->results) {
    if (entry.kind != gst::ResultKind<T>::type()) continue;
    const auto read = gst::FrameResult<T>(entry.result).read();
    if (read.ok()) results.push_back(*read.value());
  }
  return results;
}
inline std::vector<Mean> means_of(GstBuffer* buffer) { return results_of<Mean>(buffer); }

}  // namespace cuface::test
