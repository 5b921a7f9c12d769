// What all elements of a CUDA context use together.
#pragma once

#include <gst/cuda/gstcudautils.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "kernels/common/status.h"
#include "kernels/common/try.h"

namespace cuface::gst {

/// One T for each context and key, as long as somebody holds it. Thread-safe.
template <typename T>
class SharedInContext {
 public:
  /// That of the current context where there is one and `fits` says so; else what `make` makes,
  /// which later callers get. Who holds an earlier one keeps it.
  template <typename Fits, typename Make>
  Result<std::shared_ptr<T>> get(const void* key, const Fits& fits, const Make& make) {
    CUcontext context = nullptr;
    if (CuCtxPopCurrent(&context) != CUDA_SUCCESS || CuCtxPushCurrent(context) != CUDA_SUCCESS)
      return Status(StatusCode::kUnsupported, "no CUDA context is current");
    const std::lock_guard lock(mutex_);
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    auto& entry = known_[{key, context}];
    if (std::shared_ptr<T> known = entry.lock(); known && fits(*known)) return known;
    CUFACE_TAKE(made, make());
    entry = made;
    return std::shared_ptr<T>(std::move(made));
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<const void*, CUcontext>, std::weak_ptr<T>> known_;
};

}  // namespace cuface::gst
