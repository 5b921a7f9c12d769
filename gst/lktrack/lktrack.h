// culktrack: follows faces from frame to frame and gives them lasting ids.
#pragma once

#include <glib-object.h>

G_BEGIN_DECLS
GType gst_cuface_lk_track_get_type(void);
G_END_DECLS
