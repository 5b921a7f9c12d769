#include "gst/faces/cuda/faceslots.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace cuface::gst {
namespace {

using cuda::check;
using cuda::DeviceFaces;

constexpr std::size_t kAlignment = 256;
/// Faces whose points come with the list in one copy; those of more take a second.
constexpr int kWithList = 4;

/// Waits until it is done, as what allocates may.
Status zero(std::byte* bytes, std::size_t count) {
  cudaStream_t stream = nullptr;
  if (Status s =
          check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a CUDA stream");
      !s.ok())
    return s;
  cudaError_t error = cudaMemsetAsync(bytes, 0, count, stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  return check(error, "clearing GPU memory");
}

}  // namespace

FaceSlots::FaceSlots(const CudaContext& context, int landmarks)
    : context_(context),
      landmarks_(landmarks),
      slot_bytes_((cuda::device_faces_bytes(landmarks) + kAlignment - 1) / kAlignment *
                  kAlignment) {}

Result<std::shared_ptr<FaceSlots>> FaceSlots::create(const CudaContext& context, int landmarks) {
  std::shared_ptr<FaceSlots> slots(new FaceSlots(context, landmarks));
  if (Status s = slots->make_blocks(); !s.ok()) return s;
  if (Status s = slots->grow(); !s.ok()) return s;
  return slots;
}

FaceSlots::~FaceSlots() {
  const ContextScope scope(context_);
  events_.clear();
  copied_.reset();
  if (stream_) cudaStreamDestroy(stream_);
  chunks_.clear();
  block_bytes_ = {};
  pinned_ = {};
}

Status FaceSlots::make_blocks() {
  auto bytes = cuda::DeviceBuffer<std::byte>::create(slot_bytes_ * kBlocks);
  if (!bytes.ok()) return bytes.status();
  block_bytes_ = std::move(bytes.value());
  for (std::size_t i = 0; i < kBlocks; ++i)
    blocks_[i].faces = reinterpret_cast<DeviceFaces*>(block_bytes_.data() + i * slot_bytes_);
  return zero(block_bytes_.data(), slot_bytes_ * kBlocks);
}

Status FaceSlots::make(Event& event) {
  cudaEvent_t made = nullptr;
  const Status status =
      check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming | cudaEventBlockingSync),
            "making a CUDA event");
  if (status.ok()) event.reset(made);
  return status;
}

/// Makes all that the new slots need before anybody can take one of them.
Status FaceSlots::grow() {
  auto chunk = cuda::DeviceBuffer<std::byte>::create(slot_bytes_ * kChunk);
  if (!chunk.ok()) return chunk.status();
  // Lists are copied whole: between what is written lies what never is.
  if (Status s = zero(chunk.value().data(), slot_bytes_ * kChunk); !s.ok()) return s;
  std::array<Event, kChunk> events;
  for (Event& event : events)
    if (Status s = make(event); !s.ok()) return s;
  for (std::size_t i = 0; i < kChunk; ++i) {
    auto* faces = reinterpret_cast<DeviceFaces*>(chunk.value().data() + i * slot_bytes_);
    free_.push_back({faces, events[i].get()});
    events_.push_back(std::move(events[i]));
  }
  chunks_.push_back(std::move(chunk.value()));
  return {};
}

Result<FaceSlots::Slot> FaceSlots::take() {
  std::optional<Slot> slot = take_free();
  if (!slot) slot = take_from_oldest();
  if (slot) return *slot;
  {
    const std::lock_guard lock(mutex_);
    if (free_.empty())
      if (Status s = grow(); !s.ok()) return s;
  }
  return *take_free();  // nobody else takes
}

std::optional<FaceSlots::Slot> FaceSlots::take_free() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return {};
  const Slot slot = free_.back();
  free_.pop_back();
  return slot;
}

std::optional<FaceSlots::Slot> FaceSlots::take_from_oldest() {
  while (true) {
    std::shared_ptr<const DeviceFacesResult> oldest;  // goes without the lock
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

void FaceSlots::lend(std::weak_ptr<const DeviceFacesResult> result) {
  const std::lock_guard lock(mutex_);
  if (lent_.size() >= 2 * kChunk * chunks_.size())
    std::erase_if(lent_, [](const auto& known) { return known.expired(); });
  lent_.push_back(std::move(result));
}

void FaceSlots::give_back(Slot slot) {
  const std::lock_guard lock(mutex_);
  free_.push_back(slot);
}

/// Makes what is missing: a read that failed for want of something leaves the rest for the next.
Status FaceSlots::make_reader() {
  if (!stream_) {
    cudaStream_t made = nullptr;
    if (Status s =
            check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "making a CUDA stream");
        !s.ok())
      return s;
    stream_ = made;
  }
  if (pinned_.size() == 0) {
    auto pinned = cuda::PinnedBuffer<std::byte>::create(slot_bytes_);
    if (!pinned.ok()) return pinned.status();
    pinned_ = std::move(pinned.value());
  }
  return copied_ ? Status() : make(copied_);
}

Status FaceSlots::copy_and_wait(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (Status s = check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_),
                       "copying faces from the GPU");
      !s.ok())
    return s;
  if (Status s = check(cudaEventRecord(copied_.get(), stream_), "recording a CUDA event"); !s.ok())
    return s;
  return check(cudaEventSynchronize(copied_.get()), "waiting for faces on the GPU");
}

