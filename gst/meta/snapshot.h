// The common part of the public functions for all kinds of results: snapshots and log messages.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <utility>

#include "gst/meta/framemeta.h"

namespace cuface::gst {

/// The category cufacemeta is there from now on. Called where a meta is registered.
void init_meta_log();
/// Results of a kind ("face") no longer fit the picture; says so once a chain.
void warn_of_lost_places(const FrameRecord& record, const std::string* moved_by, const char* kind);
/// A GPU that has results of a kind cannot be read.
void log_unreadable(const Status& status, const char* kind);

/// The newest result if it fits the picture; without, warns.
template <typename T>
FrameResult<T> fitting_result(GstBuffer* buffer, const char* kind) {
  FoundResult<T> found = find_result<T>(buffer, 0, 0);
  if (found.positions == Positions::kUnknown)
    warn_of_lost_places(*get_frame_record(buffer), found.moved_by.get(), kind);
  return std::move(found.result);
}

/// The result in host memory; null if there is none. False, and a line in the log, where the GPU
/// that has it cannot be read.
template <typename T>
bool read_logged(const FrameResult<T>& result, const char* kind, std::shared_ptr<const T>& value) {
  auto read = result.read();
  if (!read.ok()) {
    log_unreadable(read.status(), kind);
    return false;
  }
  value = std::move(read.value());
  return true;
}

/// A result, for as long as somebody holds it. From any thread.
template <typename T>
class Snapshot {
 public:
  explicit Snapshot(std::shared_ptr<const T> value) : value_(std::move(value)) {
    g_atomic_ref_count_init(&references_);
  }
  void ref() { g_atomic_ref_count_inc(&references_); }
  /// Whether that was the last.
  bool unref() { return g_atomic_ref_count_dec(&references_); }

  /// Null when nothing was found.
  const T* value() const { return value_.get(); }

 private:
  gatomicrefcount references_;
  const std::shared_ptr<const T> value_;
};

}  // namespace cuface::gst
