#include "gst/facedetect/search.h"

namespace cuface::gst {
FaceList faces_from_detections(const std::vector<Detection>& detections, const std::string& cascade,
                               int width, int height) {
  FaceList list{width, height, true, cascade, {}, 0, {}, 0, {}};
  list.faces.reserve(detections.size());
  for (const Detection& d : detections) {
    Face face;
    face.confidence = detection_confidence(d.neighbors);
    face.neighbors = d.neighbors;
    face.box = {static_cast<float>(d.box.x), static_cast<float>(d.box.y),
                static_cast<float>(d.box.w), static_cast<float>(d.box.h)};
    list.faces.push_back(face);
  }
  return list;
}

void merge_faces(const FaceList& found, FaceList& into) {
  into.searched = into.searched || found.searched;
  if (into.faces.empty()) into.detector = found.detector;
  // Those of an element before would not fit the faces added here.
  into.landmarks_per_face = into.followed_per_face = 0;
  into.landmarks.clear();
  into.followed.clear();
  const auto count = static_cast<int>(into.faces.size());
  const auto n = static_cast<int>(found.faces.size());
  into.faces.resize(into.faces.size() + found.faces.size());
  const int merged = merge_faces(found.faces.data(), n, into.faces.data(), count, count + n);
  into.faces.resize(static_cast<std::size_t>(merged));
}

}  // namespace cuface::gst
