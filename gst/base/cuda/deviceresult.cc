#include "gst/base/cuda/deviceresult.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/common/try.h"

namespace cuface::gst {
namespace {

using cuda::check;

constexpr std::size_t kAlignment = 256;

/// Waits until it is done, as what allocates may.
Status zero(std::byte* bytes, std::size_t count) {
  cudaStream_t stream = nullptr;
  CUFACE_TRY(
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a CUDA stream"));
  cudaError_t error = cudaMemsetAsync(bytes, 0, count, stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  return check(error, "clearing GPU memory");
}

}  // namespace

DeviceSlots::DeviceSlots(const CudaContext& context, std::size_t bytes)
    : context_(context), slot_bytes_((bytes + kAlignment - 1) / kAlignment * kAlignment) {}

Result<std::shared_ptr<DeviceSlots>> DeviceSlots::create(const CudaContext& context,
                                                         std::size_t bytes) {
  std::shared_ptr<DeviceSlots> slots(new DeviceSlots(context, bytes));
  CUFACE_TRY(slots->make_staging());
  CUFACE_TRY(slots->grow());
  return slots;
}

DeviceSlots::~DeviceSlots() {
  const ContextScope scope(context_);
  events_.clear();
  copied_.reset();
  if (stream_) cudaStreamDestroy(stream_);
  chunks_.clear();
  staging_bytes_ = {};
  pinned_ = {};
}

Status DeviceSlots::make_staging() {
  CUFACE_TRY(
      cuface::take(cuda::DeviceBuffer<std::byte>::create(slot_bytes_ * kStaged), staging_bytes_));
  for (std::size_t i = 0; i < kStaged; ++i)
    staging_[i].bytes = staging_bytes_.data() + i * slot_bytes_;
  return zero(staging_bytes_.data(), slot_bytes_ * kStaged);
}

Status DeviceSlots::make(Event& event) {
  cudaEvent_t made = nullptr;
  const Status status =
      check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming | cudaEventBlockingSync),
            "making a CUDA event");
  if (status.ok()) event.reset(made);
  return status;
}

/// Makes all that the new slots need before anybody can take one of them.
Status DeviceSlots::grow() {
  CUFACE_TAKE(chunk, cuda::DeviceBuffer<std::byte>::create(slot_bytes_ * kChunk));
  // Slots are copied whole: between what is written lies what never is.
  CUFACE_TRY(zero(chunk.data(), slot_bytes_ * kChunk));
  std::array<Event, kChunk> events;
  for (Event& event : events) CUFACE_TRY(make(event));
  for (std::size_t i = 0; i < kChunk; ++i) {
    free_.push_back({chunk.data() + i * slot_bytes_, events[i].get()});
    events_.push_back(std::move(events[i]));
  }
  chunks_.push_back(std::move(chunk));
  return {};
}

Result<DeviceSlots::Slot> DeviceSlots::take() {
  std::optional<Slot> slot = take_free();
  if (!slot) slot = take_from_oldest();
  if (slot) return *slot;
  {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) CUFACE_TRY(grow());
  }
  return *take_free();  // nobody else takes
}

std::optional<DeviceSlots::Slot> DeviceSlots::take_free() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return {};
  const Slot slot = free_.back();
  free_.pop_back();
  return slot;
}

std::optional<DeviceSlots::Slot> DeviceSlots::take_from_oldest() {
  while (true) {
    std::shared_ptr<const DeviceResult> oldest;  // goes without the lock
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(lent_, [](const auto& result) { return result.expired(); });
      if (lent_.size() <= kYoung) break;
      oldest = lent_.front().lock();
      if (oldest && !oldest->is_ready()) break;
      lent_.pop_front();
    }
    const std::optional<Slot> slot = oldest ? oldest->leave_slot() : std::nullopt;
    if (!slot) continue;
    ++moved_;
    return slot;
  }
  return take_free();  // one may have come back
}

void DeviceSlots::lend(std::weak_ptr<const DeviceResult> result) {
  const std::lock_guard lock(mutex_);
  if (lent_.size() >= 2 * kChunk * chunks_.size())
    std::erase_if(lent_, [](const auto& known) { return known.expired(); });
  lent_.push_back(std::move(result));
}

