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

FaceListRef ResultKind<FaceList>::scaled(FaceListRef faces, int width, int height) {
  if (faces->width == width && faces->height == height) return faces;
  const float sx = static_cast<float>(width) / static_cast<float>(faces->width);
  const float sy = static_cast<float>(height) / static_cast<float>(faces->height);
  auto scaled = std::make_shared<FaceList>(*faces);
  scaled->width = width;
  scaled->height = height;
  for (Face& face : scaled->faces) {
    face.box = scaled_box(face.box, sx, sy);
    if (!face.has_keypoints) continue;
    for (Point& p : face.keypoints) p = scaled_point(p, sx, sy);
  }
  for (auto* points : {&scaled->landmarks, &scaled->followed})
    for (Point& p : *points) p = scaled_point(p, sx, sy);
  return scaled;
}

FaceListRef ResultKind<FaceList>::cropped(const FaceList& faces, const FrameGeometry& from,
                                          const FrameGeometry& to) {
  const auto dx = static_cast<float>(from.crop_x - to.crop_x);
  const auto dy = static_cast<float>(from.crop_y - to.crop_y);
  auto cropped = std::make_shared<FaceList>(faces);
  cropped->width = to.width;
  cropped->height = to.height;
  cropped->part = {};  // its borders are of the picture as it was
  cropped->faces.clear();
  cropped->landmarks.clear();
  cropped->followed.clear();
  cropped->followed_per_face = 0;
  for (std::size_t i = 0; i < faces.faces.size(); ++i) {
    Face face = faces.faces[i];
    face.box = moved_box(face.box, from, to);
    if (!is_visible(face.box, to)) continue;
    for (Point& p : face.keypoints)
      if (face.has_keypoints) p = {p.x + dx, p.y + dy};
    cropped->faces.push_back(face);
    const Point* points = faces.landmarks_of(i);
    for (int p = 0; p < faces.landmarks_per_face; ++p)
      cropped->landmarks.push_back({points[p].x + dx, points[p].y + dy});
  }
  return cropped;
}

}  // namespace cuface::gst
