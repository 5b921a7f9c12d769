#include "gst/base/element.h"

#include "gst/base/filter.h"
#include "gst/base/filterstate.h"

namespace cuface::gst {
namespace {

const Setting& setting_of(gpointer object, guint id) {
  return (*GST_CUFACE_FILTER_GET_CLASS(object)->settings)[id - 1];
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  SettingsLock lock(object);
  Element& element = *GST_CUFACE_FILTER(object)->state->element;
  setting_of(object, id).set(element.settings_address(), value);
  element.settings_changed();
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  SettingsLock lock(object);
  Element& element = *GST_CUFACE_FILTER(object)->state->element;
  setting_of(object, id).get(element.settings_address(), value);
}

void class_init(gpointer klass, gpointer data) {
  const auto& info = *static_cast<const ElementInfo*>(data);
  auto* filter_class = static_cast<GstCufaceFilterClass*>(klass);
  filter_class->info = &info;
  if (info.settings) {
    filter_class->settings = new std::vector<Setting>(info.settings());
    auto* object_class = G_OBJECT_CLASS(klass);
    object_class->set_property = set_property;
    object_class->get_property = get_property;
    install_settings(object_class, *filter_class->settings);
  }
  auto* element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element_class, info.title, info.category, info.description,
                                        "The gst-cuface project");
  add_pad_templates(element_class, info);
}

void instance_init(GTypeInstance* instance, gpointer klass) {
  auto* self = reinterpret_cast<GstCufaceFilter*>(instance);
  self->state->element = static_cast<GstCufaceFilterClass*>(klass)->info->make(self);
}

}  // namespace

GType element_type(const ElementInfo& info) {
  if (const GType known = g_type_from_name(info.type)) return known;
  if (info.debug) GST_DEBUG_CATEGORY_INIT(*info.debug, info.name, 0, info.title);
  GTypeInfo type_info{};
  type_info.class_size = sizeof(GstCufaceFilterClass);
  type_info.class_init = class_init;
  type_info.class_data = &info;
  type_info.instance_size = sizeof(GstCufaceFilter);
  type_info.instance_init = instance_init;
  const GType type = g_type_register_static(GST_TYPE_CUFACE_FILTER, info.type, &type_info,
                                            static_cast<GTypeFlags>(0));
  constexpr GInterfaceInfo kPresets{};
  if (info.has_presets) g_type_add_interface_static(type, GST_TYPE_PRESET, &kPresets);
  return type;
}

Backend Element::backend() const { return filter_->state->backend; }

bool Element::in_cuda_memory() const { return filter_->state->in_cuda_memory; }

bool Element::is_live() const { return filter_->state->times.is_live(GST_BASE_TRANSFORM(filter_)); }

StopFlag& Element::stop_flag() const { return filter_->state->stop; }

const GstSegment& Element::segment() const { return GST_BASE_TRANSFORM(filter_)->segment; }

GstPad* Element::src_pad() const { return GST_BASE_TRANSFORM_SRC_PAD(filter_); }

Counts Element::counts() const { return counts_of(filter_); }

Counts Element::device_counts() const {
  return filter_->state->device ? filter_->state->device->counts() : Counts{};
}

}  // namespace cuface::gst
