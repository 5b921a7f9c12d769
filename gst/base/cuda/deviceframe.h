// One frame on the GPU, for the CUDA stages of the elements: where their kernels go, the luma, and
// the faces before and after.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "gst/base/cuda/context.h"
#include "gst/base/cuda/devicechain.h"
#include "gst/base/cuda/deviceclock.h"
#include "gst/base/frame.h"
#include "gst/faces/cuda/faceslots.h"
#include "kernels/common/cuda/graph.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/mailbox.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/faces/counters_cuda.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/luma/luma.h"

namespace cuface::gst {

/// A frame in CUDA memory, mapped on the device; unmapped when it goes.
class DeviceMapping {
 public:
  DeviceMapping() = default;
  ~DeviceMapping() {
    if (mapped_) gst_video_frame_unmap(&frame_);
  }
  DeviceMapping(const DeviceMapping&) = delete;
  DeviceMapping& operator=(const DeviceMapping&) = delete;
  /// Once.
  Status map(Frame& frame, GstMapFlags flags);
  const FrameView& view() const { return view_; }

 private:
  bool mapped_ = false;
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
  /// Work on a frame, in turns as the tracker's pyramids are, so that it is mostly what it was,
  std::array<cuda::LaunchList, 2> work;
  unsigned turn = 0;
  cuda::GraphSet graphs;  ///< and what it is submitted by
  std::unique_ptr<cuda::Post> post;
  DeviceClock clock;
  std::shared_ptr<DeviceChain> last_chain;  ///< of its last frame
  cudaEvent_t last = nullptr;

  /// Records `last` behind all the element's work.
  Status mark_last() {
    return cuda::check(cudaEventRecord(last, last_chain->stream()), "recording a CUDA event");
  }
};

/// Lives for one process() call, in the streaming thread and with the context current. The
/// element's kernels are collected and go to the chain's stream as one graph, at the end.
class DeviceFrame {
 public:
  DeviceFrame(DeviceElement& element, Frame& frame, bool in_cuda_memory)
      : element_(element), frame_(frame), in_cuda_memory_(in_cuda_memory) {}

  /// Where all the element's kernels for this frame go; its earlier work comes before.
  Result<cuda::Launcher> launcher();
  /// The grey picture, made at most once in an unbroken line of our elements.
  Result<ImageView<const std::uint8_t>> luma();

  /// The faces in device memory and pixels of this frame, for kernels of this frame; null for an
  /// empty result. Uploads faces that are in host memory or of another size.
  Result<const cuda::DeviceFaces*> faces(const FaceResult& faces);
  /// Room for this element's faces with up to that many landmarks each; for up to
  /// FaceSlots::kBlocks lists a frame.
  Result<std::shared_ptr<DeviceFacesResult>> new_faces(int landmarks);
  /// Submits the work on `faces`, which are then the result. `detector`: as in FaceList. `scratch`:
  /// what the work uses in turn with others, or null.
  Result<FaceResult> finish(std::shared_ptr<DeviceFacesResult> faces, DetectorName detector,
                            cuda::CountedWork work, cuda::Scratch* scratch = nullptr);
  /// After finish(): another list that the same work writes.
  Result<FaceResult> submitted(std::shared_ptr<DeviceFacesResult> faces, DetectorName detector);
  /// Faces of an earlier frame, whatever their size, for the sake of their flags; null where they
  /// are not in this context.
  Result<const cuda::DeviceFaces*> flags(const PendingFacesRef& faces);
  /// Waits for all of the element's work: before something it uses is freed, never per frame.
  Status settle();

  /// Draws into the frame: maps it for writing, submits what draw(view, launcher) launches, and
  /// sees to it that whoever gets the frame sees the drawing.
  template <typename Draw>
  Status draw(const Draw& draw_on) {
    DeviceMapping mapping;
    if (Status s = mapping.map(frame_, static_cast<GstMapFlags>(GST_MAP_READWRITE)); !s.ok())
      return s;
    const auto launch = launcher();
    if (!launch.ok()) return launch.status();
    if (Status s = follow_producer(); !s.ok()) return s;
    if (Status s = draw_on(mapping.view(), launch.value()); !s.ok()) return s;
    if (Status s = cuda::count_over(chain_->shared_stream()->over(), launch.value()); !s.ok())
      return s;
    if (Status s = submit(nullptr); !s.ok()) return s;
    return hand_over();
  }

  /// Orders others behind what the element has enqueued.
  Status end();

 private:
  Status join();
  Status make_slots(int landmarks);
  Status follow_producer();
  Result<const cuda::DeviceFaces*> use(const DeviceFacesRef& faces);
  Result<const cuda::DeviceFaces*> upload(const FaceList& faces);
  Status submit(cuda::Scratch* scratch);
  Status hand_over();

  DeviceElement& element_;
  Frame& frame_;
  const bool in_cuda_memory_;
  std::shared_ptr<DeviceChain> chain_;                                       // from join() on
  cuda::LaunchList* work_ = nullptr;                                         // the same
  std::array<std::shared_ptr<DeviceFacesResult>, FaceSlots::kBlocks> made_;  // by new_faces()
  std::size_t lists_ = 0;
  /// Where the frame's memory is written, from 1.24 on: the next writing comes after our reading.
  cudaStream_t writer_ = nullptr;
};

/// The context of a frame in CUDA memory; empty for other memory.
CudaContext context_of(GstBuffer* buffer);
/// Whether a frame's memory is of this very object. Two may stand for one context.
bool is_of(GstBuffer* buffer, const CudaContext& context);

/// The faces' landmark capacity on the GPU, 0 when they are elsewhere.
int landmarks_capacity(const FaceResult& faces);
/// The name in FaceList::detector, without waiting.
DetectorName detector_of(const FaceResult& faces);

}  // namespace cuface::gst
