// Device memory that several plans use in turn.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "kernels/common/cuda/runtime.h"
#include "kernels/common/status.h"
#include "kernels/common/try.h"

namespace cuface::cuda {

/// `size()` elements of a scratch: planned by ScratchLayout, there after bind().
template <typename T>
class ScratchPart {
 public:
  ScratchPart() = default;
  ScratchPart(std::size_t offset, std::size_t size) : offset_(offset), size_(size) {}
  void bind(std::byte* scratch) { data_ = reinterpret_cast<T*>(scratch + offset_); }
  /// The same bytes as another type: for what is never used at the same time.
  template <typename U>
  ScratchPart<U> as() const {
    return {offset_, size_ * sizeof(T) / sizeof(U)};
  }
  T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::size_t offset_ = 0, size_ = 0;
  T* data_ = nullptr;
};

/// Places parts one behind the other, aligned as cudaMalloc would.
class ScratchLayout {
 public:
  template <typename T>
  ScratchPart<T> add(std::size_t count) {
    const std::size_t at = bytes_;
    bytes_ += aligned(count * sizeof(T));
    return {at, count};
  }
  /// Bytes between the rows of a picture.
  static std::size_t stride_of(int width) { return aligned(static_cast<std::size_t>(width)); }
  std::size_t bytes() const { return bytes_; }

 private:
  static std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
  std::size_t bytes_ = 0;
};

/// The memory. Thread-safe; the last owner lets go with the context current in which it was made,
/// when the work is over.
class Scratch {
 public:
  static Result<std::shared_ptr<Scratch>> create(std::size_t bytes) {
    auto scratch = std::make_shared<Scratch>();
    CUFACE_TRY(take(DeviceBuffer<std::byte>::create(bytes), scratch->memory_));
    CUFACE_TRY(check(cudaEventCreateWithFlags(&scratch->free_, cudaEventDisableTiming),
                     "making a CUDA event"));
    return Result<std::shared_ptr<Scratch>>(std::move(scratch));  // nvcc does not move by itself
  }
  Scratch() = default;
  ~Scratch() {
    if (free_) cudaEventDestroy(free_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::byte* data() { return memory_.data(); }
  std::size_t size() const { return memory_.size(); }

  /// `enqueue()` puts work that uses the scratch on `stream`: it starts when all such work of
  /// earlier turns, on any stream, is over. The host never waits for that. As long as there is one
  /// stream only, no event is recorded for others. The first turn of a second one does it for the
  /// first, so that the first one's `owner` is held from its first turn on; to the end, as letting
  /// go may wait.
  template <typename Owner, typename Enqueue>
  Status take_turn(cudaStream_t stream, const std::shared_ptr<Owner>& owner,
                   const Enqueue& enqueue) {
    const std::lock_guard lock(mutex_);
    if (last_ && last_ != stream) {
      if (!shared_) CUFACE_TRY(record(last_));
      shared_ = true;
      CUFACE_TRY(check(cudaStreamWaitEvent(stream, free_, 0), "ordering CUDA streams"));
    }
    if (!last_) owner_ = owner;
    last_ = stream;
    const Status enqueued = enqueue();
    if (!shared_) return enqueued;
    const Status recorded = record(stream);
    return enqueued.ok() ? recorded : enqueued;
  }

 private:
  Status record(cudaStream_t stream) {
    return check(cudaEventRecord(free_, stream), "recording a CUDA event");
  }

  DeviceBuffer<std::byte> memory_;
  std::mutex mutex_;
  cudaEvent_t free_ = nullptr;         ///< recorded behind the last turn
  cudaStream_t last_ = nullptr;        ///< of the last turn; once shared, to compare only
  std::shared_ptr<const void> owner_;  ///< of the first turn's stream
  bool shared_ = false;                ///< more than one stream has had a turn
};

/// Gives a scratch of at least that size.
using ScratchSource = std::function<Result<std::shared_ptr<Scratch>>(std::size_t bytes)>;

}  // namespace cuface::cuda
