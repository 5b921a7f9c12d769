#include "gst/facedetect/facedetect.h"

#include <atomic>
#include <cmath>
#include <string>

#include "gst/base/errors.h"
#include "gst/base/facefilter.h"
#include "gst/base/segmenttimes.h"
#include "gst/facedetect/detectprops.h"
#include "gst/facedetect/lateness.h"
#include "gst/facedetect/searchcost.h"
#include "gst/facedetect/stage.h"
#include "gst/faces/trackerquery.h"
#include "kernels/detect/schedule.h"
#include "kernels/faces/faces_cuda.h"
#include "models/models.h"

GST_DEBUG_CATEGORY_STATIC(cuface_detect_debug);
#define GST_CAT_DEFAULT cuface_detect_debug

namespace {

using cuface::Result;
using cuface::Status;
using cuface::gst::DetectSettings;
using cuface::gst::Frame;
using cuface::gst::Reset;
using cuface::gst::SettingsLock;

constexpr const char* kRedetectEvent = "GstCuFaceRedetect";
constexpr guint kIntervalWithTracker = 10;

struct DetectState {
  DetectSettings settings;  // under SettingsLock
  std::atomic<bool> search_asked{false};
  std::atomic<bool> ask_for_tracker{true};
  cuface::gst::Lateness lateness;

