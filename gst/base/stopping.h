// Elements are stopped from the sink upwards, and each waits for its work on the GPU, which lies
// behind the searches of a cufacedetect before it. So the first that is stopped tells those before.
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>

#include "kernels/common/stop_flag.h"

namespace cuface::gst {

/// Whether all of the pipeline is on its way to READY or NULL, and not only this element.
inline bool pipeline_stops(GstElement* element) {
  GstObject* top = GST_OBJECT_CAST(gst_object_ref(element));
  while (GstObject* parent = gst_object_get_parent(top)) {
    gst_object_unref(top);
    top = parent;
  }
  const bool stops = GST_STATE_TARGET(GST_ELEMENT_CAST(top)) <= GST_STATE_READY;
  gst_object_unref(top);
  return stops;
}

inline constexpr const char* kStoppingEvent = "GstCuFaceStopping";

/// Raises and lowers an element's flag before the element changes its state, and tells the elements
/// before it when the pipeline stops as a whole.
inline void follow_state(StopFlag& stop, GstElement* element, GstStateChange change) {
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED) {
    stop.lower(StopFlag::kEnd);
    stop.lower(StopFlag::kFlush);
  }
  if (change != GST_STATE_CHANGE_PAUSED_TO_READY) return;
  stop.raise(StopFlag::kEnd);
  if (!pipeline_stops(element)) return;
  GstStructure* name = gst_structure_new_empty(kStoppingEvent);
  gst_pad_push_event(GST_BASE_TRANSFORM_SINK_PAD(element),
                     gst_event_new_custom(GST_EVENT_CUSTOM_UPSTREAM, name));
}

/// Whether an event on its way upstream says that this element will be stopped at once.
inline bool is_stopping(GstElement* element, GstEvent* event) {
  return GST_EVENT_TYPE(event) == GST_EVENT_CUSTOM_UPSTREAM &&
         gst_event_has_name(event, kStoppingEvent) && pipeline_stops(element);
}

}  // namespace cuface::gst
