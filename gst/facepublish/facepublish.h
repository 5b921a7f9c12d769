// cufacepublish: writes what was found, one JSON object a frame; the video passes untouched.
#pragma once

#include <glib-object.h>

G_BEGIN_DECLS
GType gst_cuface_publish_get_type(void);
G_END_DECLS
