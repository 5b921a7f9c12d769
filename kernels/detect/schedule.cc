#include "kernels/detect/schedule.h"

#include "kernels/detect/boxes.h"

namespace cuface {
FaceList faces_from_detections(const DetectResult& found, const SearchRegion& searched,
                               const std::string& cascade, int width, int height) {
  FaceList list;
  list.width = width;
  list.height = height;
  list.searched = !searched.is_part();
  if (searched.is_part() && !searched.only_new()) list.part = searched;
  list.detector = cascade;
  list.faces.reserve(found.faces.size());
  for (std::size_t i = 0; i < found.faces.size(); ++i) {
    Face face;
    const Detection& d = found.faces[i];
    write_found(face, d.box, d.neighbors, found.rolls.empty() ? Roll{} : found.rolls[i]);
    list.faces.push_back(face);
  }
  return list;
}

bool merge_faces(const FaceList& found, FaceList& into, const StopFlag* stop) {
  into.searched = into.searched || found.searched;
  if (into.faces.empty()) into.detector = found.detector;
  // Those of an element before would not fit the faces added here.
  into.landmarks_per_face = into.followed_per_face = 0;
  into.landmarks.clear();
  into.landmark_confidences.clear();
  into.followed.clear();
  const auto before = static_cast<int>(into.faces.size());
  into.faces.resize(into.faces.size() + found.faces.size());
  const auto room = static_cast<int>(into.faces.size());
  int count = before;
  for (const Face& face : found.faces) {
    if (is_raised(stop)) return false;
    count = merge_face(face, into.faces.data(), before, count, room);
  }
  into.faces.resize(static_cast<std::size_t>(count));
  return true;
}

}  // namespace cuface
