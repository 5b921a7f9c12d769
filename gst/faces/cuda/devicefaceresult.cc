#include "gst/faces/cuda/devicefaceresult.h"

#include <algorithm>

namespace cuface::gst {
namespace {

using cuda::DeviceFaces;

/// Faces whose points come with the list in one copy; those of more take a second.
constexpr int kWithList = 4;

int capacity(std::size_t slot_bytes) {
  return static_cast<int>((slot_bytes - sizeof(DeviceFaces)) /
                          (cuda::device_faces_bytes(1) - cuda::device_faces_bytes(0)));
}

int count_in(const DeviceFaces& faces) { return std::clamp<int>(faces.count, 0, cuda::kMaxFaces); }
int points_in(const DeviceFaces& faces, int most) {
  return std::clamp<int>(points_per_face(faces), 0, most);
}

const DeviceFaces& faces_in(const std::byte* bytes) {
  return *reinterpret_cast<const DeviceFaces*>(bytes);
}

}  // namespace

int DeviceFaceResult::landmarks_capacity() const { return capacity(slot_bytes()); }

DeviceSlots::Decoder DeviceFaceResult::decoder() const {
  const int most = landmarks_capacity();
  const auto bytes_of = [](int points) {
    return sizeof(DeviceFaces) + static_cast<std::size_t>(points) * (sizeof(Point) + sizeof(float));
  };
  return {bytes_of(kWithList * most),
          [=](const std::byte* first) {
            return bytes_of(count_in(faces_in(first)) * points_in(faces_in(first), most));
          },
          [=, this](const std::byte* bytes) -> std::shared_ptr<const void> {
            const DeviceFaces& from = faces_in(bytes);
            const int count = count_in(from), each = points_in(from, most);
            auto list = std::make_shared<FaceList>();
            list->width = width();
            list->height = height();
            list->detector = *detector_;
            list->scheme = scheme_;
            list->searched = from.searched != 0;
            list->part = from.part;
            list->faces.assign(from.faces, from.faces + count);
            const bool found = from.landmarks_per_face > 0;
            (found ? list->landmarks_per_face : list->followed_per_face) = each;
            (found ? list->landmarks : list->followed)
                .assign(from.landmarks(), from.landmarks() + count * each);
            if (const float* const all = from.confidences(count, each);
                found && from.has_confidences)
              list->landmark_confidences.assign(all, all + count * each);
            return list;
          }};
}

int landmarks_capacity(const FaceResult& faces) {
  if (const DeviceFaceRef device = faces_on_device(faces)) return device->landmarks_capacity();
  return faces.host() ? points_per_face(*faces.host()) : 0;
}

LandmarkSchemeRef scheme_of(const FaceResult& faces) {
  if (const DeviceFaceRef device = faces_on_device(faces)) return device->scheme();
  return faces.host() ? faces.host()->scheme : nullptr;
}

DetectorName detector_of(const FaceResult& faces) {
  if (const DeviceFaceRef device = faces_on_device(faces)) return device->detector();
  return std::make_shared<const std::string>(faces.host() ? faces.host()->detector : "");
}

}  // namespace cuface::gst
