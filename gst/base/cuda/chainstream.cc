#include "gst/base/cuda/chainstream.h"

#include <atomic>
#include <utility>

namespace cuface::gst {

using cuda::check;

Result<std::shared_ptr<ChainStream>> ChainStream::create(const CudaContext& context) {
  std::shared_ptr<ChainStream> made(new ChainStream(context));
  int least = 0, greatest = 0;
  if (Status s = check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking the GPU");
      !s.ok())
    return s;
  if (Status s =
          check(cudaStreamCreateWithPriority(&made->stream_, cudaStreamNonBlocking, greatest),
                "making a CUDA stream");
      !s.ok())
    return s;
  auto over = cuda::PinnedBuffer<std::uint64_t>::create(1);
  if (!over.ok()) return over.status();
  made->over_ = std::move(over.value());
  *made->over_.data() = 0;
  return made;
}

ChainStream::~ChainStream() {
  const ContextScope scope(context_);
  if (stream_) {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  over_ = {};
}

bool ChainStream::are_over(std::uint64_t submissions) {
  return std::atomic_ref(*over_.data()).load(std::memory_order_acquire) >= submissions;
}

}  // namespace cuface::gst
