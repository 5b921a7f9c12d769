// The public functions of flat objects.
#include <array>
#include <vector>

#include "gst/meta/planar.h"
#include "gst/meta/serialise.h"
#include "gst/meta/snapshot.h"
#include "gst/meta/view.h"

namespace {

constexpr const char* kKind = "planar";

/// From fractions of the picture to fractions of the frame.
std::array<double, 9> in_fractions(const cuface::FramePlanar& planar,
                                   const cuface::PlanarObject& object) {
  const cuface::MatchedPicture& picture = planar.pictures[static_cast<std::size_t>(object.picture)];
  std::array<double, 9> h;
  for (std::size_t row = 0; row < 3; ++row) {  // a fraction u is pixel u * width - 0.5
    const double* m = object.map.m + 3 * row;
    h[3 * row] = m[0] * picture.width;
    h[3 * row + 1] = m[1] * picture.height;
    h[3 * row + 2] = m[2] - 0.5 * (m[0] + m[1]);
  }
  for (std::size_t k = 0; k < 3; ++k) {
    h[k] = (h[k] + 0.5 * h[6 + k]) / planar.width;
    h[3 + k] = (h[3 + k] + 0.5 * h[6 + k]) / planar.height;
  }
  return h;
}

}  // namespace

struct _GstCufacePlanarMeta {
  cuface::gst::ViewMeta view;
};

struct _GstCufacePlanarObjects : cuface::gst::Snapshot<cuface::FramePlanar> {
  explicit _GstCufacePlanarObjects(cuface::FramePlanarRef of) : Snapshot(std::move(of)) {
    for (const cuface::PlanarObject& object : planar().objects)
      maps.push_back(in_fractions(planar(), object));
  }
  const cuface::FramePlanar& planar() const { return *value(); }
  std::vector<std::array<double, 9>> maps;  ///< of each object
};

GType gst_cuface_planar_meta_api_get_type() {
  static const GType type = [] {
    cuface::gst::init_meta_log();
    return cuface::gst::register_view("GstCuFacePlanarMetaAPI", "GstCufacePlanarMeta",
                                      cuface::gst::wire_for<cuface::FramePlanar>());
  }();
  return type;
}

G_DEFINE_BOXED_TYPE(GstCufacePlanarObjects, gst_cuface_planar_objects,
                    gst_cuface_planar_objects_ref, gst_cuface_planar_objects_unref)

GstCufacePlanarMeta* gst_cuface_buffer_get_planar_meta(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  return reinterpret_cast<GstCufacePlanarMeta*>(
      gst_buffer_get_meta(buffer, gst_cuface_planar_meta_api_get_type()));
}

GstCufacePlanarObjects* gst_cuface_planar_meta_get_objects(GstCufacePlanarMeta* meta) {
  g_return_val_if_fail(meta, nullptr);
  auto objects = cuface::gst::fitting_result<cuface::FramePlanar>(meta->view.buffer, kKind);
  cuface::FramePlanarRef read;  // whoever waits does it here
  if (!cuface::gst::read_logged(objects, kKind, read) || !read) return nullptr;
  return new GstCufacePlanarObjects(std::move(read));
}

GstCufacePlanarObjects* gst_cuface_planar_objects_ref(GstCufacePlanarObjects* objects) {
  g_return_val_if_fail(objects, nullptr);
  objects->ref();
  return objects;
}

void gst_cuface_planar_objects_unref(GstCufacePlanarObjects* objects) {
  g_return_if_fail(objects);
  if (objects->unref()) delete objects;
}

guint gst_cuface_planar_objects_get_reference_count(const GstCufacePlanarObjects* objects) {
  g_return_val_if_fail(objects, 0);
  return static_cast<guint>(objects->planar().pictures.size());
}

const gchar* gst_cuface_planar_objects_get_reference(const GstCufacePlanarObjects* objects,
                                                     guint reference, guint* width, guint* height,
                                                     guint* keypoints) {
  for (guint* out : {width, height, keypoints})
    if (out) *out = 0;
  g_return_val_if_fail(objects, nullptr);
  g_return_val_if_fail(reference < objects->planar().pictures.size(), nullptr);
  return cuface::gst::describe_picture(objects->planar().pictures[reference], width, height,
                                       keypoints);
}

guint gst_cuface_planar_objects_get_count(const GstCufacePlanarObjects* objects) {
  g_return_val_if_fail(objects, 0);
  return static_cast<guint>(objects->planar().objects.size());
}

guint gst_cuface_planar_objects_get_object(const GstCufacePlanarObjects* objects, guint index,
                                           guint64* id, guint* inliers, gboolean* found) {
  if (id) *id = 0;
  if (inliers) *inliers = 0;
  if (found) *found = FALSE;
  g_return_val_if_fail(objects, 0);
  g_return_val_if_fail(index < objects->planar().objects.size(), 0);
  const cuface::PlanarObject& object = objects->planar().objects[index];
  if (id) *id = object.id;
  if (inliers) *inliers = static_cast<guint>(object.inliers);
  if (found) *found = object.found;
  return static_cast<guint>(object.picture);
}

void gst_cuface_planar_objects_get_corner(const GstCufacePlanarObjects* objects, guint index,
                                          guint corner, gfloat* x, gfloat* y) {
  if (x) *x = 0;
  if (y) *y = 0;
  g_return_if_fail(objects && corner < 4);
  const cuface::FramePlanar& planar = objects->planar();
  g_return_if_fail(index < planar.objects.size());
  const cuface::Point& p = planar.objects[index].corners[corner];
  if (x) *x = (p.x + 0.5f) / static_cast<float>(planar.width);
  if (y) *y = (p.y + 0.5f) / static_cast<float>(planar.height);
}

const gdouble* gst_cuface_planar_objects_get_homography(const GstCufacePlanarObjects* objects,
                                                        guint index, gsize* length) {
  if (length) *length = 0;
  g_return_val_if_fail(objects && length, nullptr);
  g_return_val_if_fail(index < objects->maps.size(), nullptr);
  *length = objects->maps[index].size();
  return objects->maps[index].data();
}