Status FaceSlots::read(const Slot& slot, const std::function<Status(cudaStream_t)>& hold_back,
                       FaceList& list) {
  const std::lock_guard lock(reader_);
  const ContextScope scope(context_);
  if (Status s = make_reader(); !s.ok()) return s;
  if (Status s = hold_back(stream_); !s.ok()) return s;
  const auto* from = reinterpret_cast<const std::byte*>(slot.faces);
  const std::size_t first =
      sizeof(DeviceFaces) + static_cast<std::size_t>(kWithList * landmarks_) * sizeof(Point);
  if (Status s = copy_and_wait(pinned_.data(), from, first); !s.ok()) return s;
  const auto* head = reinterpret_cast<const DeviceFaces*>(pinned_.data());
  const int count = std::clamp<int>(head->count, 0, cuda::kMaxFaces);
  const int each = std::clamp<int>(points_per_face(*head), 0, landmarks_);
  const auto points = static_cast<std::size_t>(count) * static_cast<std::size_t>(each);
  list.searched = head->searched != 0;
  list.part = head->part;
  list.faces.assign(head->faces, head->faces + count);
  const bool found = head->landmarks_per_face > 0;
  (found ? list.landmarks_per_face : list.followed_per_face) = each;
  std::vector<Point>& to = found ? list.landmarks : list.followed;
  to.resize(points);
  if (points == 0) return {};
  const std::size_t all = sizeof(DeviceFaces) + points * sizeof(Point);
  if (all > first)
    if (Status s = copy_and_wait(pinned_.data() + first, from + first, all - first); !s.ok())
      return s;
  std::memcpy(to.data(), pinned_.data() + sizeof(DeviceFaces), points * sizeof(Point));
  return {};
}

DeviceFacesResult::DeviceFacesResult(std::shared_ptr<FaceSlots> slots, FaceSlots::Slot slot,
                                     FaceSlots::Block* block)
    : slots_(std::move(slots)), slot_(slot), block_(block), turn_(block ? ++block->turn : 0) {}

Result<std::shared_ptr<DeviceFacesResult>> DeviceFacesResult::create(
    std::shared_ptr<FaceSlots> slots, FaceSlots::Block* block) {
  const auto slot = slots->take();
  if (!slot.ok()) return slot.status();
  return std::shared_ptr<DeviceFacesResult>(
      new DeviceFacesResult(std::move(slots), slot.value(), block));
}

DeviceFacesResult::~DeviceFacesResult() {
  if (!left_) slots_->give_back(slot_);
}

void DeviceFacesResult::describe(int width, int height, DetectorName detector,
                                 std::shared_ptr<ChainStream> producer) {
  width_ = width;
  height_ = height;
  detector_ = std::move(detector);
  producer_ = std::move(producer);
  submissions_ = producer_->submitted();
  slots_->lend(weak_from_this());
}

const DeviceFaces* DeviceFacesResult::in_stream() const {
  if (block_ && block_->turn == turn_) return block_->faces;
  const std::lock_guard lock(slot_mutex_);
  return left_ ? nullptr : slot_.faces;
}

bool DeviceFacesResult::keep_slot() const {
  const std::lock_guard lock(slot_mutex_);
  if (!left_) kept_ = true;
  return kept_;
}

std::optional<FaceSlots::Slot> DeviceFacesResult::leave_slot() const {
  if (!read().ok()) return {};
  const std::lock_guard lock(slot_mutex_);
  if (kept_) return {};
  left_ = true;
  return slot_;
}

Status DeviceFacesResult::hold_back(cudaStream_t reader) const {
  if (is_ready()) return {};
  const std::lock_guard lock(slot_mutex_);
  if (!recorded_)
    if (Status s = check(cudaEventRecord(slot_.ready, producer_->get()), "recording a CUDA event");
        !s.ok())
      return s;
  recorded_ = true;
  return check(cudaStreamWaitEvent(reader, slot_.ready, 0), "ordering CUDA streams");
}

bool DeviceFacesResult::is_ready() const { return producer_->are_over(submissions_); }

Result<FaceListRef> DeviceFacesResult::read() const {
  const std::lock_guard lock(mutex_);
  if (list_) return list_;
  auto list = std::make_shared<FaceList>();
  if (Status s = slots_->read(
          slot_, [this](cudaStream_t reader) { return hold_back(reader); }, *list);
      !s.ok())
    return s;
  list->width = width_;
  list->height = height_;
  list->detector = *detector_;
  list_ = std::move(list);
  return list_;
}

DeviceFacesRef on_device(const PendingFacesRef& faces) {
  const DeviceFacesResult* device = faces ? faces->on_device() : nullptr;
  return device ? DeviceFacesRef(faces, device) : nullptr;
}

}  // namespace cuface::gst
