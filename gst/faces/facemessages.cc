#include "gst/faces/facemessages.h"

#include <span>
#include <vector>

#include "gst/base/structures.h"

namespace cuface::gst {
namespace {

void set_points(GstStructure* structure, const char* field, std::span<const Point> points) {
  std::vector<float> values;
  for (const Point& p : points) values.insert(values.end(), {p.x, p.y});
  set_floats(structure, field, values);
}

}  // namespace

void describe_face(GstStructure* structure, const FaceList& faces, std::size_t i) {
  const Face& face = faces.faces[i];
  gst_structure_set(structure, "id", G_TYPE_UINT64, face.id, "x", G_TYPE_FLOAT, face.box.x, "y",
                    G_TYPE_FLOAT, face.box.y, "width", G_TYPE_FLOAT, face.box.w, "height",
                    G_TYPE_FLOAT, face.box.h, "confidence", G_TYPE_FLOAT, face.confidence, "origin",
                    G_TYPE_STRING, face.origin == Origin::kTracked ? "tracked" : "detected", "age",
                    G_TYPE_UINT, static_cast<guint>(face.age), "neighbors", G_TYPE_INT,
                    face.neighbors, nullptr);
  set_points(structure, "landmarks",
             {faces.landmarks_of(i), static_cast<std::size_t>(faces.landmarks_per_face)});
  if (const float* confidences = faces.confidences_of(i))
    set_floats(structure, "landmark-confidences",
               {confidences, confidences + faces.landmarks_per_face});
  if (face.has_keypoints) set_points(structure, "keypoints", face.keypoints);
}

}  // namespace cuface::gst
