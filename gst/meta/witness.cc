#include "gst/meta/witness.h"

#include <gst/video/video.h>

#include "gst/meta/copier.h"

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

void ensure_witness(GstBuffer* buffer) {
  if (!gst_buffer_get_meta(buffer, api_type())) gst_buffer_add_meta(buffer, meta_info(), nullptr);
}

void set_witness(GstBuffer* buffer, const FrameGeometry& geometry) {
  ensure_witness(buffer);
  reinterpret_cast<WitnessMeta*>(gst_buffer_get_meta(buffer, api_type()))->geometry = geometry;
}

const FrameGeometry* witness_geometry(GstBuffer* buffer) {
  const auto* witness = reinterpret_cast<WitnessMeta*>(gst_buffer_get_meta(buffer, api_type()));
  return witness && witness->geometry.width > 0 ? &witness->geometry : nullptr;
}

}  // namespace cuface::gst
