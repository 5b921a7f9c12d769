// What GStreamer's nvcodec registers on a machine with two GPUs, on one without any: same names,
// ranks and properties, frames in system memory. Decoders are avdec_h264, the others do nothing.
#include <gst/gst.h>

#include <initializer_list>

namespace {

struct Stand {
  GstBin parent;
  gint device;
};
struct Kind {
  const char* type;
  const char* name;
  const char* stands_for;
  const char* klass;
  gint device;  ///< -1: settable
  guint rank;
};
struct StandClass {
  GstBinClass parent_class;
  const Kind* kind;
};

constexpr char kDecoder[] = "Codec/Decoder/Video/Hardware";
constexpr Kind kKinds[] = {
    {"StandDec", "nvh264dec", "avdec_h264", kDecoder, 0, GST_RANK_PRIMARY},
    {"StandDec1", "nvh264device1dec", "avdec_h264", kDecoder, 1, GST_RANK_PRIMARY - 1},
    {"StandUpload", "cudaupload", "identity", "Generic", -1, GST_RANK_NONE},
    {"StandDownload", "cudadownload", "identity", "Generic", -1, GST_RANK_NONE},
};

void add_template(GstElementClass* klass, const char* name, GstPadDirection direction,
                  const char* caps) {
  GstCaps* all = gst_caps_from_string(caps);
  gst_element_class_add_pad_template(klass,
                                     gst_pad_template_new(name, direction, GST_PAD_ALWAYS, all));
  gst_caps_unref(all);
}

void class_init(gpointer klass, gpointer kind) {
  const auto* data = static_cast<const Kind*>(kind);
  static_cast<StandClass*>(klass)->kind = data;
  auto* element = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element, data->name, data->klass, "stands for it", "us");
  const bool decodes = data->device >= 0;
  add_template(element, "sink", GST_PAD_SINK,
               decodes ? "video/x-h264, stream-format=(string){ avc, byte-stream }, alignment=au"
                       : "video/x-raw");
  add_template(element, "src", GST_PAD_SRC, "video/x-raw");
  auto* object = G_OBJECT_CLASS(klass);
  object->set_property = [](GObject* self, guint, const GValue* value, GParamSpec*) {
    reinterpret_cast<Stand*>(self)->device = g_value_get_int(value);
    GST_INFO_OBJECT(self, "is on GPU %d", g_value_get_int(value));
  };
  object->get_property = [](GObject* self, guint, GValue* value, GParamSpec*) {
    g_value_set_int(value, reinterpret_cast<Stand*>(self)->device);
  };
  const auto flags = static_cast<GParamFlags>(decodes ? G_PARAM_READABLE : G_PARAM_READWRITE);
  g_object_class_install_property(
      object, 1, g_param_spec_int("cuda-device-id", "", "", -1, G_MAXINT, -1, flags));
}

void instance_init(GTypeInstance* instance, gpointer klass) {
  auto* self = reinterpret_cast<Stand*>(instance);
  const Kind& kind = *static_cast<StandClass*>(klass)->kind;
  self->device = kind.device;
  GstElement* inner = gst_element_factory_make(kind.stands_for, nullptr);
  if (!inner) return;
  gst_bin_add(GST_BIN(self), inner);
  for (const char* name : {"sink", "src"}) {
    GstPad* pad = gst_element_get_static_pad(inner, name);
    gst_element_add_pad(GST_ELEMENT(self), gst_ghost_pad_new(name, pad));
    gst_object_unref(pad);
  }
}

gboolean init(GstPlugin* plugin) {
  for (const Kind& kind : kKinds) {
    const GTypeInfo info = {sizeof(StandClass), nullptr, nullptr,       class_init, nullptr, &kind,
                            sizeof(Stand),      0,       instance_init, nullptr};
    const GType type =
        g_type_register_static(GST_TYPE_BIN, kind.type, &info, static_cast<GTypeFlags>(0));
    if (!gst_element_register(plugin, kind.name, kind.rank, type)) return FALSE;
  }
  return TRUE;
}

}  // namespace

#define PACKAGE "gst-cuface"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, twogpus, "stands for two GPUs", init, "1.0",
                  "MIT/X11", PACKAGE, "https://localhost/")