void DeviceSlots::give_back(Slot slot) {
  const std::lock_guard lock(mutex_);
  free_.push_back(slot);
}

/// Makes what is missing: a read that failed for want of something leaves the rest for the next.
Status DeviceSlots::make_reader() {
  if (!stream_) {
    cudaStream_t made = nullptr;
    CUFACE_TRY(
        check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "making a CUDA stream"));
    stream_ = made;
  }
  if (pinned_.size() == 0)
    CUFACE_TRY(cuface::take(cuda::PinnedBuffer<std::byte>::create(slot_bytes_), pinned_));
  return copied_ ? Status() : make(copied_);
}

Status DeviceSlots::copy_and_wait(std::byte* to, const std::byte* from, std::size_t bytes) {
  CUFACE_TRY(check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_),
                   "copying a result from the GPU"));
  CUFACE_TRY(check(cudaEventRecord(copied_.get(), stream_), "recording a CUDA event"));
  return check(cudaEventSynchronize(copied_.get()), "waiting for a result on the GPU");
}

Result<std::shared_ptr<const void>> DeviceSlots::read(
    const Slot& slot, const std::function<Status(cudaStream_t)>& hold_back,
    const Decoder& decoder) {
  const std::lock_guard lock(reader_);
  const ContextScope scope(context_);
  CUFACE_TRY(make_reader());
  CUFACE_TRY(hold_back(stream_));
  const std::size_t first = std::min(decoder.first, slot_bytes_);
  CUFACE_TRY(copy_and_wait(pinned_.data(), slot.bytes, first));
  const std::size_t all = std::min(decoder.all(pinned_.data()), slot_bytes_);
  if (all > first)
    CUFACE_TRY(copy_and_wait(pinned_.data() + first, slot.bytes + first, all - first));
  return decoder.value(pinned_.data());
}

DeviceResult::DeviceResult(std::shared_ptr<DeviceSlots> slots, DeviceSlots::Slot slot,
                           DeviceSlots::Staging* staging)
    : slots_(std::move(slots)),
      slot_(slot),
      staging_(staging),
      staging_generation_(staging ? ++staging->generation : 0) {}

DeviceResult::~DeviceResult() {
  if (!left_) slots_->give_back(slot_);
}

void DeviceResult::set_producer(int width, int height, std::shared_ptr<DeviceStream> producer) {
  width_ = width;
  height_ = height;
  producer_ = std::move(producer);
  submissions_ = producer_->submitted();
  slots_->lend(weak_from_this());
}

const std::byte* DeviceResult::in_stream() const {
  if (staging_ && staging_->generation == staging_generation_) return staging_->bytes;
  const std::lock_guard lock(slot_mutex_);
  return left_ ? nullptr : slot_.bytes;
}

bool DeviceResult::keep_slot() const {
  const std::lock_guard lock(slot_mutex_);
  if (!left_) kept_ = true;
  return kept_;
}

std::optional<DeviceSlots::Slot> DeviceResult::leave_slot() const {
  if (!read().ok()) return {};
  const std::lock_guard lock(slot_mutex_);
  if (kept_) return {};
  left_ = true;
  return slot_;
}

Status DeviceResult::hold_back(cudaStream_t reader) const {
  if (is_ready()) return {};
  const std::lock_guard lock(slot_mutex_);
  if (!recorded_)
    CUFACE_TRY(check(cudaEventRecord(slot_.ready, producer_->get()), "recording a CUDA event"));
  recorded_ = true;
  return check(cudaStreamWaitEvent(reader, slot_.ready, 0), "ordering CUDA streams");
}

bool DeviceResult::is_ready() const { return producer_->are_over(submissions_); }

Result<std::shared_ptr<const void>> DeviceResult::read() const {
  const std::lock_guard lock(mutex_);
  if (value_) return value_;
  auto read = slots_->read(
      slot_, [this](cudaStream_t reader) { return hold_back(reader); }, decoder());
  if (read.ok()) value_ = read.value();
  return read;
}

}  // namespace cuface::gst
