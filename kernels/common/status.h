// How the library says that something went wrong: it never prints, throws or exits.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace cuface {

enum class StatusCode {
  kOk,
  kInvalidArgument,  ///< the caller's values are out of their documented range
  kNotFound,         ///< a file does not exist
  kIo,               ///< a file exists and cannot be read or written
  kCorrupt,          ///< a file's content is not what its format asks for
  kUnsupported,      ///< well-formed, but not something this build handles
  kOutOfMemory,      ///< the host's memory
  kOutOfDeviceMemory,
  kCancelled,  ///< its owner raised the StopFlag: there is no result, and nothing is wrong
};

/// A place in the sources: as a default argument, that of the call. For whoever looks into an
/// error.
struct SourceLine {
  const char* file = "";  ///< all in static storage
  const char* function = "";
  int line = 0;

  static constexpr SourceLine here(const char* file = __builtin_FILE(),
                                   const char* function = __builtin_FUNCTION(),
                                   int line = __builtin_LINE()) {
    return {file, function, line};
  }
};

/// Foreign text for a message: at most 60 bytes of it, cut between UTF-8 characters, "..." where
/// something is missing.
std::string shortened(std::string_view text);

/// A short name for logs and tests, in static storage.
const char* status_code_name(StatusCode code);

/// A code and a sentence for the user, and where it was made. Immutable once made; copying is safe
/// from any thread.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message, SourceLine where = SourceLine::here())
      : code_(code), message_(std::move(message)), made_at_(where) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const SourceLine& made_at() const { return made_at_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
  SourceLine made_at_;
};

/// A value, or the Status that says why there is none. `value()` may be called only when `ok()`.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : content_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(content_); }
  Status status() const { return ok() ? Status() : std::get<Status>(content_); }
  T& value() { return std::get<T>(content_); }
  const T& value() const { return std::get<T>(content_); }

 private:
  std::variant<T, Status> content_;
};

}  // namespace cuface
