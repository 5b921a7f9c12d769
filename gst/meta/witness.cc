#include "gst/meta/witness.h"

#include <gst/video/video.h>

namespace cuface::gst {
namespace {

struct WitnessMeta {
  GstMeta meta;
  FrameGeometry geometry;
};

gboolean init(GstMeta* meta, gpointer, GstBuffer*) {
  reinterpret_cast<WitnessMeta*>(meta)->geometry = {};
  return TRUE;
}

/// The borders that a scaler which keeps the display aspect ratio adds, in pixels, with the
/// arithmetic of videoscale (add-borders). Whether it did add them it does not say.
int possible_borders(const GstVideoInfo& in, const GstVideoInfo& out) {
  gint num = 0, den = 0;
  if (!gst_util_fraction_multiply(in.width, in.height, in.par_n, in.par_d, &num, &den) ||
      !gst_util_fraction_multiply(num, den, out.par_d, out.par_n, &num, &den))
    return G_MAXINT;
  const int height =
      static_cast<int>(gst_util_uint64_scale_int(static_cast<guint64>(out.width), den, num));
  if (height <= out.height) return out.height - height;
  const int width =
      static_cast<int>(gst_util_uint64_scale_int(static_cast<guint64>(out.height), num, den));
  return out.width - width;
}

/// Rounding the size to whole pixels may leave one line over; more means a letterbox.
constexpr int kRoundingBorder = 1;

gboolean transform(GstBuffer* dest, GstMeta* meta, GstBuffer*, GQuark type, gpointer data) {
  FrameGeometry geometry = reinterpret_cast<WitnessMeta*>(meta)->geometry;
  if (GST_META_TRANSFORM_IS_COPY(type)) {
    if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
  } else if (GST_VIDEO_META_TRANSFORM_IS_SCALE(type)) {
    const auto* scale = static_cast<GstVideoMetaTransform*>(data);
    if (scale->in_info->width != geometry.width || scale->in_info->height != geometry.height)
      return FALSE;
    if (possible_borders(*scale->in_info, *scale->out_info) > kRoundingBorder) return FALSE;
    geometry = {scale->out_info->width, scale->out_info->height, 0, 0};
  } else {
    return FALSE;
  }
  set_witness(dest, geometry);
  return TRUE;
}

GType api_type() {
  static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                GST_META_TAG_VIDEO_ORIENTATION_STR, nullptr};
  static const GType type = gst_meta_api_type_register("GstCuFaceWitnessMetaAPI", tags);
  return type;
}

const GstMetaInfo* meta_info() {
  static const GstMetaInfo* const info = gst_meta_register(
      api_type(), "GstCufaceWitnessMeta", sizeof(WitnessMeta), init, nullptr, transform);
  return info;
}

}  // namespace

void set_witness(GstBuffer* buffer, const FrameGeometry& geometry) {
  GstMeta* meta = gst_buffer_get_meta(buffer, api_type());
  if (!meta) meta = gst_buffer_add_meta(buffer, meta_info(), nullptr);
  reinterpret_cast<WitnessMeta*>(meta)->geometry = geometry;
}

const FrameGeometry* witness_geometry(GstBuffer* buffer) {
  const auto* witness = reinterpret_cast<WitnessMeta*>(gst_buffer_get_meta(buffer, api_type()));
  return witness ? &witness->geometry : nullptr;
}

}  // namespace cuface::gst
