// Where what was found on frames lives on the GPU until the last who may read it is gone.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gst/base/cuda/context.h"
#include "gst/base/cuda/devicestream.h"
#include "gst/meta/results.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/try.h"

namespace cuface::gst {

class DeviceResult;

/// One element's store. Slots are reused. Where all are taken, the oldest result moves into host
/// memory and leaves its slot: however many results others keep, they take no more GPU memory.
/// Slots grow in number only where no result can move: it is young, its work is not over, or other
/// streams use it. Thread-safe, but for the staging memory.
class DeviceSlots : public std::enable_shared_from_this<DeviceSlots> {
 public:
  struct Slot {
    std::byte* bytes = nullptr;
    cudaEvent_t ready = nullptr;  ///< for whoever needs to wait for them
  };

  /// Where the element's kernels write, the same memory on each frame, so that the arguments of
  /// kernels stay: its results go from there to slots. Of the streaming thread.
  struct Staging {
    std::byte* bytes = nullptr;
    std::uint64_t generation = 0;  ///< of the result it holds, or will by what is enqueued
  };
  static constexpr std::size_t kStaged = 2;  ///< results of a frame
  /// Slots made at once, for what an unhurried chain has on its way: four frames in flight, a batch
  /// of lines that wait to be written, and the frames on their way to the sink.
  static constexpr std::size_t kChunk = 24;
  /// The last results never leave their slots: culktrack and cufacedetect look at those of the
  /// frame before on the GPU.
  static constexpr std::size_t kYoung = 8;
  Staging& staging(std::size_t i) { return staging_[i]; }

  /// `bytes`: of a slot. The context must be current.
  static Result<std::shared_ptr<DeviceSlots>> create(const CudaContext& context, std::size_t bytes);
  ~DeviceSlots();
  DeviceSlots(const DeviceSlots&) = delete;
  DeviceSlots& operator=(const DeviceSlots&) = delete;

  const CudaContext& context() const { return context_; }
  std::size_t slot_bytes() const { return slot_bytes_; }

  /// The context must be current. Waits for a copy where a result has to leave its slot.
  Result<Slot> take();
  void give_back(Slot slot);
  /// From now on the result may be asked to leave its slot. Results come in the order of frames.
  void lend(std::weak_ptr<const DeviceResult> result);
  /// How many results have left their slots.
  std::uint64_t moved() const { return moved_; }

  /// How the bytes of a slot become a value on the host: the first bytes of its slot, which tell
  /// how many there are.
  struct Decoder {
    std::size_t first;
    std::function<std::size_t(const std::byte*)> all;
    std::function<std::shared_ptr<const void>(const std::byte*)> value;
  };
  /// Copies what a slot holds, on a stream of its own, and waits for it. Another call may succeed
  /// after an error. `hold_back`: sees to it that a stream comes behind the work that writes it.
  /// Pushes the context itself.
  Result<std::shared_ptr<const void>> read(const Slot& slot,
                                           const std::function<Status(cudaStream_t)>& hold_back,
                                           const Decoder& decoder);

 private:
  struct DestroyEvent {
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  };
  using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

  DeviceSlots(const CudaContext& context, std::size_t bytes);
  static Status make(Event& event);
  Status grow();
  std::optional<Slot> take_free();
  std::optional<Slot> take_from_oldest();
  Status make_staging();
  Status make_reader();
  Status copy_and_wait(std::byte* to, const std::byte* from, std::size_t bytes);

  const CudaContext context_;
  const std::size_t slot_bytes_;

  cuda::DeviceBuffer<std::byte> staging_bytes_;
  std::array<Staging, kStaged> staging_;

  std::mutex mutex_;  // of the three below; held while no result goes
  std::vector<cuda::DeviceBuffer<std::byte>> chunks_;
  std::vector<Slot> free_;
  std::deque<std::weak_ptr<const DeviceResult>> lent_;  // that may leave, the oldest first
  std::atomic<std::uint64_t> moved_ = 0;
  std::vector<Event> events_;  // all there are

  std::mutex reader_;  // of the three below; one reads at a time
  cudaStream_t stream_ = nullptr;
  Event copied_;
  cuda::PinnedBuffer<std::byte> pinned_;
};

/// What an element has put into a slot, or will have when its submission is over. Later it may
/// leave the slot for host memory. Kinds of results derive their own.
class DeviceResult : public PendingResult, public std::enable_shared_from_this<DeviceResult> {
 public:
  /// Takes a slot; it goes back with the result. With `staging`, kernels write there, and what
  /// they write is to be copied to the slot behind them; what was there before is in its slot only
  /// from now on.
  template <typename R>
  static Result<std::shared_ptr<R>> create(std::shared_ptr<DeviceSlots> slots,
                                           DeviceSlots::Staging* staging = nullptr) {
    CUFACE_TAKE(slot, slots->take());
    return std::make_shared<R>(std::move(slots), slot, staging);
  }
  DeviceResult(std::shared_ptr<DeviceSlots> slots, DeviceSlots::Slot slot,
               DeviceSlots::Staging* staging);
  ~DeviceResult() override;
  DeviceResult(const DeviceResult&) = delete;
  DeviceResult& operator=(const DeviceResult&) = delete;

