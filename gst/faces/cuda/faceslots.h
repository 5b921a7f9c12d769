// Where the faces of frames live on the GPU until the last who may read them is gone.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "gst/base/cuda/chainstream.h"
#include "gst/base/cuda/context.h"
#include "gst/meta/results.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/faces/faces_cuda.h"

namespace cuface::gst {

class DeviceFacesResult;

/// One element's store. Slots are reused. Where all are taken, the oldest result moves into host
/// memory and leaves its slot: however many results others keep, they take no more GPU memory.
/// Slots grow in number only where no result can move: it is young, its work is not over, or other
/// streams use it. Thread-safe, but for the blocks.
class FaceSlots : public std::enable_shared_from_this<FaceSlots> {
 public:
  struct Slot {
    cuda::DeviceFaces* faces = nullptr;
    cudaEvent_t ready = nullptr;  ///< for whoever needs to wait for the faces
  };

  /// Where the element's kernels write, the same memory on each frame, so that the arguments of
  /// kernels stay: its lists go from there to slots. Of the streaming thread.
  struct Block {
    cuda::DeviceFaces* faces = nullptr;
    std::uint64_t turn = 0;  ///< of the list that it holds, or will hold by what is enqueued
  };
  static constexpr std::size_t kBlocks = 2;  ///< lists of a frame
  /// Slots made at once, for what an unhurried chain has on its way: four frames in flight, a batch
  /// of lines that wait to be written, and the frames on their way to the sink.
  static constexpr std::size_t kChunk = 24;
  /// The last results never leave their slots: culktrack and cufacedetect look at those of the
  /// frame before on the GPU.
  static constexpr std::size_t kYoung = 8;
  Block& block(std::size_t i) { return blocks_[i]; }

  /// `landmarks`: points per face there is room for. The context must be current.
  static Result<std::shared_ptr<FaceSlots>> create(const CudaContext& context, int landmarks);
  ~FaceSlots();
  FaceSlots(const FaceSlots&) = delete;
  FaceSlots& operator=(const FaceSlots&) = delete;

  const CudaContext& context() const { return context_; }
  int landmarks() const { return landmarks_; }
  std::size_t slot_bytes() const { return slot_bytes_; }

  /// The context must be current. Waits for a copy where a result has to leave its slot.
  Result<Slot> take();
  void give_back(Slot slot);
  /// From now on the result may be asked to leave its slot. Results come in the order of frames.
  void lend(std::weak_ptr<const DeviceFacesResult> result);
  /// How many results have left their slots.
  std::uint64_t moved() const { return moved_; }

  /// Copies the faces of a slot into `list`, on a stream of its own, and waits for them. After an
  /// error the list holds nothing of use, and another call may succeed. `hold_back`: sees to it
  /// that a stream comes behind the work that writes them. Pushes the context itself.
  Status read(const Slot& slot, const std::function<Status(cudaStream_t)>& hold_back,
              FaceList& list);

 private:
  struct DestroyEvent {
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  };
  using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

  FaceSlots(const CudaContext& context, int landmarks);
  static Status make(Event& event);
  Status grow();
  std::optional<Slot> take_free();
  std::optional<Slot> take_from_oldest();
  Status make_blocks();
  Status make_reader();
  Status copy_and_wait(std::byte* to, const std::byte* from, std::size_t bytes);

  const CudaContext context_;
  const int landmarks_;
  const std::size_t slot_bytes_;

  cuda::DeviceBuffer<std::byte> block_bytes_;
  std::array<Block, kBlocks> blocks_;

  std::mutex mutex_;  // of the three below; held while no result goes
  std::vector<cuda::DeviceBuffer<std::byte>> chunks_;
  std::vector<Slot> free_;
  std::deque<std::weak_ptr<const DeviceFacesResult>> lent_;  // that may leave, the oldest first
  std::atomic<std::uint64_t> moved_ = 0;
  std::vector<Event> events_;  // all there are

