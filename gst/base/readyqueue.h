// Hands results on in the order of their frames, each when it can be read without a wait.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "kernels/common/status.h"
#include "kernels/common/try.h"

namespace cuface::gst {

/// T has a function is_ready(). One thread at a time.
template <typename T>
class ReadyQueue {
 public:
  /// A chain has no more frames in flight on a GPU: who is that late is read with a wait.
  static constexpr std::size_t kMostFramesLate = 4;

  /// Calls use(T) for whatever is ready now, this one too. Whatever `use` returns an error for is
  /// gone; the rest waits.
  template <typename Use>
  Status push(T item, const Use& use) {
    add(std::move(item));
    return release(use);
  }

  /// Its turn comes with a later call.
  void add(T item) { items_.push_back(std::move(item)); }

  /// As push(), of those that are there.
  template <typename Use>
  Status release(const Use& use) {
    while (!items_.empty() && (items_.size() > kMostFramesLate || items_.front().is_ready()))
      CUFACE_TRY(pop(use));
    return {};
  }

  /// The same for all there are, with a wait.
  template <typename Use>
  Status drain(const Use& use) {
    while (!items_.empty()) CUFACE_TRY(pop(use));
    return {};
  }

  void clear() { items_.clear(); }

 private:
  template <typename Use>
  Status pop(const Use& use) {
    T item = std::move(items_.front());
    items_.pop_front();
    return use(std::move(item));
  }

  std::deque<T> items_;
};

}  // namespace cuface::gst
