#include "gst/base/cuda/devicechain.h"

#include <algorithm>
#include <utility>

#include "kernels/common/try.h"
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
  CUFACE_TRY(chain->allocate(width, height));
  return chain;
}

Status DeviceChain::allocate(int width, int height) {
  CUFACE_TRY(take(DeviceStream::create(context_), on_));
  CUFACE_TRY(take(cuda::DeviceImage<std::uint8_t>::create(width, height), luma_));
  for (InFlight& frame : in_flight_) CUFACE_TRY(make_event(frame.done));
  CUFACE_TRY(make_event(used_));
  CUFACE_TRY(make_event(produced_));
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
  pyramid_ = nullptr;
  pyramids_.clear();
  for (auto& staging : staging_) staging = {};
}

Status DeviceChain::begin_frame() {
  if (number_ > 0) {
    InFlight& before = current();
    before.submissions = on_->submitted();
    if (!on_->are_over(before.submissions))
      CUFACE_TRY(check(cudaEventRecord(before.done, stream()), "recording a CUDA event"));
  }
  InFlight& frame = slot(number_ + 1);
  if (frame.number != 0 && !on_->are_over(frame.submissions) && !cuda::is_over(frame.done)) {
    count_wait();
    CUFACE_TRY(check(cudaEventSynchronize(frame.done), "waiting for the GPU"));
  }
  frame.inputs.clear();
  frame.number = ++number_;
  luma_ready_ = false;
  pyramid_ = nullptr;
  return {};
}

ImageView<const std::uint8_t> DeviceChain::luma() const {
  return luma_ready_ ? luma_.view() : ImageView<const std::uint8_t>{};
}

Status DeviceChain::fill_luma(const FrameView& frame, cuda::Launcher launch) {
  CUFACE_TRY(cuda::luma(frame, luma_.view(), launch));
  luma_ready_ = true;
  return {};
}

Result<DevicePyramid> DeviceChain::pyramid(ImageView<const std::uint8_t> luma) {
  if (pyramid_) return pyramid_;
  auto free = std::find_if(pyramids_.begin(), pyramids_.end(),
                           [](const DevicePyramid& p) { return p.use_count() == 1; });
  if (free == pyramids_.end()) {
    CUFACE_TAKE(made, cuda::GaussianPyramid::create(luma.width, luma.height));
    free = pyramids_.insert(free, std::move(made));
  }
  CUFACE_TRY((*free)->begin(luma));
  return pyramid_ = *free;
}

int DeviceChain::number_of(const DevicePyramid& pyramid) const {
  const auto found = std::find(pyramids_.begin(), pyramids_.end(), pyramid);
  return found == pyramids_.end() ? -1 : static_cast<int>(found - pyramids_.begin());
}

std::shared_ptr<const FrameUse> DeviceChain::make_use(std::uint64_t submissions) {
  return std::make_shared<ChainFrameUse>(shared_from_this(), number_, submissions);
}

Result<std::shared_ptr<const FrameUse>> DeviceChain::use_frame(cuda::Launcher launch) {
  CUFACE_TRY(launch.record(used_));
  return make_use(on_->submitted() + 1);
}

Result<std::shared_ptr<const FrameUse>> DeviceChain::use_frame() {
  CUFACE_TRY(check(cudaEventRecord(used_, stream()), "recording a CUDA event"));
  return make_use(on_->submitted());
}

Status DeviceChain::follow(cudaStream_t producer) {
  CUFACE_TRY(check(cudaEventRecord(produced_, producer), "recording a CUDA event"));
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
  if (staging.size() == 0)
    CUFACE_TRY(take(cuda::PinnedBuffer<std::uint8_t>::create(width * height), staging));
  const ImageView<std::uint8_t> host{staging.data(), luma_.width(), luma_.height(),
                                     static_cast<std::ptrdiff_t>(width)};
  CUFACE_TRY(frame.compute_luma(host));
  const ImageView<std::uint8_t> device = luma_.view();
  CUFACE_TRY(
      check(cudaMemcpy2DAsync(device.data, static_cast<std::size_t>(device.stride), host.data,
                              width, width, height, cudaMemcpyHostToDevice, stream()),
            "copying the grey picture to the GPU"));
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
