#include "gst/base/settings.h"

namespace cuface::gst {
namespace {

/// As GLib keeps them: for as long as the program runs, with an empty one at the end.
template <typename Value>
const Value* keep(std::initializer_list<Value> values) {
  auto* kept = new std::vector<Value>(values);
  kept->push_back({});
  return kept->data();
}

GType published(GType type) {
  gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
  return type;
}

}  // namespace

GType enum_type(const char* name, std::initializer_list<GEnumValue> values) {
  return published(g_enum_register_static(name, keep(values)));
}

GType flags_type(const char* name, std::initializer_list<GFlagsValue> values) {
  return published(g_flags_register_static(name, keep(values)));
}

std::int64_t integer_in(const GValue* value) {
  if (G_VALUE_HOLDS_ENUM(value)) return g_value_get_enum(value);
  if (G_VALUE_HOLDS_FLAGS(value)) return g_value_get_flags(value);
  if (G_VALUE_HOLDS_BOOLEAN(value)) return g_value_get_boolean(value);
  if (G_VALUE_HOLDS_INT(value)) return g_value_get_int(value);
  if (G_VALUE_HOLDS_UINT(value)) return g_value_get_uint(value);
  return static_cast<std::int64_t>(g_value_get_uint64(value));
}

void put_integer(GValue* value, std::int64_t number) {
  if (G_VALUE_HOLDS_ENUM(value)) return g_value_set_enum(value, static_cast<gint>(number));
  if (G_VALUE_HOLDS_FLAGS(value)) return g_value_set_flags(value, static_cast<guint>(number));
  if (G_VALUE_HOLDS_BOOLEAN(value)) return g_value_set_boolean(value, number != 0);
  if (G_VALUE_HOLDS_INT(value)) return g_value_set_int(value, static_cast<gint>(number));
  if (G_VALUE_HOLDS_UINT(value)) return g_value_set_uint(value, static_cast<guint>(number));
  g_value_set_uint64(value, static_cast<guint64>(number));
}

void install_settings(GObjectClass* klass, const std::vector<Setting>& table) {
  guint id = 0;
  for (const Setting& setting : table) g_object_class_install_property(klass, ++id, setting.spec);
}

}  // namespace cuface::gst
