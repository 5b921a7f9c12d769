// The table function of a library of another build; loaded before ours, it is the one the plugin
// finds.
#include <glib.h>

extern "C" gconstpointer gst_cuface_get_internal(guint, const gchar** library) {
  *library = "99.1.2 (77)";
  return nullptr;
}
