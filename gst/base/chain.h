// What the elements of one chain share besides the faces: the grey picture of the frame on its way,
// the tracker's wish for a search and the faces it follows. docs/design/chain.md says why it is so
// little.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "gst/base/picturepool.h"
#include "gst/meta/results.h"

namespace cuface::gst {

class DeviceChain;

/// Made by the first of our elements that sees a buffer (the head), carried by the face meta.
///
/// Everything but the atomics belongs to the head's streaming thread: others may hold the object,
/// and must ask on_own_thread() before they touch it. So nothing depends on timing: an element
/// behind a queue never gets through, an element without one always does.
class Chain {
 public:
  /// The head starts a frame: the luma of the frame before is gone.
  std::uint64_t begin_frame() {
    thread_.store(g_thread_self(), std::memory_order_relaxed);
    luma_ = nullptr;
    search_requested_ = std::exchange(search_wanted_next_, {});
    followed_ = std::exchange(followed_next_, {});
    return ++generation_;
  }
  bool on_own_thread() const { return thread_.load(std::memory_order_relaxed) == g_thread_self(); }

  /// The frame's luma if somebody has computed it and the head has not moved on, else null.
  GreyPicture luma(std::uint64_t generation) const {
    return generation == generation_ ? luma_ : nullptr;
  }
  /// Where the luma of the current frame may be made; null when the head has moved on.
  PicturePool* luma_pool(std::uint64_t generation) {
    return generation == generation_ ? &luma_pool_ : nullptr;
  }
  void set_luma(GreyPicture luma) { luma_ = std::move(luma); }

  /// What the tracker wants searched of the next frame, and what it wanted on the frame before.
  void request_search(const Band& what) { search_wanted_next_ = what; }
  const Band& search_requested() const { return search_requested_; }
  /// The faces that the tracker followed on the frame before, in pixels of its frames; none where
  /// there is no tracker. Where they are on the GPU, only there is known how many, and whether it
  /// wishes for a search (cuda::DeviceFaces::search_wanted).
  void tell_followed(FaceResult faces) { followed_next_ = std::move(faces); }
  const FaceResult& followed() const { return followed_; }

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

  /// For the face meta's readers: whether one of them has warned that positions are lost.
  const std::shared_ptr<std::atomic<bool>>& geometry_warned() const { return geometry_warned_; }

 private:
  std::atomic<GThread*> thread_{nullptr};
  std::shared_ptr<std::atomic<bool>> geometry_warned_ = std::make_shared<std::atomic<bool>>(false);
  std::uint64_t generation_ = 0;
  PicturePool luma_pool_;
  GreyPicture luma_;
  Band search_requested_, search_wanted_next_;
  FaceResult followed_, followed_next_;
  std::shared_ptr<DeviceChain> device_;
  std::uint64_t device_generation_ = 0;
};

}  // namespace cuface::gst
