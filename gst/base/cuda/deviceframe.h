// One frame on the GPU, for the CUDA stages of the elements: the stream to enqueue on, the luma,
// and the faces before and after.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>

#include "gst/base/cuda/context.h"
#include "gst/base/cuda/counters.h"
#include "gst/base/cuda/devicechain.h"
#include "gst/base/cuda/faceslots.h"
#include "gst/base/frame.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/luma/luma.h"

namespace cuface::gst {

/// A frame in CUDA memory, mapped on the device; unmapped when it goes.
class DeviceMapping {
 public:
  static Result<std::unique_ptr<DeviceMapping>> map(Frame& frame, GstMapFlags flags);
  ~DeviceMapping() { gst_video_frame_unmap(&frame_); }
  DeviceMapping(const DeviceMapping&) = delete;
  DeviceMapping& operator=(const DeviceMapping&) = delete;
  const FrameView& view() const { return view_; }

 private:
  DeviceMapping() = default;
  GstVideoFrame frame_;
  FrameView view_;
};

/// What stays of an element on the GPU from frame to frame.
struct DeviceElement {
  CudaContext context;
  std::shared_ptr<DeviceChain> own;  ///< used where no other element's can be
  std::shared_ptr<FaceSlots> slots;
  cuda::PinnedBuffer<cuda::Counters> counters;
  std::shared_ptr<Waits> waits = std::make_shared<Waits>(0);
  cudaEvent_t last = nullptr;               ///< behind the element's work on its last frame,
  std::shared_ptr<DeviceChain> last_chain;  ///< which was in this chain's stream
};

/// Lives for one process() call, in the streaming thread and with the context current.
class DeviceFrame {
 public:
  DeviceFrame(DeviceElement& element, Frame& frame, bool in_cuda_memory)
      : element_(element), frame_(frame), in_cuda_memory_(in_cuda_memory) {}

  /// The stream all work on this frame goes to; the element's earlier work comes before.
  Result<cudaStream_t> stream();
  /// The grey picture, made at most once in an unbroken line of our elements.
  Result<ImageView<const std::uint8_t>> luma();

  /// The faces in device memory and pixels of this frame, for work enqueued on the stream from now
  /// on; null for an empty result. Uploads faces that are in host memory or of another size.
  Result<const cuda::DeviceFaces*> faces(const FaceResult& faces);
  /// Room for this element's faces with up to that many landmarks each.
  Result<std::shared_ptr<DeviceFacesResult>> new_faces(int landmarks);
  /// Closes the work on `faces`, which are then the result. `detector`: as in FaceList.
  Result<FaceResult> finish(std::shared_ptr<DeviceFacesResult> faces, std::string detector,
                            const cuda::CountedWork& work);
  /// Faces of an earlier frame, whatever their size, for the sake of their flags; null where they
  /// are not in this context.
  Result<const cuda::DeviceFaces*> flags(const PendingFacesRef& faces);
  /// The greatest id the element has counted; exact after settle().
  std::uint64_t last_id() const { return element_.counters.data()->last_id; }
  /// Waits for all of the element's work: before something it uses is freed, never per frame.
  Status settle();

  /// Draws into the frame: maps it for writing, calls draw(view, stream), and sees to it that
  /// whoever gets the frame sees the drawing.
  template <typename Draw>
  Status draw(const Draw& draw_on) {
    const auto mapping = DeviceMapping::map(frame_, static_cast<GstMapFlags>(GST_MAP_READWRITE));
    if (!mapping.ok()) return mapping.status();
    const auto on = stream();
    if (!on.ok()) return on.status();
    if (Status s = follow_producer(); !s.ok()) return s;
    if (Status s = draw_on(mapping.value()->view(), on.value()); !s.ok()) return s;
    return hand_over();
  }

  /// Records what the element has enqueued.
  Status end();

 private:
  Status join();
  Status follow_producer();
  Result<const cuda::DeviceFaces*> use(const DeviceFacesRef& faces);
  Result<const cuda::DeviceFaces*> upload(const FaceList& faces);
  Status hand_over();

  DeviceElement& element_;
  Frame& frame_;
  const bool in_cuda_memory_;
  std::shared_ptr<DeviceChain> chain_;  // from join() on
  /// Where the frame's memory is written, from 1.24 on: the next writing comes after our reading.
  cudaStream_t writer_ = nullptr;
};

/// The context of a frame in CUDA memory; empty for other memory.
CudaContext context_of(GstBuffer* buffer);

/// The faces' landmark capacity on the GPU, 0 when they are elsewhere.
int landmarks_capacity(const FaceResult& faces);
/// The name in FaceList::detector, without waiting.
std::string detector_of(const FaceResult& faces);

}  // namespace cuface::gst
