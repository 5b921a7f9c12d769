#include "gst/facedetect/facedetect.h"

#include <atomic>
#include <string>

#include "gst/base/errors.h"
#include "gst/base/facefilter.h"
#include "gst/base/trackerquery.h"
#include "gst/facedetect/detectprops.h"
#include "gst/facedetect/search.h"
#include "kernels/detect/detect.h"
#include "models/models.h"

GST_DEBUG_CATEGORY_STATIC(cuface_detect_debug);
#define GST_CAT_DEFAULT cuface_detect_debug

namespace {

using cuface::FaceList;
using cuface::Result;
using cuface::Status;
using cuface::gst::DetectSettings;
using cuface::gst::Frame;
using cuface::gst::Positions;
using cuface::gst::Reset;
using cuface::gst::SettingsLock;

constexpr const char* kRedetectEvent = "GstCuFaceRedetect";
constexpr guint kIntervalWithTracker = 10;

struct DetectState {
  DetectSettings settings;  // under SettingsLock
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

DetectState* state_of(gpointer self) { return reinterpret_cast<GstCufaceDetect*>(self)->state; }

void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  SettingsLock lock(object);
  if (!cuface::gst::set_detect_property(state_of(object)->settings, id, value))
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  SettingsLock lock(object);
  if (!cuface::gst::get_detect_property(state_of(object)->settings, id, value))
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

void finalize(GObject* object) {
  delete state_of(object);
  G_OBJECT_CLASS(gst_cuface_detect_parent_class)->finalize(object);
}

DetectSettings copy_settings(GstCufaceFilter* self) {
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

Status make_detector(GstCufaceFilter* self, const DetectSettings& settings, int width, int height) {
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
std::uint64_t interval_of(GstCufaceFilter* self, const DetectSettings& settings) {
  if (settings.redetect_interval > 0) return settings.redetect_interval;
  DetectState* state = state_of(self);
  if (state->ask_for_tracker.exchange(false)) {
    state->tracker_downstream = cuface::gst::tracker_downstream(GST_BASE_TRANSFORM_SRC_PAD(self));
    GST_INFO_OBJECT(self, "%s culktrack downstream", state->tracker_downstream ? "a" : "no");
  }
  return state->tracker_downstream ? kIntervalWithTracker : 1;
}

bool search_due(GstCufaceFilter* self, const DetectSettings& settings, Frame& frame) {
  DetectState* state = state_of(self);
  const cuface::gst::Chain* chain = frame.chain_on_this_thread();
  const bool asked = state->search_asked.exchange(false);
  if (asked || frame.is_discont() || (chain && chain->search_requested()))
    state->schedule.request();
  return state->schedule.next(interval_of(self, settings), !frame.is_gap());
}

Status search(GstCufaceFilter* self, const DetectSettings& settings, Frame& frame) {
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
  const DetectSettings settings = copy_settings(self);
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

}  // namespace

static void gst_cuface_detect_init(GstCufaceDetect* self) { self->state = new DetectState; }

static void gst_cuface_detect_class_init(GstCufaceDetectClass* klass) {
  auto* object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = set_property;
  object_class->get_property = get_property;
  object_class->finalize = finalize;
  cuface::gst::install_detect_properties(object_class);

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
