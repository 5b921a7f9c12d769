#include "gst/faces/cuda/devicefaceframe.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "gst/faces/counters.h"
#include "kernels/common/try.h"

namespace cuface::gst {
namespace {

using cuda::check;
using cuda::DeviceFaces;
using cuda::FaceCounters;

static_assert(DeviceSlots::kStaged == cuda::Delivery::kMost);
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
  CUFACE_TAKE(chain, device_.chain());
  CUFACE_TAKE(slots, device_.slots(cuda::device_faces_bytes(each)));
  CUFACE_TAKE(room, DeviceResult::create<DeviceFaceResult>(std::move(slots)));
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
  const std::size_t points_count = count * static_cast<std::size_t>(each);
  std::copy_n(points.begin(), points_count, host->landmarks());
  host->has_confidences = !faces.landmark_confidences.empty();
  if (host->has_confidences)
    std::copy_n(faces.landmark_confidences.begin(), points_count,
                host->confidences(host->count, each));
  // From memory that is not pinned: read before the call returns.
  CUFACE_TRY(check(cudaMemcpyAsync(room->slot(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice,
                                   chain->stream()),
                   "copying faces to the GPU"));
  chain->keep(room);
  return static_cast<const DeviceFaces*>(room->slot());
}

Result<const DeviceFaces*> DeviceFaceFrame::faces(const FaceResult& faces) {
  if (!faces) return static_cast<const DeviceFaces*>(nullptr);
  CUFACE_TAKE(chain, device_.chain());
  const DeviceFaceRef device = faces_on_device(faces);
  if (device && device->width() == faces.width && device->height() == faces.height) {
    auto used = faces_of_any_size(faces);
    if (!used.ok() || used.value()) return used;
  }
  if (!faces.is_ready()) chain->count_wait();
  CUFACE_TAKE(read, faces.read());
  return upload(*read);
}

Result<const DeviceFaces*> DeviceFaceFrame::faces_of_any_size(const FaceResult& faces) {
  CUFACE_TAKE(used, device_.use(faces_on_device(faces)));
  return reinterpret_cast<const DeviceFaces*>(used);
}

Result<std::shared_ptr<DeviceFaceResult>> DeviceFaceFrame::new_faces(int landmarks) {
  if (lists_ == made_.size())
    return Status(StatusCode::kInvalidArgument, "too many lists of faces for a frame");
  CUFACE_TAKE(slots, device_.slots(cuda::device_faces_bytes(landmarks)));
  DeviceSlots& store = *slots;
  const std::uint64_t moved = store.moved();
  auto made = DeviceResult::create<DeviceFaceResult>(slots, &store.staging(lists_));
  if (made.ok()) made_[lists_++] = made.value();
  device_.add_waits(store.moved() - moved);
  return made;
}

Result<FaceResult> DeviceFaceFrame::submit_faces(std::shared_ptr<DeviceFaceResult> faces,
                                                 DetectorName detector, cuda::CountedWork work,
                                                 cuda::Scratch* scratch) {
  CUFACE_TAKE(launch, device_.launcher());
  DeviceStream& stream = *device_.chain().value()->shared_stream();
  work.over = stream.over();
  if (work.tracks) work.wants_search = stream.note();
  cuda::Delivery delivery;
  for (std::size_t i = 0; i < lists_; ++i) {
    delivery.from.list[i] = made_[i]->written();
    delivery.to.list[i] = made_[i]->slot();
  }
  const cuda::Tally<Counts> counters = device_.told_counters();
  CUFACE_TRY(cuda::count_faces(faces->written(), work,
                               {reinterpret_cast<FaceCounters*>(counters.own),
                                reinterpret_cast<FaceCounters*>(counters.told)},
                               launch, delivery));
  CUFACE_TRY(device_.submit(scratch));
  return pending_faces(std::move(faces), std::move(detector));
}

FaceResult DeviceFaceFrame::pending_faces(std::shared_ptr<DeviceFaceResult> faces,
                                          DetectorName detector) {
  faces->set_detector(std::move(detector));
  device_.set_producer(*faces);
  const Frame& frame = device_.frame();
  return FaceResult(std::move(faces), frame.width(), frame.height());
}

}  // namespace cuface::gst