  // The streaming thread's.
  std::shared_ptr<const cuface::CascadeModel> model;
  std::unique_ptr<cuface::gst::DetectStage> stage;
  cuface::SearchPeriod period;
  guint64 put_off_told = 0;                    // skipped searches, in the last QOS message
  GstClockTime told_at = GST_CLOCK_TIME_NONE;  // its running time
  bool tracker_downstream = false;
  bool warned_overflow = false;
  bool warned_max_faces = false;
  bool warned_slow = false;
  bool warned_long_search = false;
  cuface::gst::LongestOfLately longest_search;
  bool warned_sizes = false;  // and they are still so
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

/// Once from one start to the next, before the search begins: it says why nothing comes.
void warn_long_search(GstCufaceFilter* self, long long windows, double seconds) {
  GST_DEBUG_OBJECT(self, "a search looks at %lld windows, about %.3f s", windows, seconds);
  if (seconds <= cuface::gst::kLongSearch ||
      std::exchange(state_of(self)->warned_long_search, true))
    return;
  const cuface::DetectConfig config = copy_settings(self).config;
  std::string text = "each search looks at " + std::to_string(windows) +
                     " windows, which takes about " + std::to_string(std::lround(seconds)) +
                     " s: raise scale-factor, min-size or detect-scale";
  if (config.roll > 0) text += ", or set a smaller roll";
  if (config.step > 0) text += ", or set step=0";
  if (config.scale_mode == cuface::ScaleMode::kWindow) text += ", or set scale-mode=pyramid";
  cuface::gst::post_warning(GST_ELEMENT_CAST(self), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
                            text);
}

Status plan(GstCufaceFilter* self, const GstVideoInfo& info) {
  DetectState* state = state_of(self);
  auto stage = cuface::gst::make_detect_stage(
      cuface::gst::backend_of(self), state->model, copy_settings(self), info.width, info.height,
      {cuface::gst::stop_flag_of(self),
       [self](long long windows, double seconds) { warn_long_search(self, windows, seconds); }});
  if (!stage.ok()) return stage.status();
  state->stage = std::move(stage.value());
  return {};
}

void unplan(GstCufaceFilter* self) { state_of(self)->stage.reset(); }

void reset(GstCufaceFilter* self, Reset why) {
  DetectState* state = state_of(self);
  if (why == Reset::kStart) state->warned_long_search = false;
  state->period.restart();
  if (state->stage) state->stage->restart();
  state->ask_for_tracker = true;
  state->lateness.restart();
  state->told_at = GST_CLOCK_TIME_NONE;
  if (why == Reset::kStart) {
    state->put_off_told = 0;
    state->warned_slow = false;
  }
  state->longest_search = {};
  state->warned_overflow = state->warned_max_faces = state->warned_sizes = false;
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

GstClockTime running_time_of(GstCufaceFilter* self, const Frame& frame) {
  return cuface::gst::running_time_of(GST_BASE_TRANSFORM(self)->segment, frame.pts());
}

/// Whether a search of this frame must wait because frames of a live source come late.
bool puts_off_search(GstCufaceFilter* self, const DetectSettings& settings, const Frame& frame) {
  auto& lateness = state_of(self)->lateness;
  const GstClockTime time = running_time_of(self, frame);
  const bool late = settings.qos && lateness.is_late(time) && cuface::gst::is_live(self);
  return lateness.puts_off_search(time, late, settings.max_search_delay);
}

/// Left to itself a search is spread where a whole one makes frames come too late: on the CPU, of a
/// camera. A GPU takes less than a millisecond for a whole search, and more for its bands together.
bool spreads(GstCufaceFilter* self, const DetectSettings& settings) {
  if (settings.spread != cuface::gst::Spread::kAuto)
    return settings.spread == cuface::gst::Spread::kTrue;
  return !settings.config.active_parts && cuface::gst::backend_of(self) == cuface::Backend::kCpu &&
         cuface::gst::is_live(self);
}

/// What the host knows of whether to search this frame.
cuface::gst::SearchTurn turn_of(GstCufaceFilter* self, const DetectSettings& settings,
                                Frame& frame) {
  DetectState* state = state_of(self);
  const cuface::gst::Chain* chain = frame.chain_on_this_thread();
  const bool asked = state->search_asked.exchange(false);
  cuface::gst::SearchTurn turn;
  const std::uint64_t interval = interval_of(self, settings);
  turn.every_frame = interval == 1;
  turn.ask.turn = state->period.next(interval);
  // What a detector before has found is of the whole picture, and so must be what joins it.
  const bool parts = can_search_bands(settings.config) &&
                     frame.upstream().positions == cuface::gst::Positions::kNone;
  const bool spread = spreads(self, settings);
  if (!spread || !parts) turn.ask.turn.band = {};
  turn.ask.bands = parts && !spread && !settings.config.active_parts;
  const bool jump = frame.step().jump;
  if (jump)
    GST_INFO_OBJECT(self, "the frame does not belong to the one before, %.3f s ago: a search",
                    frame.step().seconds);
  // Behind a jump nobody is where he was. DISCONT says little: leaky queues set it all the time.
  turn.verify = settings.config.verify && !jump;
  turn.ask.asked = asked || jump;
  turn.ask.late = !frame.is_gap() && puts_off_search(self, settings, frame);
  turn.ask.searchable = !frame.is_gap() && !turn.ask.late;
  if (!chain) return turn;
  turn.ask.tracker_asks(chain->search_requested());
  turn.followed = chain->followed();
  if (turn.followed) turn.followed = turn.followed.scaled(frame.width(), frame.height());
  turn.ask.follows = turn.followed.list && !turn.followed.list->faces.empty();
  turn.ask.active_parts = settings.config.active_parts && parts && !spread &&
                          (turn.followed.list || turn.followed.pending);
  return turn;
}

void warn_overflow(GstCufaceFilter* self) {
  if (std::exchange(state_of(self)->warned_overflow, true)) return;
  cuface::gst::post_warning(
      GST_ELEMENT_CAST(self), GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
      "more than 65536 windows of a frame looked like a face: the search counts as none found; "
      "raise min-size or scale-factor");
}

/// max-faces may be more than lists on the GPU have room for.
void warn_max_faces(GstCufaceFilter* self, int max_faces) {
  if (cuface::gst::backend_of(self) != cuface::Backend::kCuda ||
      max_faces <= cuface::cuda::kMaxFaces || std::exchange(state_of(self)->warned_max_faces, true))
    return;
  const std::string text = "max-faces is " + std::to_string(max_faces) +
                           ", but on CUDA a frame has at most " +
                           std::to_string(cuface::cuda::kMaxFaces) +
                           " faces; for more set backend=cpu, with frames in system memory";
  cuface::gst::post_warning(GST_ELEMENT_CAST(self), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
                            text);
}

/// Legal, as each of the two is, but nobody's wish.
void warn_sizes(GstCufaceFilter* self, int min_size, int max_size) {
  const bool crossed = max_size > 0 && min_size > max_size;
  if (std::exchange(state_of(self)->warned_sizes, crossed) || !crossed) return;
  const std::string least = std::to_string(min_size), greatest = std::to_string(max_size);
  cuface::gst::post_warning(
      GST_ELEMENT_CAST(self), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "min-size is " + least + ", but max-size is " + greatest +
          ": no face is as large as the one and as small as the other, and only windows of about " +
          least +
          " pixels are searched (OpenCV's rule). Lower min-size, or raise max-size (0 = no "
          "limit)");
}

/// Once, where frames come late again and again, and searches that take longer than frames are
/// apart are a reason.
void warn_slow(GstCufaceFilter* self, const DetectSettings& settings, const Frame& frame) {
  constexpr int kSeconds = 3;
  DetectState* state = state_of(self);
  const GstClockTime longest = state->longest_search.get();
  if (state->warned_slow || state->lateness.late_seconds() < kSeconds ||
      longest <= frame.step().usual || !cuface::gst::is_live(self))
    return;
  state->warned_slow = true;
  const auto ms = [](guint64 ns) { return std::to_string((ns + GST_MSECOND - 1) / GST_MSECOND); };
  // What the sink grants now is not known here, but GStreamer's default is. Without a queue behind
  // the chain the sink holds up the chain's thread, which then begins each frame late.
  constexpr guint64 kDeadline = 20 * GST_MSECOND;
  const std::string text =
      "frames of the live source come up to " + ms(static_cast<guint64>(state->lateness.worst())) +
      " ms too late at the sink, and searches take up to " + ms(longest) +
      " ms: make searches shorter (a larger min-size, detect-scale=2" +
      (spreads(self, settings) ? "" : ", spread=true") +
      "), or give them time: put a queue behind the face elements, set the sink's "
      "processing-deadline to " +
      ms(longest + kDeadline) +
      " ms or more, and let the queue before cufacedetect hold the frames of that time";
  cuface::gst::post_warning(GST_ELEMENT_CAST(self), GST_CORE_ERROR, GST_CORE_ERROR_CLOCK, text);
}

/// With a QOS message, at most one a second.
void tell_of_searches_put_off(GstCufaceFilter* self, const Frame& frame) {
  DetectState* state = state_of(self);
  const cuface::gst::DeviceCounts before = cuface::gst::counts_of(self);
  const guint64 put_off = before.skipped_searches + static_cast<guint64>(frame.skipped_searches);
  const GstClockTime time = running_time_of(self, frame);
  if (put_off == state->put_off_told || !GST_CLOCK_TIME_IS_VALID(time)) return;
  if (GST_CLOCK_TIME_IS_VALID(state->told_at) && time < state->told_at + GST_SECOND) return;
  state->told_at = time;
  state->put_off_told = put_off;
  GstMessage* message = gst_message_new_qos(
      GST_OBJECT_CAST(self), TRUE, time,
      cuface::gst::stream_time_of(GST_BASE_TRANSFORM(self)->segment, frame.pts()), frame.pts(),
      GST_BUFFER_DURATION(frame.buffer()));
  gst_message_set_qos_values(message, state->lateness.lateness(), state->lateness.proportion(),
                             1000000);
  gst_message_set_qos_stats(message, GST_FORMAT_BUFFERS,
                            before.searches + static_cast<guint64>(frame.searches), put_off);
  gst_element_post_message(GST_ELEMENT_CAST(self), message);
}

Status process(GstCufaceFilter* self, Frame& frame) {
  const DetectSettings settings = copy_settings(self);
  warn_max_faces(self, settings.config.max_faces);
  warn_sizes(self, settings.config.min_size, settings.config.max_size);
  DetectState* state = state_of(self);
  const gint64 begin = g_get_monotonic_time();
  auto faces = state->stage->run(frame, settings, turn_of(self, settings, frame));
  if (!faces.ok()) return faces.status();
  const auto took = static_cast<GstClockTime>(g_get_monotonic_time() - begin) * GST_USECOND;
  state->longest_search.add(took);
  warn_slow(self, settings, frame);
  tell_of_searches_put_off(self, frame);
  if (frame.overflows > 0 || cuface::gst::device_counts(self).overflows > 0) warn_overflow(self);
  GST_LOG_OBJECT(self, "%s",
                 faces.value().pending ? "on the GPU"
                 : frame.searches      ? "searched"
                                       : "not searched");
  frame.deliver(std::move(faces.value()));
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
  state->lateness.told(event);
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
  cuface::gst::add_pad_templates(element_class, cuface::gst::kDetectCuda);

  auto* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  trans_class->src_event = src_event;

  auto* filter_class = GST_CUFACE_FILTER_CLASS(klass);
  filter_class->load = load;
  filter_class->unload = unload;
  filter_class->plan = plan;
  filter_class->unplan = unplan;
  filter_class->process = process;
  filter_class->counts = cuface::gst::kCountsFaces | cuface::gst::kCountsSearches;
  filter_class->reset = reset;
}
