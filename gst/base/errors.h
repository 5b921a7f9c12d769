// From the library's Status to what applications see on the bus.
#pragma once

#include <gst/gst.h>

#include <string>

#include "kernels/common/status.h"

namespace cuface::gst {

/// Posts an error message with the domain and code that fit: a missing file RESOURCE/NOT_FOUND, an
/// unreadable one RESOURCE/OPEN_READ, a corrupt one STREAM/DECODE, one that this build does not
/// handle STREAM/WRONG_TYPE, bad property values LIBRARY/SETTINGS, too little memory
/// RESOURCE/FAILED. The message's debug string names the place where the Status was made.
void post_error(GstElement* element, const Status& status);

/// The same for an error that is no Status, with the caller's domain and code; `where` is its
/// source location.
void post_error(GstElement* element, GQuark domain, int code, const std::string& text,
                SourceLine where);

/// The same as a warning, with a code of the caller's; its place is the call.
void post_warning(GstElement* element, GQuark domain, int code, const std::string& text,
                  SourceLine where = SourceLine::here());

}  // namespace cuface::gst
