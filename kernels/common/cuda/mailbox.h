// What the work in a graph is told anew on each submission, without an argument of a kernel being
// set: that costs the host as much as a launch.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/status.h"

namespace cuface::cuda {

/// Messages from the host to the work that it submits, one a submission and in its order. The host
/// writes a message into a ring in pinned memory; a kernel, which comes before all that read it,
/// copies it to where they do, always the same place in device memory. The messages are numbered: a
/// kernel that finds another than the next one ends the context with an error, so that no work ever
/// goes by an old message.
///
/// For one thread at a time and submissions that run one after the other, whatever their streams. A
/// message is sent by sent(), after a launch that has succeeded; one that is not is written anew.
/// To be destroyed when the work is over. Allocates in create() only.
class Mailbox {
 public:
  static constexpr std::size_t kBytes = 256;  ///< of a message
  static constexpr std::uint64_t kRing = 16;  ///< messages on their way

  static Result<std::unique_ptr<Mailbox>> create();

  /// Begins the next message. False while the GPU has not taken as many as there is room for: then
  /// there is none.
  bool begin();
  /// Copies `bytes` into it and says where they are in device memory, for kernels behind
  /// receive(); null when it is full.
  const void* add(const void* from, std::size_t bytes);
  /// The kernel that takes the message.
  void receive(LaunchList& list);
  /// The work with receive() in it has been submitted.
  void sent() { ++sent_; }

  /// In pinned memory. The number is of the message, from 1 on.
  struct Entry {
    std::uint64_t words[kBytes / 8];
    std::uint64_t number;
  };
  /// In device memory; the last message taken.
  struct Box {
    std::uint64_t words[kBytes / 8];
    std::uint64_t taken;
  };

 private:
  Mailbox() = default;

  PinnedBuffer<Entry> ring_;
  PinnedBuffer<std::uint64_t> taken_;  ///< as the host sees it, perhaps late
  DeviceBuffer<Box> box_;
  std::uint64_t sent_ = 0;
  std::size_t used_ = 0;  ///< bytes of the message begun
};

}  // namespace cuface::cuda
