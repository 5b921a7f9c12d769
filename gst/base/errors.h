// From the library's Status to what applications see on the bus.
#pragma once

#include <gst/gst.h>

#include "kernels/common/status.h"

namespace cuface::gst {

/// Posts an error message with the domain and code that fit: a missing file RESOURCE/NOT_FOUND, an
/// unreadable one RESOURCE/OPEN_READ, a corrupt one STREAM/DECODE, one that this build does not
/// handle STREAM/WRONG_TYPE, bad property values LIBRARY/SETTINGS.
void post_error(GstElement* element, const Status& status);

/// The same as a warning, with a code of the caller's.
void post_warning(GstElement* element, GQuark domain, int code, const char* text);

}  // namespace cuface::gst
