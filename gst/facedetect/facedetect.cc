#include "gst/facedetect/facedetect.h"

#include <atomic>
#include <string>

#include "gst/base/errors.h"
#include "gst/base/facefilter.h"
#include "gst/base/trackerquery.h"
#include "gst/facedetect/search.h"
#include "kernels/detect/detect.h"
#include "models/models.h"

GST_DEBUG_CATEGORY_STATIC(cuface_detect_debug);
#define GST_CAT_DEFAULT cuface_detect_debug

namespace {

using cuface::DetectConfig;
using cuface::FaceList;
using cuface::Grouping;
using cuface::Result;
using cuface::ScaleMode;
using cuface::Status;
using cuface::gst::Frame;
using cuface::gst::Positions;
using cuface::gst::Reset;
using cuface::gst::SettingsLock;

constexpr const char* kRedetectEvent = "GstCuFaceRedetect";
constexpr guint kIntervalWithTracker = 10;

struct Settings {
  std::string cascade;
  guint redetect_interval = 0;
  DetectConfig config;
  guint config_changes = 0;  ///< counts writes of `config`
};

struct DetectState {
  Settings settings;  // under SettingsLock
  std::atomic<bool> search_asked{false};
  std::atomic<bool> ask_for_tracker{true};

  // The streaming thread's.
  std::shared_ptr<const cuface::CascadeModel> model;
  std::unique_ptr<cuface::Detector> detector;
  guint planned_changes = 0;
  cuface::DetectResult found;
  cuface::gst::SearchSchedule schedule;
  bool tracker_downstream = false;
  bool warned_overflow = false;
};

}  // namespace

struct GstCufaceDetect {
  GstCufaceFilter parent;
  DetectState* state;
};

struct GstCufaceDetectClass {
  GstCufaceFilterClass parent_class;
};

G_DEFINE_TYPE_WITH_CODE(GstCufaceDetect, gst_cuface_detect, GST_TYPE_CUFACE_FILTER,
                        G_IMPLEMENT_INTERFACE(GST_TYPE_PRESET, nullptr)
                            GST_DEBUG_CATEGORY_INIT(cuface_detect_debug, "cufacedetect", 0,
                                                    "face detector"))

