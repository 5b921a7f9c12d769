// cufacelandmark: landmarks inside each face box.
#pragma once

#include <glib-object.h>

G_BEGIN_DECLS
GType gst_cuface_landmark_get_type(void);
G_END_DECLS
