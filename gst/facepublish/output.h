// Where lines go: a file, a named pipe, a terminal, or standard output. Once open, no function here
// waits for the reader.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace cuface::gst {

/// Serves one thread at a time. Functions return 0 or an errno.
class Output {
 public:
  /// `location`: a path, or "-" for standard output.
  explicit Output(std::string location);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// Creates the file where there is none, and empties it unless lines are appended. When appending
  /// to a file whose last line was cut off (the process was killed), that part is removed first.
  /// A named pipe that no program reads yet is no error: is_open() is then false.
  int open(bool append);

  /// A named pipe that nobody has read so far; ENXIO where nobody does yet.
  int open_again();

  bool is_open() const { return fd_ >= 0; }
  const std::string& location() const { return location_; }

  /// A file, which takes all that is written to it.
  bool is_regular() const { return kind_ == Kind::kRegular; }
  /// Nobody could find the lines of a file without a name.
  bool is_removed() const;

  /// To be polled for POLLOUT before write(), unless it is a file.
  int fd() const { return fd_; }
  /// Writes the beginning of `text`, and a line of at most PIPE_BUF bytes whole or not at all where
  /// the other end is a pipe. `written`: how much of it; 0 when the other end takes nothing now.
  int write(std::string_view text, std::size_t& written);
  /// Takes the last `bytes` out of a file again, unless others have written behind them.
  void cut_back(std::size_t bytes);

 private:
  enum class Kind { kRegular, kSocket, kOther };

  int open_standard_output();
  int adopt(int fd);
  std::optional<off_t> regular_size() const;
  int mend_last_line();

  const std::string location_;
  int fd_ = -1;
  Kind kind_ = Kind::kOther;
};

/// A location as messages name it.
std::string shown(const std::string& location);

/// What to tell the user about a failed open or write.
std::string explain(const std::string& location, int code);

}  // namespace cuface::gst
