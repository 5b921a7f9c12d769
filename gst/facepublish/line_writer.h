// Writes lines to a file, a pipe or standard output from a thread of its own: whole lines, in
// order, none lost while the other end takes them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "gst/facepublish/line.h"

namespace cuface::gst {

struct WriteError {
  int code = 0;      ///< errno; 0 = the faces of a frame cannot be read from the GPU
  std::string text;  ///< names the file, what is wrong and what helps
};

class LineWriter {
 public:
  using OnError = std::function<void(const WriteError&)>;

  /// Lines that wait at most; push() waits beyond.
  static constexpr std::size_t kCapacity = 256;

  /// After writing all there is the thread looks again when that long has passed, or that many
  /// lines wait: a wake-up costs the streaming thread more than its line.
  static constexpr std::chrono::milliseconds kPause{20};
  static constexpr std::size_t kBatch = 8;

  /// What a reader that has stalled is given when the stream flushes or stops.
  static constexpr std::chrono::milliseconds kPatience{2000};

  /// `location` is a path, or "-" for standard output. When appending to a file whose last line was
  /// cut off (the process was killed), that part is removed first. Null, and the reason in `error`,
  /// if the file cannot be opened. `on_error` is called once at most, on the writer's thread.
  static std::unique_ptr<LineWriter> open(const std::string& location, bool append,
                                          OnError on_error, WriteError& error);

  /// Finishes what waits. A reader that takes nothing for kPatience loses the rest (an error).
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// False after an error. One thread at a time.
  bool push(Line line);

  /// Waits until all pushed lines are written, there was an error, or that long has passed.
  void drain(std::optional<std::chrono::milliseconds> patience = {});

  /// While released, push() and drain() do not wait; push() still keeps the line. For flushing and
  /// shutting down when the reader has stalled. From any thread.
  void release(bool on);

 private:
  LineWriter(int fd, std::string location, OnError on_error);
  void run();
  bool write_line(const std::string& text);
  bool wait_until_writable();
  void cut_back(std::size_t written);
  void fail(int code);
  void fail(const WriteError& error);

  const int fd_, wake_;
  const std::string location_;
  const OnError on_error_;
  bool regular_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;  // a line came or went, or one of the flags
  std::condition_variable hurry_;    // the end of a pause
  std::deque<Line> lines_;           // the front one stays until it is written
  bool released_ = false, closing_ = false, failed_ = false, draining_ = false;

  std::thread thread_;
};

/// What to tell the user about a failed open or write.
std::string explain(const std::string& location, int code);

}  // namespace cuface::gst
