// What the plugin registers.
#include <gst/gst.h>

#include <initializer_list>
#include <string>

#include "gst/facedetect/facedetect.h"
#include "gst/facelandmark/facelandmark.h"
#include "gst/faceoverlay/faceoverlay.h"
#include "gst/facepublish/facepublish.h"
#include "gst/lktrack/lktrack.h"
#include "gst/meta/internal.h"

namespace {

struct Factory {
  const char* name;
  GType (*type)();
};

constexpr std::initializer_list<Factory> kFactories = {
    {"cufacedetect", gst_cuface_detect_get_type},
    {"culktrack", gst_cuface_lk_track_get_type},
    {"cufacelandmark", gst_cuface_landmark_get_type},
    {"cufaceoverlay", gst_cuface_overlay_get_type},
    {"cufacepublish", gst_cuface_publish_get_type},
};

constexpr std::initializer_list<Factory> kAliases = {
#ifdef CUFACE_ALIASES
    {"facedetect", gst_cuface_detect_get_type},
    {"lktrack", gst_cuface_lk_track_get_type},
    {"facelandmark", gst_cuface_landmark_get_type},
#endif
};

bool register_factory(GstPlugin* plugin, const Factory& factory) {
  if (!gst_element_register(plugin, factory.name, GST_RANK_NONE, factory.type())) return false;
  // A class belongs to the factory that was registered before it was made. Making it now leaves it
  // to the first name, whatever the registry knew of the second (gst-opencv has a facedetect too).
  g_type_class_ref(factory.type());
  return true;
}

gboolean plugin_init(GstPlugin* plugin) {
  if (const std::string mismatch = cuface::gst::library_mismatch(); !mismatch.empty()) {
    // Nobody sees GStreamer's log by default, and all that is told otherwise is "no such element".
    g_warning("%s", mismatch.c_str());
    return FALSE;
  }
  for (const auto& list : {kFactories, kAliases})
    for (const Factory& factory : list)
      if (!register_factory(plugin, factory)) return FALSE;
  return TRUE;
}

}  // namespace

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, cuface,
                  "Faces, landmarks and lasting ids in video", plugin_init, CUFACE_VERSION,
                  "MIT/X11", PACKAGE, "https://github.com/gst-cuface/gst-cuface")
