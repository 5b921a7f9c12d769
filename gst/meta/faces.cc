// What facemeta.h and results.h promise without a look at any meta of ours. The library and the
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

FaceListRef scale_faces(const FaceListRef& faces, int width, int height) {
  if (faces->width == width && faces->height == height) return faces;
  const float sx = static_cast<float>(width) / static_cast<float>(faces->width);
  const float sy = static_cast<float>(height) / static_cast<float>(faces->height);
  auto scaled = std::make_shared<FaceList>(*faces);
  scaled->width = width;
  scaled->height = height;
  for (Face& face : scaled->faces)
    face.box = {face.box.x * sx, face.box.y * sy, face.box.w * sx, face.box.h * sy};
  for (auto* points : {&scaled->landmarks, &scaled->followed})
    for (Point& p : *points) p = {(p.x + 0.5f) * sx - 0.5f, (p.y + 0.5f) * sy - 0.5f};
  return scaled;
}

FacesRead read_faces(GstBuffer* buffer, int width, int height) {
  const FacesFound found = find_faces(buffer, width, height);
  const auto read = found.faces.read();
  return {found.positions, read.ok() ? read.value() : nullptr, read.status()};
}

}  // namespace cuface::gst
