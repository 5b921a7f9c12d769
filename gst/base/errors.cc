#include "gst/base/errors.h"

namespace cuface::gst {
namespace {

struct ErrorKind {
  GQuark domain;
  int code;
};

ErrorKind error_kind(StatusCode code) {
  switch (code) {
    case StatusCode::kNotFound:
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND};
    case StatusCode::kIo:
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ};
    case StatusCode::kCorrupt:
      return {GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE};
    case StatusCode::kUnsupported:
      return {GST_STREAM_ERROR, GST_STREAM_ERROR_WRONG_TYPE};
    case StatusCode::kInvalidArgument:
      return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS};
    case StatusCode::kOutOfMemory:
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT};
    case StatusCode::kCancelled:  // nobody posts it
    case StatusCode::kOk:
      break;
  }
  return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED};
}

}  // namespace

void post_error(GstElement* element, const Status& status) {
  const ErrorKind kind = error_kind(status.code());
  gst_element_message_full(
      element, GST_MESSAGE_ERROR, kind.domain, kind.code, g_strdup(status.message().c_str()),
      g_strdup(status_code_name(status.code())), __FILE__, GST_OBJECT_NAME(element), __LINE__);
}

void post_warning(GstElement* element, GQuark domain, int code, const char* text) {
  gst_element_message_full(element, GST_MESSAGE_WARNING, domain, code, g_strdup(text), nullptr,
                           __FILE__, GST_OBJECT_NAME(element), __LINE__);
}

}  // namespace cuface::gst
