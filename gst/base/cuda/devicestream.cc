#include "gst/base/cuda/devicestream.h"

#include <atomic>
#include <utility>

#include "kernels/common/try.h"

namespace cuface::gst {

using cuda::check;

Result<std::shared_ptr<DeviceStream>> DeviceStream::create(const CudaContext& context) {
  std::shared_ptr<DeviceStream> made(new DeviceStream(context));
  int least = 0, greatest = 0;
  CUFACE_TRY(check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking the GPU"));
  CUFACE_TRY(check(cudaStreamCreateWithPriority(&made->stream_, cudaStreamNonBlocking, greatest),
                   "making a CUDA stream"));
  CUFACE_TRY(take(cuda::TallyBuffer<std::uint64_t>::create(), made->over_));
  CUFACE_TRY(take(cuda::PinnedBuffer<std::int32_t>::create(1), made->note_));
  *made->note_.data() = 0;
  return made;
}

DeviceStream::~DeviceStream() {
  const ContextScope scope(context_);
  if (stream_) {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  over_ = {};
  note_ = {};
}

bool DeviceStream::are_over(std::uint64_t submissions) {
  return std::atomic_ref(*over_.told()).load(std::memory_order_acquire) >= submissions;
}

}  // namespace cuface::gst
