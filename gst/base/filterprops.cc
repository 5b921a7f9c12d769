#include "gst/base/facefilter.h"
#include "gst/base/filterstate.h"

namespace cuface::gst {
namespace {

enum Property { kPropBackend = 1, kPropStandardMetas, kPropStats, kPropDeviceId };

GType backend_type() {
  static const GEnumValue values[] = {
      {static_cast<int>(BackendChoice::kAuto), "CUDA for frames in CUDA memory, else the CPU",
       "auto"},
      {static_cast<int>(BackendChoice::kCpu), "The CPU, frames in system memory", "cpu"},
      {static_cast<int>(BackendChoice::kCuda),
       "CUDA, also for frames in system memory; an error where there is none", "cuda"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstCufaceBackend", values);
  return type;
}

GType standard_metas_type() {
  static const GEnumValue values[] = {
      {static_cast<int>(StandardMetas::kAuto), "Where the element works on the CPU", "auto"},
      {static_cast<int>(StandardMetas::kAlways),
       "On every frame; the element waits for a GPU that works for it", "always"},
      {static_cast<int>(StandardMetas::kNever), "Only gst-cuface's own meta", "never"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstCufaceStandardMetas", values);
  return type;
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  auto& settings = GST_CUFACE_FILTER(object)->state->settings;
  SettingsLock lock(object);
  switch (id) {
    case kPropBackend:
      settings.backend = static_cast<BackendChoice>(g_value_get_enum(value));
      break;
    case kPropStandardMetas:
      settings.standard_metas = static_cast<StandardMetas>(g_value_get_enum(value));
      break;
    case kPropDeviceId:
      settings.device_id = g_value_get_int(value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  const auto* state = GST_CUFACE_FILTER(object)->state;
  SettingsLock lock(object);
  switch (id) {
    case kPropBackend:
      g_value_set_enum(value, static_cast<int>(state->settings.backend));
      break;
    case kPropStandardMetas:
      g_value_set_enum(value, static_cast<int>(state->settings.standard_metas));
      break;
    case kPropStats:
      g_value_take_boxed(value, stats_structure(GST_CUFACE_FILTER(object)));
      break;
    case kPropDeviceId:
      g_value_set_int(value, state->settings.device_id);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

}  // namespace

namespace {

/// Under SettingsLock.
DeviceCounts sum_counts(const FilterState& state) {
  DeviceCounts all = state.device ? state.device->counts() : DeviceCounts{};
  all.searches += state.stats.searches;
  all.skipped_searches += state.stats.skipped_searches;
  all.overflows += state.stats.overflows;
  all.faces += state.stats.faces;
  all.lost_tracks += state.stats.lost_tracks;
  return all;
}

}  // namespace

DeviceCounts counts_of(GstCufaceFilter* self) {
  SettingsLock lock(self);
  return sum_counts(*self->state);
}

GstStructure* stats_structure(GstCufaceFilter* self) {
  const FilterState& state = *self->state;
  const GstCufaceFilterClass* klass = GST_CUFACE_FILTER_GET_CLASS(self);
  const auto& stats = state.stats;
  const DeviceCounts all = sum_counts(state);
  GstStructure* structure = gst_structure_new_empty("application/x-cuface-stats");
  const auto add = [&](const char* field, guint64 value) {
    gst_structure_set(structure, field, G_TYPE_UINT64, value, nullptr);
  };
  add("frames", stats.frames);
  if (klass->counts & kCountsSearches) {
    add("searches", all.searches);
    add("skipped-searches", all.skipped_searches);
    add("overflows", all.overflows);
  }
  if (klass->counts & kCountsFaces) add("faces", all.faces);
  if (klass->counts & kCountsTracks) add("lost-tracks", all.lost_tracks);
  add("time-total-ns", stats.time_total_ns);
  add("time-max-ns", stats.time_max_ns);
  if (klass->counts & kCountsLines) add("dropped-lines", stats.dropped_lines);
  if (state.device && klass->cuda_use != CudaUse::kPasses) {
    add("device-time-ns", state.device->device_time_ns());
    add("waits", state.device->waits());
  }
  return structure;
}

void install_filter_properties(GObjectClass* klass) {
  klass->set_property = set_property;
  klass->get_property = get_property;
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_property(
      klass, kPropBackend,
      g_param_spec_enum("backend", "Backend",
                        "The processor that does the work. Set cpu or cuda to insist on one.",
                        backend_type(), static_cast<int>(BackendChoice::kAuto),
                        static_cast<GParamFlags>(flags | GST_PARAM_MUTABLE_READY)));
  g_object_class_install_property(
      klass, kPropStandardMetas,
      g_param_spec_enum("standard-metas", "Standard metas",
                        "Whether faces are also written as GStreamer's own metas. Set always where "
                        "other elements read them behind a GPU.",
                        standard_metas_type(), static_cast<int>(StandardMetas::kAuto),
                        static_cast<GParamFlags>(flags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property(
      klass, kPropStats,
      g_param_spec_boxed("stats", "Statistics",
                         "Counts since the last start, such as frames, faces and time. Read it to "
                         "see where time goes.",
                         GST_TYPE_STRUCTURE,
                         static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS |
                                                  GST_PARAM_DOC_SHOW_DEFAULT)));

  if (DeviceSide::create(nullptr))
    g_object_class_install_property(
        klass, kPropDeviceId,
        g_param_spec_int("cuda-device-id", "CUDA device",
                         "The GPU to work on; -1 is the one that holds the frames, or the first. "
                         "Set it with several GPUs.",
                         -1, G_MAXINT, -1,
                         static_cast<GParamFlags>(flags | GST_PARAM_MUTABLE_READY |
                                                  GST_PARAM_CONDITIONALLY_AVAILABLE)));

  gst_type_mark_as_plugin_api(backend_type(), static_cast<GstPluginAPIFlags>(0));
  gst_type_mark_as_plugin_api(standard_metas_type(), static_cast<GstPluginAPIFlags>(0));
}

}  // namespace cuface::gst
