// What every CUDA stage stands on: errors as Status, and the owners of device and pinned memory.
//
// Everything works on the calling thread's current context; the caller pushes the right one first.
// Owners are move-only and allocate when they are made, which may synchronise: plan time, never per
// frame.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/try.h"

namespace cuface::cuda {

/// ok, or what CUDA said about `what`. kOutOfDeviceMemory, else kUnsupported.
inline Status check(cudaError_t error, const char* what, SourceLine where = SourceLine::here()) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // or the next check_launch() of this thread would tell it again
  const StatusCode code = error == cudaErrorMemoryAllocation ? StatusCode::kOutOfDeviceMemory
                                                             : StatusCode::kUnsupported;
  return {code, std::string(what) + ": " + cudaGetErrorString(error), where};
}

/// The same of an allocation of `bytes` of `memory`, which fails with `code`.
inline Status check_allocation(cudaError_t error, std::size_t bytes, const char* memory,
                               StatusCode code, SourceLine where) {
  if (error == cudaSuccess) return {};
  const Status status =
      check(error, ("allocating " + std::to_string(bytes) + " bytes of " + memory).c_str(), where);
  return status.code() == StatusCode::kOutOfDeviceMemory ? Status(code, status.message(), where)
                                                         : status;
}

/// After a launch: its configuration error, if any. Does not wait for the kernel.
inline Status check_launch(const char* what, SourceLine where = SourceLine::here()) {
  return check(cudaGetLastError(), what, where);
}

/// Whether the work before `event` is over. Does not wait.
inline bool is_over(cudaEvent_t event) {
  if (cudaEventQuery(event) != cudaErrorNotReady) return true;
  cudaGetLastError();  // "not ready" is no error, but is kept like one
  return false;
}

/// `count` elements of device memory; contents start undefined.
template <typename T>
class DeviceBuffer {
 public:
  static_assert(std::is_trivially_copyable_v<T>);
  DeviceBuffer() = default;
  static Result<DeviceBuffer> create(std::size_t count, SourceLine where = SourceLine::here()) {
    DeviceBuffer buffer;
    void* p = nullptr;
    if (const std::size_t bytes = count * sizeof(T); bytes > 0) {
      CUFACE_TRY(check_allocation(cudaMalloc(&p, bytes), bytes, "GPU memory",
                                  StatusCode::kOutOfDeviceMemory, where));
    }
    buffer.data_.reset(static_cast<T*>(p));
    buffer.size_ = count;
    return Result<DeviceBuffer>(std::move(buffer));  // nvcc does not move by itself
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(T* p) const { cudaFree(p); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

/// A stream that nobody else has. At its end its work is over.
class OwnStream {
 public:
  OwnStream() = default;
  static Result<OwnStream> create(SourceLine where = SourceLine::here()) {
    cudaStream_t stream = nullptr;
    CUFACE_TRY(check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                     "making a CUDA stream", where));
    OwnStream own;
    own.stream_.reset(stream);
    return Result<OwnStream>(std::move(own));  // nvcc does not move by itself
  }
  cudaStream_t get() const { return stream_.get(); }

 private:
  struct End {
    void operator()(cudaStream_t stream) const {
      cudaStreamSynchronize(stream);
      cudaStreamDestroy(stream);
    }
  };
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, End> stream_;
};

/// One picture in device memory, rows on 256-byte boundaries; contents start undefined.
template <typename T>
class DeviceImage {
 public:
  DeviceImage() = default;
  static Result<DeviceImage> create(int width, int height, SourceLine where = SourceLine::here()) {
    constexpr std::size_t kAlignment = 256;
    DeviceImage image;
    const std::size_t row = static_cast<std::size_t>(width) * sizeof(T);
    image.stride_ = static_cast<std::ptrdiff_t>((row + kAlignment - 1) / kAlignment * kAlignment);
    image.width_ = width;
    image.height_ = height;
    CUFACE_TRY(
        take(DeviceBuffer<std::uint8_t>::create(
                 static_cast<std::size_t>(image.stride_) * static_cast<std::size_t>(height), where),
             image.bytes_));
    return Result<DeviceImage>(std::move(image));  // nvcc does not move by itself
  }

  int width() const { return width_; }
  int height() const { return height_; }
  ImageView<T> view() { return {reinterpret_cast<T*>(bytes_.data()), width_, height_, stride_}; }
  ImageView<const T> view() const {
    return {reinterpret_cast<const T*>(bytes_.data()), width_, height_, stride_};
  }

 private:
  DeviceBuffer<std::uint8_t> bytes_;
  int width_ = 0, height_ = 0;
  std::ptrdiff_t stride_ = 0;
};

/// `count` elements of page-locked host memory, for asynchronous copies.
template <typename T>
class PinnedBuffer {
 public:
  static_assert(std::is_trivially_copyable_v<T>);
  PinnedBuffer() = default;
  static Result<PinnedBuffer> create(std::size_t count, SourceLine where = SourceLine::here()) {
    PinnedBuffer buffer;
    void* p = nullptr;
    const std::size_t bytes = count * sizeof(T);
    CUFACE_TRY(check_allocation(cudaMallocHost(&p, bytes), bytes, "page-locked memory",
                                StatusCode::kOutOfMemory, where));
    buffer.data_.reset(static_cast<T*>(p));
    buffer.size_ = count;
    return Result<PinnedBuffer>(std::move(buffer));  // nvcc does not move by itself
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(T* p) const { cudaFreeHost(p); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

/// For buffers that are used again: a new one where this holds fewer than `count` elements, whose
/// contents go.
template <typename Buffer>
Status grow_to(std::size_t count, Buffer& buffer) {
  if (buffer.size() >= count) return {};
  buffer = {};
  return take(Buffer::create(count), buffer);
}

}  // namespace cuface::cuda
