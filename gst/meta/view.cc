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

#if GST_CHECK_VERSION(1, 24, 0)

GQuark wire_quark() {
  static const GQuark quark = g_quark_from_static_string("cuface-wire");
  return quark;
}

const Wire& wire_of(const GstMetaInfo* info) {
  return *static_cast<const Wire*>(g_type_get_qdata(info->api, wire_quark()));
}

gboolean serialise(const GstMeta* meta, GstByteArrayInterface* data, guint8* version) {
  const Wire& wire = wire_of(meta->info);
  std::vector<std::uint8_t> bytes;
  if (!wire.write(reinterpret_cast<const ViewMeta*>(meta)->buffer, bytes)) return FALSE;
  *version = wire.version;
  return gst_byte_array_interface_append_data(data, bytes.data(), bytes.size());
}

GstMeta* deserialise(const GstMetaInfo* info, GstBuffer* buffer, const guint8* data, gsize size,
                     guint8 version) {
  const Wire& wire = wire_of(info);
  if (version != wire.version || !wire.read(buffer, {data, size})) return nullptr;
  return gst_buffer_get_meta(buffer, info->api);
}

const GstMetaInfo* register_meta(GType type, const char* implementation, const Wire* wire) {
  auto* info = const_cast<GstMetaInfo*>(gst_meta_info_new(type, implementation, sizeof(ViewMeta)));
  info->init_func = init;
  info->transform_func = transform;
  if (wire) {
    g_type_set_qdata(type, wire_quark(), const_cast<Wire*>(wire));
    info->serialize_func = serialise;
    info->deserialize_func = deserialise;
  }
  return gst_meta_info_register(info);
}

#else

const GstMetaInfo* register_meta(GType type, const char* implementation, const Wire*) {
  return gst_meta_register(type, implementation, sizeof(ViewMeta), init, nullptr, transform);
}

#endif

}  // namespace

GType register_view(const char* api, const char* implementation, const Wire* wire) {
  static const gchar* no_tags[] = {nullptr};
  const GType type = gst_meta_api_type_register(api, no_tags);
  g_type_set_qdata(type, info_quark(),
                   const_cast<GstMetaInfo*>(register_meta(type, implementation, wire)));
  return type;
}

const GstMetaInfo* view_of(GType api) {
  return static_cast<const GstMetaInfo*>(g_type_get_qdata(api, info_quark()));
}

}  // namespace cuface::gst
