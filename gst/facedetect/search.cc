#include "gst/facedetect/search.h"

#include <algorithm>

namespace cuface::gst {
namespace {

constexpr float kSameFace = 0.5f;

float overlap(const Box& a, const Box& b) {
  const float w = std::min(a.x + a.w, b.x + b.w) - std::max(a.x, b.x);
  const float h = std::min(a.y + a.h, b.y + b.h) - std::max(a.y, b.y);
  if (!(w > 0 && h > 0)) return 0;
  const float both = w * h;
  return both / (a.w * a.h + b.w * b.h - both);
}

}  // namespace

FaceList faces_from_detections(const std::vector<Detection>& detections, const std::string& cascade,
                               int width, int height) {
  FaceList list{width, height, true, cascade, {}, 0, {}};
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
  into.landmarks_per_face = 0;  // those of an element before would not fit the faces added here
  into.landmarks.clear();
  const std::size_t before = into.faces.size();
  for (const Face& face : found.faces) {
    const auto end = into.faces.begin() + static_cast<std::ptrdiff_t>(before);
    const auto same = std::find_if(into.faces.begin(), end, [&](const Face& other) {
      return overlap(face.box, other.box) > kSameFace;
    });
    if (same == end)
      into.faces.push_back(face);
    else if (face.confidence > same->confidence)
      *same = face;
  }
}

}  // namespace cuface::gst
