// The elements of a program that holds them itself: a plugin beside it has other types.
#pragma once

#include <gst/gst.h>

#include <vector>

#include "gst/faces/elements.h"
#include "gst/motiondetect/element.h"
#include "tests/gst/mean/meanelement.h"
#include "tests/gst/mean/octaveelement.h"

namespace cuface::test {

inline void register_elements() {
  for (const auto* info :
       {&kMeanElement, &kOctaveElement, &gst::kFaceDetect, &gst::kLkTrack, &gst::kMotionDetect})
    gst_element_register(nullptr, info->name, GST_RANK_NONE, gst::element_type(*info));
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
