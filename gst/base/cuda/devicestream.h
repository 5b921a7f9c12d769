// The stream of a chain, and how far the GPU is in it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>

#include "gst/base/cuda/context.h"
#include "kernels/common/cuda/tally.h"

namespace cuface::gst {

/// Held by the chain and by all results of its work. Submissions are counted: one by one by the
/// chain's thread, and by a kernel at the end of each (cuda::count_over). So everybody sees whether
/// one is over, and no event is recorded for it.
class DeviceStream {
 public:
  /// With the context current.
  static Result<std::shared_ptr<DeviceStream>> create(const CudaContext& context);
  ~DeviceStream();
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  cudaStream_t get() const { return stream_; }

  /// Where each submission adds 1 when it is over.
  cuda::Tally<std::uint64_t> over() { return over_.get(); }
  /// A word of the elements' own: work writes it, and the host reads it when that is over. A
  /// tracker's says whether it wants a search (cuda::CountedWork).
  std::int32_t* note() { return note_.data(); }
  /// Of the chain's thread: there is one more; how many there are.
  void count_submission() { ++submitted_; }
  std::uint64_t submitted() const { return submitted_; }
  /// Whether so many are over, as far as the host has heard. From any thread.
  bool are_over(std::uint64_t submissions);

 private:
  explicit DeviceStream(const CudaContext& context) : context_(context) {}

  const CudaContext context_;
  cudaStream_t stream_ = nullptr;
  cuda::TallyBuffer<std::uint64_t> over_;
  cuda::PinnedBuffer<std::int32_t> note_;
  std::uint64_t submitted_ = 0;
};

}  // namespace cuface::gst