  /// Before it is added to the frame: the picture's size, and the stream whose last submission
  /// writes it.
  void set_producer(int width, int height, std::shared_ptr<DeviceStream> producer);

  /// Where the element's kernels write.
  std::byte* written() const { return staging_ ? staging_->bytes : slot_.bytes; }
  /// Where the result stays, once the submission is over. Before set_producer(), or after
  /// keep_slot().
  std::byte* slot() const { return slot_.bytes; }
  /// For work enqueued next in that stream: where it was written while it is there; null once it
  /// has left. By the thread that enqueues there.
  const std::byte* in_stream() const;
  /// The result stays in the slot to the end, for work in other streams. False when it has left.
  bool keep_slot() const;
  /// Moves the result into host memory. The slot, which is the caller's then; none where it is kept
  /// or the GPU cannot be read. Waits for a copy.
  std::optional<DeviceSlots::Slot> leave_slot() const;
  /// What is enqueued in that stream from now on comes after the result. The first time an event is
  /// recorded, and so behind what its stream has by then. The context must be current.
  Status hold_back(cudaStream_t reader) const;
  int width() const { return width_; }
  int height() const { return height_; }
  const std::shared_ptr<DeviceStream>& producer() const { return producer_; }
  const CudaContext& context() const { return slots_->context(); }
  std::size_t slot_bytes() const { return slots_->slot_bytes(); }

  bool is_ready() const override;
  Result<std::shared_ptr<const void>> read() const override;
  const DeviceResult* on_device() const override { return this; }
  std::size_t bytes() const override { return sizeof(*this) + slots_->slot_bytes(); }

 protected:
  virtual DeviceSlots::Decoder decoder() const = 0;

 private:
  const std::shared_ptr<DeviceSlots> slots_;
  const DeviceSlots::Slot slot_;
  DeviceSlots::Staging* const staging_;     // of slots_, or null
  const std::uint64_t staging_generation_;  // of it
  int width_ = 0, height_ = 0;
  std::shared_ptr<DeviceStream> producer_;
  std::uint64_t submissions_ = 0;  // that are over when the result is there
  mutable std::mutex slot_mutex_;  // of the three below
  mutable bool recorded_ = false;  // slot_.ready
  mutable bool kept_ = false, left_ = false;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const void> value_;  // once read; never of a read that failed
};

/// A result that is in device memory what it is in the host's.
template <typename T>
class PlainDeviceResult final : public DeviceResult {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using DeviceResult::DeviceResult;
  T* written() const { return reinterpret_cast<T*>(DeviceResult::written()); }

 protected:
  DeviceSlots::Decoder decoder() const override {
    return {sizeof(T), [](const std::byte*) { return sizeof(T); },
            [](const std::byte* bytes) -> std::shared_ptr<const void> {
              auto value = std::make_shared<T>();
              std::memcpy(value.get(), bytes, sizeof(T));
              return value;
            }};
  }
};

/// A result of any layout, such as a picture: whoever makes it says how it is read.
class RawDeviceResult final : public DeviceResult {
 public:
  using DeviceResult::DeviceResult;
  /// Once, before the result is shared.
  void set_decoder(DeviceSlots::Decoder decoder) { decoder_ = std::move(decoder); }
  /// The same: a value of the result's type with what the host knows of it from the beginning.
  void set_outline(std::shared_ptr<const void> outline) { outline_ = std::move(outline); }
  /// Null where nothing is known.
  template <typename T>
  const T* outline() const {
    return static_cast<const T*>(outline_.get());
  }

 protected:
  DeviceSlots::Decoder decoder() const override { return decoder_; }

 private:
  DeviceSlots::Decoder decoder_;
  std::shared_ptr<const void> outline_;
};

/// The result where it is on the GPU as an R, null when it is elsewhere.
template <typename R = DeviceResult>
std::shared_ptr<const R> on_device(const PendingResultRef& result) {
  const auto* device = dynamic_cast<const R*>(result ? result->on_device() : nullptr);
  return device ? std::shared_ptr<const R>(result, device) : nullptr;
}

}  // namespace cuface::gst
