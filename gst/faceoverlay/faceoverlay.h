// cufaceoverlay: draws the faces into the frame.
#pragma once

#include <glib-object.h>

G_BEGIN_DECLS
GType gst_cuface_overlay_get_type(void);
G_END_DECLS
