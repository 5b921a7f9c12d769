// The library and the plugin both compile this file.
#include "gst/meta/view.h"

namespace cuface::gst {
namespace {

gboolean init(GstMeta* meta, gpointer, GstBuffer* buffer) {
  reinterpret_cast<ViewMeta*>(meta)->buffer = buffer;
  return TRUE;
}

gboolean transform(GstBuffer* dest, GstMeta* meta, GstBuffer*, GQuark type, gpointer data) {
  if (!GST_META_TRANSFORM_IS_COPY(type)) return FALSE;
  if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
  if (!gst_buffer_get_meta(dest, meta->info->api)) gst_buffer_add_meta(dest, meta->info, nullptr);
  return TRUE;
}

GQuark info_quark() {
  static const GQuark quark = g_quark_from_static_string("cuface-view");
  return quark;
}

}  // namespace

GType register_view(const char* api, const char* implementation) {
  static const gchar* no_tags[] = {nullptr};
  const GType type = gst_meta_api_type_register(api, no_tags);
  const GstMetaInfo* info =
      gst_meta_register(type, implementation, sizeof(ViewMeta), init, nullptr, transform);
  g_type_set_qdata(type, info_quark(), const_cast<GstMetaInfo*>(info));
  return type;
}

const GstMetaInfo* view_of(GType api) {
  return static_cast<const GstMetaInfo*>(g_type_get_qdata(api, info_quark()));
}

}  // namespace cuface::gst
