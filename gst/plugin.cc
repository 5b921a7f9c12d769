// What the plugin registers.
#include <gst/gst.h>

#include <initializer_list>

#include "gst/faceoverlay/faceoverlay.h"
#include "gst/facepublish/facepublish.h"

namespace {

struct Factory {
  const char* name;
  GType (*type)();
};

// One line an element. Second names come first: of two factories of one type, messages and
// gst_element_get_factory() name the one registered last.
constexpr std::initializer_list<Factory> kFactories = {
#ifdef CUFACE_ALIASES
#endif
    {"cufaceoverlay", gst_cuface_overlay_get_type},
    {"cufacepublish", gst_cuface_publish_get_type},
};

gboolean plugin_init(GstPlugin* plugin) {
  for (const Factory& factory : kFactories)
    if (!gst_element_register(plugin, factory.name, GST_RANK_NONE, factory.type())) return FALSE;
  return TRUE;
}

}  // namespace

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, cuface,
                  "Faces, landmarks and lasting ids in video", plugin_init, CUFACE_VERSION, "MIT",
                  PACKAGE, "https://github.com/gst-cuface/gst-cuface")
