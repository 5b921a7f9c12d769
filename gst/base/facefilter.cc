#include "gst/base/facefilter.h"

#include <chrono>

#include "gst/base/errors.h"
#include "gst/base/standardmetas.h"

using cuface::Status;
using cuface::StatusCode;
using cuface::gst::Frame;
using cuface::gst::Reset;
using cuface::gst::SettingsLock;

namespace cuface::gst {
namespace {

enum class BackendChoice { kAuto, kCpu, kCuda };
enum class StandardMetas { kAuto, kAlways, kNever };

struct Settings {
  BackendChoice backend = BackendChoice::kAuto;
  StandardMetas standard_metas = StandardMetas::kAuto;
};

struct Stats {
  guint64 frames = 0, searches = 0, overflows = 0, faces = 0, lost_tracks = 0;
  guint64 time_total_ns = 0, time_max_ns = 0;
};

}  // namespace

struct FilterState {
  Settings settings;  // under SettingsLock, as are stats
  Stats stats;

  // The streaming thread's.
  GstVideoInfo info;
  bool planned = false;
  bool warned_interlaced = false, warned_positions = false;
  std::shared_ptr<Chain> chain = std::make_shared<Chain>();
  Image<std::uint8_t> scratch;
};

}  // namespace cuface::gst

using cuface::gst::BackendChoice;
using cuface::gst::StandardMetas;

GST_DEBUG_CATEGORY_STATIC(cuface_filter_debug);
#define GST_CAT_DEFAULT cuface_filter_debug

G_DEFINE_ABSTRACT_TYPE_WITH_CODE(GstCufaceFilter, gst_cuface_filter, GST_TYPE_BASE_TRANSFORM,
                                 GST_DEBUG_CATEGORY_INIT(cuface_filter_debug, "cufacefilter", 0,
                                                         "base of the gst-cuface elements"))

