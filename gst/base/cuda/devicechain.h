// The GPU's half of a chain: one stream, the luma of the frame on its way, and how far the GPU is
// behind.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "gst/base/cuda/context.h"
#include "gst/base/cuda/devicestream.h"
#include "gst/base/frame.h"
#include "gst/meta/framemeta.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/pyramid/cuda/octaves.h"

namespace cuface::gst {

/// How often a thread had to wait for the GPU.
using Waits = std::atomic<std::uint64_t>;

/// A frame's flow pyramid in device memory, held and let go with the context current.
using DevicePyramid = std::shared_ptr<cuda::GaussianPyramid>;

/// Made by an element for frames of one size in one context. The element begins each frame; the
/// elements behind it in the same thread, where nobody can have touched a pixel, go on in the same
/// stream. Everything but wait_for_use() and count_wait() belongs to that thread, with the context
/// current.
class DeviceChain : public std::enable_shared_from_this<DeviceChain> {
 public:
  /// Frames the GPU may be behind; begin_frame() waits for more.
  static constexpr int kInFlight = 4;

  static Result<std::shared_ptr<DeviceChain>> create(const CudaContext& context, int width,
                                                     int height, std::shared_ptr<Waits> waits);
  ~DeviceChain();

  bool fits(const CudaContext& context, int width, int height) const {
    return context_ == context && luma_.width() == width && luma_.height() == height;
  }
  const std::shared_ptr<DeviceStream>& shared_stream() const { return on_; }
  cudaStream_t stream() const { return on_->get(); }

  /// All that was submitted since the last call is work on the frame before.
  Status begin_frame();
  /// Keeps what work enqueued for this frame reads until that work is over.
  void keep(std::shared_ptr<const void> input) { current().inputs.push_back(std::move(input)); }

  /// The frame's luma once somebody has filled it, else an image without data.
  ImageView<const std::uint8_t> luma() const;
  /// From a frame in device memory: one kernel reads it.
  Status fill_luma(const FrameView& frame, cuda::Launcher launch);
  /// From a frame in host memory, which is done with on return.
  Status upload_luma(Frame& frame);
  /// What `launch` has collected so far reads the frame's memory: what to wait for before that may
  /// be written, once it is submitted.
  Result<std::shared_ptr<const FrameUse>> use_frame(cuda::Launcher launch);
  /// The pyramid of the frame's luma, of which nothing may be built yet. One that nobody holds: as
  /// long as each frame's is held until the next one's, two take turns.
  Result<DevicePyramid> pyramid(ImageView<const std::uint8_t> luma);
  /// Which of the chain's pyramids it is, from 0 on; -1 = another chain's.
  int number_of(const DevicePyramid& pyramid) const;
  /// The work on the stream so far reads or writes a frame's memory: what to wait for.
  Result<std::shared_ptr<const FrameUse>> use_frame();

  /// What is enqueued from now on comes after what `producer` has now.
  Status follow(cudaStream_t producer);
  /// What `writer` gets from now on comes after the work that touches the frame's memory.
  Status hold_back(cudaStream_t writer);

  /// Returns when the frame-memory work of frame `number` is over, as it surely is when so many
  /// `submissions` are. From any thread.
  void wait_for_use(std::uint64_t number, std::uint64_t submissions);
  void count_wait() { waits_->fetch_add(1, std::memory_order_relaxed); }

 private:
  struct InFlight {
    cudaEvent_t done = nullptr;  ///< all work of the frame; recorded when the next begins, if it is
                                 ///< not over by then
    std::uint64_t submissions = 0;         ///< that are over when its work is
    std::atomic<std::uint64_t> number{0};  ///< of the frame; 0 = none yet
    std::vector<std::shared_ptr<const void>> inputs;
  };

  DeviceChain(const CudaContext& context, std::shared_ptr<Waits> waits)
      : context_(context), waits_(std::move(waits)) {}
  Status allocate(int width, int height);
  InFlight& slot(std::uint64_t number) { return in_flight_[number % kInFlight]; }
  InFlight& current() { return slot(number_); }
  std::shared_ptr<const FrameUse> make_use(std::uint64_t submissions);

  const CudaContext context_;
  const std::shared_ptr<Waits> waits_;
  std::shared_ptr<DeviceStream> on_;
  cuda::DeviceImage<std::uint8_t> luma_;
  bool luma_ready_ = false;
  std::vector<DevicePyramid> pyramids_;
  DevicePyramid pyramid_;  ///< of the frame on its way, once somebody has asked
  std::uint64_t number_ = 0;
  std::array<InFlight, kInFlight> in_flight_;
  /// All that touches the memory of the frame on its way; one for all frames, so that graphs keep
  /// it. Who waits for an earlier frame may wait for this one.
  cudaEvent_t used_ = nullptr;
  cudaEvent_t produced_ = nullptr;                                   ///< in the producer's stream
  std::array<cuda::PinnedBuffer<std::uint8_t>, kInFlight> staging_;  // made by the first upload
};

}  // namespace cuface::gst
