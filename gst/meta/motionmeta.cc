// The public functions of motion.
#include "gst/meta/motion.h"
#include "gst/meta/serialise.h"
#include "gst/meta/snapshot.h"
#include "gst/meta/view.h"

namespace {
constexpr const char* kKind = "motion";
}

struct _GstCufaceMotionMeta {
  cuface::gst::ViewMeta view;
};

struct _GstCufaceMotion : cuface::gst::Snapshot<cuface::MotionMap> {
  using Snapshot::Snapshot;
  const cuface::MotionMap& motion() const { return *value(); }
};

GType gst_cuface_motion_meta_api_get_type() {
  static const GType type = [] {
    cuface::gst::init_meta_log();
    return cuface::gst::register_view("GstCuFaceMotionMetaAPI", "GstCufaceMotionMeta",
                                      cuface::gst::wire_for<cuface::MotionMap>());
  }();
  return type;
}

G_DEFINE_BOXED_TYPE(GstCufaceMotion, gst_cuface_motion, gst_cuface_motion_ref,
                    gst_cuface_motion_unref)

GstCufaceMotionMeta* gst_cuface_buffer_get_motion_meta(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  return reinterpret_cast<GstCufaceMotionMeta*>(
      gst_buffer_get_meta(buffer, gst_cuface_motion_meta_api_get_type()));
}

GstCufaceMotion* gst_cuface_motion_meta_get_motion(GstCufaceMotionMeta* meta) {
  g_return_val_if_fail(meta, nullptr);
  auto motion = cuface::gst::fitting_result<cuface::MotionMap>(meta->view.buffer, kKind);
  cuface::MotionMapRef read;  // whoever waits does it here
  if (!cuface::gst::read_logged(motion, kKind, read) || !read) return nullptr;
  return new GstCufaceMotion(std::move(read));
}

GstCufaceMotion* gst_cuface_motion_ref(GstCufaceMotion* motion) {
  g_return_val_if_fail(motion, nullptr);
  motion->ref();
  return motion;
}

void gst_cuface_motion_unref(GstCufaceMotion* motion) {
  g_return_if_fail(motion);
  if (motion->unref()) delete motion;
}

gboolean gst_cuface_motion_get_compared(const GstCufaceMotion* motion) {
  g_return_val_if_fail(motion, FALSE);
  return motion->motion().compared;
}

gboolean gst_cuface_motion_get_global_change(const GstCufaceMotion* motion) {
  g_return_val_if_fail(motion, FALSE);
  return motion->motion().global_change;
}

gboolean gst_cuface_motion_get_in_event(const GstCufaceMotion* motion) {
  g_return_val_if_fail(motion, FALSE);
  return motion->motion().in_event;
}

gfloat gst_cuface_motion_get_share(const GstCufaceMotion* motion) {
  g_return_val_if_fail(motion, 0);
  return motion->motion().share;
}

guint gst_cuface_motion_get_columns(const GstCufaceMotion* motion) {
  g_return_val_if_fail(motion, 0);
  return static_cast<guint>(motion->motion().columns);
}

guint gst_cuface_motion_get_rows(const GstCufaceMotion* motion) {
  g_return_val_if_fail(motion, 0);
  return static_cast<guint>(motion->motion().rows);
}

guint gst_cuface_motion_get_n_moving(const GstCufaceMotion* motion) {
  g_return_val_if_fail(motion, 0);
  return static_cast<guint>(motion->motion().moving_cells);
}

gboolean gst_cuface_motion_get_cell(const GstCufaceMotion* motion, guint column, guint row,
                                    gfloat* share) {
  if (share) *share = 0;
  g_return_val_if_fail(motion, FALSE);
  const cuface::MotionMap& known = motion->motion();
  const auto columns = static_cast<guint>(known.columns);
  g_return_val_if_fail(column < columns && row < static_cast<guint>(known.rows), FALSE);
  const cuface::MotionCell& cell = known.cells[std::size_t{row} * columns + column];
  if (share) *share = cell.share;
  return cell.moves;
}

guint gst_cuface_motion_get_n_boxes(const GstCufaceMotion* motion) {
  g_return_val_if_fail(motion, 0);
  return static_cast<guint>(motion->motion().regions.size());
}

guint64 gst_cuface_motion_get_box(const GstCufaceMotion* motion, guint index, gfloat* x, gfloat* y,
                                  gfloat* width, gfloat* height) {
  for (gfloat* out : {x, y, width, height})
    if (out) *out = 0;
  g_return_val_if_fail(motion, 0);
  const cuface::MotionMap& known = motion->motion();
  g_return_val_if_fail(index < known.regions.size(), 0);
  const cuface::MotionRegion& region = known.regions[index];
  const auto w = static_cast<float>(known.width), h = static_cast<float>(known.height);
  if (x) *x = region.box.x / w;
  if (y) *y = region.box.y / h;
  if (width) *width = region.box.w / w;
  if (height) *height = region.box.h / h;
  return region.id;
}
