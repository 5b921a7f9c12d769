#include "tests/gst/standin.h"

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include <cmath>
#include <utility>

namespace cuface::test {
namespace {

using Detect = std::function<void(GstBuffer*, int)>;
Detect& current() {
  static Detect detect;
  return detect;
}

struct StandIn {
  GstBaseTransform parent;
  Detect* detect;
  int frame;
};
struct StandInClass {
  GstBaseTransformClass parent_class;
};

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  auto* self = reinterpret_cast<StandIn*>(base);
  (*self->detect)(buffer, self->frame++);
  return GST_FLOW_OK;
}

gpointer parent_class;

void finalize(GObject* object) {
  delete reinterpret_cast<StandIn*>(object)->detect;
  G_OBJECT_CLASS(parent_class)->finalize(object);
}

void class_init(gpointer klass, gpointer) {
  parent_class = g_type_class_peek_parent(klass);
  G_OBJECT_CLASS(klass)->finalize = finalize;
  GST_BASE_TRANSFORM_CLASS(klass)->transform_ip = transform_ip;
  auto* element = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element, "A detector", "Filter", "Adds boxes", "The tests");
  GstCaps* any = gst_caps_new_any();
  for (const auto& [name, direction] :
       {std::pair{"sink", GST_PAD_SINK}, std::pair{"src", GST_PAD_SRC}})
    gst_element_class_add_pad_template(element,
                                       gst_pad_template_new(name, direction, GST_PAD_ALWAYS, any));
  gst_caps_unref(any);
}

void instance_init(GTypeInstance* instance, gpointer) {
  auto* self = reinterpret_cast<StandIn*>(instance);
  self->detect = new Detect(current());
  gst_base_transform_set_in_place(&self->parent, TRUE);
}

}  // namespace

void set_standin(Detect detect) {
  current() = std::move(detect);
  static const bool registered = [] {
    const GTypeInfo info{sizeof(StandInClass), nullptr, nullptr,       class_init, nullptr, nullptr,
                         sizeof(StandIn),      0,       instance_init, nullptr};
    const GType type = g_type_register_static(GST_TYPE_BASE_TRANSFORM, "CufaceTestStandIn", &info,
                                              static_cast<GTypeFlags>(0));
    return gst_element_register(nullptr, "standin", GST_RANK_NONE, type) != FALSE;
  }();
  g_assert(registered);
}

void add_region(GstBuffer* buffer, const char* label, const Box& box, double confidence, int width,
                int height) {
  const auto whole = [](float v) { return static_cast<guint>(std::lrint(v)); };
  GstVideoRegionOfInterestMeta* roi = gst_buffer_add_video_region_of_interest_meta(
      buffer, label, whole(box.x), whole(box.y), whole(box.w), whole(box.h));
  if (confidence < 0) return;
  const double x = static_cast<double>(box.x), y = static_cast<double>(box.y);
  gst_video_region_of_interest_meta_add_param(
      roi, gst_structure_new("detection", "x_min", G_TYPE_DOUBLE, x / width, "y_min", G_TYPE_DOUBLE,
                             y / height, "x_max", G_TYPE_DOUBLE,
                             (x + static_cast<double>(box.w)) / width, "y_max", G_TYPE_DOUBLE,
                             (y + static_cast<double>(box.h)) / height, "confidence", G_TYPE_DOUBLE,
                             confidence, nullptr));
}

}  // namespace cuface::test
