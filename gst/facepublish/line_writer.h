// Writes lines to a file, a pipe or standard output from a thread of its own: whole lines, in
// order, none lost while the other end takes them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "gst/facepublish/output.h"
#include "gst/faces/line.h"

namespace cuface::gst {

struct WriteError {
  int code = 0;      ///< errno; 0 = the faces of a frame cannot be read from the GPU
  std::string text;  ///< names the file, what is wrong and what helps
  SourceLine made_at = SourceLine::here();
};

class LineWriter {
 public:
  using OnError = std::function<void(const WriteError&)>;

  /// What waits at most, the line being written included: so many lines, which hold on to so much
  /// memory (bytes_of()); one line is always taken. push() waits beyond, or drops the oldest lines.
  static constexpr std::size_t kCapacity = 256;
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

  /// After writing all there is the thread looks again when that long has passed, or that many
  /// lines wait: a wake-up costs the streaming thread more than its line.
  static constexpr std::chrono::milliseconds kPause{20};
  static constexpr std::size_t kBatch = 8;

  /// From stop() on, for all lines that wait together.
  static constexpr std::chrono::milliseconds kPatience{2000};
  /// The time that a stalled reader gets when the stream flushes.
  static constexpr std::chrono::milliseconds kFlushPatience{200};
  /// Between two tries to open a named pipe that nobody reads yet.
  static constexpr std::chrono::milliseconds kRetry{50};

  /// `location` and `append` as of Output. A named pipe without a reader is opened once it has one;
  /// until then lines wait. Null, and the reason in `error`, if the file cannot be opened.
  /// `on_error` is called once at most, on the writer's thread.
  static std::unique_ptr<LineWriter> open(const std::string& location, bool append,
                                          OnError on_error, WriteError& error);

  /// Finishes what waits, within kPatience of stop(), which it calls. A reader that has not taken
  /// all lines by then loses the rest (an error). A file takes all.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// Whether push() drops the oldest lines instead of waiting. From any thread; frees a push() that
  /// waits.
  void set_leaky(bool leaky);

  /// Returns how many of the oldest lines were dropped for this one. After an error, or when it had
  /// to wait after stop(), the line itself is dropped and not counted. One thread at a time.
  std::size_t push(Line line);

  /// Waits until all pushed lines are written, there was an error, or that long has passed.
  void drain(std::optional<std::chrono::milliseconds> patience = {});

  /// While released, push() and drain() do not wait; push() still keeps the line. For flushing when
  /// the reader has stalled. From any thread.
  void release(bool on);

  /// The stream ends. No call waits from now on, and lines not written within kPatience are lost.
  /// From any thread.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Line line;
    std::size_t bytes;
  };

  LineWriter(std::unique_ptr<Output> output, OnError on_error);
  void run();
  bool wait_for_reader();
  bool write_line(const std::string& text);
  bool wait_until_writable();

  void fail(int code, SourceLine where = SourceLine::here());
  void fail(const WriteError& error);

  // Under mutex_.
  std::size_t count() const { return lines_.size() + (writing_ > 0 ? 1 : 0); }
  bool is_full(std::size_t more) const {
    return count() >= kCapacity || (count() > 0 && bytes_ + more > kMaxBytes);
  }
  bool is_late() const { return deadline_ && Clock::now() >= *deadline_; }

  const std::unique_ptr<Output> output_;
  const int wake_;  // an eventfd: ends a poll for the reader
  const OnError on_error_;

  std::mutex mutex_;
  std::condition_variable changed_;  // a line came or went, or one of the flags
  std::condition_variable hurry_;    // the end of a pause
  std::deque<Waiting> lines_;
  std::size_t writing_ = 0;                    // the bytes of the line being written
  std::size_t bytes_ = 0;                      // of all of them
  std::optional<Clock::time_point> deadline_;  // once stopped
  bool leaky_ = false, released_ = false, closing_ = false, failed_ = false, draining_ = false;
  bool refusing_ = false;  // lines that came after one that found no room

  std::thread thread_;
};

/// The memory that a line keeps from being freed or used again, on the host or on a GPU.
std::size_t bytes_of(const Line& line);

}  // namespace cuface::gst
