#include "gst/base/errors.h"

#include <string>

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
    case StatusCode::kOutOfDeviceMemory:  // NO_SPACE_LEFT is a disk's
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED};
    case StatusCode::kCancelled:  // nobody posts it
    case StatusCode::kOk:
      break;
  }
  return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED};
}

/// What the user can do about it, behind the message; most messages say it themselves.
const char* advice_on(StatusCode code) {
  switch (code) {
    case StatusCode::kOutOfMemory:
      return ". The computer's memory is used up: end other programs, or use smaller frames";
    case StatusCode::kOutOfDeviceMemory:
      return ". The GPU's memory is used up: end other programs that use the GPU, choose another "
             "one with cuda-device-id, use smaller frames, or set backend=cpu with frames in "
             "system memory";
    default:
      return "";
  }
}

void post(GstElement* element, GstMessageType type, const ErrorKind& kind, const std::string& text,
          const char* debug, const SourceLine& where) {
  gst_element_message_full(element, type, kind.domain, kind.code, g_strdup(text.c_str()),
                           g_strdup(debug), where.file, where.function, where.line);
}

}  // namespace

void post_error(GstElement* element, const Status& status) {
  post(element, GST_MESSAGE_ERROR, error_kind(status.code()),
       status.message() + advice_on(status.code()), status_code_name(status.code()),
       status.made_at());
}

void post_error(GstElement* element, GQuark domain, int code, const std::string& text,
                SourceLine where) {
  post(element, GST_MESSAGE_ERROR, {domain, code}, text, nullptr, where);
}

void post_warning(GstElement* element, GQuark domain, int code, const std::string& text,
                  SourceLine where) {
  post(element, GST_MESSAGE_WARNING, {domain, code}, text, nullptr, where);
}

}  // namespace cuface::gst
