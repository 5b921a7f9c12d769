#include "gst/facepublish/line_writer.h"

#include <gst/gst.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

GST_DEBUG_CATEGORY_EXTERN(cuface_publish_debug);
#define GST_CAT_DEFAULT cuface_publish_debug

namespace cuface::gst {

std::size_t bytes_of(const Line& line) {
  std::size_t bytes = sizeof(Line) + (line.source ? line.source->capacity() : 0);
  if (line.faces.pending) bytes += line.faces.pending->bytes();
  if (const FaceList* list = line.faces.host())
    bytes += sizeof(FaceList) + list->faces.capacity() * sizeof(Face) +
             (list->landmarks.capacity() + list->followed.capacity()) * sizeof(Point) +
             list->landmark_confidences.capacity() * sizeof(float);
  if (line.motion.pending) bytes += line.motion.pending->bytes();
  if (const MotionMap* motion = line.motion.host())
    bytes += sizeof(MotionMap) + motion->cells.capacity() * sizeof(MotionCell) +
             motion->regions.capacity() * sizeof(MotionRegion);
  return bytes;
}

std::unique_ptr<LineWriter> LineWriter::open(const std::string& location, bool append,
                                             OnError on_error, WriteError& error) {
  auto output = std::make_unique<Output>(location);
  if (const int code = output->open(append)) {
    error = {code, explain(location, code)};
    return nullptr;
  }
  return std::unique_ptr<LineWriter>(new LineWriter(std::move(output), std::move(on_error)));
}

LineWriter::LineWriter(std::unique_ptr<Output> output, OnError on_error)
    : output_(std::move(output)), wake_(eventfd(0, EFD_CLOEXEC)), on_error_(std::move(on_error)) {
  thread_ = std::thread(&LineWriter::run, this);
}

LineWriter::~LineWriter() {
  stop();
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  hurry_.notify_all();
  thread_.join();
  ::close(wake_);
}

void LineWriter::set_leaky(bool leaky) {
  {
    const std::lock_guard lock(mutex_);
    leaky_ = leaky;
  }
  changed_.notify_all();
}

std::size_t LineWriter::push(Line line) {
  const std::size_t bytes = bytes_of(line);
  std::size_t dropped = 0;
  // Destroyed without the lock: the last reference on a list of faces may go here.
  std::deque<Waiting> old;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return !is_full(bytes) || leaky_ || released_ || deadline_ || failed_ || refusing_;
  });
  if (failed_ || refusing_) return 0;
  if (leaky_) {
    for (; is_full(bytes) && !lines_.empty(); ++dropped) {
      bytes_ -= lines_.front().bytes;
      old.push_back(std::move(lines_.front()));
      lines_.pop_front();
    }
  } else if (deadline_ && is_full(bytes)) {
    refusing_ = true;  // those that follow too, or there would be a gap
    return 0;
  }
  lines_.push_back({std::move(line), bytes});
  bytes_ += bytes;
  const bool enough = lines_.size() >= kBatch;
  lock.unlock();
  changed_.notify_all();
  if (enough) hurry_.notify_all();
  return dropped;
}

void LineWriter::drain(std::optional<std::chrono::milliseconds> patience) {
  std::unique_lock lock(mutex_);
  const auto done = [&] { return count() == 0 || released_ || deadline_ || failed_; };
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

void LineWriter::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (deadline_) return;
    deadline_ = Clock::now() + kPatience;
  }
  changed_.notify_all();
  hurry_.notify_all();
  const std::uint64_t one = 1;
  // Fails only if the counter is full, and then the thread is awake.
  [[maybe_unused]] const ssize_t done = ::write(wake_, &one, sizeof one);
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
  if (!wait_for_reader()) return;
  for (;;) {
    Waiting next;
    {
      std::unique_lock lock(mutex_);
      if (lines_.empty()) {
        hurry_.wait_for(lock, kPause,
                        [&] { return lines_.size() >= kBatch || draining_ || closing_; });
        changed_.wait(lock, [&] { return !lines_.empty() || closing_; });
      }
      if (lines_.empty()) return;
      next = std::move(lines_.front());
      lines_.pop_front();
      writing_ = next.bytes;
    }
    const auto text = to_json(next.line);
    if (!text.ok()) {
      fail({0, "Cannot read the faces of frame " + std::to_string(next.line.frame) +
                   " from the GPU: " + text.status().message() +
                   ". No line is written for this frame and those behind it; start the program "
                   "again."});
      return;
    }
    if (!write_line(text.value())) return;
    next.line = {};
    {
      const std::lock_guard lock(mutex_);
      bytes_ -= std::exchange(writing_, 0);
    }
    changed_.notify_all();
  }
}

/// Opens a named pipe once somebody reads it. False when nobody has until the end.
bool LineWriter::wait_for_reader() {
  if (output_->is_open()) return true;
  GST_INFO("%s: no program reads it yet; lines wait", output_->location().c_str());
  for (;;) {
    const int code = output_->open_again();
    if (code == 0) return true;
    std::unique_lock lock(mutex_);
    if (code != ENXIO || (is_late() && !lines_.empty())) {
      lock.unlock();
      fail(code);
      return false;
    }
    if (closing_ && lines_.empty()) return false;
    changed_.wait_for(lock, kRetry, [&] { return closing_ && lines_.empty(); });
  }
}

bool LineWriter::write_line(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    if (!output_->is_regular() && !wait_until_writable()) {
      fail(ETIMEDOUT);
      return false;
    }
    std::size_t written = 0;
    if (const int code = output_->write(rest, written)) {
      output_->cut_back(text.size() - rest.size());
      fail(code);
      return false;
    }
    rest.remove_prefix(written);
    // Ready, and yet full: others write there too. A moment later they may not.
    if (written == 0) poll(nullptr, 0, 1);
  }
  if (output_->is_removed()) {
    fail(ESTALE);
    return false;
  }
  return true;
}

/// False when the reader has taken nothing and the time after stop() is over.
bool LineWriter::wait_until_writable() {
  for (;;) {
    std::optional<Clock::time_point> deadline;
    {
      const std::lock_guard lock(mutex_);
      deadline = deadline_;
    }
    pollfd fds[] = {{output_->fd(), POLLOUT, 0}, {wake_, POLLIN, 0}};
    if (!deadline) {
      if (poll(fds, 2, -1) > 0 && fds[0].revents) return true;
      continue;
    }
    // One deadline for all writes: a slow reader does not get the time anew with each of them.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
    const int n = poll(fds, 1, static_cast<int>(std::max<Clock::rep>(left.count(), 0)));
    if (n > 0) return true;
    if (n == 0) return false;
  }
}

void LineWriter::fail(int code, SourceLine where) {
  fail({code, explain(output_->location(), code), where});
}

void LineWriter::fail(const WriteError& error) {
  on_error_(error);
  {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    lines_.clear();
    bytes_ = writing_ = 0;
  }
  changed_.notify_all();
}

}  // namespace cuface::gst
