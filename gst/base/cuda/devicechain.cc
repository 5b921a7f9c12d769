#include "gst/base/cuda/devicechain.h"

#include <utility>

#include "kernels/luma/luma_cuda.h"

namespace cuface::gst {
namespace {

using cuda::check;

/// The memory of one frame, until the chain's stream is past it.
class ChainFrameUse final : public FrameUse {
 public:
  ChainFrameUse(std::shared_ptr<DeviceChain> chain, std::uint64_t number, std::uint64_t submissions)
      : chain_(std::move(chain)), number_(number), submissions_(submissions) {}
  void wait() const override { chain_->wait_for_use(number_, submissions_); }

 private:
  const std::shared_ptr<DeviceChain> chain_;
  const std::uint64_t number_, submissions_;
};

Status make_event(cudaEvent_t& event) {
  return check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
               "making a CUDA event");
}

}  // namespace

Result<std::shared_ptr<DeviceChain>> DeviceChain::create(const CudaContext& context, int width,
                                                         int height, std::shared_ptr<Waits> waits) {
  std::shared_ptr<DeviceChain> chain(new DeviceChain(context, std::move(waits)));
  if (Status s = chain->allocate(width, height); !s.ok()) return s;
  return chain;
}

Status DeviceChain::allocate(int width, int height) {
  auto on = ChainStream::create(context_);
  if (!on.ok()) return on.status();
  on_ = std::move(on.value());
  auto luma = cuda::DeviceImage<std::uint8_t>::create(width, height);
  if (!luma.ok()) return luma.status();
  luma_ = std::move(luma.value());
  for (InFlight& frame : in_flight_)
    if (Status s = make_event(frame.done); !s.ok()) return s;
  if (Status s = make_event(used_); !s.ok()) return s;
  if (Status s = make_event(produced_); !s.ok()) return s;
  return {};
}

DeviceChain::~DeviceChain() {
  const ContextScope scope(context_);
  if (on_) cudaStreamSynchronize(stream());
  for (InFlight& frame : in_flight_) {
    frame.inputs.clear();
    if (frame.done) cudaEventDestroy(frame.done);
  }
  for (cudaEvent_t event : {used_, produced_})
    if (event) cudaEventDestroy(event);
  luma_ = {};
  for (auto& staging : staging_) staging = {};
}

Status DeviceChain::begin_frame() {
  if (number_ > 0) {
    InFlight& before = current();
    before.submissions = on_->submitted();
    if (!on_->are_over(before.submissions))
      if (Status s = check(cudaEventRecord(before.done, stream()), "recording a CUDA event");
          !s.ok())
        return s;
  }
  InFlight& frame = slot(number_ + 1);
  if (frame.number != 0 && !on_->are_over(frame.submissions) && !cuda::is_over(frame.done)) {
    count_wait();
    if (Status s = check(cudaEventSynchronize(frame.done), "waiting for the GPU"); !s.ok())
      return s;
  }
  frame.inputs.clear();
  frame.number = ++number_;
  luma_ready_ = false;
  return {};
}

ImageView<const std::uint8_t> DeviceChain::luma() const {
  return luma_ready_ ? luma_.view() : ImageView<const std::uint8_t>{};
}

Result<std::shared_ptr<const FrameUse>> DeviceChain::fill_luma(const FrameView& frame,
                                                               cuda::Launcher launch) {
  if (Status s = cuda::luma(frame, luma_.view(), launch); !s.ok()) return s;
  if (Status s = launch.record(used_); !s.ok()) return s;
  luma_ready_ = true;
  return make_use(on_->submitted() + 1);
}

std::shared_ptr<const FrameUse> DeviceChain::make_use(std::uint64_t submissions) {
  return std::make_shared<ChainFrameUse>(shared_from_this(), number_, submissions);
}

Result<std::shared_ptr<const FrameUse>> DeviceChain::use_frame() {
  if (Status s = check(cudaEventRecord(used_, stream()), "recording a CUDA event"); !s.ok())
    return s;
  return make_use(on_->submitted());
}

Status DeviceChain::follow(cudaStream_t producer) {
  if (Status s = check(cudaEventRecord(produced_, producer), "recording a CUDA event"); !s.ok())
    return s;
  return check(cudaStreamWaitEvent(stream(), produced_, 0), "ordering CUDA streams");
}

Status DeviceChain::hold_back(cudaStream_t writer) {
  return check(cudaStreamWaitEvent(writer, used_, 0), "ordering CUDA streams");
}

Status DeviceChain::upload_luma(Frame& frame) {
  // begin_frame() has waited for the copy that used this staging picture before.
  auto& staging = staging_[number_ % kInFlight];
  const auto width = static_cast<std::size_t>(luma_.width());
  const auto height = static_cast<std::size_t>(luma_.height());
  if (staging.size() == 0) {
    auto pinned = cuda::PinnedBuffer<std::uint8_t>::create(width * height);
    if (!pinned.ok()) return pinned.status();
    staging = std::move(pinned.value());
  }
  const ImageView<std::uint8_t> host{staging.data(), luma_.width(), luma_.height(),
                                     static_cast<std::ptrdiff_t>(width)};
  if (Status s = frame.compute_luma(host); !s.ok()) return s;
  const ImageView<std::uint8_t> device = luma_.view();
  if (Status s =
          check(cudaMemcpy2DAsync(device.data, static_cast<std::size_t>(device.stride), host.data,
                                  width, width, height, cudaMemcpyHostToDevice, stream()),
                "copying the grey picture to the GPU");
      !s.ok())
    return s;
  luma_ready_ = true;
  return {};
}

void DeviceChain::wait_for_use(std::uint64_t number, std::uint64_t submissions) {
  if (on_->are_over(submissions)) return;
  InFlight& frame = slot(number);
  if (frame.number != number) return;  // begin_frame() has waited for it
  const ContextScope scope(context_);
  if (cuda::is_over(used_)) return;
  count_wait();
  cudaEventSynchronize(used_);
}

}  // namespace cuface::gst
