// What framemeta.h and facemeta.h promise without a look at any meta of ours. The library and the
// plugin both compile this file; it registers nothing.
#include "gst/meta/facemeta.h"

namespace cuface::gst {

FrameGeometry frame_geometry(GstBuffer* buffer, int width, int height) {
  if (const GstVideoCropMeta* crop = gst_buffer_get_video_crop_meta(buffer))
    return {static_cast<int>(crop->width), static_cast<int>(crop->height),
            static_cast<int>(crop->x), static_cast<int>(crop->y)};
  return {width, height, 0, 0};
}

ElementRef make_element_ref(GstElement* element) {
  auto* ref = new GWeakRef;
  g_weak_ref_init(ref, element);
  return {ref, [](GWeakRef* mine) {
            g_weak_ref_clear(mine);
            delete mine;
          }};
}

const FrameRecord::Entry* FrameRecord::newest(GType kind) const {
  for (std::size_t i = results.size(); i-- > 0;)
    if (results[i].kind == kind) return &results[i];
  return nullptr;
}

PictureMap PictureMap::scaling(int from_width, int from_height, int width, int height) {
  const auto ratio = [](int from, int to) {
    return from == to ? 1.0f : static_cast<float>(to) / static_cast<float>(from);
  };
  return {
      from_width, from_height, width, height, ratio(from_width, width), ratio(from_height, height)};
}

bool PictureMap::is_scaling() const {
  const PictureMap whole = scaling(from_width, from_height, width, height);
  return dx == 0 && dy == 0 && sx == whole.sx && sy == whole.sy;
}

PictureMap PictureMap::then(const PictureMap& next) const {
  // Sizes are exact, a product of factors is not.
  if (is_scaling() && next.is_scaling())
    return scaling(from_width, from_height, next.width, next.height);
  return {from_width,
          from_height,
          next.width,
          next.height,
          sx * next.sx,
          sy * next.sy,
          dx * next.sx + next.dx,
          dy * next.sy + next.dy};
}

FaceListRef ResultKind<FaceList>::scaled(FaceListRef faces, int width, int height) {
  if (faces->width == width && faces->height == height) return faces;
  const auto map = PictureMap::scaling(faces->width, faces->height, width, height);
  auto scaled = std::make_shared<FaceList>(*faces);
  scaled->width = width;
  scaled->height = height;
  for (Face& face : scaled->faces) {
    face.box = map.box(face.box);
    if (!face.has_keypoints) continue;
    for (Point& p : face.keypoints) p = map.point(p);
  }
  for (auto* points : {&scaled->landmarks, &scaled->followed})
    for (Point& p : *points) p = map.point(p);
  return scaled;
}

FaceListRef ResultKind<FaceList>::cropped(const FaceList& faces, const PictureMap& map) {
  auto cropped = std::make_shared<FaceList>(faces);
  cropped->width = map.width;
  cropped->height = map.height;
  cropped->part = {};  // its borders are of the picture as it was
  cropped->faces.clear();
  cropped->landmarks.clear();
  cropped->landmark_confidences.clear();
  cropped->followed.clear();
  cropped->followed_per_face = 0;
  for (std::size_t i = 0; i < faces.faces.size(); ++i) {
    Face face = faces.faces[i];
    face.box = map.box(face.box);
    if (!map.shows(face.box)) continue;
    for (Point& p : face.keypoints)
      if (face.has_keypoints) p = map.point(p);
    cropped->faces.push_back(face);
    const Point* points = faces.landmarks_of(i);
    for (int p = 0; p < faces.landmarks_per_face; ++p)
      cropped->landmarks.push_back(map.point(points[p]));
    if (const float* confidences = faces.confidences_of(i))
      cropped->landmark_confidences.insert(cropped->landmark_confidences.end(), confidences,
                                           confidences + faces.landmarks_per_face);
  }
  return cropped;
}

}  // namespace cuface::gst
