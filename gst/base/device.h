// The GPU side of an element, as the base class sees it. Without CUDA in the build there is none.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <cstdint>
#include <memory>
#include <string>

#include "gst/base/counts.h"
#include "kernels/common/status.h"

namespace cuface::gst {

class DeviceFrame;
class Frame;

/// How an element works on frames in CUDA memory.
enum class CudaUse {
  kNone,      ///< it takes none
  kPasses,    ///< does not touch the pixels
  kDraws,     ///< works on the GPU when the frame lies there
  kComputes,  ///< the same, and with backend=cuda also for frames in system memory
};

inline bool works_on_gpu(CudaUse use) {
  return use == CudaUse::kDraws || use == CudaUse::kComputes;
}

/// The caps feature of frames in CUDA memory.
inline constexpr const char* kCudaFeature = "memory:CUDAMemory";

/// One an element. Belongs to the streaming thread but for set_context(), answer_query() and the
/// counts.
class DeviceElement {
 public:
  /// Null in a build without CUDA.
  static std::unique_ptr<DeviceElement> create(GstElement* element);
  /// Empty if there are a driver and a GPU; else a sentence that says what is missing.
  static const std::string& missing();

  virtual ~DeviceElement() = default;

  /// READY to PAUSED. With `required` a GPU must be there: kNotFound says what is missing.
  virtual Status start(int device_id, bool required) = 0;
  /// PAUSED to READY, after the element has freed what lives on the GPU.
  virtual void stop() = 0;

  virtual void set_context(GstContext* context, int device_id) = 0;
  virtual bool answer_query(GstQuery* query) = 0;

  /// Whether this frame is to be worked on by another GPU than the one chosen, or by the first.
  /// kInvalidArgument for a frame of a GPU that the element may not use.
  virtual Result<bool> finds_other(Frame& frame, bool in_cuda_memory) = 0;
  /// Chooses the one that finds_other() found. The element must have nothing on the old one.
  virtual Status adopt() = 0;

  /// Makes the chosen GPU the thread's, until leave().
  virtual void enter() = 0;
  virtual void leave() = 0;

  /// Waits for all that the element has enqueued.
  virtual void settle() = 0;

  /// Starts and ends the work on a frame, between enter() and leave().
  virtual DeviceFrame* begin(Frame& frame, bool in_cuda_memory) = 0;
  virtual Status end() = 0;

  /// The GPU's counters since the last start, a few frames late while it is working.
  virtual Counts counts() const = 0;
  /// From the first to the last kernel of each frame, since the last start. Most frames are
  /// estimated by one in 16, but those right after a call of this are measured.
  virtual std::uint64_t device_time_ns() const = 0;
  /// How often the streaming thread, or a thread that freed a frame, waited for the GPU.
  virtual std::uint64_t waits() const = 0;
};

/// enter() and leave(); nothing for null.
class DeviceScope {
 public:
  explicit DeviceScope(DeviceElement* side) : side_(side) {
    if (side_) side_->enter();
  }
  ~DeviceScope() {
    if (side_) side_->leave();
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  DeviceElement* side_;
};

}  // namespace cuface::gst
