// cufacedetect: finds faces with a Haar cascade.
#pragma once

#include <glib-object.h>

G_BEGIN_DECLS
GType gst_cuface_detect_get_type(void);
G_END_DECLS
