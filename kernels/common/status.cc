#include "kernels/common/status.h"

namespace cuface {

const char* status_code_name(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid argument";
    case StatusCode::kNotFound:
      return "not found";
    case StatusCode::kIo:
      return "input/output error";
    case StatusCode::kCorrupt:
      return "corrupt file";
    case StatusCode::kUnsupported:
      return "unsupported";
    case StatusCode::kOutOfMemory:
      return "out of memory";
  }
  return "unknown";
}

}  // namespace cuface
