// The data that the elements of one chain share besides results: the grey picture of the current
// frame, and messages between elements of one kind. docs/design/chain.md says why it is so little.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gst/base/picturepool.h"

namespace cuface::gst {

class DeviceChain;

/// Made by the first of our elements that sees a buffer, carried by the frame meta.
///
/// Everything but the atomics belongs to that element's streaming thread: others may hold the
/// object, and must ask on_own_thread() before they touch it. So nothing depends on timing: an
/// element behind a queue never gets through, an element without one always does.
class Chain {
 public:
  /// The first element starts a frame: the luma of the frame before is gone.
  std::uint64_t begin_frame() {
    thread_.store(g_thread_self(), std::memory_order_relaxed);
    luma_ = nullptr;
    return ++generation_;
  }
  bool on_own_thread() const { return thread_.load(std::memory_order_relaxed) == g_thread_self(); }

  /// The frame's luma if somebody has computed it and no later frame has begun, else null.
  GreyPicture luma(std::uint64_t generation) const {
    return generation == generation_ ? luma_ : nullptr;
  }
  /// Where the luma of the current frame may be made; null when a later one has begun.
  PicturePool* luma_pool(std::uint64_t generation) {
    return generation == generation_ ? &luma_pool_ : nullptr;
  }
  void set_luma(GreyPicture luma) { luma_ = std::move(luma); }

  /// The number of the frame on its way.
  std::uint64_t generation() const { return generation_; }
  /// The chain's only T, shared by elements of one kind, and created for the first that asks.
  template <typename T>
  T& shared() {
    static const char key = 0;
    for (const auto& [known, what] : shared_)
      if (known == &key) return *static_cast<T*>(what.get());
    auto made = std::make_shared<T>();
    shared_.emplace_back(&key, made);
    return *made;
  }

  /// The GPU's half of the chain: the stream and the luma of the current frame, once somebody has
  /// begun it there, else null.
  std::shared_ptr<DeviceChain> device(std::uint64_t generation) const {
    return generation == device_generation_ ? device_ : nullptr;
  }
  void set_device(std::shared_ptr<DeviceChain> device, std::uint64_t generation) {
    if (generation != generation_) return;
    device_ = std::move(device);
    device_generation_ = generation;
  }

  /// For the frame meta's readers: whether one of them has warned that positions are lost.
  const std::shared_ptr<std::atomic<bool>>& geometry_warned() const { return geometry_warned_; }

 private:
  std::atomic<GThread*> thread_{nullptr};
  std::shared_ptr<std::atomic<bool>> geometry_warned_ = std::make_shared<std::atomic<bool>>(false);
  std::uint64_t generation_ = 0;
  PicturePool luma_pool_;
  GreyPicture luma_;
  std::vector<std::pair<const void*, std::shared_ptr<void>>> shared_;
  std::shared_ptr<DeviceChain> device_;
  std::uint64_t device_generation_ = 0;
};

}  // namespace cuface::gst
