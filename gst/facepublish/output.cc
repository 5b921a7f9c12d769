#include "gst/facepublish/output.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

namespace cuface::gst {
namespace {

/// The longest line that is looked for at the end of a file.
constexpr off_t kLongestTail = 4 << 20;

// A named pipe is opened without waiting for its reader, and nothing here becomes the process'
// controlling terminal.
constexpr int kFlags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

bool is_named_pipe(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode);
}

}  // namespace

std::string shown(const std::string& location) {
  return location == "-" ? "standard output" : "'" + location + "'";
}

std::string explain(const std::string& location, int code) {
  const std::string name = shown(location);
  const std::string reason = "Cannot write faces to " + name + ": " + std::strerror(code) + ". ";
  const std::string folder = std::filesystem::path(location).parent_path().string();
  switch (code) {
    case ENOENT:
      return reason + "Create the folder first: mkdir -p '" + folder + "'.";
    case EACCES:
    case EPERM:
    case EROFS:
      return reason + "Set location to a file in a folder you may write to.";
    case EISDIR:
      return reason + "Set location to the name of a file in it.";
    case ENOTDIR:
      return reason + "A part of the path is a file; set location to a file in a folder.";
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return reason + "Free some space or set location to a file on another disk.";
    case EPIPE:
      return reason + "The program that reads it has ended; keep it running or write to a file.";
    case ENXIO:
      return "Cannot write faces to " + name +
             ": no program has opened it for reading. Start one before the video ends.";
    case ESTALE:
      return "Cannot write faces to " + name +
             ": it was removed, and what was written with it. To keep lines, rename the file "
             "instead.";
    case ETIMEDOUT:
      return reason +
             "The program that reads it did not take the last lines in time. Let it read faster, "
             "or write to a file.";
    default:
      return reason + "Set location to another file.";
  }
}

Output::Output(std::string location) : location_(std::move(location)) {}

Output::~Output() {
  if (is_open()) ::close(fd_);
}

int Output::open(bool append) {
  if (location_ == "-") return open_standard_output();
  const int fd = ::open(location_.c_str(), kFlags | O_CREAT | (append ? 0 : O_TRUNC), 0666);
  if (fd < 0) return errno == ENXIO && is_named_pipe(location_) ? 0 : errno;
  if (const int code = adopt(fd)) return code;
  return append ? mend_last_line() : 0;
}

int Output::open_again() {
  const int fd = ::open(location_.c_str(), kFlags);
  if (fd >= 0) return adopt(fd);
  return errno == ENOENT ? ESTALE : errno;
}

/// The descriptor that others share stays as it is: they would not expect that writes to it do not
/// wait. A pipe or a terminal is opened anew, so that this takes effect here only.
int Output::open_standard_output() {
  const int shared = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (shared < 0) return errno;
  if (const int code = adopt(shared)) return code;
  if (kind_ != Kind::kOther) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(shared);
  const int own = ::open(path.c_str(), kFlags);
  // Refused (it belongs to another user), the shared one does: it is polled before each write.
  if (own < 0) return 0;
  ::close(shared);
  return adopt(own);
}

int Output::adopt(int fd) {
  fd_ = fd;
  struct stat info;
  if (fstat(fd, &info) != 0) return errno;
  kind_ = S_ISREG(info.st_mode)    ? Kind::kRegular
          : S_ISSOCK(info.st_mode) ? Kind::kSocket
                                   : Kind::kOther;
  return 0;
}

bool Output::is_removed() const {
  struct stat info;
  return is_regular() && fstat(fd_, &info) == 0 && info.st_nlink == 0;
}

std::optional<off_t> Output::regular_size() const {
  struct stat info;
  if (!is_regular() || fstat(fd_, &info) != 0) return {};
  return info.st_size;
}

int Output::write(std::string_view text, std::size_t& written) {
  written = 0;
  // A pipe that is ready takes PIPE_BUF bytes without blocking, and in one piece.
  const std::size_t size =
      is_regular() ? text.size() : std::min<std::size_t>(text.size(), PIPE_BUF);
  const ssize_t n = kind_ == Kind::kSocket
                        ? send(fd_, text.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL)
                        : ::write(fd_, text.data(), size);
  if (n >= 0) {
    written = static_cast<std::size_t>(n);
    return 0;
  }
  return errno == EINTR || errno == EAGAIN ? 0 : errno;
}

void Output::cut_back(std::size_t bytes) {
  const auto size = regular_size();
  if (bytes == 0 || !size) return;
  const off_t here = lseek(fd_, 0, SEEK_CUR);
  // When that fails too the line stays cut off: it is the last one.
  if (here == *size && ftruncate(fd_, *size - static_cast<off_t>(bytes)) != 0) return;
}

/// Makes a file that we append to end with a whole line: a cut-off one is removed, a whole one
/// without its newline gets it.
int Output::mend_last_line() {
  const off_t size = regular_size().value_or(0);
  if (size == 0) return 0;
  const int reader = ::open(location_.c_str(), O_RDONLY | O_CLOEXEC);
  if (reader < 0) return errno;
  const off_t start = std::max<off_t>(0, size - kLongestTail);
  std::string tail(static_cast<std::size_t>(size - start), '\0');
  const ssize_t got = pread(reader, tail.data(), tail.size(), start);
  const int code = got < 0 ? errno : 0;
  ::close(reader);
  if (code) return code;
  tail.resize(static_cast<std::size_t>(got));
  if (tail.empty() || tail.back() == '\n') return 0;
  const std::size_t newline = tail.rfind('\n');
  const std::string last = newline == std::string::npos ? tail : tail.substr(newline + 1);
  if (nlohmann::json::accept(last)) return ::write(fd_, "\n", 1) == 1 ? 0 : errno;
  return ftruncate(fd_, start + got - static_cast<off_t>(last.size())) == 0 ? 0 : errno;
}

}  // namespace cuface::gst
