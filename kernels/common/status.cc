#include "kernels/common/status.h"

#include "kernels/common/guarded.h"

namespace cuface {

std::string shortened(std::string_view text) {
  constexpr std::size_t kMost = 60;
  if (text.size() <= kMost) return std::string(text);
  std::size_t end = kMost - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

Status out_of_memory(std::string_view doing) noexcept {
  try {
    return {StatusCode::kOutOfMemory, std::string(doing) + ": not enough memory"};
  } catch (const std::exception&) {
    return {StatusCode::kOutOfMemory, {}};
  }
}

Status thrown(std::string_view doing, const std::exception& what) noexcept {
  try {
    return {StatusCode::kIo, std::string(doing) + ": " + shortened(what.what())};
  } catch (const std::exception&) {
    return out_of_memory(doing);
  }
}

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
    case StatusCode::kOutOfDeviceMemory:
      return "out of GPU memory";
    case StatusCode::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

}  // namespace cuface