  std::mutex reader_;  // of the three below; one reads at a time
  cudaStream_t stream_ = nullptr;
  Event copied_;
  cuda::PinnedBuffer<std::byte> pinned_;
};

/// Of a cascade, as in FaceList::detector; passed on from frame to frame. Never null.
using DetectorName = std::shared_ptr<const std::string>;

/// The faces that an element has put into a slot, or will have when its submission is over. Later
/// they may leave the slot for host memory.
class DeviceFacesResult final : public PendingFaces,
                                public std::enable_shared_from_this<DeviceFacesResult> {
 public:
  /// Takes a slot; it goes back with the result. With a block, kernels write there, and the list is
  /// to be copied to the slot behind them; what the block held before is in its slot only from now
  /// on.
  static Result<std::shared_ptr<DeviceFacesResult>> create(std::shared_ptr<FaceSlots> slots,
                                                           FaceSlots::Block* block = nullptr);
  ~DeviceFacesResult() override;
  DeviceFacesResult(const DeviceFacesResult&) = delete;
  DeviceFacesResult& operator=(const DeviceFacesResult&) = delete;

  /// Before it is delivered: the picture's size, the cascade the boxes come from, and the stream
  /// whose last submission writes them.
  void describe(int width, int height, DetectorName detector,
                std::shared_ptr<ChainStream> producer);

  /// Where the element's kernels write.
  cuda::DeviceFaces* written() const { return block_ ? block_->faces : slot_.faces; }
  /// Where the faces stay, once the submission is over. Before describe(), or after keep_slot().
  cuda::DeviceFaces* slot() const { return slot_.faces; }
  /// For work enqueued next in that stream: where they were written while they are there; null once
  /// they have left. By the thread that enqueues there.
  const cuda::DeviceFaces* in_stream() const;
  /// The faces stay in the slot to the end, for work in other streams. False when they have left.
  bool keep_slot() const;
  /// Moves the faces into host memory. The slot, which is the caller's then; none where it is kept
  /// or the GPU cannot be read. Waits for a copy.
  std::optional<FaceSlots::Slot> leave_slot() const;
  /// What is enqueued in that stream from now on comes after the faces. The first time an event is
  /// recorded, and so behind what their stream has by then. The context must be current.
  Status hold_back(cudaStream_t reader) const;
  int width() const { return width_; }
  int height() const { return height_; }
  int landmarks_capacity() const { return slots_->landmarks(); }
  const DetectorName& detector() const { return detector_; }
  const std::shared_ptr<ChainStream>& producer() const { return producer_; }
  const CudaContext& context() const { return slots_->context(); }

  bool is_ready() const override;
  Result<FaceListRef> read() const override;
  const DeviceFacesResult* on_device() const override { return this; }
  std::size_t bytes() const override { return sizeof(*this) + slots_->slot_bytes(); }

 private:
  DeviceFacesResult(std::shared_ptr<FaceSlots> slots, FaceSlots::Slot slot,
                    FaceSlots::Block* block);

  const std::shared_ptr<FaceSlots> slots_;
  const FaceSlots::Slot slot_;
  FaceSlots::Block* const block_;  // of slots_, or null
  const std::uint64_t turn_;       // of it
  int width_ = 0, height_ = 0;
  DetectorName detector_;
  std::shared_ptr<ChainStream> producer_;
  std::uint64_t submissions_ = 0;  // that are over when the faces are there
  mutable std::mutex slot_mutex_;  // of the three below
  mutable bool recorded_ = false;  // slot_.ready
  mutable bool kept_ = false, left_ = false;
  mutable std::mutex mutex_;
  mutable FaceListRef list_;  // once read; never of a read that failed
};

using DeviceFacesRef = std::shared_ptr<const DeviceFacesResult>;

/// The result as faces on the GPU, null when they are elsewhere.
DeviceFacesRef on_device(const PendingFacesRef& faces);

}  // namespace cuface::gst
