// GStreamer's CUDA contexts, and what is there of driver and GPUs. Contexts are never primary ones,
// so every call of the runtime API needs the right one pushed.
#pragma once

#include <gst/cuda/gstcudacontext.h>
#include <gst/gst.h>

#include <string>
#include <utility>

namespace cuface::gst {

/// A reference on a context; may be empty.
class CudaContext {
 public:
  CudaContext() = default;
  /// Takes a reference of its own.
  explicit CudaContext(GstCudaContext* context) : context_(context) {
    if (context_) gst_object_ref(context_);
  }
  CudaContext(const CudaContext& other) : CudaContext(other.context_) {}
  CudaContext(CudaContext&& other) noexcept : context_(std::exchange(other.context_, nullptr)) {}
  CudaContext& operator=(CudaContext other) noexcept {
    std::swap(context_, other.context_);
    return *this;
  }
  ~CudaContext() {
    if (context_) gst_object_unref(context_);
  }

  explicit operator bool() const { return context_ != nullptr; }
  GstCudaContext* get() const { return context_; }
  /// Two objects may stand for one context of the driver.
  friend bool operator==(const CudaContext& a, const CudaContext& b) {
    return a.context_ == b.context_ || a.handle() == b.handle();
  }
  int device_id() const {
    guint id = 0;
    if (context_) g_object_get(context_, "cuda-device-id", &id, nullptr);
    return static_cast<int>(id);
  }

 private:
  gpointer handle() const { return context_ ? gst_cuda_context_get_handle(context_) : nullptr; }

  GstCudaContext* context_ = nullptr;
};

/// Makes a context the thread's current one.
class ContextScope {
 public:
  explicit ContextScope(const CudaContext& context)
      : pushed_(context && gst_cuda_context_push(context.get())) {}
  ~ContextScope() {
    if (pushed_) gst_cuda_context_pop(nullptr);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  const bool pushed_;
};

/// The driver and its GPUs; looked for once a process.
struct CudaMachine {
  int devices = 0;
  std::string missing;  ///< a sentence; empty when there is at least one GPU
};
const CudaMachine& cuda_machine();

}  // namespace cuface::gst