namespace {

enum Property {
  kPropCascade = 1,
  kPropRedetectInterval,
  kPropScaleFactor,
  kPropMinNeighbors,
  kPropMinSize,
  kPropMaxSize,
  kPropMaxFaces,
  kPropGrouping,
  kPropDetectScale,
  kPropScaleMode,
  kPropStep,
};

DetectState* state_of(gpointer self) { return reinterpret_cast<GstCufaceDetect*>(self)->state; }

GType grouping_type() {
  static const GEnumValue values[] = {
      {static_cast<int>(Grouping::kOpenCv),
       "Windows with similar edges, more than min-neighbors of them (OpenCV's groupRectangles)",
       "opencv"},
      {static_cast<int>(Grouping::kOverlap),
       "Windows that overlap, in groups of three or more (the published system)", "overlap"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstCufaceGrouping", values);
  return type;
}

GType scale_mode_type() {
  static const GEnumValue values[] = {
      {static_cast<int>(ScaleMode::kPyramid), "The picture is scaled, exactly as OpenCV does",
       "pyramid"},
      {static_cast<int>(ScaleMode::kWindow),
       "The window and its features are scaled (the published system)", "window"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstCufaceScaleMode", values);
  return type;
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  SettingsLock lock(object);
  Settings& settings = state_of(object)->settings;
  DetectConfig& config = settings.config;
  if (id > kPropRedetectInterval) ++settings.config_changes;
  switch (id) {
    case kPropCascade: {
      const char* path = g_value_get_string(value);
      settings.cascade = path ? path : "";
      break;
    }
    case kPropRedetectInterval:
      settings.redetect_interval = g_value_get_uint(value);
      break;
    case kPropScaleFactor:
      config.scale_factor = g_value_get_double(value);
      break;
    case kPropMinNeighbors:
      config.min_neighbors = g_value_get_int(value);
      break;
    case kPropMinSize:
      config.min_size = g_value_get_int(value);
      break;
    case kPropMaxSize:
      config.max_size = g_value_get_int(value);
      break;
    case kPropMaxFaces:
      config.max_faces = g_value_get_int(value);
      break;
    case kPropGrouping:
      config.grouping = static_cast<Grouping>(g_value_get_enum(value));
      break;
    case kPropDetectScale:
      config.detect_scale = g_value_get_int(value);
      break;
    case kPropScaleMode:
      config.scale_mode = static_cast<ScaleMode>(g_value_get_enum(value));
      break;
    case kPropStep:
      config.step = g_value_get_int(value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  SettingsLock lock(object);
  const Settings& settings = state_of(object)->settings;
  const DetectConfig& config = settings.config;
  switch (id) {
    case kPropCascade:
      g_value_set_string(value, settings.cascade.empty() ? nullptr : settings.cascade.c_str());
      break;
    case kPropRedetectInterval:
      g_value_set_uint(value, settings.redetect_interval);
      break;
    case kPropScaleFactor:
      g_value_set_double(value, config.scale_factor);
      break;
    case kPropMinNeighbors:
      g_value_set_int(value, config.min_neighbors);
      break;
    case kPropMinSize:
      g_value_set_int(value, config.min_size);
      break;
    case kPropMaxSize:
      g_value_set_int(value, config.max_size);
      break;
    case kPropMaxFaces:
      g_value_set_int(value, config.max_faces);
      break;
    case kPropGrouping:
      g_value_set_enum(value, static_cast<int>(config.grouping));
      break;
    case kPropDetectScale:
      g_value_set_int(value, config.detect_scale);
      break;
    case kPropScaleMode:
      g_value_set_enum(value, static_cast<int>(config.scale_mode));
      break;
    case kPropStep:
      g_value_set_int(value, config.step);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

void finalize(GObject* object) {
  delete state_of(object);
  G_OBJECT_CLASS(gst_cuface_detect_parent_class)->finalize(object);
}

Settings copy_settings(GstCufaceFilter* self) {
  SettingsLock lock(self);
  return state_of(self)->settings;
}

Status load(GstCufaceFilter* self) {
  DetectState* state = state_of(self);
  std::string path = copy_settings(self).cascade;
  if (path.empty()) {
    Result<std::string> found = cuface::find_default_cascade();
    if (!found.ok()) return found.status();
    path = found.value();
  }
  auto model = cuface::load_cascade(path);
  if (!model.ok()) return model.status();
  state->model = std::move(model.value());
  GST_INFO_OBJECT(self, "cascade %s", path.c_str());
  return {};
}

void unload(GstCufaceFilter* self) { state_of(self)->model.reset(); }

Status make_detector(GstCufaceFilter* self, const Settings& settings, int width, int height) {
  DetectState* state = state_of(self);
  auto detector = cuface::Detector::create(cuface::gst::backend_of(self), state->model,
                                           settings.config, width, height);
  if (!detector.ok()) return detector.status();
  state->detector = std::move(detector.value());
  state->planned_changes = settings.config_changes;
  return {};
}

Status plan(GstCufaceFilter* self, const GstVideoInfo& info) {
  return make_detector(self, copy_settings(self), info.width, info.height);
}

void unplan(GstCufaceFilter* self) { state_of(self)->detector.reset(); }

void reset(GstCufaceFilter* self, Reset) {
  DetectState* state = state_of(self);
  state->schedule.restart();
  state->ask_for_tracker = true;
  state->warned_overflow = false;
}

/// The period in frames, from 1.
std::uint64_t interval_of(GstCufaceFilter* self, const Settings& settings) {
  if (settings.redetect_interval > 0) return settings.redetect_interval;
  DetectState* state = state_of(self);
  if (state->ask_for_tracker.exchange(false)) {
    state->tracker_downstream = cuface::gst::tracker_downstream(GST_BASE_TRANSFORM_SRC_PAD(self));
    GST_INFO_OBJECT(self, "%s culktrack downstream", state->tracker_downstream ? "a" : "no");
  }
  return state->tracker_downstream ? kIntervalWithTracker : 1;
}

bool search_due(GstCufaceFilter* self, const Settings& settings, Frame& frame) {
  DetectState* state = state_of(self);
  const cuface::gst::Chain* chain = frame.chain_on_this_thread();
  const bool asked = state->search_asked.exchange(false);
  if (asked || frame.is_discont() || (chain && chain->search_requested()))
    state->schedule.request();
  return state->schedule.next(interval_of(self, settings), !frame.is_gap());
}

Status search(GstCufaceFilter* self, const Settings& settings, Frame& frame) {
  DetectState* state = state_of(self);
  const auto picture = frame.luma();
  if (!picture.ok()) return picture.status();
  if (settings.config_changes != state->planned_changes)
    if (Status status = make_detector(self, settings, frame.width(), frame.height()); !status.ok())
      return status;
  if (Status status = state->detector->enqueue(picture.value(), state->found); !status.ok())
    return status;
  ++frame.searches;
  if (!state->found.overflow) return {};
  ++frame.overflows;
  if (!std::exchange(state->warned_overflow, true))
    cuface::gst::post_warning(
        GST_ELEMENT_CAST(self), GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
        "more than 65536 windows of a frame looked like a face: the search counts as none found; "
        "raise min-size or scale-factor");
  return {};
}

Status process(GstCufaceFilter* self, Frame& frame) {
  DetectState* state = state_of(self);
  const Settings settings = copy_settings(self);
  const bool due = search_due(self, settings, frame);
  if (due)
    if (Status status = search(self, settings, frame); !status.ok()) return status;

  FaceList own;
  own.width = frame.width();
  own.height = frame.height();
  if (due)
    own = cuface::gst::faces_from_detections(state->found.faces, state->model->name, own.width,
                                             own.height);
  auto list = std::make_shared<FaceList>();
  if (frame.upstream().positions == Positions::kKnown) {
    *list = *frame.upstream().faces;
    if (due) cuface::gst::merge_faces(own, *list);
  } else {
    *list = std::move(own);
  }
  if (due) state->schedule.searched(!list->faces.empty());
  GST_LOG_OBJECT(self, "%s, %zu faces", due ? "searched" : "not searched", list->faces.size());
  frame.deliver(std::move(list));
  return {};
}

gboolean src_event(GstBaseTransform* trans, GstEvent* event) {
  DetectState* state = state_of(trans);
  bool ours = false;
  if (GST_EVENT_TYPE(event) == GST_EVENT_CUSTOM_UPSTREAM &&
      gst_event_has_name(event, kRedetectEvent)) {
    GST_DEBUG_OBJECT(trans, "a search is asked for");
    state->search_asked = true;
    ours = true;  // and on to a detector before this one, which need not be there
  } else if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE) {
    state->ask_for_tracker = true;
  }
  const gboolean handled =
      GST_BASE_TRANSFORM_CLASS(gst_cuface_detect_parent_class)->src_event(trans, event);
  return handled || ours;
}

constexpr auto kReady =
    static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);
constexpr auto kPlaying = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                   GST_PARAM_MUTABLE_PLAYING);

void install_properties(GObjectClass* klass) {
  const DetectConfig defaults;
  g_object_class_install_property(
      klass, kPropCascade,
      g_param_spec_string("cascade", "Cascade",
                          "File with the Haar cascade, an OpenCV XML (both layouts) or converted "
                          "by cuface-model; unset = the first found in $CUFACE_MODEL_PATH, "
                          "$XDG_CACHE_HOME/gst-cuface, the installed data folder and OpenCV's",
                          nullptr, kReady));
  g_object_class_install_property(
      klass, kPropRedetectInterval,
      g_param_spec_uint("redetect-interval", "Redetect interval",
                        "Search every N-th frame, in frames; besides, a frame is searched after a "
                        "search that found nothing and on request. 0 = 10 where a culktrack is "
                        "downstream, else 1",
                        0, G_MAXUINT, 0, kPlaying));
  g_object_class_install_property(
      klass, kPropScaleFactor,
      g_param_spec_double("scale-factor", "Scale factor",
                          "Ratio between one searched face size and the next", 1.001, 10,
                          defaults.scale_factor, kPlaying));
  g_object_class_install_property(
      klass, kPropMinNeighbors,
      g_param_spec_int("min-neighbors", "Minimum neighbours",
                       "A face needs more than this many agreeing windows; 0 = every window is "
                       "delivered as it is",
                       0, 1000, defaults.min_neighbors, kPlaying));
  g_object_class_install_property(
      klass, kPropMinSize,
      g_param_spec_int("min-size", "Minimum size",
                       "Smallest face, in pixels of both sides; 0 = the cascade's window", 0, 32767,
                       defaults.min_size, kPlaying));
  g_object_class_install_property(
      klass, kPropMaxSize,
      g_param_spec_int("max-size", "Maximum size",
                       "Largest face, in pixels of both sides; 0 = the frame", 0, 32767,
                       defaults.max_size, kPlaying));
  g_object_class_install_property(
      klass, kPropMaxFaces,
      g_param_spec_int("max-faces", "Maximum faces",
                       "Most faces of a frame; those with the most neighbours stay", 1, 65536,
                       defaults.max_faces, kPlaying));
  g_object_class_install_property(
      klass, kPropGrouping,
      g_param_spec_enum("grouping", "Grouping", "How windows on one face become one face",
                        grouping_type(), static_cast<int>(defaults.grouping), kPlaying));
  g_object_class_install_property(
      klass, kPropDetectScale,
      g_param_spec_int("detect-scale", "Detect scale",
                       "Search a picture this many times smaller: faster, but faces below "
                       "detect-scale times the cascade's window are missed; 1 = full size",
                       1, 16, defaults.detect_scale, kPlaying));
  g_object_class_install_property(
      klass, kPropScaleMode,
      g_param_spec_enum("scale-mode", "Scale mode", "What is scaled to find faces of all sizes",
                        scale_mode_type(), static_cast<int>(defaults.scale_mode), kPlaying));
  g_object_class_install_property(
      klass, kPropStep,
      g_param_spec_int("step", "Step",
                       "Pixels from one window to the next, at the searched scale; 0 = 2, and 1 "
                       "from scale 2 on, as OpenCV does",
                       0, 2, defaults.step, kPlaying));
  gst_type_mark_as_plugin_api(grouping_type(), static_cast<GstPluginAPIFlags>(0));
  gst_type_mark_as_plugin_api(scale_mode_type(), static_cast<GstPluginAPIFlags>(0));
}

}  // namespace

static void gst_cuface_detect_init(GstCufaceDetect* self) { self->state = new DetectState; }

static void gst_cuface_detect_class_init(GstCufaceDetectClass* klass) {
  auto* object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = set_property;
  object_class->get_property = get_property;
  object_class->finalize = finalize;
  install_properties(object_class);

  auto* element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(
      element_class, "Face detector", "Filter/Analyzer/Video",
      "Finds faces with a Haar cascade and attaches their boxes to the video",
      "The gst-cuface project");
  cuface::gst::add_pad_templates(element_class);

  GST_BASE_TRANSFORM_CLASS(klass)->src_event = src_event;

  auto* filter_class = GST_CUFACE_FILTER_CLASS(klass);
  filter_class->load = load;
  filter_class->unload = unload;
  filter_class->plan = plan;
  filter_class->unplan = unplan;
  filter_class->process = process;
  filter_class->reset = reset;
}
