#include "gst/facepublish/line_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

namespace cuface::gst {
namespace {

/// The longest line that is looked for at the end of a file.
constexpr off_t kLongestTail = 4 << 20;

/// Nobody can find what is written to a file without a name.
bool is_removed(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && info.st_nlink == 0;
}

bool is_regular(int fd, off_t& size) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return false;
  size = info.st_size;
  return true;
}

/// Makes a file that we append to end with a whole line: a cut-off one is removed, a whole one
/// without its newline gets it. Returns 0 or errno.
int mend_last_line(int fd, const std::string& path) {
  off_t size = 0;
  if (!is_regular(fd, size) || size == 0) return 0;
  const int reader = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
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
  if (nlohmann::json::accept(last)) return ::write(fd, "\n", 1) == 1 ? 0 : errno;
  return ftruncate(fd, start + got - static_cast<off_t>(last.size())) == 0 ? 0 : errno;
}

}  // namespace

std::string explain(const std::string& location, int code) {
  const std::string name = location == "-" ? "standard output" : "'" + location + "'";
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
    case ESTALE:
      return "Cannot write faces to " + name +
             ": it was removed, and what was written with it. To keep lines, rename the file "
             "instead.";
    case ETIMEDOUT:
      return reason + "The program that reads it has stopped reading; the last lines are lost.";
    default:
      return reason + "Set location to another file.";
  }
}

std::unique_ptr<LineWriter> LineWriter::open(const std::string& location, bool append,
                                             OnError on_error, WriteError& error) {
  const bool standard = location == "-";
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | (append ? 0 : O_TRUNC);
  const int fd =
      standard ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(location.c_str(), flags, 0666);
  int code = fd < 0 ? errno : 0;
  if (fd >= 0 && append && !standard) code = mend_last_line(fd, location);
  if (code) {
    if (fd >= 0) ::close(fd);
    error = {code, explain(location, code)};
    return nullptr;
  }
  return std::unique_ptr<LineWriter>(new LineWriter(fd, location, std::move(on_error)));
}

LineWriter::LineWriter(int fd, std::string location, OnError on_error)
    : fd_(fd),
      wake_(eventfd(0, EFD_CLOEXEC)),
      location_(std::move(location)),
      on_error_(std::move(on_error)) {
  off_t size = 0;
  regular_ = is_regular(fd, size);
  thread_ = std::thread(&LineWriter::run, this);
}

LineWriter::~LineWriter() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  hurry_.notify_all();
  const std::uint64_t one = 1;
  // Fails only if the counter is full, and then the thread is awake.
  [[maybe_unused]] const ssize_t done = ::write(wake_, &one, sizeof one);
  thread_.join();
  ::close(wake_);
  ::close(fd_);
}

bool LineWriter::push(Line line) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return lines_.size() < kCapacity || released_ || failed_; });
  if (failed_) return false;
  lines_.push_back(std::move(line));
  const bool enough = lines_.size() >= kBatch;
  lock.unlock();
  changed_.notify_all();
  if (enough) hurry_.notify_all();
  return true;
}

void LineWriter::drain(std::optional<std::chrono::milliseconds> patience) {
  std::unique_lock lock(mutex_);
  const auto done = [&] { return lines_.empty() || released_ || failed_; };
  draining_ = true;
  hurry_.notify_all();
  if (patience)
    changed_.wait_for(lock, *patience, done);
  else
    changed_.wait(lock, done);
  draining_ = false;
}

void LineWriter::release(bool on) {
  {
    const std::lock_guard lock(mutex_);
    released_ = on;
  }
  changed_.notify_all();
}

void LineWriter::run() {
  // A write to a closed pipe, or over the size limit, signals the writing thread: here it becomes
  // an error instead of the end of the process.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  sigaddset(&signals, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  pthread_setname_np(pthread_self(), "cufacepublish");
  // A line that waits costs nothing, a streaming thread that is interrupted for it does: this one
  // is never scheduled in front of others when it wakes up. Refused, it is merely a little slower.
  const sched_param none{};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
  for (;;) {
    Line line;
    {
      std::unique_lock lock(mutex_);
      if (lines_.empty()) {
        hurry_.wait_for(lock, kPause,
                        [&] { return lines_.size() >= kBatch || draining_ || closing_; });
        changed_.wait(lock, [&] { return !lines_.empty() || closing_; });
      }
      if (lines_.empty()) return;
      line = std::move(lines_.front());
    }
    const auto text = to_json(line);
    if (!text.ok()) {
      fail({0, "Cannot read the faces of frame " + std::to_string(line.frame) +
                   " from the GPU: " + text.status().message() +
                   ". No line is written for this frame and those behind it; start the program "
                   "again."});
      return;
    }
    if (!write_line(text.value())) return;
    {
      const std::lock_guard lock(mutex_);
      lines_.pop_front();
    }
    changed_.notify_all();
  }
}

bool LineWriter::write_line(const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    if (!regular_ && !wait_until_writable()) {
      fail(ETIMEDOUT);
      return false;
    }
    // A pipe that is ready takes PIPE_BUF bytes without blocking.
    const std::size_t rest = text.size() - written;
    const ssize_t n = ::write(fd_, text.data() + written,
                              regular_ ? rest : std::min<std::size_t>(rest, PIPE_BUF));
    if (n >= 0) {
      written += static_cast<std::size_t>(n);
    } else if (errno != EINTR && errno != EAGAIN) {
      const int code = errno;
      cut_back(written);
      fail(code);
      return false;
    }
  }
  if (regular_ && is_removed(fd_)) {
    fail(ESTALE);
    return false;
  }
  return true;
}

/// False when the writer is closing and the reader takes nothing.
bool LineWriter::wait_until_writable() {
  for (;;) {
    bool closing;
    {
      const std::lock_guard lock(mutex_);
      closing = closing_;
    }
    pollfd fds[] = {{fd_, POLLOUT, 0}, {wake_, POLLIN, 0}};
    const int n = closing ? poll(fds, 1, static_cast<int>(kPatience.count())) : poll(fds, 2, -1);
    if (n > 0 && fds[0].revents) return true;
    if (n == 0) return false;
  }
}

/// Takes the beginning of a line out of the file again, unless others have written behind it.
void LineWriter::cut_back(std::size_t written) {
  off_t size = 0;
  if (written == 0 || !is_regular(fd_, size)) return;
  const off_t here = lseek(fd_, 0, SEEK_CUR);
  // When that fails too the line stays cut off: it is the last one.
  if (here == size && ftruncate(fd_, size - static_cast<off_t>(written)) != 0) return;
}

void LineWriter::fail(int code) { fail({code, explain(location_, code)}); }

void LineWriter::fail(const WriteError& error) {
  on_error_(error);
  {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    lines_.clear();
  }
  changed_.notify_all();
}

}  // namespace cuface::gst
