// What the plugin registers.
#include <gst/gst.h>

#include <string>

#include "gst/edgedetect/element.h"
#include "gst/faces/elements.h"
#include "gst/featurematch/element.h"
#include "gst/features/element.h"
#include "gst/meta/internal.h"
#include "gst/motiondetect/element.h"
#include "gst/planartrack/element.h"

namespace {

using namespace cuface::gst;

bool register_factory(GstPlugin* plugin, const char* name, const ElementInfo& info) {
  const GType type = element_type(info);
  if (!gst_element_register(plugin, name, GST_RANK_NONE, type)) return false;
  // A class belongs to the factory that was registered before it was made. Making it now leaves it
  // to the first name, whatever the registry knew of the second (gst-opencv has a facedetect too).
  g_type_class_ref(type);
  return true;
}

gboolean plugin_init(GstPlugin* plugin) {
  if (const std::string mismatch = library_mismatch(); !mismatch.empty()) {
    // Nobody sees GStreamer's log by default, and all that is told otherwise is "no such element".
    g_warning("%s", mismatch.c_str());
    return FALSE;
  }
  for (const auto* info :
       {&kFaceDetect, &kLkTrack, &kFaceLandmark, &kFaceOverlay, &kFacePublish, &kFace2Json,
        &kEdgeDetect, &kMotionDetect, &kFeatureDetect, &kFeatureMatch, &kPlanarTrack})
    if (!register_factory(plugin, info->name, *info)) return FALSE;
#ifdef CUFACE_SURF
  if (!register_factory(plugin, kSurf.name, kSurf)) return FALSE;
#endif
#ifdef CUFACE_ALIASES
  for (const auto* info : {&kFaceDetect, &kLkTrack, &kFaceLandmark})
    if (!register_factory(plugin, info->name + 2, *info)) return FALSE;  // without "cu"
#endif
  return TRUE;
}

}  // namespace

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, cuface,
                  "Faces, landmarks, motion, edges and flat objects in video", plugin_init,
                  CUFACE_VERSION, "MIT/X11", PACKAGE, "https://github.com/gst-cuface/gst-cuface")
