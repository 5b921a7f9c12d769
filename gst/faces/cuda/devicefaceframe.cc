#include "gst/faces/cuda/devicefaceframe.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "gst/faces/counters.h"

namespace cuface::gst {
namespace {

using cuda::check;
using cuda::DeviceFaces;
using cuda::FaceCounters;

static_assert(DeviceSlots::kBlocks == cuda::Delivery::kMost);
static_assert(sizeof(FaceCounters) == sizeof(Counts));
constexpr std::size_t offset_of(FaceCounter counter) {
  return static_cast<std::size_t>(counter) * sizeof(Counts::value_type);
}
static_assert(offsetof(FaceCounters, searches) == offset_of(kSearches) &&
              offsetof(FaceCounters, skipped_searches) == offset_of(kSkippedSearches) &&
              offsetof(FaceCounters, overflows) == offset_of(kOverflows) &&
              offsetof(FaceCounters, faces) == offset_of(kFaces) &&
              offsetof(FaceCounters, lost_tracks) == offset_of(kLostTracks) &&
              offsetof(FaceCounters, last_id) == offset_of(kLastId));

}  // namespace

Result<const DeviceFaces*> DeviceFaceFrame::upload(const FaceList& faces) {
  const int each = points_per_face(faces);
  auto chain = device_.chain();
  if (!chain.ok()) return chain.status();
  auto slots = device_.slots(cuda::device_faces_bytes(each));
  if (!slots.ok()) return slots.status();
  auto room = DeviceResult::create<DeviceFaceResult>(std::move(slots.value()));
  if (!room.ok()) return room.status();
  std::vector<std::byte> bytes(cuda::device_faces_bytes(each));
  auto* host = reinterpret_cast<DeviceFaces*>(bytes.data());
  const std::size_t count = std::min<std::size_t>(faces.faces.size(), cuda::kMaxFaces);
  host->count = static_cast<std::int32_t>(count);
  host->landmarks_per_face = faces.landmarks_per_face;
  host->followed_per_face = faces.landmarks_per_face > 0 ? 0 : faces.followed_per_face;
  host->searched = faces.searched;
  host->part = faces.part;
  std::copy_n(faces.faces.begin(), count, host->faces);
  const auto& points = faces.landmarks_per_face > 0 ? faces.landmarks : faces.followed;
  std::copy_n(points.begin(), count * static_cast<std::size_t>(each), host->landmarks());
  // From memory that is not pinned: read before the call returns.
  if (Status s = check(cudaMemcpyAsync(room.value()->slot(), bytes.data(), bytes.size(),
                                       cudaMemcpyHostToDevice, chain.value()->stream()),
                       "copying faces to the GPU");
      !s.ok())
    return s;
  chain.value()->keep(room.value());
  return static_cast<const DeviceFaces*>(room.value()->slot());
}

Result<const DeviceFaces*> DeviceFaceFrame::faces(const FaceResult& faces) {
  if (!faces) return static_cast<const DeviceFaces*>(nullptr);
  auto chain = device_.chain();
  if (!chain.ok()) return chain.status();
  const DeviceFaceRef device = faces_on_device(faces);
  if (device && device->width() == faces.width && device->height() == faces.height) {
    auto used = flags(faces);
    if (!used.ok() || used.value()) return used;
  }
  if (!faces.is_ready()) chain.value()->count_wait();
  const auto read = faces.read();
  if (!read.ok()) return read.status();
  return upload(*read.value());
}

Result<const DeviceFaces*> DeviceFaceFrame::flags(const FaceResult& faces) {
  auto used = device_.use(faces_on_device(faces));
  if (!used.ok()) return used.status();
  return reinterpret_cast<const DeviceFaces*>(used.value());
}

Result<std::shared_ptr<DeviceFaceResult>> DeviceFaceFrame::new_faces(int landmarks) {
  if (lists_ == made_.size())
    return Status(StatusCode::kInvalidArgument, "too many lists of faces for a frame");
  auto slots = device_.slots(cuda::device_faces_bytes(landmarks));
  if (!slots.ok()) return slots.status();
  DeviceSlots& store = *slots.value();
  const std::uint64_t moved = store.moved();
  auto made = DeviceResult::create<DeviceFaceResult>(slots.value(), &store.block(lists_));
  if (made.ok()) made_[lists_++] = made.value();
  device_.add_waits(store.moved() - moved);
  return made;
}

Result<FaceResult> DeviceFaceFrame::finish(std::shared_ptr<DeviceFaceResult> faces,
                                           DetectorName detector, cuda::CountedWork work,
                                           cuda::Scratch* scratch) {
  const auto launch = device_.launcher();
  if (!launch.ok()) return launch.status();
  work.over = device_.chain().value()->shared_stream()->over();
  cuda::Delivery delivery;
  for (std::size_t i = 0; i < lists_; ++i) {
    delivery.from.list[i] = made_[i]->written();
    delivery.to.list[i] = made_[i]->slot();
  }
  auto* counters = reinterpret_cast<FaceCounters*>(device_.counters());
  if (Status s = cuda::count_faces(faces->written(), work, counters, launch.value(), delivery);
      !s.ok())
    return s;
  if (Status s = device_.submit(scratch); !s.ok()) return s;
  return submitted(std::move(faces), std::move(detector));
}

FaceResult DeviceFaceFrame::submitted(std::shared_ptr<DeviceFaceResult> faces,
                                      DetectorName detector) {
  faces->set_detector(std::move(detector));
  device_.describe(*faces);
  const Frame& frame = device_.frame();
  return FaceResult(std::move(faces), frame.width(), frame.height());
}

}  // namespace cuface::gst
