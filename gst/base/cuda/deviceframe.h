// One frame on the GPU, for elements of any kind: where their kernels go, the luma, and room for
// what they find.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "gst/base/cuda/context.h"
#include "gst/base/cuda/devicechain.h"
#include "gst/base/cuda/deviceclock.h"
#include "gst/base/cuda/deviceresult.h"
#include "gst/base/frame.h"
#include "kernels/common/cuda/graph.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/mailbox.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/cuda/submissions.h"
#include "kernels/common/try.h"
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
struct DeviceKept {
  CudaContext context;
  std::shared_ptr<DeviceChain> own;  ///< used where no other element's can be
  std::shared_ptr<DeviceSlots> slots;
  cuda::TallyBuffer<Counts> counters;
  std::shared_ptr<Waits> waits = std::make_shared<Waits>(0);
  /// Work on a frame, in turns as a chain's pyramids are, so that it is mostly what it was,
  std::array<cuda::LaunchList, 2> work;
  unsigned work_number = 0;  ///< of the list that is next
  cuda::GraphSet graphs;     ///< and what it is submitted by
  std::unique_ptr<cuda::Mailbox> post;
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
  DeviceFrame(DeviceKept& element, Frame& frame, bool in_cuda_memory)
      : element_(element), frame_(frame), in_cuda_memory_(in_cuda_memory) {}

  /// Where all the element's kernels for this frame go; its earlier work comes before.
  Result<cuda::Launcher> launcher();
  /// The grey picture, made at most once in an unbroken line of our elements.
  Result<ImageView<const std::uint8_t>> luma();
  /// Its flow pyramid. Who reads levels has them built first, by enqueue(levels, launcher()), which
  /// builds each at most once in such a line. Whoever holds it may read it on later frames too.
  Result<DevicePyramid> pyramid();
  /// Work of this frame reads the pyramid of an earlier one (null = none), which stays as it is
  /// until the work is over.
  Status keep(const DevicePyramid& earlier);

  /// Room for a T that the element's kernels write; submit_result() it.
  template <typename T>
  Result<std::shared_ptr<PlainDeviceResult<T>>> new_result() {
    CUFACE_TAKE(room, slots(sizeof(T)));
    return DeviceResult::create<PlainDeviceResult<T>>(std::move(room));
  }
  /// Submits the work that writes it, and adds the result to the frame.
  template <typename T>
  Status submit_result(std::shared_ptr<PlainDeviceResult<T>> result) {
    CUFACE_TRY(submit_counted());
    set_producer(*result);
    frame_.add_result(FrameResult<T>(std::move(result), frame_.width(), frame_.height()));
    return {};
  }
  /// Room for `bytes`, of which all is one result: value(bytes) is what it is on the host.
  Result<std::shared_ptr<RawDeviceResult>> new_raw_result(
      std::size_t bytes, std::function<std::shared_ptr<const void>(const std::byte*)> value);
  template <typename T>
  Status submit_result(std::shared_ptr<RawDeviceResult> result) {
    CUFACE_TRY(submit_counted());
    add_drawn_result<T>(std::move(result));
    return {};
  }
  /// Adds a result whose work draw() has submitted.
  template <typename T>
  void add_drawn_result(std::shared_ptr<RawDeviceResult> result) {
    set_producer(*result);
    frame_.add_result(FrameResult<T>(std::move(result), frame_.width(), frame_.height()));
  }
  /// Copies a picture in device memory to the host's, and waits: for frames in system memory.
  Status download(ImageView<const std::uint8_t> from, ImageView<std::uint8_t> to);
  /// Waits for all of the element's work: before something it uses is freed, never per frame.
  Status settle();

  bool in_cuda_memory() const { return in_cuda_memory_; }
  /// Of a frame in CUDA memory: what read_from(view, launcher) launches, and nothing launched
  /// later, reads it.
  template <typename Read>
  Status read(const Read& read_from) {
    DeviceMapping mapping;
    CUFACE_TRY(mapping.map(frame_, GST_MAP_READ));
    CUFACE_TAKE(launch, launcher());
    CUFACE_TRY(follow_producer());
    CUFACE_TRY(read_from(mapping.view(), launch));
    return end_reading();
  }

  /// Draws into the frame: maps it for writing, submits what draw(view, launcher) launches, and
  /// sees to it that whoever gets the frame sees the drawing.
  template <typename Draw>
  Status draw(const Draw& draw_on) {
    DeviceMapping mapping;
    CUFACE_TRY(mapping.map(frame_, static_cast<GstMapFlags>(GST_MAP_READWRITE)));
    CUFACE_TAKE(launch, launcher());
    CUFACE_TRY(follow_producer());
    CUFACE_TRY(draw_on(mapping.view(), launch));
    CUFACE_TRY(submit_counted());
    return hand_over();
  }

  /// Orders others behind what the element has enqueued.
  Status end();

  // For a kind of results with kernels of its own, such as DeviceFaceFrame.

  Frame& frame() const { return frame_; }
  const CudaContext& context() const { return element_.context; }
  /// The chain that the element's work goes to.
  Result<DeviceChain*> chain();
  /// The store of the element's results, for up to so many bytes each.
  Result<std::shared_ptr<DeviceSlots>> slots(std::size_t bytes);
  /// What kernels count, in device memory: submit_counted() tells it.
  Counts* counters() const { return element_.counters.get().own; }
  /// For a last kernel that tells it itself.
  cuda::Tally<Counts> told_counters() const { return element_.counters.get(); }
  void add_waits(std::uint64_t more) const { *element_.waits += more; }
  /// The bytes of a result in this context, for work of this frame, which come before it and stay
  /// until it is over; null where the result has left the GPU, or is none of this one.
  Result<const std::byte*> use(const std::shared_ptr<const DeviceResult>& result);
  /// Submits what the element has launched; the last kernel has to count it
  /// (DeviceChain::shared_stream()). `scratch`: what the work uses in turn with others, or null.
  Status submit(cuda::Scratch* scratch);
  /// The last submission writes this result.
  void set_producer(DeviceResult& result) const {
    result.set_producer(frame_.width(), frame_.height(), chain_->shared_stream());
  }

 private:
  Status join();
  Status end_reading();
  Status follow_producer();
  Status submit_counted();
  Status hand_over();

  DeviceKept& element_;
  Frame& frame_;
  const bool in_cuda_memory_;
  std::shared_ptr<DeviceChain> chain_;  // from join() on
  cuda::LaunchList* work_ = nullptr;    // the same
  /// Where the frame's memory is written, from 1.24 on: the next writing comes after our reading.
  cudaStream_t writer_ = nullptr;
};

/// The context of a frame in CUDA memory; empty for other memory.
CudaContext context_of(GstBuffer* buffer);
/// Whether a frame's memory is of this very object. Two may stand for one context.
bool is_of(GstBuffer* buffer, const CudaContext& context);

}  // namespace cuface::gst
