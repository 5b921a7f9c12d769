#include "gst/base/filter.h"
#include "gst/base/filterstate.h"

namespace cuface::gst {
namespace {

const std::vector<Setting>& table() {
  static const auto* const table = [] {
    static const GType backend = enum_type(
        "GstCufaceBackend",
        {{static_cast<int>(BackendChoice::kAuto), "CUDA for frames in CUDA memory, else the CPU",
          "auto"},
         {static_cast<int>(BackendChoice::kCpu), "The CPU, frames in system memory", "cpu"},
         {static_cast<int>(BackendChoice::kCuda),
          "CUDA, also for frames in system memory; an error where there is none", "cuda"}});
    auto* made = new std::vector<Setting>{
        choice("backend", "Backend",
               "Processor that does the work. Set cpu or cuda to allow only that one.",
               CUFACE_FIELD(Settings, backend), backend, kReady)};
    if (DeviceElement::create(nullptr))
      made->push_back(number("cuda-device-id", "CUDA device",
                             "The GPU to work on; -1 is the one that holds the frames, or the "
                             "first. Set it with several GPUs.",
                             CUFACE_FIELD(Settings, device_id), -1, G_MAXINT,
                             static_cast<GParamFlags>(kReady | GST_PARAM_CONDITIONALLY_AVAILABLE)));
    return made;
  }();
  return *table;
}

/// Under SettingsLock.
Counts sum_counts(const FilterState& state) {
  Counts all = state.stats.counts;
  if (state.device) add_counts(all, state.device->counts());
  return all;
}

/// Behind the table: it is no setting.
guint stats_id() { return static_cast<guint>(table().size()) + 1; }

void set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  SettingsLock lock(object);
  table()[id - 1].set(&GST_CUFACE_FILTER(object)->state->settings, value);
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  SettingsLock lock(object);
  GstCufaceFilter* self = GST_CUFACE_FILTER(object);
  if (id == stats_id())
    g_value_take_boxed(value, stats_structure(self));
  else
    table()[id - 1].get(&self->state->settings, value);
}

}  // namespace

Counts counts_of(GstCufaceFilter* self) {
  SettingsLock lock(self);
  return sum_counts(*self->state);
}

GstStructure* stats_structure(GstCufaceFilter* self) {
  const FilterState& state = *self->state;
  const auto& stats = state.stats;
  const Counts counts = sum_counts(state);
  GstStructure* structure = gst_structure_new_empty("application/x-cuface-stats");
  const auto add = [&](const char* field, guint64 value) {
    gst_structure_set(structure, field, G_TYPE_UINT64, value, nullptr);
  };
  add("frames", stats.frames);
  for (const StatsField& field : info_of(self).stats)
    add(field.name, counts[static_cast<std::size_t>(field.counter)]);
  add("time-total-ns", stats.time_total_ns);
  add("time-max-ns", stats.time_max_ns);
  if (state.device && works_on_gpu(info_of(self).cuda_use)) {
    add("device-time-ns", state.device->device_time_ns());
    add("waits", state.device->waits());
  }
  return structure;
}

void install_filter_properties(GObjectClass* klass) {
  klass->set_property = set_property;
  klass->get_property = get_property;
  install_settings(klass, table());
  g_object_class_install_property(
      klass, stats_id(),
      g_param_spec_boxed(
          "stats", "Statistics",
          "Counts since the last start, such as frames and time. Read it to see where time goes.",
          GST_TYPE_STRUCTURE,
          static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS |
                                   GST_PARAM_DOC_SHOW_DEFAULT)));
}

}  // namespace cuface::gst