namespace {

enum Property { kPropBackend = 1, kPropStandardMetas, kPropStats };

GType backend_type() {
  static const GEnumValue values[] = {
      {static_cast<int>(BackendChoice::kAuto), "CUDA for frames in CUDA memory, else the CPU",
       "auto"},
      {static_cast<int>(BackendChoice::kCpu), "The CPU, frames in system memory", "cpu"},
      {static_cast<int>(BackendChoice::kCuda), "CUDA; an error in a build without it", "cuda"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstCufaceBackend", values);
  return type;
}

GType standard_metas_type() {
  static const GEnumValue values[] = {
      {static_cast<int>(StandardMetas::kAuto), "On frames in system memory", "auto"},
      {static_cast<int>(StandardMetas::kAlways), "On every frame", "always"},
      {static_cast<int>(StandardMetas::kNever), "Only gst-cuface's own meta", "never"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstCufaceStandardMetas", values);
  return type;
}

GstStructure* stats_structure(const cuface::gst::Stats& stats) {
  return gst_structure_new(
      "application/x-cuface-stats", "frames", G_TYPE_UINT64, stats.frames, "searches",
      G_TYPE_UINT64, stats.searches, "overflows", G_TYPE_UINT64, stats.overflows, "faces",
      G_TYPE_UINT64, stats.faces, "lost-tracks", G_TYPE_UINT64, stats.lost_tracks, "time-total-ns",
      G_TYPE_UINT64, stats.time_total_ns, "time-max-ns", G_TYPE_UINT64, stats.time_max_ns, nullptr);
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
      g_value_take_boxed(value, stats_structure(state->stats));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

void finalize(GObject* object) {
  delete GST_CUFACE_FILTER(object)->state;
  G_OBJECT_CLASS(gst_cuface_filter_parent_class)->finalize(object);
}

/// Posts what is wrong, if anything; true when all is well.
bool report(GstCufaceFilter* self, const Status& status) {
  if (!status.ok()) cuface::gst::post_error(GST_ELEMENT_CAST(self), status);
  return status.ok();
}

/// Forgets what was known of earlier frames. Frames still on their way keep the old chain.
void reset(GstCufaceFilter* self, Reset why) {
  self->state->chain = std::make_shared<cuface::gst::Chain>();
  const GstCufaceFilterClass* klass = GST_CUFACE_FILTER_GET_CLASS(self);
  if (klass->reset) klass->reset(self, why);
}

gboolean start(GstBaseTransform* trans) {
  GstCufaceFilter* self = GST_CUFACE_FILTER(trans);
  BackendChoice backend;
  {
    SettingsLock lock(self);
    backend = self->state->settings.backend;
    self->state->stats = {};
  }
  if (backend == BackendChoice::kCuda) {
    cuface::gst::post_error(
        GST_ELEMENT_CAST(self),
        {StatusCode::kNotFound,
         "backend=cuda: this build of gst-cuface has no CUDA; use backend=auto or backend=cpu"});
    return FALSE;
  }
  self->state->warned_interlaced = self->state->warned_positions = false;
  const GstCufaceFilterClass* klass = GST_CUFACE_FILTER_GET_CLASS(self);
  if (klass->load && !report(self, klass->load(self))) return FALSE;
  reset(self, Reset::kStart);
  return TRUE;
}

gboolean stop(GstBaseTransform* trans) {
  GstCufaceFilter* self = GST_CUFACE_FILTER(trans);
  const GstCufaceFilterClass* klass = GST_CUFACE_FILTER_GET_CLASS(self);
  if (klass->unplan) klass->unplan(self);
  self->state->planned = false;
  self->state->chain = std::make_shared<cuface::gst::Chain>();
  self->state->scratch = {};
  return TRUE;
}

GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(gst_cuface_filter_parent_class)->change_state(element, change);
  const GstCufaceFilterClass* klass = GST_CUFACE_FILTER_GET_CLASS(element);
  if (change == GST_STATE_CHANGE_READY_TO_NULL && klass->unload)
    klass->unload(GST_CUFACE_FILTER(element));
  return result;
}

gboolean set_caps(GstBaseTransform* trans, GstCaps* in, GstCaps*) {
  GstCufaceFilter* self = GST_CUFACE_FILTER(trans);
  auto* state = self->state;
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, in)) {
    GST_ERROR_OBJECT(self, "not video caps: %" GST_PTR_FORMAT, in);
    return FALSE;
  }
  if (state->planned && gst_video_info_is_equal(&info, &state->info)) return TRUE;
  if (state->planned) reset(self, Reset::kCaps);
  state->info = info;
  if (GST_VIDEO_INFO_IS_INTERLACED(&info) && !std::exchange(state->warned_interlaced, true))
    cuface::gst::post_warning(
        GST_ELEMENT_CAST(self), GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "the video is interlaced: faces that move are torn into two fields; put a deinterlace "
        "element before the face elements");
  const GstCufaceFilterClass* klass = GST_CUFACE_FILTER_GET_CLASS(self);
  state->planned = !klass->plan || report(self, klass->plan(self, info));
  return state->planned;
}

gboolean sink_event(GstBaseTransform* trans, GstEvent* event) {
  const bool flush = GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP;
  const gboolean handled =
      GST_BASE_TRANSFORM_CLASS(gst_cuface_filter_parent_class)->sink_event(trans, event);
  if (flush) reset(GST_CUFACE_FILTER(trans), Reset::kFlush);
  return handled;
}

/// The element right before ours, for comparison only.
const void* upstream_element(GstBaseTransform* trans) {
  GstPad* peer = gst_pad_get_peer(GST_BASE_TRANSFORM_SINK_PAD(trans));
  if (!peer) return nullptr;
  GstObject* parent = gst_object_get_parent(GST_OBJECT_CAST(peer));
  gst_object_unref(peer);
  if (parent) gst_object_unref(parent);
  return parent;
}

/// Positions that no longer fit the picture are not delivered; the user hears of it once.
void warn_positions_lost(GstCufaceFilter* self) {
  if (std::exchange(self->state->warned_positions, true)) return;
  cuface::gst::post_warning(
      GST_ELEMENT_CAST(self), GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "an element between the face elements cropped, flipped or padded the picture; the faces "
      "found before it no longer fit and are ignored from here on");
}

void count(GstCufaceFilter* self, const Frame& frame, std::chrono::nanoseconds took) {
  SettingsLock lock(self);
  auto& stats = self->state->stats;
  const auto ns = static_cast<guint64>(took.count());
  ++stats.frames;
  stats.searches += static_cast<guint64>(frame.searches);
  stats.overflows += static_cast<guint64>(frame.overflows);
  stats.lost_tracks += static_cast<guint64>(frame.lost_tracks);
  if (frame.delivered()) stats.faces += frame.delivered()->faces.size();
  stats.time_total_ns += ns;
  stats.time_max_ns = MAX(stats.time_max_ns, ns);
}

GstFlowReturn transform_ip(GstBaseTransform* trans, GstBuffer* buffer) {
  const auto begin = std::chrono::steady_clock::now();
  GstCufaceFilter* self = GST_CUFACE_FILTER(trans);
  auto* state = self->state;
  const GstCufaceFilterClass* klass = GST_CUFACE_FILTER_GET_CLASS(self);
  StandardMetas standard_metas;
  {
    SettingsLock lock(self);
    standard_metas = state->settings.standard_metas;
  }
  if (gst_buffer_get_size(buffer) == 0) return GST_FLOW_OK;  // a gap without a picture

  Frame frame(buffer, state->info, state->chain, state->scratch,
              klass->changes_pixels ? nullptr : self, upstream_element(trans));
  if (frame.upstream().positions == cuface::gst::Positions::kUnknown) warn_positions_lost(self);
  if (!report(self, klass->process(self, frame))) return GST_FLOW_ERROR;
  if (frame.delivered() && standard_metas != StandardMetas::kNever)
    cuface::gst::publish_standard_metas(buffer, state->info, frame.delivered());

  count(self, frame, std::chrono::steady_clock::now() - begin);
  return GST_FLOW_OK;
}

constexpr const char* kCaps = GST_VIDEO_CAPS_MAKE(CUFACE_VIDEO_FORMATS);

}  // namespace

static void gst_cuface_filter_init(GstCufaceFilter* self) {
  self->state = new cuface::gst::FilterState;
  GstBaseTransform* trans = GST_BASE_TRANSFORM(self);
  gst_base_transform_set_in_place(trans, TRUE);
  gst_base_transform_set_gap_aware(trans, TRUE);
}

static void gst_cuface_filter_class_init(GstCufaceFilterClass* klass) {
  auto* object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = set_property;
  object_class->get_property = get_property;
  object_class->finalize = finalize;

  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_property(
      object_class, kPropBackend,
      g_param_spec_enum("backend", "Backend",
                        "The processor that does the work; this build has the CPU only",
                        backend_type(), static_cast<int>(BackendChoice::kAuto),
                        static_cast<GParamFlags>(flags | GST_PARAM_MUTABLE_READY)));
  g_object_class_install_property(
      object_class, kPropStandardMetas,
      g_param_spec_enum("standard-metas", "Standard metas",
                        "Whether faces are also written as GStreamer's own metas "
                        "(GstVideoRegionOfInterestMeta \"face\") for elements of others",
                        standard_metas_type(), static_cast<int>(StandardMetas::kAuto),
                        static_cast<GParamFlags>(flags | GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property(
      object_class, kPropStats,
      g_param_spec_boxed(
          "stats", "Statistics",
          "Since the last start: frames, searches, overflows (searches given up because "
          "too much looked like a face), faces (summed over the frames), "
          "lost-tracks, time-total-ns and time-max-ns spent in this element",
          GST_TYPE_STRUCTURE, static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));

  GST_ELEMENT_CLASS(klass)->change_state = change_state;

  auto* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  trans_class->start = start;
  trans_class->stop = stop;
  trans_class->set_caps = set_caps;
  trans_class->sink_event = sink_event;
  trans_class->transform_ip = transform_ip;
  trans_class->transform_ip_on_passthrough = FALSE;

  gst_type_mark_as_plugin_api(backend_type(), static_cast<GstPluginAPIFlags>(0));
  gst_type_mark_as_plugin_api(standard_metas_type(), static_cast<GstPluginAPIFlags>(0));
  gst_type_mark_as_plugin_api(GST_TYPE_CUFACE_FILTER, static_cast<GstPluginAPIFlags>(0));
}

namespace cuface::gst {

void add_pad_templates(GstElementClass* element_class) {
  GstCaps* caps = gst_caps_from_string(kCaps);
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);
}

Backend backend_of(GstCufaceFilter*) { return Backend::kCpu; }

}  // namespace cuface::gst
