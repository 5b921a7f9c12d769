#include "gst/base/structures.h"

namespace cuface::gst {

GstStructure* new_message(const char* name, const FrameTime& time) {
  return gst_structure_new(name, "timestamp", G_TYPE_UINT64, time.timestamp, "running-time",
                           G_TYPE_UINT64, time.running_time, nullptr);
}

void post_message(GstElement* element, GstStructure* structure) {
  gst_element_post_message(element, gst_message_new_element(GST_OBJECT_CAST(element), structure));
}

void set_floats(GstStructure* structure, const char* field, std::span<const float> values) {
  if (values.empty()) return gst_structure_remove_field(structure, field);
  GValue array = G_VALUE_INIT, value = G_VALUE_INIT;
  gst_value_array_init(&array, static_cast<guint>(values.size()));
  g_value_init(&value, G_TYPE_FLOAT);
  for (const float v : values) {
    g_value_set_float(&value, v);
    gst_value_array_append_value(&array, &value);
  }
  g_value_unset(&value);
  gst_structure_take_value(structure, field, &array);
}

void take_list(GstStructure* structure, const char* field,
               const std::vector<GstStructure*>& items) {
  GValue list = G_VALUE_INIT;
  g_value_init(&list, GST_TYPE_LIST);
  for (GstStructure* item : items) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&value, item);
    gst_value_list_append_and_take_value(&list, &value);
  }
  gst_structure_take_value(structure, field, &list);
}

}  // namespace cuface::gst
