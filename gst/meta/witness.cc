#include "gst/meta/witness.h"

#include <gst/video/video.h>

#include <cmath>

#include "gst/meta/copier.h"

namespace cuface::gst {
namespace {

struct WitnessMeta {
  GstMeta meta;
  Witness witness;
};

gboolean init(GstMeta* meta, gpointer, GstBuffer*) {
  reinterpret_cast<WitnessMeta*>(meta)->witness = {};
  return TRUE;
}

/// Where a scaler says that pixels go. It says nothing of borders.
std::optional<PictureMap> scaled_to(const GstVideoMetaTransform& scale) {
  const GstVideoInfo &in = *scale.in_info, &out = *scale.out_info;
  if (possible_borders(in, out) > kRoundingBorder) return {};
  return PictureMap::scaling(in.width, in.height, out.width, out.height);
}

#if GST_CHECK_VERSION(1, 28, 0)
/// What is turned, flipped or seen askew is no face as our elements find it.
std::optional<PictureMap> moved_to(const GstVideoMetaTransformMatrix& said) {
  const auto& m = said.matrix;
  if (!(m[0][0] > 0 && m[1][1] > 0) || m[0][1] != 0 || m[1][0] != 0 || m[2][0] != 0 ||
      m[2][1] != 0 || m[2][2] != 1)
    return {};
  if (!std::isfinite(m[0][0] + m[0][2]) || !std::isfinite(m[1][1] + m[1][2])) return {};
  const GstVideoRectangle &in = said.in_rectangle, &out = said.out_rectangle;
  const auto moved = [](int from, float scale, float add, int to) {
    return static_cast<float>(to) + add - static_cast<float>(from) * scale;
  };
  return PictureMap{said.in_info->width,
                    said.in_info->height,
                    said.out_info->width,
                    said.out_info->height,
                    m[0][0],
                    m[1][1],
                    moved(in.x, m[0][0], m[0][2], out.x),
                    moved(in.y, m[1][1], m[1][2], out.y)};
}
#endif

std::optional<PictureMap> said_map(GQuark type, gpointer data) {
#if GST_CHECK_VERSION(1, 28, 0)
  if (GST_VIDEO_META_TRANSFORM_IS_MATRIX(type))
    return moved_to(*static_cast<GstVideoMetaTransformMatrix*>(data));
#endif
  if (GST_VIDEO_META_TRANSFORM_IS_SCALE(type))
    return scaled_to(*static_cast<GstVideoMetaTransform*>(data));
  return {};
}

GType api_type() {
  static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                GST_META_TAG_VIDEO_ORIENTATION_STR, nullptr};
  static const GType type = gst_meta_api_type_register("GstCuFaceWitnessMetaAPI", tags);
  return type;
}

void set(GstBuffer* buffer, const Witness& witness) {
  ensure_witness(buffer);
  reinterpret_cast<WitnessMeta*>(gst_buffer_get_meta(buffer, api_type()))->witness = witness;
}

gboolean transform(GstBuffer* dest, GstMeta* meta, GstBuffer* source, GQuark type, gpointer data) {
  if (GST_META_TRANSFORM_IS_COPY(type)) {
    if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
    set(dest, reinterpret_cast<WitnessMeta*>(meta)->witness);
    return TRUE;
  }
  const auto step = said_map(type, data);
  return step && move_witness(source, dest, *step);
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
  const auto& [width, height, x, y] = geometry;
  set(buffer, {geometry, PictureMap::scaling(width, height, width, height)});
}

const Witness* find_witness(GstBuffer* buffer) {
  const auto* meta = reinterpret_cast<WitnessMeta*>(gst_buffer_get_meta(buffer, api_type()));
  return meta && meta->witness.picture.width > 0 ? &meta->witness : nullptr;
}

std::optional<PictureMap> map_to(GstBuffer* buffer, const FrameGeometry& now) {
  const Witness* witness = find_witness(buffer);
  if (!witness) return {};
  const FrameGeometry& then = witness->picture;
  if (now == then) return witness->map;
  // A crop rectangle set since says what it leaves of the picture.
  if (!gst_buffer_get_video_crop_meta(buffer)) return {};
  return witness->map.then({then.width, then.height, now.width, now.height, 1, 1,
                            static_cast<float>(then.crop_x - now.crop_x),
                            static_cast<float>(then.crop_y - now.crop_y)});
}

bool move_witness(GstBuffer* from, GstBuffer* to, const PictureMap& step) {
  const FrameGeometry now = frame_geometry(from, step.from_width, step.from_height);
  const auto map = map_to(from, now);
  if (!map || now.width != step.from_width || now.height != step.from_height) return false;
  set(to, {{step.width, step.height, 0, 0}, map->then(step)});
  return true;
}

}  // namespace cuface::gst
